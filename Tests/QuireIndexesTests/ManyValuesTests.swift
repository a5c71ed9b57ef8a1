// Conditions on many values at once.

import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Sets of many values") struct ManyValuesTests {
  /// All strings of one, two or three bytes of some, of which none begins another.
  private static func universe(_ length: Int) -> [[UInt8]] {
    let bytes: [UInt8] = [0, 1, 2, 127, 128, 253, 254, 255]
    return (0..<length).reduce([[]]) { known, _ in known.flatMap { front in bytes.map { front + [$0] } } }
  }

  private func points(_ values: [[UInt8]]) -> ByteRanges {
    var list = PointList(capacity: values.count)
    for value in values { list.append(unless: nil) { $0 += value } }
    return ByteRanges(list)
  }

  @Test("They are the ranges that the values are one by one", arguments: seeds(20))
  func areTheirRanges(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let universe = Self.universe(2 + random.below(2))
    for _ in 0..<20 {
      let (count, other) = (random.below(90), random.below(90))
      let one = (0..<count).map { _ in random.pick(universe) }
      let two = (0..<other).map { _ in random.pick(universe) }
      let (left, right) = (points(one), points(two))
      #expect(left == ByteRanges(one.map { ByteRange(value: $0) }), "seed \(seed): \(one)")
      #expect(left.isSound && left.count == left.list.count)
      let (own, others) = (Set(one), Set(two))
      let (union, common, rest) = (left.union(right), left.intersection(right), left.complement)
      let (behind, without) = (left.behind([7, 255]), left.removing(prefix: [0]))
      for value in universe {
        let (isIn, isInOther) = (own.contains(value), others.contains(value))
        #expect(left.contains(value) == isIn && left.contains(value + [0]) == isIn && rest.contains(value) != isIn)
        #expect(union.contains(value) == (isIn || isInOther) && common.contains(value) == (isIn && isInOther))
        #expect(behind.contains([7, 255] + value) == isIn && !behind.contains(value))
        #expect(without.contains(value) == (isIn && value[0] != 0))
      }
      #expect(common.isSubset(of: left) && left.isSubset(of: union) && rest.complement == left)
    }
  }

  @Test("A value that is left out is in no range")
  func leavesOut() {
    var list = PointList()
    for number in 0..<40 as Range<UInt8> { list.append(unless: [6]) { $0.append(number % 20 * 2) } }
    let ranges = ByteRanges(list)
    #expect(ranges.count == 19 && ranges.arePoints && !ranges.contains([6]) && ranges.contains([8]))
  }

  /// Rows by number, many of one value each and some that stand alone.
  private func database(_ random: inout SeededRandom) throws -> (db: Database, tracks: [(key: String, track: Track)]) {
    let db = try Database.inMemory()
    let tracks = (0..<4000).map { number in
      var track = random.track()
      track.year = random.oneIn(10) ? random.below(100_000) : random.below(300)
      track.title = random.oneIn(50) ? random.title() : "t\(random.below(500))"
      return (key: "k\(number)", track: track)
    }
    try db.write { tx in for (key, track) in tracks { try tx[.tracks].set(track, for: key) } }
    try db.register(Indexes.tracks())
    return (db, tracks)
  }

  @Test("They find and count what a filter finds, in every order", arguments: seeds(3))
  func findWhatAFilterFinds(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let (db, tracks) = try database(&random)
    for _ in 0..<12 {
      let years = (0..<20 + random.below(2000)).map { _ in
        random.oneIn(2) ? random.below(400) : random.below(100_000)
      }
      let titles = (0..<20 + random.below(900)).map { _ in random.oneIn(9) ? random.title() : "t\(random.below(2000))" }
      let ratings = (0..<20).map { Double($0) / 2 }.filter { _ in random.oneIn(2) } + [100, 101.5, 103]
      let (ofYear, ofTitle) = (Set(years), Set(titles.map { Array($0.utf8) }))
      let scores = Set(ratings)
      try db.read { tx in
        let byYear = tx[.tracks].find { $0.year.isIn(years) }
        let expected = tracks.filter { ofYear.contains($0.track.year) }
        #expect(try byYear.keys == expected.map(\.key), "seed \(seed)")
        #expect(try byYear.count == expected.count, "seed \(seed)")
        // Rows of equal values in the order in which they came.
        let sorted = expected.enumerated().sorted {
          ($0.element.track.year, $0.offset) < ($1.element.track.year, $1.offset)
        }.map(\.element.key)
        #expect(try byYear.order(by: \.year).keys == sorted, "seed \(seed)")
        #expect(try byYear.order(by: \.year).limit(7).offset(3).keys == Array(sorted.dropFirst(3).prefix(7)))
        #expect(try byYear.limit(5).keys == Array(expected.map(\.key).prefix(5)), "seed \(seed)")
        let byTitle = try tx[.tracks].find { $0.title.isIn(titles) }.keys
        #expect(byTitle == tracks.filter { ofTitle.contains(Array($0.track.title.utf8)) }.map(\.key), "seed \(seed)")
        // An index of descending values; two columns, the second with many values.
        let byRating = tx[.tracks].find { $0.rating.isIn(ratings + Array(stride(from: 200, to: 400, by: 1.5))) }
        let rated = tracks.filter { $0.track.rating.map { scores.contains($0) } ?? false }
        #expect(try byRating.keys == rated.map(\.key), "seed \(seed)")
        #expect(try byRating.count == rated.count, "seed \(seed)")
        let ofBoth = tx[.tracks].find { $0.mood.isIn([.calm, .sad]) && $0.year.isIn(years) }
        let both = expected.filter { $0.track.mood != .happy }.map(\.key)
        #expect(try ofBoth.keys == both, "seed \(seed)")
        #expect(try ofBoth.count == both.count, "seed \(seed)")
      }
    }
    try db.close()
  }
}
