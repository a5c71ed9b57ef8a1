// What is registered over the rows of the lives of `quire-torture rows`, and what each must find.

import QuireDatabase
import QuireFullText
import QuireIndexes
import QuireRelationships
import QuireTesting
import QuireViews

/// What may be registered, one after the other.
enum TortureExtension: Int, CaseIterable, Sendable {
  case indexes, view, graph, files, fullText

  static let indexList = Indexes<TortureRow, Int>("indexes", over: .rows, version: "1") {
    Index("group-title", \.group, \.title)
    Index("tags", each: \.tags)
    Index("weight", .descending(\.weight)).where { $0.group > 1 }
  }
  static let sorted = AutoView<TortureRow, Int>(
    "sorted", over: .rows, version: "1", group: { $0.group == 5 ? nil : "group \($0.group)" }, sortKey: { $0.title })
  static let parents = parents(forgets: false)
  static let covers = Relationship<Cover>("files", over: .covers, version: "1") { cover in
    let owner = Edge("of", to: .rows, key: cover.owner, rules: .deleteSourceIfDestinationDeleted)
    let files = cover.files.map { path in
      Edge(
        "file", toFile: path,
        rules: cover.isShared ? .deleteDestinationIfAllSourcesDeleted : .deleteDestinationIfSourceDeleted)
    }
    return (cover.owner.isEmpty ? [] : [owner]) + files
  }

  private static func parents(forgets: Bool) -> Relationship<TortureRow> {
    Relationship<TortureRow>("parents", over: .rows, version: "1") { row in
      row.parent.isEmpty || forgets && row.group == 3 ? [] : [Edge("parent", to: .rows, key: row.parent)]
    }
  }

  var name: String {
    switch self {
    case .indexes: Self.indexList.name
    case .view: Self.sorted.name
    case .graph: Self.parents.name
    case .files: Self.covers.name
    case .fullText: Self.texts.name
    }
  }

  /// Registers it. Returns whether it was built, if it says so.
  func register(in db: Database, _ disk: SimulatedDisk, _ control: RowControl?) throws -> Bool {
    switch self {
    case .indexes: try db.register(Self.indexList)
    case .view: try db.register(Self.sorted)
    case .graph: return try db.register(Self.parents(forgets: control == .edges)).wasBuilt
    case .files:
      var covers = Self.covers
      covers.fileRemoval = { path in try Self.remove(path, disk, control) }
      return try db.register(covers).wasBuilt
    case .fullText: try db.register(Self.texts(forgets: control == .words))
    }
    return false
  }

  /// Deletes a file of the simulated disk as relationships delete files of the system's.
  private static func remove(_ path: String, _ disk: SimulatedDisk, _ control: RowControl?) throws {
    if control == .leftFiles { return }
    // A name that has gone goes once more, as no sync writes what a failed one forgot.
    if !disk.exists(path) { try disk.open(path, .createNew).close() }
    try disk.unlink(path)
    if control != .unsyncedFiles { try disk.synchronizeDirectory(of: path) }
  }

  /// Whether what it has stored is what the rows say; and what it finds, beside a model.
  func check(_ db: Database, _ state: RowState) throws {
    switch self {
    case .indexes: try Self.checkIndexes(db, state)
    case .view: try Self.checkView(db, state)
    case .graph:
      guard case .known(let expected) = state.edges.parents else { throw RowFinding("edges are told of no rows") }
      let found = try db.read { tx in
        let graph = try tx.relationship(Self.parents)
        try graph.checkInvariants()
        return try Self.edges(graph, named: "parent", tx)
      }
      try Self.compare(found, expected.map { "\($0) to rows/\($1)" }, "parents")
    case .files:
      let found = try db.read { tx in
        let graph = try tx.relationship(Self.covers)
        try graph.checkInvariants()
        return try Self.edges(graph, named: "of", tx) + Self.edges(graph, named: "file", tx)
      }
      let owners = state.covers.filter { !$0.value.owner.isEmpty }.map { "\($0) to rows/\($1.owner)" }
      let files = state.covers.flatMap { key, cover in Set(cover.files).map { "\(key) to \($0)" } }
      try Self.compare(found, owners + files, "covers")
    case .fullText: try Self.checkTexts(db, state)
    }
  }

  private static func edges(_ graph: ReadableGraph, named name: String, _ tx: ReadTransaction) throws -> [String] {
    let edges = Array(graph.edges(named: name))
    // A loop cannot throw: an error in it is thrown by the next call.
    _ = try tx[.rows].contains("")
    return edges.map { edge in
      let end =
        switch edge.destination {
        case .row(let key): "\(key.collection)/\(key.key)"
        case .file(let path): path
        }
      return "\(edge.source?.key ?? "nothing") to \(end)"
    }
  }

  private static func compare(_ found: [String], _ expected: [String], _ name: String) throws {
    let (found, expected) = (found.sorted(), expected.sorted())
    if found == expected { return }
    let (less, more) = (Set(expected).subtracting(found).sorted(), Set(found).subtracting(expected).sorted())
    throw RowFinding("edges of \(name): missing \(less.prefix(5)), too many \(more.prefix(5)), of \(expected.count)")
  }

  private static func checkIndexes(_ db: Database, _ state: RowState) throws {
    try db.read { tx in
      try tx.access(to: indexList).verify()
      for group in 0..<6 {
        let found = try tx[.rows].find { $0.group == group }.keys.sorted()
        try compare(found, state.rows.filter { $0.value.row.group == group }.map(\.key), "group \(group)")
      }
      for tag in ["tag0", "tag5"] {
        let found = try tx[.rows].find { $0.tags.contains(tag) }.keys.sorted()
        try compare(found, state.rows.filter { $0.value.row.tags.contains(tag) }.map(\.key), tag)
      }
    }
  }

  private static func checkView(_ db: Database, _ state: RowState) throws {
    try db.verify(sorted)
    try db.read { tx in
      let view = try tx.view(sorted)
      for group in 0..<5 {
        let rows = Array(view.rows(in: "group \(group)"))
        _ = try tx[.rows].contains("")
        let titles = rows.compactMap { state.rows[$0.row.key]?.row.title }
        try compare(
          rows.map(\.row.key), state.rows.filter { $0.value.row.group == group }.map(\.key), "the view's group \(group)"
        )
        if titles != titles.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
          throw RowFinding("the view's group \(group) is out of order")
        }
      }
    }
  }
}
