// Blocks of postings: what is written is read again, and broken bytes are noticed or harmless.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import Testing

@Suite("Blocks of postings") struct BlockTests {
  static let forms = [1, 2, 3, 7, 8, 64].flatMap { count in
    PostingDetail.allCases.map { PostingForm(fieldCount: count, detail: $0) }
  }

  @Test("A block gives the postings that it was made of", arguments: forms)
  func roundTrip(_ form: PostingForm) throws {
    var random = SeededRandom(seed: UInt64(form.fieldCount))
    var encoder = BlockEncoder(form)
    for trial in 0..<TestSize.trials(1_600, divisor: 16) {
      let count = [1, 2, 7, 8, 9, 127, 128, 1 + random.below(128)][trial % 8]
      let list = PostingList.random(.random(count: count, &random), form, &random)
      let stored = encoder.stored(list, 0..<count)
      #expect(stored.postings(form) == list)
    }
  }

  @Test("Gaps between rows may be as large as row numbers are")
  func largeGaps() throws {
    let form = PostingForm(fieldCount: 1, detail: .rows)
    var encoder = BlockEncoder(form)
    for count in [2, 7, 8, 60] {
      for first: Int64 in [1, .max - 200] {
        var list = PostingList()
        for index in 0..<count - 1 { list.append(RowID(first + Int64(index) * 3), mask: 1, frequencies: [1]) }
        list.append(RowID(.max - 1), mask: 1, frequencies: [1])
        #expect(encoder.stored(list, 0..<count).postings(form) == list)
      }
    }
    var list = PostingList()
    for bit in 0..<62 { list.append(RowID(1 << Int64(bit)), mask: 1, frequencies: [1]) }
    #expect(encoder.stored(list, 0..<62).postings(form) == list)
  }

  @Test("The greatest frequencies and positions are read again")
  func greatestNumbers() throws {
    let form = PostingForm(fieldCount: 2, detail: .positions)
    var encoder = BlockEncoder(form)
    for count in [1, 8] {
      var list = PostingList()
      for row in 1...count {
        list.append(
          RowID(Int64(row)), mask: 3, frequencies: [2, 300], positions: [0, .max - 1] + (0..<300).map { $0 * 9 })
      }
      #expect(encoder.stored(list, 0..<count).postings(form) == list)
    }
    let counting = PostingForm(fieldCount: 1, detail: .frequencies)
    var counter = BlockEncoder(counting)
    for count in [1, 8] {
      var list = PostingList()
      for row in 1...count { list.append(RowID(Int64(row)), mask: 1, frequencies: [.max]) }
      #expect(counter.stored(list, 0..<count).postings(counting) == list)
    }
  }

  @Test("The positions of one row are those that the whole block has", arguments: [1, 5, 64])
  func positionsOfRow(_ fieldCount: Int) throws {
    let form = PostingForm(fieldCount: fieldCount, detail: .positions)
    var random = SeededRandom(seed: 5)
    var encoder = BlockEncoder(form)
    let decoded = DecodedBlock(form)
    for _ in 0..<40 {
      let count = 1 + random.below(128)
      let list = PostingList.random(.random(count: count, &random), form, &random)
      let stored = encoder.stored(list, 0..<count)
      let block = stored.block.span.bytes
      let isRead = decoded.decodeRows(block, lastRow: stored.lastRow) && decoded.decodeFrequencies(block)
      #expect(isRead)
      for _ in 0..<10 {
        let index = random.below(count)
        var positions: [UInt32] = [7]
        let apart = stored.positions ?? []
        let isFound = decoded.appendPositions(ofRow: index, block, apart: apart.span.bytes, to: &positions)
        #expect(isFound)
        #expect(positions[1...] == list.positions[list.positionRange(index)])
        #expect(decoded.totalFrequency(index) == list.totalFrequency(index))
      }
    }
  }

  @Test("Frequencies are added up where a block lies as they are read from it", arguments: forms)
  func totals(_ form: PostingForm) {
    var random = SeededRandom(seed: 21)
    var encoder = BlockEncoder(form)
    let (decoded, sums) = (DecodedBlock(form), RawBuffer<UInt32>())
    for trial in 0..<120 {
      let count = 1 + random.below(trial % 3 == 0 ? 8 : 128)
      var list = PostingList.random(.random(count: count, &random), form, &random)
      // Rows next to each other, of which a sum for each can be kept.
      var next = RowID(Int64(1 + random.below(1000)))
      for index in 0..<count {
        list.rowIDs[index] = next
        next = RowID(next.rawValue + 1 + Int64(random.below(1 + trial % 9)))
      }
      let stored = encoder.stored(list, 0..<count)
      let span = Int(list.rowIDs[count - 1].rawValue - list.rowIDs[0].rawValue) + 1
      sums.removeAll(reserving: span)
      for _ in 0..<span { sums.append(3) }
      let isRead = stored.block.withUnsafeBytes { block in
        decoded.decodeRows(block, lastRow: stored.lastRow)
          && decoded.addTotals(block, to: sums.base, from: list.rowIDs[0].ordered)
      }
      #expect(isRead)
      var expected = [UInt32](repeating: 3, count: span)
      for index in 0..<count {
        expected[Int(list.rowIDs[index].rawValue - list.rowIDs[0].rawValue)] += UInt32(
          truncatingIfNeeded: list.totalFrequency(index))
      }
      #expect(Array(sums.values) == expected)
    }
  }

