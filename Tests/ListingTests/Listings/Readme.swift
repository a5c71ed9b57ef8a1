// The listing of README.md. `path` stands for the path that the document writes.

import Quire

enum Readme {
  struct Book: Codable, Sendable { var title: String, pages: Int }
}

private typealias Book = Readme.Book

extension RowCollection where Object == Book, Metadata == NoMetadata {
  static var books: Self { .init("books") }
}

extension Readme {
  static func run(_ path: String) throws -> String? {
    let db = try Database(at: path)
    try db.write { tx in try tx[.books].set(Book(title: "Moby-Dick", pages: 635), for: "b1") }  // durable
    let book = try db.read { tx in try tx[.books].get("b1") }
    try db.close()
    return book?.title
  }
}
