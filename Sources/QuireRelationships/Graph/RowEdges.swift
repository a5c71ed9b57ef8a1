// Edges between rows, by the numbers of these.

public import QuireDatabase

/// The edges of one name between rows, by the numbers of these: for code that joins rows, and need not know their keys.
///
/// Edges to files are not among them. For the thread and the life of the transaction. All calls may throw
/// `transactionClosed`, `damagedPage`, `damagedRow` and `inputOutput`.
public struct RowEdges {
  private let trees: EdgeTrees
  /// The number of the name; nil if no edge has it.
  private let name: UInt32?

  fileprivate init(_ trees: EdgeTrees, _ name: UInt32?) {
    self.trees = trees
    self.name = name
  }

  /// The number of edges that begin at a row. O(log n).
  public func count(from source: RowID) throws -> Int {
    try name.map { try trees.count(.byName, Self.prefix($0, from: source)) } ?? 0
  }

  /// The number of edges that lead to a row. O(log n).
  public func count(to destination: RowID) throws -> Int {
    try name.map { try trees.count(.byDestination, Self.prefix($0, to: destination)) } ?? 0
  }

  /// The rows that edges from a row lead to, each once, in the order of their numbers. O(log n), and a step for each.
  public func destinations(of source: RowID) throws -> [RowID] {
    guard let name else { return [] }
    return try ends(.byName, Self.prefix(name, from: source))
  }

  /// The rows from which edges lead to a row, each once, in the order of their numbers. Cost as `destinations(of:)`.
  public func sources(of destination: RowID) throws -> [RowID] {
    guard let name else { return [] }
    return try ends(.byDestination, Self.prefix(name, to: destination))
  }

  private static func prefix(_ name: UInt32, from source: RowID) -> [UInt8] {
    StoredEdge.prefix(name, source.rawValue) + StoredEdge.rowPrefix
  }

  private static func prefix(_ name: UInt32, to destination: RowID) -> [UInt8] {
    StoredEdge.prefix(.row(destination.rawValue), name)
  }

  /// The rows whose numbers stand behind a prefix.
  private func ends(_ order: EdgeOrder, _ prefix: [UInt8]) throws -> [RowID] {
    var found: [RowID] = []
    try trees[order].forEach(from: prefix, upTo: StoredEdge.end(of: prefix)) { key, _ in
      guard key.byteCount >= prefix.count + MemoryLayout<Int64>.size else { throw trees.damaged() }
      let word = UInt64(bigEndian: unsafe key.unsafeLoadUnaligned(fromByteOffset: prefix.count, as: UInt64.self))
      let rowID = RowID(Int64(bitPattern: word ^ 1 << 63))
      // A row that is still to come stands there by a number below 0.
      if rowID.rawValue > 0, found.last != rowID { found.append(rowID) }
      return true
    }
    return found
  }
}

extension GraphReading {
  /// The edges of a name between rows, by the numbers of these; none if no edge has the name.
  public func rowEdges(named name: String) throws -> RowEdges {
    RowEdges(graph.trees, try graph.trees.number(of: name))
  }
}