  @Test("A header tells the rows at both ends, and limits that every row is within", arguments: forms)
  func header(_ form: PostingForm) throws {
    var random = SeededRandom(seed: 9)
    var encoder = BlockEncoder(form)
    for _ in 0..<60 {
      let count = 1 + random.below(128)
      let list = PostingList.random(.random(count: count, &random), form, &random)
      let lengths = (0..<count).map { list.totalFrequency($0) + random.below(1 << random.below(18)) }
      let stored = encoder.stored(list, 0..<count) { LengthCode.code(of: lengths[$0]) }
      let found = BlockHeader(stored.block.span.bytes, lastRow: stored.lastRow)
      let header = try #require(found)
      #expect(header.count == count && header.firstRow == list.rowIDs[0] && header.lastRow == list.rowIDs[count - 1])
      for index in 0..<count {
        #expect(
          (0..<header.limits.count).contains { pair in
            let limit = header.limits[pair]
            return (limit.frequency == LimitPair.anyFrequency || Int(limit.frequency) >= list.totalFrequency(index))
              && limit.length <= lengths[index]
          })
      }
    }
  }

  @Test("Dense rows take about a bit each, and common words little more than their gaps")
  func size() {
    let form = PostingForm(fieldCount: 1, detail: .rows)
    var encoder = BlockEncoder(form)
    var dense = PostingList()
    for row in 1...128 where row % 7 != 3 { dense.append(RowID(Int64(row)), mask: 1, frequencies: [1]) }
    #expect(encoder.stored(dense, 0..<dense.count).block.count <= 16 + 6)
    var regular = PostingList()
    for row in 1...128 { regular.append(RowID(Int64(row * 16)), mask: 1, frequencies: [1]) }
    #expect(encoder.stored(regular, 0..<128).block.count <= 64 + 8)
  }

  @Test("Broken bytes are noticed, or read within their bounds")
  func mutations() throws {
    var random = SeededRandom(seed: 77)
    var readCount = 0
    for trial in 0..<TestSize.trials(100_000, divisor: 25) {
      let form = Self.forms[trial % Self.forms.count]
      var encoder = BlockEncoder(form)
      let decoded = DecodedBlock(form)
      let count = 1 + random.below(trial % 3 == 0 ? 8 : 128)
      var stored = encoder.stored(PostingList.random(.random(count: count, &random), form, &random), 0..<count)
      for _ in 0...random.below(3) { Self.mutate(&stored, &random) }
      let block = stored.block.span.bytes
      guard decoded.decodeRows(block, lastRow: stored.lastRow) else { continue }
      #expect(decoded.count <= 128 && decoded.row(decoded.count - 1) == stored.lastRow)
      for index in 1..<max(1, decoded.count) { #expect(decoded.row(index - 1) < decoded.row(index)) }
      guard let list = stored.postings(form) else { continue }
      readCount += 1
      #expect(list.count == decoded.count && list.frequencies.allSatisfy { $0 > 0 })
      #expect(list.masks.allSatisfy { $0 != 0 && $0 & ~form.allFields == 0 })
      let byteCount = stored.block.count + (stored.positions?.count ?? 0)
      #expect(list.positions.count <= 64 * PackedNumbers.unstoredCount + 8 * byteCount)
    }
    #expect(readCount > 0)
  }

  private static func mutate(_ stored: inout StoredBlock, _ random: inout SeededRandom) {
    var bytes = stored.block
    let isApart = random.oneIn(2) && stored.positions != nil
    if isApart { bytes = stored.positions ?? [] }
    let index = bytes.isEmpty ? 0 : random.oneIn(2) ? random.below(min(10, bytes.count)) : random.below(bytes.count)
    switch random.below(6) {
    case 0 where !bytes.isEmpty: bytes[index] ^= 1 << UInt8(random.below(8))
    case 1 where !bytes.isEmpty: bytes[index] = [0, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
    case 2: bytes.removeSubrange(index...)
    case 3: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
    case 4: bytes += [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]
    default: stored.lastRow = RowID(stored.lastRow.rawValue ^ Int64(1 << random.below(63)))
    }
    if isApart { stored.positions = bytes } else { stored.block = bytes }
  }

  @Test("Bytes of noise are no trap")
  func noise() {
    var random = SeededRandom(seed: 3)
    for trial in 0..<TestSize.trials(100_000, divisor: 25) {
      let form = Self.forms[trial % Self.forms.count]
      func noise() -> [UInt8] { (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
      let stored = StoredBlock(block: noise(), positions: noise(), lastRow: RowID(Int64(random.next() >> 1)))
      if let list = stored.postings(form) { #expect(list.count <= 128) }
    }
  }
}
