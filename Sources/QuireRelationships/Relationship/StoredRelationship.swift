// What the file says of relationships, for tools that know no types of rows.

public import QuireDatabase

/// A relationship as it is stored, whether it is registered or not.
///
/// For the thread and the life of its transaction. Nothing of the app's is needed or run: edges are told as they stand.
/// All calls may throw `transactionClosed`, `damagedPage`, `damagedRow` and `inputOutput`.
public struct StoredRelationship {
  /// One end of an edge.
  public enum End: Hashable, Sendable {
    /// A row.
    case row(RowKey)
    /// A row that is no more: it was removed while the relationship was not registered, or what is stored is damaged.
    case lostRow(RowID)
    /// A file, by its path.
    case file(String)
  }

  /// One edge.
  public struct Edge: Hashable, Sendable {
    /// What it is found by.
    public let name: String
    /// The row where it begins.
    public let source: End
    /// The row or the file where it leads.
    public let destination: End
    /// What happens when an end goes.
    public let rules: EdgeRules
    /// Whether it came from an object.
    public let isDerived: Bool
  }

  /// What is known of the extension that has it.
  public let status: ExtensionStatus
  /// The number of edges.
  public let edgeCount: Int
  private let trees: EdgeTrees

  init(_ stored: StoredExtension) throws {
    status = stored.status
    trees = try EdgeTrees(stored.store)
    edgeCount = try trees.byName.count
  }

  /// The names of edges, in the order of their bytes, with the numbers of edges that have them. O(names · log edges).
  public func names() throws -> [(name: String, edges: Int)] {
    var all: [(name: String, edges: Int)] = []
    let cursor = try trees.names.cursor()
    while try cursor.next() {
      guard let key = cursor.key, let name = String(validating: key, as: UTF8.self),
        let number = try trees.number(of: name)
      else { throw trees.damaged() }
      all.append((name, try trees.count(.byName, StoredEdge.prefix(number))))
    }
    return all
  }

  /// Calls `body` with the edges of a name, with a source, with a destination, until it returns false; what is nil is
  /// not asked for. By the numbers of names and rows. O(log n), and a step and two look-ups of rows for each.
  public func forEachEdge(
    named name: String? = nil, from source: RowKey? = nil, to destination: EdgeDestination? = nil,
    _ body: (Edge) throws -> Bool
  ) throws {
    let (order, prefixes) = try GraphHandle(trees: trees, writer: nil).ranges(name, source, destination)
    for prefix in prefixes {
      let cursor = try trees[order].cursor()
      var isOnEntry = try cursor.seek(prefix)
      while isOnEntry, let entry = try cursor.entry, entry.key.starts(with: prefix) {
        guard try body(edge(try trees.edge(order, entry))) else { return }
        isOnEntry = try cursor.next()
      }
    }
  }

  /// What is wrong with what is stored, up to a limit: edges whose rows are no more, and where the trees of edges and
  /// names do not agree. Nothing of a relationship that is not ready: its edges are looked at anew when it is
  /// registered. O(n log n), and reads no row but its key.
  public func defects(limit: Int = 100) throws -> [DatabaseError] {
    guard status.state == .ready, limit > 0 else { return [] }
    var found: [DatabaseError] = []
    do {
      // Lost rows are told below, each with its edge.
      try trees.checkInvariants { _ in true }
      try trees.checkSettled()
      try forEachEdge { edge in
        if let lost = lostRow(of: edge) { found.append(lost) }
        return found.count < limit
      }
    } catch let error as DatabaseError {
      found.append(error)
    }
    return found
  }

  private func lostRow(of edge: Edge) -> DatabaseError? {
    for (end, what) in [(edge.source, "source"), (edge.destination, "destination")] {
      guard case .lostRow(let rowID) = end else { continue }
      var other: RowKey?
      for case .row(let key) in [edge.source, edge.destination] { other = key }
      return DatabaseError(
        .damagedRow,
        """
        In the relationship “\(status.name)” an edge “\(edge.name)” has row \(rowID.rawValue) as its \(what), which \
        does not exist. Unregister the relationship, and register it again; edges made by hand have to be made again.
        """, collection: other?.collection, key: other?.key)
    }
    return nil
  }

  private func edge(_ stored: StoredEdge) throws -> Edge {
    let destination: End =
      switch stored.destination {
      case .row(let row): try end(row)
      case .file(let path): .file(String(decoding: path, as: UTF8.self))
      }
    return Edge(
      name: try trees.name(of: stored.name), source: try end(stored.source), destination: destination,
      rules: stored.rules, isDerived: stored.isDerived)
  }

  private func end(_ row: Int64) throws -> End {
    let rowID = RowID(row)
    guard row > 0, let key = try trees.store.readTransaction.key(of: rowID) else { return .lostRow(rowID) }
    return .row(key)
  }
}

extension ReadTransaction {
  /// The relationships that are stored, whether they are registered or not, in the order of their names' bytes.
  ///
  /// - Throws: `transactionClosed`, `damagedRow`, `damagedPage`, `inputOutput`.
  public func storedRelationships() throws -> [StoredRelationship] {
    try storedExtensions()
      .filter {
        $0.status.kind == RelationshipSettings.kind && $0.formatVersion == Relationship<Never>.formatVersion
      }
      .map { try StoredRelationship($0) }
  }
}
