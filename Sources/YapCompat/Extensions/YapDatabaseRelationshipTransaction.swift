// Relationships in transactions.

public import Foundation
internal import Quire

/// A relationship in one transaction. New types: `ReadableGraph`, `WritableGraph`.
public final class YapDatabaseRelationshipTransaction: YapDatabaseExtensionTransaction {
  private let graph: any GraphReading

  init(_ relationship: YapDatabaseRelationship, _ transaction: YapDatabaseReadTransaction) throws {
    guard let made = relationship.relationship else { throw relationship.notRegistered() }
    switch transaction.access {
    case .reading(let tx): graph = try tx.relationship(made)
    case .writing(let tx): graph = try tx.relationship(made)
    }
    super.init(relationship.registeredName ?? "", transaction)
  }

  private func writable() throws -> WritableGraph {
    _ = try writing()
    guard let graph = graph as? WritableGraph else { throw YapDatabaseExtension.unsupported("relationship") }
    return graph
  }

  // MARK: Questions

  private func source(_ key: String?, _ collection: String?) -> RowKey? { key.map { RowKey(collection ?? "", $0) } }

  private func forEach(
    _ name: String?, _ source: RowKey?, _ destination: EdgeDestination?,
    _ block: (YapDatabaseRelationshipEdge, inout Bool) -> Void
  ) {
    attempt(()) {
      for edge in graph.edges(named: name, from: source, to: destination) {
        let found = YapDatabaseRelationshipEdge(edge)
        guard try transaction.step(nil, { block(found, &$0) }) else { return }
      }
    }
  }

  /// Calls `block` with the edges of a name; nil for all. New call: `graph.edges(named:from:to:)`.
  public func iterateEdges(
    name: String?, using block: (_ edge: YapDatabaseRelationshipEdge, _ stop: inout Bool) -> Void
  ) {
    forEach(name, nil, nil, block)
  }

  /// Calls `block` with the edges that begin at a row. New call: `graph.edges(named:from:_:)`.
  public func iterateEdges(
    name: String?, sourceKey: String?, collection: String?,
    using block: (_ edge: YapDatabaseRelationshipEdge, _ stop: inout Bool) -> Void
  ) {
    forEach(name, source(sourceKey, collection), nil, block)
  }

  /// Calls `block` with the edges that lead to a row. New call: `graph.edges(named:to:_:)`.
  public func iterateEdges(
    name: String?, destinationKey: String?, collection: String?,
    using block: (_ edge: YapDatabaseRelationshipEdge, _ stop: inout Bool) -> Void
  ) {
    forEach(name, nil, source(destinationKey, collection).map { .row($0) }, block)
  }

  /// Calls `block` with the edges from one row to another; a nil key stands for any row. New call:
  /// `graph.edges(named:from:_:to:_:)`.
  public func iterateEdges(
    name: String?, sourceKey: String?, collection sourceCollection: String?, destinationKey: String?,
    collection destinationCollection: String?,
    using block: (_ edge: YapDatabaseRelationshipEdge, _ stop: inout Bool) -> Void
  ) {
    let destination = source(destinationKey, destinationCollection)
    forEach(name, source(sourceKey, sourceCollection), destination.map { .row($0) }, block)
  }

  /// Calls `block` with the edges that lead to a file, from a row or from any. New call: `graph.edges(named:toFile:)`.
  public func iterateEdges(
    name: String?, sourceKey: String? = nil, collection: String? = nil, destinationFileURL url: URL,
    using block: (_ edge: YapDatabaseRelationshipEdge, _ stop: inout Bool) -> Void
  ) {
    forEach(name, source(sourceKey, collection), .file(url.path), block)
  }

  // MARK: Counting

  /// The number of edges of a name; nil for all. New call: `graph.count(named:from:to:)`.
  public func edgeCount(withName name: String?) -> UInt { count(name, nil, nil) }

  /// The number of edges that begin at a row. New call: `graph.count(named:from:_:)`.
  public func edgeCount(withName name: String?, sourceKey: String?, collection: String?) -> UInt {
    count(name, source(sourceKey, collection), nil)
  }

