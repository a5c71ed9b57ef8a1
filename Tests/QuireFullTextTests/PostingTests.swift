// Keys of terms, single postings, limits, and lists of postings.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import Testing

@Suite("Postings") struct PostingTests {
  @Test("A token becomes a term without zero bytes and of 255 bytes at the most, cut between characters")
  func terms() {
    func term(_ bytes: [UInt8]) -> [UInt8] { TermKeys.term(of: bytes.span.bytes) }
    #expect(term([]) == [] && term([0, 0]) == [])
    #expect(term([97, 0, 98]) == [97, 98])
    #expect(term([UInt8](repeating: 97, count: 255)).count == 255)
    #expect(term([UInt8](repeating: 97, count: 300)).count == 255)
    #expect(term([0] + [UInt8](repeating: 97, count: 255)).count == 255)
    let text = Array(String(repeating: "€", count: 100).utf8)
    #expect(term(text).count == 255)
    #expect(term([97] + text).count == 253)
    #expect(term(Array(String(repeating: "𝄞", count: 70).utf8)).count == 252)
    #expect(term([UInt8](repeating: 0x80, count: 300)).count == 255)
  }

  @Test("Keys are in the order of terms, then of rows, and give back what they were made of")
  func keys() throws {
    let terms = ["a", "a\u{1}", "ab", "abc", "b", "\u{ff}"].map { Array($0.utf8) }
    let rows: [Int64] = [1, 2, 255, 256, 1 << 40, .max - 1]
    var blocks: [[UInt8]] = []
    var recent: [[UInt8]] = []
    for term in terms {
      blocks.append(TermKeys.head(term))
      blocks += rows.map { TermKeys.block(term, RowID($0)) }
      recent += rows.map { TermKeys.added(term, RowID($0)) }
      recent += rows.map { TermKeys.removed(term, RowID($0)) }
      #expect(TermKeys.parseBlock(TermKeys.head(term).span.bytes) == BlockKey(termByteCount: term.count, lastRow: nil))
      for row in rows.map({ RowID($0) }) {
        let key = TermKeys.block(term, row)
        #expect(TermKeys.parseBlock(key.span.bytes) == BlockKey(termByteCount: term.count, lastRow: row))
        let (added, removed) = (TermKeys.added(term, row), TermKeys.removed(term, row))
        let expected = RecentKey(termByteCount: term.count, isAdded: true, row: row)
        #expect(TermKeys.parseRecent(added.span.bytes) == expected)
        #expect(TermKeys.parseRecent(removed.span.bytes)?.isAdded == false)
      }
    }
    #expect(blocks == blocks.sorted { $0.lexicographicallyPrecedes($1) })
    #expect(recent == recent.sorted { $0.lexicographicallyPrecedes($1) })
  }

  @Test("Ranges have the keys of their terms and no others")
  func ranges() {
    let terms = ["a", "a\u{1}", "ab", "b", "\u{7f}"].map { Array($0.utf8) } + [[0xff], [0xff, 0xff], [0xff, 1]]
    func contains(_ range: (lower: [UInt8], upper: [UInt8]?), _ key: [UInt8]) -> Bool {
      !key.lexicographicallyPrecedes(range.lower) && range.upper.map { key.lexicographicallyPrecedes($0) } ?? true
    }
    for term in terms {
      let whole = TermKeys.range(ofTerm: term)
      let (added, removed) = (TermKeys.range(addedTo: term), TermKeys.range(removedFrom: term))
      for other in terms {
        for row in [RowID(1), RowID(.max - 1)] {
          let keys = [TermKeys.block(other, row), TermKeys.added(other, row), TermKeys.removed(other, row)]
          for key in keys + [TermKeys.head(other)] {
            #expect(contains((whole.lower, whole.upper), key) == (other == term))
            #expect(contains(TermKeys.range(ofPrefix: term), key) == other.starts(with: term))
            #expect(contains(TermKeys.range(ofPrefix: []), key))
          }
          #expect(contains((added.lower, added.upper), keys[1]) == (other == term))
          #expect(contains((removed.lower, removed.upper), keys[2]) == (other == term))
          #expect(!contains((added.lower, added.upper), keys[2]) && !contains((removed.lower, removed.upper), keys[1]))
        }
      }
    }
  }

  @Test("Keys of another form are no keys of terms")
  func brokenKeys() {
    let broken: [[UInt8]] = [
      [], [0], [UInt8](repeating: 0, count: 9), [UInt8](repeating: 0, count: 10), [UInt8](repeating: 1, count: 20),
      [97, 0, 98, 0, 1, 2, 3, 4, 5, 6, 7, 8], [UInt8](repeating: 97, count: 256) + [UInt8](repeating: 0, count: 9),
    ]
    for key in broken {
      #expect(TermKeys.parseBlock(key.span.bytes) == nil)
      #expect(TermKeys.parseRecent(key.span.bytes) == nil)
    }
    #expect(TermKeys.parseRecent(([97, 0, 3] + [UInt8](repeating: 1, count: 8)).span.bytes) == nil)
  }

