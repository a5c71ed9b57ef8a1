// Random postings, and what tests read blocks with.

import QuireDatabase
@testable import QuireFullText
import QuireTesting

/// What a random list of postings is like.
struct PostingShape {
  var count: Int
  /// Gaps have up to so many bits.
  var gapBits = 8
  /// One of so many frequencies is more than 1.
  var oneIn = 4
  var frequencyBits = 3
  var positionBits = 8
  /// So many different masks are used; nil for any.
  var maskCount: Int?

  static func random(count: Int, _ random: inout SeededRandom) -> PostingShape {
    PostingShape(
      count: count, gapBits: [0, 1, 3, 8, 20, 50].randomElement(using: &random) ?? 0,
      oneIn: [1, 2, 10, 1_000_000].randomElement(using: &random) ?? 1, frequencyBits: random.below(7),
      positionBits: 1 + random.below(12), maskCount: [nil, 1, 2, 3, 4, 5].randomElement(using: &random) ?? nil)
  }
}

extension PostingList {
  /// Random postings in a form.
  static func random(_ shape: PostingShape, _ form: PostingForm, _ random: inout SeededRandom) -> PostingList {
    var list = PostingList()
    var row = Int64(1 + random.below(1_000))
    func mask() -> FieldMask {
      let mask = random.next() & random.next() & form.allFields
      return mask == 0 ? 1 << FieldMask(random.below(form.fieldCount)) : mask
    }
    let masks = shape.maskCount.map { (0..<$0).map { _ in mask() } }
    for _ in 0..<shape.count {
      list.appendRandom(
        RowID(row), masks.map { $0[random.below($0.count)] } ?? mask(), shape, form, &random)
      row += 1 + Int64(random.next() >> 1 & ((1 << UInt64(random.below(shape.gapBits + 1))) - 1))
    }
    return list
  }

  private mutating func appendRandom(
    _ row: RowID, _ mask: FieldMask, _ shape: PostingShape, _ form: PostingForm, _ random: inout SeededRandom
  ) {
    var frequencies: [UInt32] = []
    var positions: [UInt32] = []
    for _ in 0..<mask.nonzeroBitCount {
      let isMore = form.hasFrequencies && random.oneIn(shape.oneIn)
      let frequency = 1 + (isMore ? random.below(1 << shape.frequencyBits) : 0)
      frequencies.append(UInt32(frequency))
      var position = 0
      for _ in 0..<frequency {
        position += random.below(1 << shape.positionBits)
        positions.append(UInt32(position))
        position += 1
      }
    }
    append(row, mask: mask, frequencies: frequencies, positions: form.hasPositions ? positions : nil)
  }
}

/// A block as it stands in the trees.
struct StoredBlock {
  var block: [UInt8]
  var positions: [UInt8]?
  var lastRow: RowID

  /// The postings; nil if the bytes break the format.
  func postings(_ form: PostingForm) -> PostingList? {
    let decoded = DecodedBlock(form)
    var list = PostingList()
    guard decoded.decodeRows(block.span.bytes, lastRow: lastRow) else { return nil }
    let isRead =
      positions.map { decoded.appendAll(block.span.bytes, apart: $0.span.bytes, to: &list) }
      ?? decoded.appendAll(block.span.bytes, apart: nil, to: &list)
    return isRead ? list : nil
  }
}

extension BlockEncoder {
  mutating func stored(
    _ list: PostingList, _ rows: Range<Int>, lengthCode: (Int) -> UInt8 = { _ in 0 }
  ) -> StoredBlock {
    let postings = BlockPostings(form)
    for index in rows {
      let value = RecentCodec.encode(list, index, form)
      let isTaken = unsafe value.withUnsafeBytes { bytes -> Bool in
        var reader = unsafe ByteReader(bytes)
        return postings.append(&reader, row: list.rowIDs[index], code: lengthCode(index)) && reader.isAtEnd
      }
      precondition(isTaken, "a posting was not taken")
    }
    let (block, positions) = encode(postings)
    return StoredBlock(block: block, positions: positions, lastRow: list.rowIDs[rows.upperBound - 1])
  }
}

extension PostingList {
  /// Appends the postings on their way to a block.
  mutating func append(_ postings: BlockPostings) {
    var (frequency, gap, gaps) = (0, 0, [UInt64]())
    postings.forEachGap { gaps.append($0) }
    for index in 0..<postings.count {
      rowIDs.append(postings.row(index))
      masks.append(postings.masks[index])
      for _ in 0..<masks[masks.count - 1].nonzeroBitCount {
        let count = Int(postings.frequencies[frequency]) + 1
        frequencies.append(UInt32(count))
        frequency += 1
        guard postings.form.hasPositions else { continue }
        var expected: UInt32 = 0
        for _ in 0..<count {
          positions.append(expected + UInt32(gaps[gap]))
          expected = positions[positions.count - 1] &+ 1
          gap += 1
        }
      }
      frequencyEnds.append(frequencies.count)
      if postings.form.hasPositions { positionEnds.append(positions.count) }
    }
  }
}
