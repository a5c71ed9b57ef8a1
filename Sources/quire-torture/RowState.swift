// What a database of the torture of rows has to show: plain dictionaries.

import QuireDatabase

/// What is wrong, in a sentence.
struct RowFinding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The rows after some commit.
struct RowState: Equatable, Sendable {
  struct Row: Equatable, Sendable {
    var row: TortureRow
    var metadata: Int?
  }
  typealias Rows = [String: Row]

  var rows: Rows = [:]
  var documents: [String: TortureRow] = [:]
  var notes: [String: String] = [:]

  init() {}

  /// What a snapshot shows.
  init(_ tx: ReadTransaction, isUpgraded: Bool) throws {
    for row in tx[.rows].rows { rows[row.key] = Row(row: row.object, metadata: row.metadata) }
    for row in tx[.documents].rows { documents[row.key] = row.object }
    if isUpgraded {
      for row in tx[.notes].rows { notes[row.key] = row.object.text }
    } else {
      for row in tx[.oldNotes].rows { notes[row.key] = row.object.text }
    }
    // A loop cannot throw: an error in it is thrown by the next call.
    let counts = try [tx[.rows].count(prefix: ""), tx[.documents].count(prefix: ""), tx.values(in: "notes").count()]
    guard counts == [rows.count, documents.count, notes.count] else {
      throw RowFinding(
        "there are \(counts) rows by count, and \(rows.count), \(documents.count), \(notes.count) by walk")
    }
  }

  /// Where it differs from another one, in a few words.
  func difference(from other: RowState) -> String {
    func differing<Value: Equatable>(_ one: [String: Value], _ two: [String: Value]) -> [String] {
      Set(one.keys).union(two.keys).filter { one[$0] != two[$0] }.sorted()
    }
    let keys = [
      differing(rows, other.rows), differing(documents, other.documents), differing(notes, other.notes),
    ]
    return "rows \(keys[0].prefix(5)), documents \(keys[1].prefix(5)), notes \(keys[2].prefix(5))"
  }
}
