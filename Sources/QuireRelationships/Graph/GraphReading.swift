// Asking for edges.

public import QuireDatabase

/// What can be asked of a relationship in a transaction of either kind: `ReadableGraph` and `WritableGraph` are all
/// that conform.
///
/// Every question names an edge's name, its source and its destination, or leaves some of them out. Counting takes
/// O(log n); enumerating O(log n), and for each edge one step and a look-up of each end that was not asked for. What
/// cannot throw notes its error (`transactionClosed`, `damagedPage`, `damagedRow`, `inputOutput`), and the
/// transaction's next call throws it, at the latest its end. For the thread and the life of the transaction.
public protocol GraphReading {
  /// What stands behind the questions.
  var graph: GraphHandle { get }
}

/// The edges of a relationship in a transaction; what stands behind `ReadableGraph` and `WritableGraph`.
public struct GraphHandle {
  let trees: EdgeTrees
  /// What follows the transaction, if it writes.
  let writer: RelationshipWriter?

  /// The ranges of a tree in which the edges are that are asked for; none if there cannot be any.
  func ranges(
    _ name: String?, _ source: RowKey?, _ destination: EdgeDestination?
  ) throws -> (order: EdgeOrder, prefixes: [[UInt8]]) {
    var number: UInt32?
    var (row, end): (Int64?, StoredDestination?)
    if let name {
      number = try trees.number(of: name)
      if number == nil { return (.byName, []) }
    }
    if let source {
      row = try known(source)
      if row == nil { return (.bySource, []) }
    }
    if let destination {
      end = try known(destination)
      if end == nil { return (.byDestination, []) }
    }
    switch (number, row, end) {
    case (nil, nil, nil): return (.byName, [[]])
    case (let number?, nil, nil): return (.byName, [StoredEdge.prefix(number)])
    case (let number?, let row?, nil): return (.byName, [StoredEdge.prefix(number, row)])
    case (let number?, let row?, let end?): return (.byName, [StoredEdge.prefix(number, row, end)])
    case (nil, let row?, nil): return (.bySource, [StoredEdge.prefix(row)])
    case (nil, let row?, let end?):
      return (.bySource, [true, false].map { StoredEdge.prefix(row, isDerived: $0, end) })
    case (nil, nil, let end?): return (.byDestination, [StoredEdge.prefix(end)])
    case (let number?, nil, let end?): return (.byDestination, [StoredEdge.prefix(end, number)])
    }
  }

  /// The id of a row, or what stands for it; nil if no edge can know it.
  func known(_ key: RowKey) throws -> Int64? {
    try trees.store.readTransaction.rowID(of: key)?.rawValue ?? writer?.absent.standIn(key)
  }

  /// An end in the trees; nil if no edge can have it.
  func known(_ destination: EdgeDestination) throws -> StoredDestination? {
    switch destination {
    case .row(let key): try known(key).map { .row($0) }
    case .file(let path): path.utf8.contains(0) ? nil : .file(Array(path.utf8))
    }
  }

  /// Where a row is, or is to be.
  func key(of row: Int64) throws -> RowKey? {
    if let awaited = writer?.absent.waitingKey(row) { return awaited }
    return try trees.store.readTransaction.key(of: RowID(row))
  }

  func count(_ name: String?, _ source: RowKey?, _ destination: EdgeDestination?) -> Int {
    trees.store.noting(0) {
      let (order, prefixes) = try ranges(name, source, destination)
      return try prefixes.reduce(0) { try $0 + trees.count(order, $1) }
    }
  }
}

extension GraphReading {
  // MARK: Enumerating

  /// The edges of a name, with a source, with a destination; what is nil is not asked for. In no order to rely on.
  public func edges(
    named name: String? = nil, from source: RowKey? = nil, to destination: EdgeDestination? = nil
  ) -> EdgeSequence {
    EdgeSequence(graph, name, source, destination)
  }

  /// The edges that begin at a row.
  public func edges<Object, Metadata>(
    named name: String? = nil, from collection: RowCollection<Object, Metadata>, _ key: String
  ) -> EdgeSequence {
    edges(named: name, from: RowKey(collection.name, key))
  }

  /// The edges that lead to a row.
  public func edges<Object, Metadata>(
    named name: String? = nil, to collection: RowCollection<Object, Metadata>, _ key: String
  ) -> EdgeSequence {
    edges(named: name, to: .row(RowKey(collection.name, key)))
  }

