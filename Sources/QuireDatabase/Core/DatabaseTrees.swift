// The trees of a database of objects, and what stands in the one for the database as a whole.

internal import QuireStorage

/// The trees of a database of objects.
struct DatabaseTrees: Sendable {
  /// Row id → the row; see `StoredRow.swift`.
  let rows: Tree
  /// Collection and key → row id; see `KeyIndex.swift`.
  let keys: Tree
  /// Name → what is noted about a collection; see `CollectionFormat.swift`.
  let collections: Tree
  /// What concerns the whole database, under names of our own.
  let info: Tree

  static let rowsName = "quire.rows"
  static let keysName = "quire.keys"
  static let collectionsName = "quire.collections"
  static let infoName = "quire.info"
  /// Where the version of this layer's format stands, one byte.
  static let formatKey = [UInt8]("format".utf8)
  /// Where the number of the next collection stands, four bytes little-endian.
  static let nextCollectionIDKey = [UInt8]("nextCollectionID".utf8)
  static let formatVersion: UInt8 = 1
}

extension DatabaseTrees {
  /// Makes the trees of an empty database.
  init(making tx: borrowing QuireStorage.WriteTransaction) throws(StorageError) {
    self.init(
      rows: try tx.createTree(Self.rowsName, keys: .int64), keys: try tx.createTree(Self.keysName, keys: .bytes),
      collections: try tx.createTree(Self.collectionsName, keys: .bytes),
      info: try tx.createTree(Self.infoName, keys: .bytes))
    try tx.put([Self.formatVersion], for: Self.formatKey, in: info)
  }
}
