// The listings of the engine: of `StorageEngine` and of bulk loads.

import QuireStorage

enum StorageListings {
  static func open(_ path: String) throws -> String? {
    let engine = try StorageEngine(at: path)
    let songs = try engine.write { tx in try tx.createTree("songs", keys: .bytes) }
    try engine.write { tx in try tx.put("Blue Train", for: "s1", in: songs) }
    let title = try engine.read { tx in try tx.value(for: "s1", in: songs) }
    return title.map { title in String(decoding: title, as: UTF8.self) }
  }

  static func load(_ tx: borrowing WriteTransaction, _ songs: Tree, _ library: [(id: String, data: [UInt8])]) throws {
    try tx.bulkLoad(into: songs) { loader in
      for song in library { try loader.append(song.data, for: song.id) }
    }
  }

  static func deleteAlbum(_ tx: borrowing WriteTransaction, _ songs: Tree) throws {
    try tx.deleteRange(from: "album/17/", to: "album/17/~", in: songs)
  }

  static func lookUp(_ tx: borrowing ReadTransaction, _ rowIDs: [Int64], _ rows: Tree) throws {
    try tx.withValues(for: rowIDs, in: rows) { index, value in print(index, value?.byteCount ?? 0) }
  }
}
