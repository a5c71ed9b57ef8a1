// The listings about rows and those who look at them: those of “The database”, “Compression”, “Observation” and
// “Changing types and names”, of `Database`, `CommitStream`, `PinnedSnapshot`, `Hooks`, and of what they do at length.

import Quire

/// What the rows hold.
struct RowListingSong: Codable, Sendable { var title: String }

private typealias Song = RowListingSong

extension RowCollection where Object == Song, Metadata == NoMetadata {
  static var songs: Self { .init("songs") }
}

func title(of key: String, in tx: some TransactionReading) throws -> String? {
  try tx.rows(of: .songs).get(key)?.title
}

/// What shows a text.
final class Label { var text = "" }

enum RowListings {
  static func open(_ path: String, _ song: RowListingSong) throws -> RowListingSong? {
    let db = try Database(at: path)
    try db.write { tx in try tx[.songs].set(song, for: "s1") }
    let stored = try db.read { tx in try tx[.songs].get("s1") }
    return stored
  }

  static func load(_ db: Database, _ songs: [(String, RowListingSong)]) throws -> Int {
    let more = try db.write { tx in
      try tx[.songs].load(songs) { progress in print(progress.fraction) }
    }
    return more
  }

  static func follow(_ db: Database, reload: () -> Void) async throws {
    for try await commit in db.commits {
      if commit.changes.hasChanges(forKey: "s1", in: .songs) { reload() }
    }
  }

  static func observe(_ db: Database, _ label: Label) async throws {
    for try await count in db.observe({ tx in tx[.songs].count }) {
      label.text = "\(count) songs"
    }
  }

  static func pin(_ db: Database) throws -> [Commit] {
    let screen = try db.pin()
    let commits = try screen.advance()
    return commits
  }

  static func ask(_ screen: PinnedSnapshot, _ shown: Set<String>, reload: () -> Void) throws {
    let commits = try screen.advance()
    if commits.hasChanges(forAnyOf: shown, in: .songs, .object) { reload() }
  }

  static func hook(_ db: Database) throws {
    var hooks = Hooks("audit", collections: .only(["songs"]))
    hooks.didModify = { tx, change, flags in print(change.key, flags) }
    try db.register(hooks)
  }

  static func train(_ db: Database) async throws {
    let gain = try await db.trainDictionary(for: .songs) { progress in print(progress.fraction) }
    print(gain.byteCountBefore, gain.byteCountAfter, gain.isKept)
  }

  static func trainInSilence(_ db: Database) async throws -> DictionaryGain {
    let gain = try await db.trainDictionary(for: .songs)
    return gain
  }

  static func rewrite(_ db: Database) async throws {
    try await db.rewriteRows(of: .songs) { progress in print(progress.fraction) }
  }

  static func rewriteWithResult(_ db: Database) async throws -> RowRewrite {
    let result = try await db.rewriteRows(of: .songs) { progress in print(progress.fraction) }
    return result
  }

  static func play(_ tx: WriteTransaction) throws -> RowValue {
    var song = try tx.values(in: "songs").row("s1")?.object.value ?? .record([])
    song["plays"] = .integer((song["plays"]?.integer ?? 0) + 1)
    return song
  }

  static func forget(_ tx: WriteTransaction) throws {
    try tx.values(in: "songs").update("s1") { song in song["plays"] = 0 }
  }

  static func copy(_ song: StoredHalf, _ notes: CollectionNotes, _ tx: WriteTransaction) throws {
    try tx.values(in: "songs", as: notes).set(song, for: "s1")
  }
}
