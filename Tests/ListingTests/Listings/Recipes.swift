// The listings of “Recipes”. `TutorialTests` runs them.

import Foundation
import Quire

struct Letter: Codable, Sendable, Equatable {
  var box: String
  var subject: String
  var date: Date
  var isRead = false
  var deletionDate: Date?
}

struct Member: Codable, Sendable {
  var name: String
  var email: String
}

struct Counter: Codable, Sendable {
  var value = 0
}

struct Session: Codable, Sendable {
  var person: String
  var end: Date
}

extension RowCollection where Object == Letter, Metadata == NoMetadata {
  static var letters: Self { .init("letters") }
}

extension RowCollection where Object == Member, Metadata == NoMetadata {
  static var members: Self { .init("members") }
}

extension RowCollection where Object == Counter, Metadata == NoMetadata {
  static var counters: Self { .init("counters") }
}

extension RowCollection where Object == Session, Metadata == NoMetadata {
  static var sessions: Self { .init("sessions") }
}

enum MailViews {
  static let boxes = AutoView<Letter, NoMetadata>(
    "letters.boxes", over: .letters, version: "1",
    group: { letter in letter.deletionDate == nil ? letter.box : nil }, sortKey: { Descending($0.date) })

  static let unread = FilteredView("letters.unread", of: boxes, version: "1", filter: .byField(\.isRead) { !$0 })
}

extension Indexes where Object == Member, Metadata == NoMetadata {
  static var members: Self { Indexes("members.indexes", over: .members) { Index("email", \.email).unique() } }
}

extension Indexes where Object == Session, Metadata == NoMetadata {
  static var sessions: Self { Indexes("sessions.indexes", over: .sessions) { Index("end", \.end) } }
}

enum Recipes {
  static func page(_ tx: ReadTransaction, after last: String?) -> [(key: String, letter: Letter)] {
    let rows = tx[.letters].rows(from: last.map { $0 + "\0" }, upTo: nil)
    return rows.prefix(20).map { row in (row.key, row.object) }
  }

  static func page(_ tx: ReadTransaction, _ number: Int, in box: String) throws -> [String] {
    let view = try tx.view(MailViews.boxes)
    let first = number * 20
    guard first < view.count(in: box) else { return [] }
    return try view.rows(in: box, first..<min(first + 20, view.count(in: box))).map { try $0.row.object.subject }
  }

  static func unreadCount(_ tx: ReadTransaction, in box: String) throws -> Int {
    try tx.view(MailViews.unread).count(in: box)
  }

  static func delete(_ key: String, _ db: Database) async throws {
    try await db.write { tx in try tx[.letters].update(key) { letter in letter.deletionDate = Date() } }
  }

  static func undelete(_ key: String, _ db: Database) async throws {
    try await db.write { tx in try tx[.letters].update(key) { letter in letter.deletionDate = nil } }
  }

  static func empty(_ db: Database, before date: Date) async throws -> Int {
    try await db.write { tx in
      let old = try tx[.letters].find { $0.deletionDate < date }.keys
      return try tx[.letters].remove(old)
    }
  }

  static func signUp(_ person: Member, _ key: String, _ db: Database) async throws -> Bool {
    do {
      try await db.write { tx in try tx[.members].set(person, for: key) }
      return true
    } catch let error as DatabaseError {
      guard case .notUnique? = error.cause as? IndexError else { throw error }
      return false
    }
  }

  static func next(_ name: String, _ db: Database) async throws -> Int {
    try await db.write { tx in
      var counter = try tx[.counters].get(name) ?? Counter()
      counter.value += 1
      try tx[.counters].set(counter, for: name)
      return counter.value
    }
  }

  static func expire(_ db: Database, now: Date) async throws -> Int {
    var count = 0
    while true {
      let removed = try await db.write { tx in
        try tx[.sessions].remove(tx[.sessions].find { $0.end < now }.order(by: \.end).limit(500).keys)
      }
      count += removed
      if removed < 500 { return count }
    }
  }

  static func importLetters(_ letters: [Letter], _ db: Database, progress: @Sendable (Double) -> Void) async throws {
    var first = 0
    while first < letters.count {
      try Task.checkCancellation()
      let end = min(first + 1_000, letters.count)
      let batch = letters[first..<end]
      try await db.write { tx in
        for (place, letter) in zip(batch.indices, batch) { try tx[.letters].set(letter, for: "l\(1_000_000 + place)") }
      }
      first = end
      progress(Double(end) / Double(letters.count))
    }
  }

  static func attachments(in folder: URL) -> Relationship<Never> {
    var files = Relationship("attachments")
    let remove = files.fileRemoval
    files.fileRemoval = { name in try remove(folder.appendingPathComponent(name).path) }
    return files
  }

  static func attach(
    _ bytes: Data, to key: String, _ db: Database, _ files: Relationship<Never>, in folder: URL
  ) async throws {
    let name = UUID().uuidString
    let path = folder.appendingPathComponent(name).path
    guard FileManager.default.createFile(atPath: path, contents: bytes), let file = FileHandle(forUpdatingAtPath: path)
    else { throw CocoaError(.fileWriteUnknown) }
    try file.synchronize()
    try file.close()
    try await db.write { tx in
      let edge = Edge("file", from: .letters, key, toFile: name, rules: .deleteDestinationIfSourceDeleted)
      try tx.relationship(files).add(edge)
    }
  }

  static func backUp(_ db: Database, to path: String) async throws {
    try await db.backup(to: path)
  }

  static func restore(_ copy: String, to file: String) throws -> Database {
    try FileManager.default.copyItem(atPath: copy, toPath: file)
    let db = try Database(at: file)
    try db.verify()
    return db
  }

  static func testDatabase() throws -> Database {
    try Database.inMemory(extensions: [MailViews.boxes, MailViews.unread])
  }
}
