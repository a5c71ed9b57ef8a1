// Search views of joins: rows come and go by changes of other rows, and of edges alone.

import Foundation
import Quire
import QuireTesting
import Testing

private typealias Track = JoinedTrack
private typealias Record = JoinedRecord

@Suite struct JoinSearchTests {
  private let byRating = AutoView<Track, NoMetadata>(
    "byRating", over: .tracks, group: { "r\($0.rating)" }, sortKey: { $0.albums.count })

  /// Views of the same search that hear of different things: the first one of edges before it is asked.
  private var views: [SearchView<Track, NoMetadata>] {
    [
      SearchView("ofView", of: byRating, reading: ["onRecord"]),
      SearchView("own", over: [.tracks], grouping: .byObject { "r\($0.rating)" }, sorting: .byKey()),
    ]
  }

  private func keys(_ tx: ReadTransaction, _ view: SearchView<Track, NoMetadata>) throws -> Set<String> {
    let shown = try tx.view(view)
    return Set(shown.groups.flatMap { group in shown.rows(in: group).map(\.row.key) })
  }

  @Test(arguments: TestSize.some(UInt64(1)...6, of: 2)) func searchViewsFollowJoins(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let db = try Database.inMemory()
    try db.register(onRecord)
    try db.register(byRating)
    for view in views { try db.register(view) }
    let query = RowCollection.tracks.query {
      $0.rating >= 2 && $0.hasEdge("on", of: onRecord, to: .records) { $0.year < 4 }
    }
    #expect(query.dependsOnOtherRows)
    try db.write { tx throws in for view in views { try tx.access(to: view).search(query) } }
    var sizes: Set<Int> = []
    for _ in 0..<60 {
      try db.write { tx throws in
        for _ in 0..<1 + random.below(4) {
          let (track, record) = ("t\(random.below(20))", "r\(random.below(8))")
          switch random.below(7) {
          case 0...1: try tx[.records].set(Record(year: random.below(8)), for: record)
          case 2: try tx[.records].remove(record)
          case 3: try tx[.tracks].remove(track)
          default: try tx[.tracks].set(Track(rating: random.below(5), albums: [record]), for: track)
          }
        }
      }
      try db.read { tx throws in
        let wanted = Set(try tx.find(query).keys)
        for view in views { #expect(try keys(tx, view) == wanted, "\(view.name) with seed \(seed)") }
        sizes.insert(wanted.count)
      }
    }
    #expect(sizes.count > 3)
  }

  /// An edge that no row tells of.
  @Test func anEdgeBringsARowIn() throws {
    let db = try Database.inMemory()
    try db.register(onRecord)
    try db.register(byRating)
    for view in views { try db.register(view) }
    let query = RowCollection.tracks.query { $0.hasEdge("likes", of: onRecord, to: .records) { $0.year < 4 } }
    try db.write { tx throws in
      try tx[.records].set(Record(year: 1), for: "r")
      try tx[.tracks].set(Track(rating: 3, albums: []), for: "t")
      for view in views { try tx.access(to: view).search(query) }
    }
    let pin = try db.pin()
    try db.write { tx throws in
      try tx.relationship(onRecord).add(Edge("likes", from: .tracks, "t", to: .records, "r"))
    }
    let commits = try pin.advance()
    for view in views {
      #expect(try db.read { tx in try keys(tx, view) } == ["t"])
      #expect(commits.contains { $0.hasChanges(in: view) })
    }
  }
}
