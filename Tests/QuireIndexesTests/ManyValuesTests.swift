// Conditions on many values at once.

import Foundation
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
    for _ in 0..<TestSize.trials(20, divisor: 5) {
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
    let tracks = (0..<TestSize.trials(4000, divisor: 2)).map { number in
      var track = random.track()
      track.year = random.oneIn(10) ? random.below(100_000) : random.below(300)
      track.title = random.oneIn(50) ? random.title() : "t\(random.below(500))"
      return (key: "k\(number)", track: track)
    }
    try db.write { tx in for (key, track) in tracks { try tx[.tracks].set(track, for: key) } }
    try db.register(Indexes.tracks())
    return (db, tracks)
  }

  @Test("They find and count what a filter finds, in every order", arguments: seeds(TestSize.trials(3, divisor: 3)))
  func findWhatAFilterFinds(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let (db, tracks) = try database(&random)
    for _ in 0..<TestSize.trials(12, divisor: 3) {
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

  @Test("A row that has several of the elements that are asked for counts once")
  func rowsOfSeveralElementsCountOnce() throws {
    var random = SeededRandom(seed: 1)
    let (db, tracks) = try database(&random)
    let all = Set(tracks.flatMap(\.track.tags)).sorted()
    try db.read { tx throws in
      for tags in [Array(all.prefix(2)), Array(all.suffix(3)), all] {
        let expected = tracks.filter { !Set($0.track.tags).isDisjoint(with: tags) }.map(\.key)
        let found = tx[.tracks].find { $0.tags.contains(anyOf: tags) }
        #expect(try found.count == expected.count, "\(tags)")
        #expect(try found.keys == expected, "\(tags)")
      }
    }
    #expect(tracks.contains { Set($0.track.tags).count > 1 })
    try db.close()
  }

  @Test("Long values that keys cut to the same bytes are one beginning of keys")
  func longValuesThatAgree() throws {
    let db = try Database.inMemory()
    let long = String(repeating: "x", count: 300)
    // None next to another, so that they are many ranges.
    let odd = Array(stride(from: 1901, to: 1941, by: 2))
    var (expected, few) = ([String](), [String]())
    try db.write { tx throws in
      for number in 0..<600 {
        let (title, year) = (long + ["a", "b", "c"][number % 3], 1900 + number % 50)
        let track = Track(
          title: title, year: year, rating: nil, mood: .calm, tags: [], album: .init(name: "a"),
          added: Date(timeIntervalSinceReferenceDate: 0), score: 0)
        try tx[.tracks].set(track, for: "k\(number)")
        if number % 3 != 2, !odd.contains(year) { expected.append("k\(number)") }
        if number % 3 != 2, [1903, 1907].contains(year) { few.append("k\(number)") }
      }
    }
    try db.register(Indexes<Track, Plays>("tracks", over: .tracks) { Index("title-year", \.title, \.year) })
    try db.read { tx throws in
      let titles = [long + "a", long + "b"]
      let many = tx[.tracks].find { $0.title.isIn(titles) && !$0.year.isIn(odd) }
      #expect(try Set(many.keys) == Set(expected))
      #expect(try many.count == expected.count)
      let two = tx[.tracks].find { $0.title.isIn(titles) && $0.year.isIn([1903, 1907]) }
      #expect(try Set(two.keys) == Set(few))
      #expect(try two.order(by: \.year).limit(3).objects.map(\.year) == [1903, 1903, 1903])
    }
    try db.close()
  }

  /// A type with one value, which has no bytes.
  struct Only: SortKey, Codable, Sendable, Equatable {
    func append(to bytes: inout [UInt8]) {}
  }
  struct Holder: Codable, Sendable {
    let only: Only
    let number: Int
  }

  @Test("All rows have one of the values of a type that has only one")
  func valuesWithoutBytes() throws {
    let db = try Database.inMemory()
    let rows = RowCollection<Holder, NoMetadata>("holders")
    try db.write { tx throws in
      for number in 0..<30 { try tx[rows].set(Holder(only: Only(), number: number), for: "k\(number)") }
    }
    try db.read { tx throws in
      #expect(try tx[rows].find { $0.only.isIn([Only()]) }.count == 30)
      #expect(try tx[rows].find { $0.only.isIn(Array(repeating: Only(), count: 40)) && $0.number < 7 }.count == 7)
      #expect(try tx[rows].find { !$0.only.isIn([Only()]) }.count == 0)
    }
    try db.close()
  }
}