  @Test("An added posting is read again; other bytes are noticed", arguments: BlockTests.forms)
  func recentPostings(_ form: PostingForm) {
    var random = SeededRandom(seed: 21)
    for _ in 0..<30 {
      let list = PostingList.random(.random(count: 5, &random), form, &random)
      var read = PostingList()
      for index in 0..<list.count {
        let value = RecentCodec.encode(list, index, form)
        func isRead(_ bytes: [UInt8], _ row: RowID) -> Bool {
          RecentCodec.decode(bytes.span.bytes, row: row, form, to: &read)
        }
        #expect(isRead(value, list.rowIDs[index]))
        let before = read
        #expect(!isRead(value + [0], RowID(.max)))
        if !value.isEmpty { #expect(!isRead([], RowID(.max))) }
        #expect(!isRead(value, list.rowIDs[index]))
        #expect(read == before)
        var mutated = value
        if !mutated.isEmpty { mutated[random.below(mutated.count)] = UInt8(truncatingIfNeeded: random.next()) }
        var other = PostingList()
        let isDecoded = RecentCodec.decode(mutated.span.bytes, row: RowID(1), form, to: &other)
        #expect(other.count == (isDecoded ? 1 : 0))
        #expect(RecentCodec.isWell(mutated.span.bytes, form) == isDecoded)
        #expect(RecentCodec.isWell(value.span.bytes, form) && !RecentCodec.isWell((value + [0]).span.bytes, form))
      }
      #expect(read == list)
    }
  }

  @Test("A head gives back its count and its limits")
  func heads() {
    var limits = LimitCollector()
    for (frequency, length) in [(1, 3), (4, 50), (254, 400), (9_000, 100_000)] {
      limits.add(LimitPair(frequency: frequency, length: length))
    }
    for pairs in [LimitPairs.any, limits.take() ?? .any] {
      let head = HeadCodec(count: 70_000, limits: pairs)
      #expect(HeadCodec(head.bytes.span.bytes) == head)
      #expect(HeadCodec((head.bytes + [1]).span.bytes) == nil && HeadCodec((head.bytes + [0, 0]).span.bytes) == nil)
    }
    let broken: [[UInt8]] = [[], [5], [5, 0, 0], [5, 1]]
    for bytes in broken { #expect(HeadCodec(bytes.span.bytes) == nil) }
  }

  @Test("Codes of lengths ascend with them, never tell more, and little less")
  func lengthCodes() {
    var last: UInt8 = 0
    for length in Array(0..<5_000) + (13..<31).flatMap({ [1 << $0, 1 << $0 + 77] }) {
      let code = LengthCode.code(of: length)
      let known = LengthCode.length(of: code)
      #expect(code >= last && known <= length && (length < 40 ? known == length : known * 8 >= length * 7))
      #expect(LengthCode.code(of: known) == code)
      last = code
    }
    #expect(LengthCode.code(of: .max) == 255)
  }

  @Test("Limits are four pairs at the most, and no row exceeds all of them")
  func limits() throws {
    var random = SeededRandom(seed: 4)
    var collector = LimitCollector()
    #expect(collector.take() == nil)
    for _ in 0..<500 {
      let pairs = (0...random.below(200)).map { _ in
        LimitPair(frequency: 1 + random.below(1 << random.below(10)), length: random.below(1 << random.below(20)))
      }
      for pair in pairs { collector.add(pair) }
      let taken = collector.take()
      let limits = try #require(taken)
      #expect((1...4).contains(limits.count) && pairs.allSatisfy { limits.dominates($0) })
      // The greatest frequency is not raised, and the least length is not lessened.
      #expect((0..<limits.count).map { limits[$0].frequency }.max() == pairs.map(\.frequency).max())
      #expect((0..<limits.count).map { limits[$0].lengthCode }.min() == pairs.map(\.lengthCode).min())
    }
  }

  @Test("Postings are merged as in a dictionary of rows")
  func merging() {
    let form = PostingForm(fieldCount: 3, detail: .positions)
    var random = SeededRandom(seed: 8)
    for _ in 0..<200 {
      var shape = PostingShape(count: random.below(30))
      shape.gapBits = 2
      let old = PostingList.random(shape, form, &random)
      shape.count = random.below(10)
      let added = PostingList.random(shape, form, &random)
      let removed = old.rowIDs.filter { _ in random.oneIn(3) }
      var expected: [RowID: PostingList] = [:]
      for index in 0..<old.count { expected[old.rowIDs[index]] = old.part(index..<index + 1) }
      for row in removed { expected[row] = nil }
      for index in 0..<added.count { expected[added.rowIDs[index]] = added.part(index..<index + 1) }
      let merged = old.merged(without: removed, with: added)
      #expect(merged.rowIDs == expected.keys.sorted())
      for index in 0..<merged.count { #expect(merged.part(index..<index + 1) == expected[merged.rowIDs[index]]) }
      for row in (0..<40).map({ RowID($0) }) {
        #expect(merged.lowerBound(of: row) == merged.rowIDs.firstIndex { $0 >= row } ?? merged.count)
      }
    }
  }
}