  /// The number of edges that lead to a row. New call: `graph.count(named:to:_:)`.
  public func edgeCount(withName name: String?, destinationKey: String?, collection: String?) -> UInt {
    count(name, nil, source(destinationKey, collection).map { .row($0) })
  }

  /// The number of edges from one row to another. New call: `graph.count(named:from:_:to:_:)`.
  public func edgeCount(
    withName name: String?, sourceKey: String?, collection sourceCollection: String?, destinationKey: String?,
    collection destinationCollection: String?
  ) -> UInt {
    let destination = source(destinationKey, destinationCollection)
    return count(name, source(sourceKey, sourceCollection), destination.map { .row($0) })
  }

  /// The number of edges that lead to a file. New call: `graph.count(named:toFile:)`.
  public func edgeCount(withName name: String?, destinationFileURL url: URL) -> UInt {
    count(name, nil, .file(url.path))
  }

  private func count(_ name: String?, _ source: RowKey?, _ destination: EdgeDestination?) -> UInt {
    attempt(0) { UInt(graph.count(named: name, from: source, to: destination)) }
  }

  // MARK: Ends

  /// The object where an edge begins; nil if there is none. New call: `graph.source(of:in:)`.
  public func sourceNode(for edge: YapDatabaseRelationshipEdge) -> Any? {
    edge.sourceKey.flatMap { transaction.object(forKey: $0, inCollection: edge.sourceCollection) }
  }

  /// The object where an edge leads; nil if there is none, or if it leads to a file. New call:
  /// `graph.destination(of:in:)`.
  public func destinationNode(for edge: YapDatabaseRelationshipEdge) -> Any? {
    edge.destinationKey.flatMap { transaction.object(forKey: $0, inCollection: edge.destinationCollection) }
  }

  // MARK: Changing

  /// Adds an edge by hand; the same one that is there already gets these rules. New call: `WritableGraph.add(_:)`.
  public func add(_ edge: YapDatabaseRelationshipEdge) { attempt(()) { try writable().add(edge.edge) } }

  /// Removes an edge by hand, with the rules applied as if its source had gone. New call:
  /// `WritableGraph.remove(_:as:)`.
  public func remove(_ edge: YapDatabaseRelationshipEdge) { remove(edge, withProcessing: .sourceNodeDeleted) }

  /// Removes the edge by hand from one row to another. New call: `WritableGraph.remove(_:as:)`.
  public func removeEdge(
    withName name: String, sourceKey: String, collection sourceCollection: String?, destinationKey: String,
    collection destinationCollection: String?, withProcessing reason: YDB_NotifyReason
  ) {
    remove(
      YapDatabaseRelationshipEdge(
        name: name, sourceKey: sourceKey, collection: sourceCollection, destinationKey: destinationKey,
        collection: destinationCollection, nodeDeleteRules: []), withProcessing: reason)
  }

  /// Removes the edge by hand from a row to a file. New call: `WritableGraph.remove(_:as:)`.
  public func removeEdge(
    withName name: String, sourceKey: String, collection: String?, destinationFileURL url: URL,
    withProcessing reason: YDB_NotifyReason
  ) {
    remove(
      YapDatabaseRelationshipEdge(
        name: name, sourceKey: sourceKey, collection: collection, destinationFileURL: url, nodeDeleteRules: []),
      withProcessing: reason)
  }

  /// Removes an edge by hand. New call: `WritableGraph.remove(_:as:)`.
  ///
  /// - Parameters:
  ///   - edge: one that is there.
  ///   - reason: `edgeDeleted` has no consequences; with the others the edge's rules are applied as if that end
  ///     had gone.
  public func remove(_ edge: YapDatabaseRelationshipEdge, withProcessing reason: YDB_NotifyReason) {
    attempt(()) { try writable().remove(edge.edge, as: reason.reason) }
  }

  /// Applies the rules now, so that the transaction sees what follows from its changes. New call:
  /// `WritableGraph.flush()`.
  public func flush() { attempt(()) { try writable().flush() } }
}
