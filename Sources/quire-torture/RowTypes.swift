// The rows of the lives that `quire-torture rows` leads, and what is registered over them.

import QuireDatabase
import QuireIndexes
import QuireRelationships
import QuireTesting
import QuireViews

/// A row with a field of each kind that extensions look at, and one that may be long.
struct TortureRow: Codable, Sendable, Equatable {
  var title: String
  var group: Int
  var weight: Double?
  var tags: [String]
  /// The key of another row; empty for none.
  var parent: String
  var payload: [UInt8]

  /// A row of any size between a few bytes and several pages.
  static func random(_ random: inout SeededRandom) -> TortureRow {
    let length = random.oneIn(12) ? random.below(12_000) : random.below(200)
    // Half of what is long can be compressed.
    let payload =
      random.oneIn(2)
      ? [UInt8](repeating: 7, count: length)
      : (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    return TortureRow(
      title: "title \(random.below(20)) \(String(repeating: "and so on ", count: random.below(12)))",
      group: random.below(6), weight: random.oneIn(3) ? nil : Double(random.below(50)) / 4,
      tags: (0..<random.below(4)).map { _ in "tag\(random.below(8))" },
      parent: random.oneIn(3) ? "" : "k\(random.below(RowLife.keyCount))", payload: payload)
  }
}

/// A row of a program before its upgrade.
struct OldNote: Codable, Sendable, Equatable { var text: String }

/// The same row today.
struct Note: Codable, Sendable, Equatable {
  var text: String
  var length: Int

  init(_ text: String) {
    self.text = text
    length = text.utf8.count
  }
}

extension RowCollection where Object == TortureRow, Metadata == Int {
  static var rows: Self { .init("rows") }
}

extension RowCollection where Object == TortureRow, Metadata == NoMetadata {
  static var documents: Self { .init("documents", coder: .json, compression: .lz4(above: 100)) }
}

extension RowCollection where Object == OldNote, Metadata == NoMetadata {
  static var oldNotes: Self { .init("notes") }
}

extension RowCollection where Object == Note, Metadata == NoMetadata {
  static var notes: Self { .init("notes", coder: .binary.upgrading(from: OldNote.self) { Note($0.text) }) }
}

/// What may be registered, one after the other.
enum TortureExtension: Int, CaseIterable, Sendable {
  case indexes, view, graph

  static let indexList = Indexes<TortureRow, Int>("indexes", over: .rows, version: "1") {
    Index("group-title", \.group, \.title)
    Index("tags", each: \.tags)
    Index("weight", .descending(\.weight)).where { $0.group > 1 }
  }
  static let sorted = AutoView<TortureRow, Int>(
    "sorted", over: .rows, version: "1", group: { $0.group == 5 ? nil : "group \($0.group)" }, sortKey: { $0.title })
  static let parents = Relationship<TortureRow>("parents", over: .rows, version: "1") { row in
    row.parent.isEmpty ? [] : [Edge("parent", to: .rows, key: row.parent)]
  }

  var name: String {
    switch self {
    case .indexes: Self.indexList.name
    case .view: Self.sorted.name
    case .graph: Self.parents.name
    }
  }

  func register(in db: Database) throws {
    switch self {
    case .indexes: try db.register(Self.indexList)
    case .view: try db.register(Self.sorted)
    case .graph: try db.register(Self.parents)
    }
  }

  /// Whether what it has stored is what the rows say; and what it finds, beside a model.
  func check(_ db: Database, _ rows: RowState.Rows) throws {
    switch self {
    case .indexes:
      try db.read { tx in
        try tx.access(to: Self.indexList).verify()
        for group in 0..<6 {
          let keys = try tx[.rows].find { $0.group == group }.keys.sorted()
          let expected = rows.filter { $0.value.row.group == group }.keys.sorted()
          if keys != expected { throw RowFinding("the index finds \(keys) in group \(group), not \(expected)") }
        }
      }
    case .view:
      try db.verify(Self.sorted)
      let found = try db.read { tx in
        try tx.view(Self.sorted).count
      }
      let expected = rows.count { $0.value.row.group != 5 }
      if found != expected { throw RowFinding("the view has \(found) rows, not \(expected)") }
    case .graph:
      try db.read { tx in
        let graph = try tx.relationship(Self.parents)
        try graph.checkInvariants()
        let found = Array(graph.edges(named: "parent")).count
        _ = try tx[.rows].contains("")
        let most = rows.count { !$0.value.row.parent.isEmpty }
        if found > most { throw RowFinding("there are \(found) edges, of \(most) rows with a parent") }
      }
    }
  }
}
