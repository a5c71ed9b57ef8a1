// Edges, one after the other.

internal import QuireDatabase

/// The edges that a question is about.
///
/// Lazy: each step reads one edge. If the transaction changes edges or rows while an iterator is in use, its next step
/// fails with `mutatedDuringIteration`. As a step cannot throw, an error ends the loop, and is thrown by the
/// transaction's next call.
public struct EdgeSequence: Sequence {
  private let graph: GraphHandle
  private let name: String?
  private let source: RowKey?
  private let destination: EdgeDestination?

  init(_ graph: GraphHandle, _ name: String?, _ source: RowKey?, _ destination: EdgeDestination?) {
    self.graph = graph
    self.name = name
    self.source = source
    self.destination = destination
  }

  public func makeIterator() -> Iterator { Iterator(graph, name, source, destination) }

  /// Steps through the edges.
  public struct Iterator: IteratorProtocol {
    private let graph: GraphHandle
    private let name: String?
    private let source: RowKey?
    private let destination: EdgeDestination?
    private let order: EdgeOrder
    /// The ranges still to come, the next one last.
    private var prefixes: [[UInt8]]
    private var prefix: [UInt8] = []
    private var cursor: ExtensionCursor<[UInt8]>?
    /// The last name and the last rows that were looked up: neighbours have them in common.
    private var lastName: (number: UInt32, name: String)?
    private var lastSource: (row: Int64, key: RowKey)?
    private var lastDestination: (row: Int64, key: RowKey)?

    fileprivate init(_ graph: GraphHandle, _ name: String?, _ source: RowKey?, _ destination: EdgeDestination?) {
      self.graph = graph
      self.name = name
      self.source = source
      self.destination = destination
      let ranges = graph.trees.store.noting((.byName, [])) { try graph.ranges(name, source, destination) }
      order = ranges.order
      prefixes = ranges.prefixes.reversed()
    }

    /// The next edge; nil behind the last one, and after an error.
    public mutating func next() -> Edge? {
      graph.trees.store.noting(nil) {
        guard let stored = try nextStored() else { return nil }
        return try edge(stored)
      }
    }

    private mutating func nextStored() throws -> StoredEdge? {
      while true {
        let isOnEntry: Bool
        if let cursor {
          isOnEntry = try cursor.next()
        } else if let following = prefixes.popLast() {
          prefix = following
          let cursor = try graph.trees[order].cursor()
          isOnEntry = try cursor.seek(prefix)
          self.cursor = cursor
        } else {
          return nil
        }
        if isOnEntry, let entry = try cursor?.entry, entry.key.starts(with: prefix) {
          return try graph.trees.edge(order, entry)
        }
        cursor = nil
      }
    }

    private mutating func edge(_ stored: StoredEdge) throws -> Edge {
      let end: EdgeDestination =
        switch stored.destination {
        case .row(let row): .row(try destinationKey(row))
        case .file(let path): .file(String(decoding: path, as: UTF8.self))
        }
      return Edge(
        try text(stored.name), try sourceKey(stored.source), end, stored.rules, isDerived: stored.isDerived)
    }

    private mutating func text(_ number: UInt32) throws -> String {
      if let name { return name }
      if let lastName, lastName.number == number { return lastName.name }
      let name = try graph.trees.name(of: number)
      lastName = (number, name)
      return name
    }

    private mutating func sourceKey(_ row: Int64) throws -> RowKey {
      if let source { return source }
      if let lastSource, lastSource.row == row { return lastSource.key }
      guard let key = try graph.key(of: row) else { throw graph.trees.damaged() }
      lastSource = (row, key)
      return key
    }

    private mutating func destinationKey(_ row: Int64) throws -> RowKey {
      if case .row(let key) = destination { return key }
      if let lastDestination, lastDestination.row == row { return lastDestination.key }
      guard let key = try graph.key(of: row) else { throw graph.trees.damaged() }
      lastDestination = (row, key)
      return key
    }
  }
}
