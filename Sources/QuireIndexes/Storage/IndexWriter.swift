// What keeps indexes up to date in a write transaction.

public import QuireDatabase

/// The indexes of a collection in one write transaction.
///
/// Invariant: after each hook the entries of every index are those that the records of the rows have, and each row that
/// the extension follows has a record.
public final class IndexWriter<Object: Sendable, Metadata: Sendable>: ExtensionWriter {
  private let indexes: Indexes<Object, Metadata>
  public let store: ExtensionStore
  let trees: IndexTrees
  /// Values of unique indexes that got another row: to be checked before the commit.
  private var gained: [(index: Int, prefix: [UInt8])] = []

  init(_ indexes: Indexes<Object, Metadata>, _ store: ExtensionStore) throws {
    self.indexes = indexes
    self.store = store
    trees = try IndexTrees(store, indexes.indexes.map(\.name))
  }

  /// The indexes as they are in the transaction, its own changes included.
  public var reader: IndexReader<Object, Metadata> { IndexReader(indexes, trees) }

  public func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID, change.kind.isStore || change.kind == .remove else { return }
    let new = change.kind == .remove ? nil : try indexes.layout.record(change, in: indexes.collection)
    let oldBytes = change.kind == .insert ? nil : try trees.records.value(for: rowID)
    let newBytes = new?.bytes
    if oldBytes == newBytes { return }
    let old = try oldBytes.map { bytes in
      guard let record = self.record(bytes) else {
        throw IndexError.damaged(index: indexes.name, detail: "the record of \(rowID) breaks the format")
      }
      return record
    }
    try replace(old, with: new, rowID)
    if let newBytes { try trees.records.put(newBytes, for: rowID) } else { try trees.records.remove(rowID) }
  }

  /// Takes the entries of one record out, and puts those of another in, as far as they differ.
  private func replace(_ old: RowRecord?, with new: RowRecord?, _ rowID: RowID) throws {
    let layout = indexes.layout
    for (number, index) in indexes.indexes.enumerated() {
      let before = old.map { layout.keys($0, in: number, index.columns, rowID) } ?? []
      let after = new.map { layout.keys($0, in: number, index.columns, rowID) } ?? []
      for key in before where !after.contains(key) { try trees.entries[number].remove(key) }
      for key in after where !before.contains(key) {
        try trees.entries[number].put([], for: key)
        guard let uniqueness = index.uniqueness, let new, !layout.hasAbsent(new, in: number) else { continue }
        let prefix = Array(key.dropLast(IndexKey.rowIDByteCount))
        if uniqueness == .immediate { try checkUnique(prefix, in: number) } else { gained.append((number, prefix)) }
      }
    }
  }

  private func record(_ bytes: [UInt8]) -> RowRecord? {
    RowRecord(bytes, indexCount: indexes.indexes.count, columnCount: indexes.layout.columns.count)
  }

  // MARK: Unique values

  public func settleTrees() throws {
    for (index, prefix) in gained { try checkUnique(prefix, in: index) }
    gained = []
  }

  /// Throws if two rows have the same values in an index.
  private func checkUnique(_ prefix: [UInt8], in number: Int) throws {
    let span = KeySpan(prefix: prefix, isExact: true)
    guard try trees.count(span, in: number) > 1 else { return }
    // Values that are too long for a key may still differ: their records tell.
    let mayBeCut = prefix.count >= IndexKey.columnByteCount
    var known: [[[[UInt8]]]: RowID] = [:]
    var first: RowID?
    try trees.rowIDs(span, in: number) { rowID in
      guard mayBeCut else {
        if let first { throw notUnique(number, [first, rowID]) }
        first = rowID
        return
      }
      guard let bytes = try trees.records.value(for: rowID), let record = record(bytes) else { return }
      let values = indexes.layout.places[number].map { record.values[$0] }
      if let other = known[values] { throw notUnique(number, [other, rowID]) }
      known[values] = rowID
    }
  }

  private func notUnique(_ number: Int, _ rows: [RowID]) -> any Error {
    do {
      let keys = try rows.compactMap { try store.readTransaction.key(of: $0)?.key }
      return IndexError.notUnique(index: indexes.indexes[number].name, keys: keys)
    } catch { return error }
  }

  // MARK: Clearing and savepoints

  public func didClear(_ collection: String) throws {
    try store.removeAllEntries()
    gained = []
  }

  public func didClearAll() throws {
    try store.removeAllEntries()
    gained = []
  }

  public func makeMark() -> Any? { gained.count }

  public func restore(_ mark: Any?) {
    if let count = mark as? Int, count < gained.count { gained.removeLast(gained.count - count) }
  }
}
