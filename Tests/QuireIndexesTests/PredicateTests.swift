// Foundation's predicates, and single fields of rows.

import Foundation
import QuireDatabase
import QuireIndexes
import QuireTesting
import Testing

@Suite struct PredicateTests {
  private func database(indexed: Bool) throws -> Database {
    var random = SeededRandom(seed: 21)
    let db = try Database.inMemory()
    if indexed { try db.register(Indexes.tracks()) }
    try db.write { tx in
      for number in 0..<300 {
        let track = Track(
          title: ["Ada", "Bob", "adam", "Bo", ""][random.below(5)] + "\(random.below(4))",
          year: 1990 + random.below(12),
          rating: random.below(4) == 0 ? nil : Double(random.below(6)), mood: Track.Mood.allCases[random.below(3)],
          tags: (0..<random.below(3)).map { _ in "tag\(random.below(4))" }, album: .init(name: "a\(random.below(5))"),
          added: Date(timeIntervalSinceReferenceDate: Double(random.below(50))), score: Double(random.below(40)) / 4)
        try tx[.tracks].set(track, metadata: number % 3 == 0 ? Plays(count: number) : nil, for: "k\(number)")
      }
    }
    return db
  }

  @Test("A predicate finds what it lets through, by indexes and without", arguments: [true, false])
  func findsTheSame(indexed: Bool) throws {
    let db = try database(indexed: indexed)
    let (low, years, nobody) = (1994, [1991, 1995, 2000], Double?.none)
    let predicates: [(String, Predicate<Track>)] = [
      ("equal", #Predicate { $0.year == low }), ("turned", #Predicate { 1994 <= $0.year }),
      ("between", #Predicate { $0.year > 1993 && $0.year < 1997 }),
      ("either", #Predicate { $0.year == 1990 || $0.title == "Ada1" }), ("not", #Predicate { !($0.year != 1999) }),
      ("nested", #Predicate { $0.album.name == "a3" && $0.score >= 2.5 }), ("nil", #Predicate { $0.rating == nobody }),
      ("literal nil", #Predicate { $0.rating == nil }), ("value", #Predicate { $0.rating == 3 }),
      ("list", #Predicate { $0.tags.contains("tag1") }), ("in", #Predicate { years.contains($0.year) }),
      ("prefix", #Predicate { $0.title.starts(with: "Ad") }),
    ]
    try db.read { tx in
      let all = tx[.tracks].rows.map(\.object)
      for (name, predicate) in predicates {
        let expected = try all.filter { try predicate.evaluate($0) }
        let found = try tx[.tracks].find(predicate).objects
        #expect(found.count == expected.count && !expected.isEmpty, "\(name)")
        #expect(found.allSatisfy { expected.contains($0) }, "\(name)")
      }
    }
    try db.close()
  }

  private struct Flagged: Codable, Sendable {
    var number: Int
    var isOld: Bool
    var marks: Set<Int>
  }

  @Test("Flags, ranges, sets and long lists are taken from predicates", arguments: [true, false])
  func findsMore(indexed: Bool) throws {
    let db = try Database.inMemory()
    let collection = RowCollection<Flagged, NoMetadata>("flagged")
    if indexed {
      try db.register(
        Indexes<Flagged, NoMetadata>("flagged.indexes", over: collection) {
          Index("number", \.number)
          Index("old", \.isOld)
          Index("marks", each: \.marks)
        })
    }
    try db.write { tx in
      for number in 0..<50 {
        let flagged = Flagged(number: number, isOld: number % 3 == 0, marks: [number % 4, number % 5])
        try tx[collection].set(flagged, for: "\(number)")
      }
    }
    let (range, many) = (5..<9, Array(40..<TestSize.trials(200_000)))
    let predicates: [(String, Predicate<Flagged>)] = [
      ("flag", #Predicate { $0.isOld }), ("no flag", #Predicate { !$0.isOld && $0.number > 10 }),
      ("range", #Predicate { (10...20).contains($0.number) }),
      ("half-open range", #Predicate { (10..<20).contains($0.number) }),
      ("a range from elsewhere", #Predicate { range.contains($0.number) }),
      ("set", #Predicate { $0.marks.contains(4) }), ("many", #Predicate { many.contains($0.number) }),
    ]
    try db.read { tx throws in
      let all = tx[collection].rows.map(\.object)
      for (name, predicate) in predicates {
        let expected = try all.filter { try predicate.evaluate($0) }.map(\.number).sorted()
        let found = try tx[collection].find(predicate).values(\.number).sorted()
        #expect(found == expected && !expected.isEmpty, "\(name)")
      }
    }
    try db.close()
  }

  @Test("What has no plan is refused with what to write instead")
  func refusesOthers() throws {
    let predicates: [Predicate<Track>] = [
      #Predicate { $0.year + 1 == 1991 },
      #Predicate { $0.title == $0.album.name }, #Predicate { ($0.rating ?? 0) > 2 },
    ]
    for predicate in predicates {
      do {
        _ = try TrackCondition(predicate)
        Issue.record("it was planned")
      } catch let error as IndexError {
        guard case .unplannable = error else {
          Issue.record("\(error)")
          continue
        }
        #expect("\(error)".contains("find {"))
      }
    }
  }

  @Test("Fields, sums and groups are the same from indexes and from rows")
  func valuesAgree() throws {
    let (with, without) = (try database(indexed: true), try database(indexed: false))
    func both<Value: Equatable>(
      _ name: String, _ ask: (ReadableRows<Track, Plays>) throws -> Value
    ) throws {
      let one = try with.read { tx in try ask(tx[.tracks]) }
      let other = try without.read { tx in try ask(tx[.tracks]) }
      #expect(one == other, "\(name)")
    }
    try both("values") { try $0.find { $0.year >= 1995 }.values(\.year) }
    try both("optional") { try $0.find { $0.year >= 1995 }.values(\.rating) }
    try both("moods") { try $0.find(.all).order(by: \.mood).limit(20).values(\.mood) }
    try both("titles") { try $0.find { $0.score < 5 }.values(\.title) }
    try both("sum") { try $0.find { $0.year < 1996 }.sum(\.year) }
    try both("average") { try $0.find { $0.year < 1996 }.average(\.score) }
    try both("least") { try $0.find { $0.year > 1991 }.min(\.title) }
    try both("greatest") { try $0.find { $0.year > 1991 }.max(\.added) }
    try both("of a part") { try $0.find(.all).order(by: \.title).offset(10).limit(30).max(\.score) }
    try both("distinct") { try $0.find(.all).distinct(\.title) }
    try both("groups") { try $0.find(.all).groupCounts(by: \.year).map { [$0.value, $0.count] } }
    try both("some groups") { try $0.find { $0.score > 3 }.groupCounts(by: \.mood).map { "\($0.value) \($0.count)" } }
    try both("descending") { try $0.find(.all).groupCounts(by: \.rating).map { "\($0.value ?? -1) \($0.count)" } }
    try both("sum of an optional") { try $0.find { $0.year < 1996 }.sum(\.rating) }
    try both("average of an optional") { try $0.find { $0.year < 1996 }.average(\.rating) }
    try both("two fields") { try $0.find { $0.year < 1996 }.order(by: \.year, \.title).keys }
    try both("a field and another") { try $0.find(.all).order(by: \.year, .descending(\.rating)).keys }
    try with.read { tx throws in
      let found = tx[.tracks].find { $0.year < 1996 }
      let ratings = try found.objects.compactMap(\.rating)
      #expect(try found.sum(\.rating) == ratings.reduce(0, +) && ratings.count < found.count)
      #expect(try found.average(\.rating) == ratings.reduce(0, +) / Double(ratings.count))
      let byBoth = try found.order(by: .ascending(\.year), .ascending(\.title)).keys
      #expect(try found.order(by: \.year, \.title).keys == byBoth)
      #expect(try tx[.tracks].find { $0.year == 1 }.average(\.year) == nil)
      #expect(try tx[.tracks].find { $0.year == 1 }.average(\.rating) == nil)
      let long = tx[.tracks].find { $0.tags.satisfies { $0.count > 1 } && $0.album.satisfies { $0.name != "a1" } }
      let longByHand = tx[.tracks].rows.filter { $0.object.tags.count > 1 && $0.object.album.name != "a1" }
      #expect(try long.count == longByHand.count && !longByHand.isEmpty)
    }
    try with.close()
    try without.close()
  }
}
