// The listings of “Writing extensions”.

import Quire

enum ExtensionListings {
  struct Song: Codable, Equatable, Sendable { var title: String }
  struct PlayState: Codable, Equatable, Sendable { var plays: Int }
}

private typealias Song = ExtensionListings.Song
private typealias PlayState = ExtensionListings.PlayState

extension RowCollection where Object == Song, Metadata == PlayState {
  static var songs: Self { .init("songs") }
}

struct WordIndex: DatabaseExtension {
  static let kind = "com.example.wordIndex"
  let name = "songs.words"
  let version = "1"
  let collections = CollectionFilter.only(["songs"])
  let halves = ChangedHalves.object

  func makeReader(_ store: ExtensionStore) throws -> WordTrees { try WordTrees(store) }
  func makeWriter(_ store: ExtensionStore) throws -> WordWriter { try WordWriter(store) }
}

struct WordTrees {
  let entries: ExtensionTree<[UInt8]>
  let titles: ExtensionTree<RowID>

  init(_ store: ExtensionStore) throws {
    entries = try store.tree("entries", of: [UInt8].self)
    titles = try store.tree("titles", of: RowID.self)
  }

  func rows(with word: String) throws -> [RowID] {
    let prefix = Array(word.utf8) + [0]
    let cursor = try entries.cursor()
    var rows: [RowID] = []
    var isOnEntry = try cursor.seek(prefix)
    while isOnEntry, let key = cursor.key, key.starts(with: prefix) {
      if let rowID = RowID(orderedBytes: Array(key.dropFirst(prefix.count))) { rows.append(rowID) }
      isOnEntry = try cursor.next()
    }
    return rows
  }
}

final class WordWriter: ExtensionWriter {
  let store: ExtensionStore
  let trees: WordTrees

  init(_ store: ExtensionStore) throws {
    self.store = store
    trees = try WordTrees(store)
  }

  func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

  func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    if let old = try trees.titles.value(for: rowID) {
      for word in words(old) { try trees.entries.remove(word + [0] + rowID.orderedBytes) }
      try trees.titles.remove(rowID)
    }
    guard change.kind != .remove, let song = try change.object(in: .songs) else { return }
    let title = Array(song.title.lowercased().utf8)
    for word in words(title) { try trees.entries.put([], for: word + [0] + rowID.orderedBytes) }
    try trees.titles.put(title, for: rowID)
  }

  private func words(_ title: [UInt8]) -> Set<[UInt8]> {
    Set(title.split(separator: UInt8(ascii: " ")).map(Array.init))
  }
}

extension ExtensionListings {
  static func search(_ db: Database) throws {
    try db.register(WordIndex()) { progress in print(progress.fraction) }
    try db.read { tx in
      for rowID in try tx.access(to: WordIndex()).rows(with: "train") { print(try tx.key(of: rowID)?.key ?? "") }
    }
  }
}

/// Decoding rows that a hook is told of.
func lookAt(_ change: RowChange, _ store: ExtensionStore) throws {
  let rows = FamilyRows(CollectionFamily([.songs]), store)
  guard let song = try rows.row(change)?.object else { return }
  _ = song.title
}