  /// The edges from one row to another.
  public func edges<Object, Metadata, OtherObject, OtherMetadata>(
    named name: String? = nil, from collection: RowCollection<Object, Metadata>, _ key: String,
    to other: RowCollection<OtherObject, OtherMetadata>, _ otherKey: String
  ) -> EdgeSequence {
    edges(named: name, from: RowKey(collection.name, key), to: .row(RowKey(other.name, otherKey)))
  }

  /// The edges that lead to a file.
  public func edges(named name: String? = nil, toFile file: some EdgeFile) -> EdgeSequence {
    edges(named: name, to: .file(file.edgePath))
  }

  /// The edges from a row to a file.
  public func edges<Object, Metadata>(
    named name: String? = nil, from collection: RowCollection<Object, Metadata>, _ key: String,
    toFile file: some EdgeFile
  ) -> EdgeSequence {
    edges(named: name, from: RowKey(collection.name, key), to: .file(file.edgePath))
  }

  // MARK: Counting

  /// The number of edges of a name, with a source, with a destination; what is nil is not asked for. O(log n).
  public func count(
    named name: String? = nil, from source: RowKey? = nil, to destination: EdgeDestination? = nil
  ) -> Int {
    graph.count(name, source, destination)
  }

  /// The number of edges that begin at a row. O(log n).
  public func count<Object, Metadata>(
    named name: String? = nil, from collection: RowCollection<Object, Metadata>, _ key: String
  ) -> Int {
    count(named: name, from: RowKey(collection.name, key))
  }

  /// The number of edges that lead to a row. O(log n).
  public func count<Object, Metadata>(
    named name: String? = nil, to collection: RowCollection<Object, Metadata>, _ key: String
  ) -> Int {
    count(named: name, to: .row(RowKey(collection.name, key)))
  }

  /// The number of edges from one row to another. O(log n).
  public func count<Object, Metadata, OtherObject, OtherMetadata>(
    named name: String? = nil, from collection: RowCollection<Object, Metadata>, _ key: String,
    to other: RowCollection<OtherObject, OtherMetadata>, _ otherKey: String
  ) -> Int {
    count(named: name, from: RowKey(collection.name, key), to: .row(RowKey(other.name, otherKey)))
  }

  /// The number of edges that lead to a file. O(log n).
  public func count(named name: String? = nil, toFile file: some EdgeFile) -> Int {
    count(named: name, to: .file(file.edgePath))
  }

  /// The number of edges from a row to a file. O(log n).
  public func count<Object, Metadata>(
    named name: String? = nil, from collection: RowCollection<Object, Metadata>, _ key: String,
    toFile file: some EdgeFile
  ) -> Int {
    count(named: name, from: RowKey(collection.name, key), to: .file(file.edgePath))
  }

  // MARK: Ends

  /// The object where an edge begins; nil if that is no row of the collection. Cost and errors as `get`.
  public func source<Object, Metadata>(
    of edge: Edge, in collection: RowCollection<Object, Metadata>
  ) throws -> Object? {
    try object(edge.source, collection)
  }

  /// The object where an edge leads; nil if that is no row of the collection. Cost and errors as `get`.
  public func destination<Object, Metadata>(
    of edge: Edge, in collection: RowCollection<Object, Metadata>
  ) throws -> Object? {
    guard case .row(let key) = edge.destination else { return nil }
    return try object(key, collection)
  }

  private func object<Object, Metadata>(
    _ row: RowKey?, _ collection: RowCollection<Object, Metadata>
  ) throws -> Object? {
    guard let row, ByteString(row.collection) == ByteString(collection.name) else { return nil }
    return try graph.trees.store.readTransaction[collection].get(row.key)
  }

  // MARK: Checking

  /// Checks that everything that is stored of the edges agrees. O(n log n).
  ///
  /// - Throws: `damagedRow` with the first defect; `transactionClosed`, `damagedPage`, `inputOutput`.
  public func checkInvariants() throws {
    if let writer = graph.writer { return try writer.checkInvariants() }
    try graph.trees.checkInvariants { _ in false }
    try graph.trees.checkSettled()
  }
}

/// The edges of a relationship in a read transaction.
public struct ReadableGraph: GraphReading {
  public let graph: GraphHandle
  /// The files that are to be deleted.
  let files: ExtensionTree<[UInt8]>

  init(_ trees: EdgeTrees) throws {
    graph = GraphHandle(trees: trees, writer: nil)
    files = try trees.store.tree("files", of: [UInt8].self)
  }
}
