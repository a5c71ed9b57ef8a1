// Joins beside conditions on keys and fields, compared with what filters over all rows say.

import Foundation
import Quire
import QuireTesting
import Testing

private typealias Track = JoinedTrack
private typealias Record = JoinedRecord

private typealias TrackCondition = Condition<Track, NoMetadata>

@Suite struct FreshEyeJoinTests {
  /// A condition, and the keys that it should find among these tracks and records.
  private func leaf(
    _ random: inout SeededRandom
  ) -> (TrackCondition, (Row<Track, NoMetadata>, [Row<Record, NoMetadata>]) -> Bool) {
    let (track, year, rating) = (Fields<Track, NoMetadata>(), random.below(6), random.below(5))
    let key = "t\(random.below(40))"
    switch random.below(6) {
    case 0: return (track.rating >= rating, { row, _ in row.object.rating >= rating })
    case 1: return (track.key < key, { row, _ in row.key < key })
    case 2: return (track.key.isIn([key, key, "none"]), { row, _ in row.key == key })
    case 3:
      let inner = RowCollection.records.query { $0.year < year }.order(by: .descending(\.year)).limit(3)
      return (
        track.hasEdge("on", of: onRecord, to: inner),
        { row, records in
          let found = records.filter { $0.object.year < year }.sorted {
            $0.object.year != $1.object.year ? $0.object.year > $1.object.year : $0.rowID < $1.rowID
          }
          return found.prefix(3).contains { row.object.albums.contains($0.key) }
        }
      )
    case 4:
      return (
        track.hasEdge("on", of: onRecord, to: .records) { $0.key.hasPrefix("r1") && $0.year != year },
        { row, records in
          records.contains {
            $0.key.hasPrefix("r1") && $0.object.year != year && row.object.albums.contains($0.key)
          }
        }
      )
    default:
      return (
        track.hasEdge("on", of: onRecord, to: .records) { $0.year == year },
        { row, records in records.contains { $0.object.year == year && row.object.albums.contains($0.key) } }
      )
    }
  }

  @Test(arguments: TestSize.some(UInt64(1)...6, of: 2)) func joinsAreFilters(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let db = try Database.inMemory()
    try db.register(onRecord)
    if seed % 2 == 0 {
      try db.register(Indexes("t", over: .tracks) { Index("rating", \.rating) })
      try db.register(Indexes("r", over: .records) { Index("year", .descending(\.year)) })
    }
    for _ in 0..<TestSize.trials(6, divisor: 2) {
      try db.write { tx throws in
        for _ in 0..<30 {
          let (track, record) = ("t\(random.below(40))", "r\(random.below(20))")
          if random.below(5) == 0 { try tx[.tracks].remove(track) }
          if random.below(3) > 0 { try tx[.records].set(Record(year: random.below(6)), for: record) }
          let known = try tx[.records].find(.all).keys
          let albums = known.filter { _ in random.below(6) == 0 }
          try tx[.tracks].set(Track(rating: random.below(5), albums: albums), for: track)
        }
      }
      try db.write { tx throws in
        let records = try tx[.records].find(.all).all
        for row in try tx[.tracks].find(.all).all where random.below(6) == 0 {
          try tx[.tracks].update(row.key) { $0.albums = records.filter { _ in random.below(4) == 0 }.map(\.key) }
        }
        let tracks = try tx[.tracks].find(.all).all
        for _ in 0..<TestSize.trials(40, divisor: 3) {
          let (one, two, three) = (leaf(&random), leaf(&random), leaf(&random))
          let condition = (one.0 && !two.0) || (three.0 && two.0)
          let expected = tracks.filter { row in
            one.1(row, records) && !two.1(row, records) || three.1(row, records) && two.1(row, records)
          }
          let found = tx[.tracks].find(condition)
          let plan = try found.plan
          #expect(try found.keys == expected.map(\.key), "seed \(seed): \(plan)")
          #expect(try found.count == expected.count)
          let sorted = expected.sorted {
            $0.object.rating != $1.object.rating ? $0.object.rating > $1.object.rating : $0.rowID < $1.rowID
          }
          let page = try found.order(by: .descending(\.rating)).limit(4).offset(2).keys
          #expect(page == sorted.dropFirst(2).prefix(4).map(\.key))
        }
      }
    }
    try db.close()
  }
}
