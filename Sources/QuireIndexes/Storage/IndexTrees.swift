// The trees of an extension of indexes in one transaction.

internal import QuireDatabase

/// The trees: the records of rows, by number; and for each index its entries, whose values are empty.
struct IndexTrees {
  let store: ExtensionStore
  let records: ExtensionTree<RowID>
  let entries: [ExtensionTree<[UInt8]>]
  /// What the indexes are called, for errors.
  private let names: [String]

  init(_ store: ExtensionStore, _ names: [String]) throws {
    self.names = names
    self.store = store
    records = try store.tree("columns", of: RowID.self)
    entries = try names.indices.map { try store.tree("i\($0)", of: [UInt8].self) }
  }

  /// The number of entries of an index in a span. O(log n).
  func count(_ span: KeySpan, in index: Int) throws -> Int {
    let tree = entries[index]
    let start = span.lower.isEmpty ? 0 : try tree.rank(of: span.lower)
    let end = try span.upper.map { try tree.rank(of: $0) } ?? tree.count
    return max(0, end - start)
  }

  /// The error for an entry whose key has no row's number.
  func shortKey(in index: Int) -> IndexError { .damaged(index: names[index], detail: "an entry has too short a key") }

  /// The rows of the entries in a span, in the order of the keys.
  func rowIDs(_ span: KeySpan, in index: Int, _ body: (RowID) throws -> Void) throws {
    let cursor = try entries[index].cursor()
    var isOnEntry = try cursor.seek(span.lower)
    while isOnEntry {
      let rowID = try cursor.withEntry { key, _ -> RowID? in
        if let upper = span.upper, !key.isBelow(upper) { return nil }
        guard let rowID = IndexKey.rowID(key) else { throw shortKey(in: index) }
        return rowID
      }
      guard let rowID = rowID ?? nil else { return }
      try body(rowID)
      isOnEntry = try cursor.next()
    }
  }
}

extension RawSpan {
  /// Whether the bytes come before `other`.
  func isBelow(_ other: [UInt8]) -> Bool {
    unsafe withUnsafeBytes { unsafe $0.lexicographicallyPrecedes(other) }
  }
}
