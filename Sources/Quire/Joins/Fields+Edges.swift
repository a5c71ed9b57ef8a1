// Conditions on the edges of rows: joins over relationships.

public import QuireDatabase
public import QuireIndexes
public import QuireRelationships

extension Fields {
  /// The rows from which an edge of a name leads to one of the rows of a query.
  ///
  /// ```swift
  /// let old = RowCollection.albums.query { $0.year < 1970 }
  /// let songs = tx[.songs].find { $0.rating >= 4 && $0.hasEdge("album", of: albumOf, to: old) }
  /// ```
  ///
  /// Edges of both domains count. Begins at the smaller side: with the rows of the inner query and the edges to them,
  /// which are counted, or with the rows that the rest of the condition leaves, and the edges from these. A name that
  /// no edge has is no error: no row has such an edge.
  ///
  /// Results throw `extensionNotRegistered` where the relationship is not registered, and `extensionNotReady` in a
  /// snapshot that has not all of it.
  public func hasEdge<Source, Other, OtherMetadata>(
    _ name: String, of relationship: Relationship<Source>, to query: RowQuery<Other, OtherMetadata>
  ) -> Condition<Object, Metadata> {
    .rows(EdgeSelection(edgeName: name, relationship: relationship, query: query, isForwards: true))
  }

  /// The rows to which an edge of a name leads from one of the rows of a query. Otherwise like `hasEdge(_:of:to:)`.
  public func hasEdge<Source, Other, OtherMetadata>(
    _ name: String, of relationship: Relationship<Source>, from query: RowQuery<Other, OtherMetadata>
  ) -> Condition<Object, Metadata> {
    .rows(EdgeSelection(edgeName: name, relationship: relationship, query: query, isForwards: false))
  }

  /// The rows from which an edge of a name leads to a row of a collection that satisfies a condition:
  /// `$0.hasEdge("album", of: albumOf, to: .albums) { $0.year < 1970 }`.
  public func hasEdge<Source, Other, OtherMetadata>(
    _ name: String, of relationship: Relationship<Source>, to collection: RowCollection<Other, OtherMetadata>,
    _ condition: (Fields<Other, OtherMetadata>) throws -> Condition<Other, OtherMetadata>
  ) rethrows -> Condition<Object, Metadata> {
    hasEdge(name, of: relationship, to: try collection.query(condition))
  }

  /// The rows to which an edge of a name leads from a row of a collection that satisfies a condition.
  public func hasEdge<Source, Other, OtherMetadata>(
    _ name: String, of relationship: Relationship<Source>, from collection: RowCollection<Other, OtherMetadata>,
    _ condition: (Fields<Other, OtherMetadata>) throws -> Condition<Other, OtherMetadata>
  ) rethrows -> Condition<Object, Metadata> {
    hasEdge(name, of: relationship, from: try collection.query(condition))
  }
}

/// Rows at one end of edges, by the rows at the other.
private struct EdgeSelection<Source: Sendable, Other: Sendable, OtherMetadata: Sendable>: RowSelection {
  let edgeName: String
  let relationship: Relationship<Source>
  /// The rows at the other end.
  let query: RowQuery<Other, OtherMetadata>
  /// Whether edges lead to these.
  let isForwards: Bool

  var name: String { "edges “\(edgeName)” \(isForwards ? "to" : "from") “\(query.collection.name)”" }
  /// The other ends of edges of a name may be rows of any collection.
  var spansCollections: Bool { true }
  /// Edges come and go, and so do the rows at their other ends.
  var dependsOnOtherRows: Bool { true }

  func rows(in tx: ReadTransaction) throws -> any SelectedRows {
    EdgeRows(
      try tx.relationship(relationship).rowEdges(named: edgeName), isForwards: isForwards, edgeName, tx.find(query))
  }
}

/// The same in one transaction.
private final class EdgeRows<Other: Sendable, OtherMetadata: Sendable>: SelectedRows {
  private let edges: RowEdges
  private let isForwards: Bool
  private let edgeName: String
  private let inner: FoundRows<Other, OtherMetadata>
  private let collection: String
  /// What finding the rows of the inner query takes.
  private var innerCost: Int?
  private var innerRows: [RowID]?
  /// For how many of them edges were counted, and how many edges these have.
  private var (countedRows, edgeCount) = (0, 0)

  init(_ edges: RowEdges, isForwards: Bool, _ edgeName: String, _ inner: FoundRows<Other, OtherMetadata>) {
    (self.edges, self.isForwards, self.edgeName, self.inner) = (edges, isForwards, edgeName, inner)
    collection = inner.collection.name
  }

  var description: String {
    let name = "edges “\(edgeName)” \(isForwards ? "to" : "from")"
    guard let innerRows else { return "\(name) rows of “\(collection)”" }
    let rows = innerRows.count == 1 ? "1 row" : "\(innerRows.count) rows"
    let counted = countedRows == innerRows.count ? "\(edgeCount) " : ""
    return "\(counted)\(name) \(rows) of “\(collection)”"
  }

  private func findInner() throws -> [RowID] {
    if let innerRows { return innerRows }
    let found = try inner.rowIDs
    innerRows = found
    return found
  }

  func cost(upTo limit: Int) throws -> Int? {
    guard let first = try innerCost ?? inner.readCount(upTo: limit), first <= limit else { return nil }
    innerCost = first
    let rows = try findInner()
    while countedRows < rows.count {
      guard first + edgeCount <= limit else { return nil }
      let row = rows[countedRows]
      edgeCount += try isForwards ? edges.count(to: row) : edges.count(from: row)
      countedRows += 1
    }
    return first + edgeCount <= limit ? first + edgeCount : nil
  }

  func rowIDs() throws -> [RowID] {
    try findInner().flatMap { try isForwards ? edges.sources(of: $0) : edges.destinations(of: $0) }
  }

  func filter(_ rowIDs: [RowID]) throws -> [RowID] {
    let ends = try rowIDs.map { try isForwards ? edges.destinations(of: $0) : edges.sources(of: $0) }
    let candidates = Set(ends.joined())
    let found: Set<RowID>
    if let innerRows {
      found = candidates.intersection(innerRows)
    } else {
      found = Set(try inner.rowIDs(among: candidates))
    }
    return zip(rowIDs, ends).filter { $1.contains { found.contains($0) } }.map(\.0)
  }
}
