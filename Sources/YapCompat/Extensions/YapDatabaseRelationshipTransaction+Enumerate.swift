// Edges one after the other, in the spellings of Objective-C.

public import Foundation

extension YapDatabaseRelationshipTransaction {
  /// What is called with each edge.
  public typealias EdgeBlock = (_ edge: YapDatabaseRelationshipEdge, _ stop: YapDatabaseStop) -> Void

  /// Calls `block`, and takes over whether it wants to stop.
  private func call(_ block: EdgeBlock, _ edge: YapDatabaseRelationshipEdge, _ stop: inout Bool) {
    let told = YapDatabaseStop()
    block(edge, told)
    stop = told.pointee
  }

  /// Calls `block` with the edges of a name; nil for all. New call: `graph.edges(named:from:to:)`.
  public func enumerateEdges(withName name: String?, using block: EdgeBlock) {
    iterateEdges(name: name) { call(block, $0, &$1) }
  }

  /// Calls `block` with the edges that begin at a row. New call: `graph.edges(named:from:_:)`.
  public func enumerateEdges(
    withName name: String?, sourceKey: String?, collection: String?, using block: EdgeBlock
  ) {
    iterateEdges(name: name, sourceKey: sourceKey, collection: collection) { call(block, $0, &$1) }
  }

  /// Calls `block` with the edges that lead to a row. New call: `graph.edges(named:to:_:)`.
  public func enumerateEdges(
    withName name: String?, destinationKey: String?, collection: String?, using block: EdgeBlock
  ) {
    iterateEdges(name: name, destinationKey: destinationKey, collection: collection) { call(block, $0, &$1) }
  }

  /// Calls `block` with the edges from one row to another; a nil key stands for any row. New call:
  /// `graph.edges(named:from:_:to:_:)`.
  public func enumerateEdges(
    withName name: String?, sourceKey: String?, collection sourceCollection: String?, destinationKey: String?,
    collection destinationCollection: String?, using block: EdgeBlock
  ) {
    iterateEdges(
      name: name, sourceKey: sourceKey, collection: sourceCollection, destinationKey: destinationKey,
      collection: destinationCollection
    ) { call(block, $0, &$1) }
  }

  /// Calls `block` with the edges that lead to a file. New call: `graph.edges(named:toFile:)`.
  public func enumerateEdges(withName name: String?, destinationFileURL url: URL, using block: EdgeBlock) {
    iterateEdges(name: name, destinationFileURL: url) { call(block, $0, &$1) }
  }

  /// Calls `block` with the edges from a row to a file. New call: `graph.edges(named:toFile:)`.
  public func enumerateEdges(
    withName name: String?, sourceKey: String?, collection: String?, destinationFileURL url: URL, using block: EdgeBlock
  ) {
    iterateEdges(name: name, sourceKey: sourceKey, collection: collection, destinationFileURL: url) {
      call(block, $0, &$1)
    }
  }
}
