// Changing edges.

internal import QuireDatabase

/// The edges of a relationship in a write transaction. Questions see its changes: edges that were added or dropped, and
/// no edge of which an end was removed. What rules do to other rows is seen after `flush`, or after the commit.
public struct WritableGraph: GraphReading {
  let writer: RelationshipWriter
  public var graph: GraphHandle { GraphHandle(trees: writer.trees, writer: writer) }

  init(_ writer: RelationshipWriter) { self.writer = writer }

  /// Adds an edge by hand; the same one that is there already gets these rules. Its ends need not exist before the
  /// transaction ends: one that is missing then counts as deleted, with all that its rules say, or fails the
  /// transaction; see `Relationship.missingEnds`. O(log n).
  ///
  /// - Throws: `invalidEdge` if the edge has no source, an end that cannot be, rules that exclude each other, or rules
  ///   for rows that nothing tells (`notifying`); nothing is changed then. `limitReached`, `transactionClosed`,
  ///   `damagedPage`, `damagedRow`, `inputOutput`, `diskFull`.
  public func add(_ edge: Edge) throws { try writer.add(edge) }

  /// Removes the edge by hand that has the name, the source and the destination of `edge`; a derived one stays, even if
  /// it is the same otherwise. O(log n), and what its rules lead to.
  ///
  /// - Parameters:
  ///   - edge: with its source.
  ///   - reason: `edgeRemoved` has no consequences; with the others the rules that the edge had before the
  ///     transaction are applied as if that end had gone, unless it is added again. An edge that was added in the same
  ///     transaction goes without consequences.
  /// - Returns: whether there was such an edge.
  /// - Throws: `invalidEdge` if `edge` has no source; `transactionClosed`, `damagedPage`, `damagedRow`, `inputOutput`,
  ///   `diskFull`.
  @discardableResult
  public func remove(_ edge: Edge, as reason: EdgeReason = .edgeRemoved) throws -> Bool {
    try writer.remove(edge, reason)
  }

  /// Applies the rules now, so that the transaction sees what follows from its changes. Edges to rows that do not exist
  /// yet count as edges to deleted ones.
  ///
  /// - Throws: what a closure of the app's throws, and as `remove` of rows; the transaction is rolled back then, even
  ///   if the error is caught.
  public func flush() throws { try writer.flush() }
}
