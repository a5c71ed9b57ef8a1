// Sets of rows, places and NEAR by themselves.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import Testing

@Suite("Sets of rows")
struct SearchSetTests {
  private func rows(_ random: inout SeededRandom) -> [RowID] {
    let spread = [3, 40, 9000].randomElement(using: &random) ?? 3
    var row = Int64(random.below(100)) - 50
    return (0..<random.below(700)).map { _ in
      row += Int64(1 + random.below(spread))
      return RowID(row)
    }
  }

  @Test("Common, joined and remaining rows are those of sets", arguments: [UInt64](1...6))
  func algebra(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<TestSize.trials(40, divisor: 5) {
      let (a, b, c) = (rows(&random), rows(&random), rows(&random))
      let candidates = rows(&random)
      func check(_ make: () -> any RowSet, _ expected: Set<RowID>) throws {
        let (rows, count) = (try make().rowIDs(), try make().count())
        #expect(rows == expected.sorted() && count == expected.count)
        #expect(make().limit >= expected.count)
        var kept = candidates
        try make().keep(&kept)
        #expect(kept == candidates.filter { expected.contains($0) })
        var left = candidates
        try make().drop(&left)
        #expect(left == candidates.filter { !expected.contains($0) })
      }
      func list(_ rows: [RowID]) -> any RowSet { ListedRows(rows) }
      try check({ CommonRows([list(a), list(b)]) }, Set(a).intersection(b))
      try check({ JoinedRows([list(a), list(b), list(c)]) }, Set(a).union(b).union(c))
      try check({ RemainingRows(list(a), without: list(b)) }, Set(a).subtracting(b))
      try check(
        { CommonRows([JoinedRows([list(a), list(b)]), RemainingRows(list(c), without: list(a))]) },
        Set(c).subtracting(a).intersection(b))
      let (first, second) = (PostingList(rows: a), PostingList(rows: b))
      let form = PostingForm(fieldCount: 1, detail: .rows)
      func scanned(_ list: PostingList) -> any RowSet { TermRows(TermScan(TermPostings(list, form)), fields: nil) }
      try check({ CommonRows([scanned(first), scanned(second)]) }, Set(a).intersection(b))
    }
  }

  @Test("The greatest and the least numbers are rows like others")
  func extremes() throws {
    let rows = [RowID(.min + 1), RowID(-1), RowID(5), RowID(.max - 1), RowID(.max)]
    let joined = try JoinedRows([ListedRows(rows), ListedRows([RowID(5)])]).rowIDs()
    let common = try CommonRows([ListedRows(rows), ListedRows(rows)]).rowIDs()
    #expect(joined == rows && common == rows)
    let remaining = try RemainingRows(ListedRows(rows), without: ListedRows([RowID(.max)])).count()
    #expect(remaining == 4)
  }

  @Test(
    "Gathered rows come in order, with the sums of their weights", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [UInt64](1...6))
  func gathered(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var (expected, accumulator) = ([RowID: Double](), RowAccumulator(hasWeights: true))
    var bits = RowAccumulator(hasWeights: false)
    for _ in 0..<30 {
      let base = [0, 1 << 40, -5000, 3_000_000, 900_000].randomElement(using: &random) ?? 0
      var some: Set<RowID> = []
      for _ in 0..<random.below(60) {
        let (row, weight) = (RowID(Int64(base + random.below(4000))), Double(1 + random.below(5)))
        expected[row, default: 0] += weight
        accumulator.add(row, weight)
        some.insert(row)
      }
      unsafe some.sorted().withUnsafeBufferPointer { unsafe bits.add($0) }
    }
    let (rows, weights) = accumulator.finished()
    #expect(rows == expected.keys.sorted())
    #expect(weights == rows.map { expected[$0] ?? 0 })
    #expect(bits.finished().rows == rows && bits.count == rows.count && accumulator.count == rows.count)
  }

  // MARK: NEAR

  /// The places of a letter among words divided by blanks.
  private func places(_ letter: Substring, _ text: String) -> [FieldPlace] {
    text.split(separator: " ").enumerated().filter { $1 == letter }.map {
      FieldPlaces.place(field: 0, position: UInt32($0.offset))
    }
  }

  @Test("NEAR finds what FTS5's own examples say")
  func near() throws {
    func matches(_ text: String, _ distance: Int) throws -> Bool {
      var matcher = NearMatcher(tokenCounts: [1, 1], distance: distance)
      matcher.set(places("a", text), ofPhrase: 0)
      matcher.set(places("b", text), ofPhrase: 1)
      return try matcher.match()
    }
    for (text, distance) in [(". . a . . . b . .", 3), ("b a", 0), ("a . b", 1)] {
      let isMatch = try matches(text, distance)
      #expect(isMatch, "\(text)")
    }
    for (text, distance) in [(". . a . . . b . .", 2), ("a", 5), ("", 5)] {
      let isMatch = try matches(text, distance)
      #expect(!isMatch, "\(text)")
    }
  }

  @Test("NEAR counts the places that are near, each once, and none of another field")
  func nearPlaces() throws {
    var matcher = NearMatcher(tokenCounts: [1, 1], distance: 1)
    let (here, there) = ("a b . . . a . . . a b a", "b")
    matcher.set(places("a", here), ofPhrase: 0)
    matcher.set(
      places("b", here) + places("b", there).map { $0 + FieldPlaces.place(field: 1, position: 0) }, ofPhrase: 1)
    let isMatch = try matcher.match()
    #expect(isMatch)
    #expect(matcher.matched(ofPhrase: 0) == [0, 9, 11] && matcher.matched(ofPhrase: 1) == [1, 10])
  }

  @Test("Phrases begin where all their terms follow, and never go from one field into the next")
  func phrases() {
    var starts: [FieldPlace] = [0, 3, 7, FieldPlaces.place(field: 1, position: 0)]
    FieldPlaces.keep(&starts, followedBy: [1, 4, 9, FieldPlaces.place(field: 1, position: 1)], at: 1)
    #expect(starts == [0, 3, FieldPlaces.place(field: 1, position: 0)])
    FieldPlaces.keepStarts(&starts)
    #expect(starts == [0, FieldPlaces.place(field: 1, position: 0)])
    var merged: [FieldPlace] = [1, 5]
    FieldPlaces.merge([0, 5, 9], into: &merged)
    #expect(merged == [0, 1, 5, 9])
  }
}

extension PostingList {
  /// Postings of one field without positions.
  fileprivate init(rows: [RowID]) {
    self.init()
    rowIDs = rows
    masks = Array(repeating: 1, count: rows.count)
    frequencies = Array(repeating: 1, count: rows.count)
    frequencyEnds = Array(1..<rows.count + 1)
  }
}
