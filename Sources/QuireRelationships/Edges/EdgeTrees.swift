// The trees of edges, kept in step.

internal import QuireDatabase

/// The trees of a relationship in one transaction.
///
/// Invariants:
/// 1. Every edge has one entry in each of the three trees of edges, with the same rules, which go together.
/// 2. Its name has a number, and names and numbers belong to each other one by one.
/// 3. Its rows exist, or, while a transaction runs, are waited for.
///
/// `checkInvariants` checks them in this order.
struct EdgeTrees {
  let store: ExtensionStore
  let byName: ExtensionTree<[UInt8]>
  let bySource: ExtensionTree<[UInt8]>
  let byDestination: ExtensionTree<[UInt8]>
  /// Name → its number.
  let names: ExtensionTree<[UInt8]>
  /// Number → name.
  let nameTexts: ExtensionTree<RowID>

  init(_ store: ExtensionStore) throws {
    self.store = store
    byName = try store.tree("byName", of: [UInt8].self)
    bySource = try store.tree("bySource", of: [UInt8].self)
    byDestination = try store.tree("byDestination", of: [UInt8].self)
    names = try store.tree("names", of: [UInt8].self)
    nameTexts = try store.tree("nameTexts", of: RowID.self)
  }

  subscript(order: EdgeOrder) -> ExtensionTree<[UInt8]> {
    switch order {
    case .byName: byName
    case .bySource: bySource
    case .byDestination: byDestination
    }
  }

  // MARK: Names

  /// The number of a name; nil if no edge has it.
  func number(of name: String) throws -> UInt32? {
    guard name.utf8.count <= EdgeLimits.nameByteCount, let bytes = try names.value(for: Array(name.utf8)) else {
      return nil
    }
    var reader = EdgeKeyReader(bytes: bytes)
    guard let number = reader.name(), reader.isAtEnd else { throw damaged() }
    return number
  }

  /// The number of a name, which is given one if it has none.
  func makeNumber(of name: String) throws -> UInt32 {
    if let number = try number(of: name) { return number }
    let cursor = try nameTexts.cursor()
    let last = try cursor.seekLast() ? cursor.key?.rawValue ?? 0 : 0
    guard let number = UInt32(exactly: last + 1) else {
      throw DatabaseError(.limitReached, "The numbers of edges' names are used up in “\(store.name)”.")
    }
    try names.put(StoredEdge.prefix(number), for: Array(name.utf8))
    try nameTexts.put(Array(name.utf8), for: RowID(Int64(number)))
    return number
  }

  /// The name of a number.
  func name(of number: UInt32) throws -> String {
    guard let bytes = try nameTexts.value(for: RowID(Int64(number))),
      let name = String(validating: bytes, as: UTF8.self)
    else { throw damaged() }
    return name
  }

  /// Forgets a name that no edge has.
  func forgetIfUnused(_ number: UInt32) throws {
    guard try count(.byName, StoredEdge.prefix(number)) == 0,
      let bytes = try nameTexts.value(for: RowID(Int64(number)))
    else { return }
    try names.remove(bytes)
    try nameTexts.remove(RowID(Int64(number)))
  }

  // MARK: Edges

  /// The rules of an edge; nil if there is no such edge.
  func rules(of edge: StoredEdge) throws -> EdgeRules? {
    guard let value = try byName.value(for: edge.nameKey) else { return nil }
    guard value.count == 1 else { throw damaged() }
    return EdgeRules(rawValue: value[0])
  }

  /// Stores an edge, in the place of the same one with other rules.
  func put(_ edge: StoredEdge) throws {
    assert(StoredEdge(.byName, edge.nameKey, [edge.rules.rawValue]) == edge, "an edge is not read as it is written")
    try unsafe Swift.withUnsafeBytes(of: edge.rules.rawValue) { rules in
      for order in EdgeOrder.all {
        try edge.withKey(order) { try unsafe self[order].put(rules.bytes, for: $0) }
      }
    }
  }

  /// Removes an edge.
  func remove(_ edge: StoredEdge) throws {
    for order in EdgeOrder.all { try self[order].remove(edge.key(order)) }
  }

  /// Removes edges that are neighbours in one tree, in its order.
  func remove(_ edges: [StoredEdge], neighboursIn order: EdgeOrder) throws {
    guard let first = edges.first, let last = edges.last else { return }
    assert(
      edges.count == 1 || first.key(order).lexicographicallyPrecedes(last.key(order)),
      "neighbours are not in the order of their tree")
    for other in EdgeOrder.all where other != order {
      var keys = ByteKeys(capacity: edges.count, byteCount: edges.count * StoredEdge.rowKeyByteCount)
      for edge in edges { edge.withKey(other) { keys.append($0) } }
      try self[other].remove(keys)
    }
    try self[order].remove(from: first.key(order), upTo: last.key(order) + [0])
  }

  /// The first edges whose keys in a tree begin with `prefix`, `limit` at the most.
  func edges(_ order: EdgeOrder, _ prefix: [UInt8], limit: Int = .max) throws -> [StoredEdge] {
    var edges: [StoredEdge] = []
    try self[order].forEach(from: prefix, upTo: StoredEdge.end(of: prefix), limit: limit) { key, value in
      edges.append(try edge(order, key, value))
      return edges.count < limit
    }
    return edges
  }

  /// The edge of an entry.
  func edge(_ order: EdgeOrder, _ entry: (key: [UInt8], value: [UInt8])) throws -> StoredEdge {
    guard let edge = StoredEdge(order, entry.key, entry.value) else { throw damaged() }
    return edge
  }

  /// The edge of an entry where it lies.
  func edge(_ order: EdgeOrder, _ key: RawSpan, _ value: RawSpan) throws -> StoredEdge {
    try unsafe key.withUnsafeBytes { key in
      try unsafe value.withUnsafeBytes { value in
        if let edge = unsafe StoredEdge(toRow: order, key, value) { return edge }
        return try edge(order, (unsafe Array(key), unsafe Array(value)))
      }
    }
  }

  /// The number of edges whose keys in a tree begin with `prefix`. O(log n).
  func count(_ order: EdgeOrder, _ prefix: [UInt8]) throws -> Int {
    let tree = self[order]
    if prefix.isEmpty { return try tree.count }
    let end = try StoredEdge.end(of: prefix).map { try tree.rank(of: $0) } ?? tree.count
    return max(0, end - (try tree.rank(of: prefix)))
  }

  /// Removes all edges and names.
  func removeAll() throws {
    for order in EdgeOrder.allCases { try self[order].removeAll() }
    try names.removeAll()
    try nameTexts.removeAll()
  }

  func damaged() -> DatabaseError {
    DatabaseError(
      .damagedRow,
      """
      A tree of the relationship “\(store.name)” breaks the format. Unregister the relationship, and register it \
      again; edges that were made by hand have to be made again.
      """)
  }
}
