// The examples of the guide “Writing extensions”, as they stand there.

import QuireDatabase
import QuireTesting
import Testing

private struct WordIndex: DatabaseExtension {
  static let kind = "com.example.wordIndex"
  let name = "songs.words"
  let version = "1"
  let collections = CollectionFilter.only(["songs"])
  let parts = RowParts.object

  func makeReader(_ store: ExtensionStore) throws -> WordTrees { try WordTrees(store) }
  func makeWriter(_ store: ExtensionStore) throws -> WordWriter { try WordWriter(store) }
}

private struct WordTrees {
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

private final class WordWriter: ExtensionWriter {
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

@Suite struct GuideTests {
  @Test func theWordIndexOfTheGuideWorks() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try db.write { tx throws in
      try tx[.songs].set(Song("Blue Train"), for: "s1")
      try tx[.songs].set(Song("Take the A Train"), metadata: PlayState(plays: 1), for: "s2")
    }
    try db.register(WordIndex())
    func keys(_ word: String) throws -> [String] {
      try db.read { tx throws in
        try tx.access(to: WordIndex()).rows(with: word).compactMap { try tx.key(of: $0)?.key }
      }
    }
    #expect(try keys("train") == ["s1", "s2"])
    try db.write { tx throws in
      try tx[.songs].replace(Song("Blue in Green"), for: "s1")
      try tx[.songs].replaceMetadata(nil, for: "s2")
      try tx[.songs].set(Song("Night Train"), for: "s3")
    }
    #expect(try keys("train") == ["s2", "s3"])
    #expect(try keys("green") == ["s1"])
    try db.write { tx throws in try tx[.songs].remove("s2") }
    try db.close()
    db = try folder.open()
    try db.register(WordIndex())
    #expect(try keys("train") == ["s3"])
    try db.write { tx throws in try tx.removeAll() }
    #expect(try keys("train") == [])
    try db.close()
  }
}
