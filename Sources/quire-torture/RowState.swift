// What a database of the torture of rows has to show: plain dictionaries.

import QuireDatabase

/// What is wrong, in a sentence.
struct RowFinding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The rows after some commit, and what relationships know of them.
struct RowState: Sendable {
  struct Row: Equatable, Sendable {
    var row: TortureRow
    var metadata: Int?
  }

  var rows: [String: Row] = [:]
  var documents: [String: TortureRow] = [:]
  var notes: [String: String] = [:]
  var covers: [String: Cover] = [:]
  var secrets: [String: TortureRow] = [:]
  /// What no walk over rows shows.
  var edges = RowEdges()

  init() {}

  /// What a snapshot shows.
  init(_ tx: ReadTransaction, isUpgraded: Bool, _ secrets: RowSecrets) throws {
    for row in tx[.rows].rows { rows[row.key] = Row(row: row.object, metadata: row.metadata) }
    for row in tx[.documents].rows { documents[row.key] = row.object }
    for row in tx[.covers].rows { covers[row.key] = row.object }
    if isUpgraded {
      for row in tx[.notes].rows {
        notes[row.key] = row.object.text
        guard row.object.length == row.object.text.utf8.count else {
          throw RowFinding("note \(row.key) has the length \(row.object.length) and the text “\(row.object.text)”")
        }
      }
    } else {
      for row in tx[.oldNotes].rows { notes[row.key] = row.object.text }
    }
    self.secrets = try secrets.rows(tx)
    // A loop cannot throw: an error in it is thrown by the next call.
    let counts = try [
      tx[.rows].count(prefix: ""), tx[.documents].count(prefix: ""), tx.values(in: "notes").count(),
      tx[.covers].count(prefix: ""), RowSecrets.isOn ? tx.values(in: "secrets").count() : 0,
    ]
    let walked = [rows.count, documents.count, notes.count, covers.count, self.secrets.count]
    guard counts == walked else { throw RowFinding("there are \(counts) rows by count, and \(walked) by walk") }
  }

  /// Where it shows other rows than another one, in a few words; nil if it shows the same.
  func difference(from other: RowState) -> String? {
    func differing<Value: Equatable>(_ name: String, _ path: (RowState) -> [String: Value]) -> String? {
      let (one, two) = (path(self), path(other))
      if one == two { return nil }
      let keys = Set(one.keys).union(two.keys).filter { one[$0] != two[$0] }.sorted()
      return "\(name) \(keys.prefix(5).joined(separator: " "))"
    }
    let all = [
      differing("rows", \.rows), differing("documents", \.documents), differing("notes", \.notes),
      differing("covers", \.covers), differing("secrets", \.secrets),
    ].compactMap { $0 }
    return all.isEmpty ? nil : all.joined(separator: ", ")
  }

  /// The files that covers name.
  var files: Set<String> { Set(covers.values.flatMap(\.files)) }
}

/// What two relationships must know: one of rows and the rows that they name, one of covers, their owners and files.
///
/// An edge to a row that is not there is not stored, and comes only when its object is asked again. So which edges
/// there are depends on what objects were stored since.
struct RowEdges: Sendable {
  enum Parents: Sendable, Equatable {
    /// Where the edge of each row leads.
    case known([String: String])
    /// Rows have changed that the relationship was not told of: all are to be asked when it is registered.
    case stale
    /// Registering it was cut off or failed: it may have been built, or be as before; nil if that was stale.
    case unsure([String: String]?)
  }

  var parents = Parents.stale
  /// The rows that were stored in the transaction that runs.
  var asked: Set<String> = []
  /// The files that the relationship has edges to, for certain.
  var files: Set<String> = []
  /// The files that it has to delete, or has deleted.
  var owed: Set<String> = []
}

extension RowState {
  /// The edges that rows would have if all were asked.
  var allParents: [String: String] {
    rows.mapValues(\.row.parent).filter { !$0.value.isEmpty && rows[$0.value] != nil }
  }

  /// Ends a transaction that began with `old`, or, if nil, registering a relationship: applies its rules.
  mutating func settle(_ old: RowState, _ registered: Set<TortureExtension>) {
    if registered.contains(.graph), case .known(let before) = old.edges.parents {
      edges.parents = .known(
        allParents.filter { key, parent in edges.asked.contains(key) || before[key] == parent })
    } else if !edges.asked.isEmpty || rows != old.rows {
      edges.parents = .stale
    }
    edges.asked = []
    if registered.contains(.files) { settleCovers() }
  }

  /// Applies the rules of covers: who names an owner that is not there goes, and files go that nobody names any more.
  mutating func settleCovers() {
    covers = covers.filter { $0.value.owner.isEmpty || rows[$0.value.owner] != nil }
    let files = files
    edges.owed = edges.owed.union(edges.files).subtracting(files)
    edges.files = files
  }
}
