// The listings of “Views”, `AutoView`, `SearchView`, `SearchQueue`, `ViewMappings`, `ViewWindow`, `ViewDiff` and
// `ViewUpdates`.

import Quire

enum ViewListings {
  struct Song: Codable, Sendable { var title: String, albumID: String }
}

private typealias Song = ViewListings.Song

extension RowCollection where Object == Song, Metadata == NoMetadata {
  static var songs: Self { .init("songs") }
}

extension ViewListings {
  static func register(_ db: Database) throws {
    let byAlbum = AutoView(
      "songs.byAlbum", over: .songs, version: "1", group: \.albumID, sortKey: \.title)
    try db.register(byAlbum)
    try db.read { tx in
      let view = try tx.view(byAlbum)
      print(view.groups, view.count(in: "a1"))
      print(try view.object(at: 3, in: "a1")?.title ?? "", try view.position(of: "s1")?.index ?? 0)
    }
  }

  static func registerOnly(_ db: Database) throws -> AutoView<ViewListings.Song, NoMetadata> {
    let byAlbum = AutoView(
      "songs.byAlbum", over: .songs, version: "1", group: \.albumID, sortKey: \.title)
    try db.register(byAlbum)
    try db.read { tx in
      let view = try tx.view(byAlbum)
      print(view.groups, view.count(in: "a1"))
    }
    return byAlbum
  }

  static func show(_ db: Database, _ byAlbum: AutoView<ViewListings.Song, NoMetadata>) throws {
    let screen = try db.pin()
    var mappings = ViewMappings(byAlbum, groups: ["a1", "a2"])
    mappings.window["a1"] = .fixed(20)
    try screen.read { tx in try mappings.update(tx) }

    let diff = try screen.advance(&mappings)  // goes on to the newest snapshot
    print(diff.sections, diff.rows)  // what table and collection views take
  }

  static func follow(
    _ db: Database, _ byAlbum: AutoView<ViewListings.Song, NoMetadata>, _ titles: inout [[String?]]
  ) async throws {
    for try await update in try db.updates(of: ViewMappings(byAlbum, groups: ["a1", "a2"])) {
      titles = try await update.snapshot.read { [titles] tx in
        let view = try tx.view(byAlbum)
        return try update.diff.applied(to: titles) { path in try view.object(at: path, update.mappings)?.title }
      }
    }
  }

  static func advance(
    _ screen: PinnedSnapshot, _ byAlbum: AutoView<ViewListings.Song, NoMetadata>, _ mappings: inout ViewMappings,
    _ titles: inout [[String?]]
  ) throws {
    let diff = try screen.advance(&mappings)
    try screen.read { tx in
      let view = try tx.view(byAlbum)
      try diff.apply(to: &titles) { path in try view.object(at: path, mappings)?.title }
    }
  }

  static func map(_ screen: PinnedSnapshot) throws -> ViewDiff {
    var mappings = ViewMappings(view: "songs.byAlbum", groups: ["a1", "a2"])
    mappings.hidesEmpty.all = true  // no section for a group without rows
    mappings.window["a1"] = .fixed(20)  // its first 20 rows only
    try screen.read { tx in try mappings.update(tx) }  // before anything else
    let diff = try screen.advance(&mappings)  // from here on, in one step with the pinned snapshot
    return diff
  }

  static func advance(
    _ screen: PinnedSnapshot, _ inbox: inout ViewMappings, _ thread: inout ViewMappings,
    _ threads: RowCollection<ViewListings.Song, NoMetadata>
  ) throws {
    try screen.advance { step, tx in
      let inboxDiff = try inbox.advance(step, tx)
      let threadDiff = try thread.advance(step, tx)
      let isHeaderStale = step.commits.hasChanges(forKey: "t1", in: threads)
      print(inboxDiff.rows, threadDiff.rows, isHeaderStale)
    }
  }

  static func search(_ db: Database, _ byAlbum: AutoView<ViewListings.Song, NoMetadata>) throws {
    let found = SearchView("songs.found", of: byAlbum)
    try db.register(found)
    try db.write { tx in try tx.access(to: found).search(RowCollection.songs.query { $0.title.hasPrefix("The") }) }
  }

  static func search(
    _ db: Database, _ found: SearchView<ViewListings.Song, NoMetadata>, _ queue: SearchQueue, _ typed: String
  ) async throws {
    queue.abort(rollingBack: false)  // what is searched for at the moment is out of date
    queue.enqueue(RowCollection.songs.query { $0.title.hasPrefix(typed) })
    try await db.write { tx in try tx.access(to: found).search(from: queue) }
  }

  static func setWindows(_ mappings: inout ViewMappings) {
    mappings.window["inbox"] = .fixed(50)  // always the first 50 rows
    mappings.window["chat"] = .flexible(50, from: .end, max: 200)  // the last 50, and those that come
  }
}
