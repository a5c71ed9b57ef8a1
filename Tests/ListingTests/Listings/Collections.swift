// The listings of `Compression` and `Persistable`.

import Quire

private struct Song: Codable, Sendable { var title: String }

enum CollectionListings {
  static func compressed() -> String {
    let songs = RowCollection<Song, NoMetadata>("songs", compression: .lz4(above: 256))
    return songs.name
  }
}

enum PersistableListing {
  struct Book: Persistable {
    static let collection = RowCollection<Book, NoMetadata>("books")
    var id: String
  }

  static func save(_ book: Book, _ db: Database) throws -> Book? {
    try book.save(in: db)
    let same = try Book.find("b1", in: db)
    return same
  }
}
