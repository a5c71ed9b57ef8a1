// A secondary index as an extension of the new API.
//
// Trees: “rows” has for each row in the index a record of its columns, by the row's number; “c0” and so on have for
// each column an entry for each of these rows, whose key is the value's key, of a long one the beginning, and the row's
// number.

internal import Quire

/// What is registered for a secondary index.
struct SecondaryIndexExtension: DatabaseExtension {
  static let kind = "yapCompat.secondaryIndex"

  let name: String
  let version: String
  let isPersistent: Bool
  let collections: CollectionFilter
  let halves: ChangedHalves
  /// Whether all rows of the index are of one collection: then it goes with that.
  let handlesClearing: Bool
  let columns: [QueryColumn]
  /// The values of a row's columns; nil if the row is not in the index.
  let values: @Sendable (RowChange) throws -> [QueryValue]?

  init(
    name: String, tag: String, isPersistent: Bool, columns: [QueryColumn], halves: ChangedHalves,
    allowed: YapWhitelistBlacklist<String>?, _ values: @escaping @Sendable (RowChange) throws -> [QueryValue]?
  ) {
    self.name = name
    self.isPersistent = isPersistent
    self.columns = columns
    self.halves = halves
    self.values = values
    collections = allowed?.filter ?? .all
    handlesClearing = allowed?.whitelist?.count == 1
    // Other columns and other collections make another index, whatever the app's version says.
    var text = columns.map { "\($0.name.utf8.count):\($0.name)\($0.affinity.rawValue)" }.joined()
    for (sign, list) in [("+", allowed?.whitelist), ("-", allowed?.blacklist)] {
      for name in (list ?? []).sorted() { text += "\(sign)\(name.utf8.count):\(name)" }
    }
    version = "\(tag)/\(String(Self.hash(text), radix: 16))"
  }

  /// Fowler, Noll and Vo's hash.
  private static func hash(_ text: String) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  func makeReader(_ store: ExtensionStore) throws -> SecondaryIndexTrees {
    try SecondaryIndexTrees(store, columns)
  }

  func makeWriter(_ store: ExtensionStore) throws -> SecondaryIndexWriter {
    try SecondaryIndexWriter(self, store)
  }
}

/// The trees of a secondary index in one transaction.
struct SecondaryIndexTrees {
  /// The most bytes of a value's key in an entry's.
  static let valueByteCount = 240
  /// The bytes of a row's number.
  static let rowIDByteCount = 8

  let store: ExtensionStore
  let columns: [QueryColumn]
  let rows: ExtensionTree<RowID>
  let entries: [ExtensionTree<[UInt8]>]

  init(_ store: ExtensionStore, _ columns: [QueryColumn]) throws {
    self.store = store
    self.columns = columns
    rows = try store.tree("rows", of: RowID.self)
    entries = try columns.indices.map { try store.tree("c\($0)", of: [UInt8].self) }
  }

  /// The key of an entry.
  static func key(_ value: QueryValue, _ rowID: RowID) -> [UInt8] {
    value.keyBytes.prefix(valueByteCount) + rowID.orderedBytes
  }

  /// The row of an entry.
  func rowID(_ key: RawSpan) throws -> RowID {
    guard key.byteCount > Self.rowIDByteCount else { throw damaged("an entry has too short a key") }
    let word = unsafe key.unsafeLoadUnaligned(fromByteOffset: key.byteCount - Self.rowIDByteCount, as: UInt64.self)
    return RowID(Int64(bitPattern: UInt64(bigEndian: word) ^ 1 << 63))
  }

  /// The values of a row, by its record.
  func row(_ rowID: RowID, _ record: RawSpan) throws -> QueryRow {
    guard let values = QueryValue.values(of: record, count: columns.count) else {
      throw damaged("the record of row \(rowID.rawValue) breaks the format")
    }
    return QueryRow(rowID: rowID.rawValue, values: values)
  }

  /// The number of entries of a column in some ranges. O(ranges · log n).
  func count(_ ranges: KeyRanges, in column: Int) throws -> Int {
    let tree = entries[column]
    return try ranges.list.reduce(0) { count, range in
      let start = range.lower.isEmpty ? 0 : try tree.rank(of: range.lower)
      let end = try range.upper.map { try tree.rank(of: $0) } ?? tree.count
      return count + max(0, end - start)
    }
  }

  func damaged(_ detail: String) -> DatabaseError {
    DatabaseError(
      .extensionFailed,
      "The index “\(store.name)” is damaged: \(detail). Unregister it, and register it again.")
  }
}

/// What keeps a secondary index up to date in a write transaction.
///
/// Invariant: after each hook every row with a record has one entry for each column, by the record's value, and there
/// are no other entries.
final class SecondaryIndexWriter: ExtensionWriter {
  private let index: SecondaryIndexExtension
  let store: ExtensionStore
  let trees: SecondaryIndexTrees
  let needsWillChange = false

  init(_ index: SecondaryIndexExtension, _ store: ExtensionStore) throws {
    self.index = index
    self.store = store
    trees = try SecondaryIndexTrees(store, index.columns)
  }

  func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

  func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    let new = change.kind == .remove ? nil : try index.values(change)
    let oldRecord = change.kind == .insert ? nil : try trees.rows.value(for: rowID)
    assert(new.map { $0.count == trees.entries.count } ?? true, "a row has values for other columns")
    let newRecord = new.map { values in values.reduce(into: [UInt8]()) { $1.append(to: &$0) } }
    if oldRecord == newRecord { return }
    let old = try oldRecord.map { try unsafe trees.row(rowID, $0.span.bytes).values }
    for (column, entries) in trees.entries.enumerated() {
      let before = old.map { SecondaryIndexTrees.key($0[column], rowID) }
      let after = new.map { SecondaryIndexTrees.key($0[column], rowID) }
      if before == after { continue }
      if let before { try entries.remove(before) }
      if let after { try entries.put([], for: after) }
    }
    if let newRecord { try trees.rows.put(newRecord, for: rowID) } else { try trees.rows.remove(rowID) }
  }

  func didClear(_ collection: String) throws {
    if index.handlesClearing { try store.removeAllEntries() }
  }
}
