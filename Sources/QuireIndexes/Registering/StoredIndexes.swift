// What the file says of indexes, for tools that know no types of rows.

public import QuireDatabase

/// The indexes of one collection as they are stored, whether they are registered or not.
public struct StoredIndexes: Sendable {
  /// One index.
  public struct Entry: Sendable {
    /// Its name.
    public let name: String
    /// What was declared of it: the names and types of its columns, with their directions, and whether it is unique or
    /// holds some of the rows. Empty for one that was stored before files had this.
    public let declaration: String
    /// Its columns, as the declaration has them.
    public let columns: [StoredColumn]
    /// Whether it has all rows; if not, it is being built, or building it was interrupted.
    public let isReady: Bool
    /// The number of its entries; of one that is not ready what is stored so far.
    public let entryCount: Int
    /// The names that its trees have in the engine.
    public let engineTrees: [String]
  }

  /// What is known of the extension that has them.
  public let status: ExtensionStatus
  /// The name of the collection; nil if the file does not say it.
  public let collection: String?
  /// The number of rows whose columns are stored.
  public let rowCount: Int
  /// The name that the tree of these has in the engine.
  public let engineTree: String
  /// The indexes, in the order of their declaration.
  public let indexes: [Entry]

  init(_ stored: StoredExtension) throws {
    status = stored.status
    collection = stored.collections?.first
    let store = stored.store
    rowCount = try store.tree(IndexTrees.recordsName, of: RowID.self).count
    engineTree = stored.engineName(ofTree: IndexTrees.recordsName)
    indexes = try IndexTrees.catalog(IndexTrees.catalogBytes(store), of: store.name).entries.map { entry in
      let (tree, delta) = (IndexTrees.entriesName(entry.tree), IndexTrees.deltaName(entry.tree))
      return Entry(
        name: entry.name, declaration: entry.summary, columns: entry.storedColumns, isReady: entry.isReady,
        entryCount: try store.tree(tree, of: [UInt8].self).count,
        engineTrees: [stored.engineName(ofTree: tree), stored.engineName(ofTree: delta)])
    }
  }
}

extension ReadTransaction {
  /// The indexes of all collections as they are stored, whether they are registered or not.
  ///
  /// - Throws: `IndexError.damaged` if what is stored about indexes breaks the format; `transactionClosed`,
  ///   `damagedRow`, `damagedPage`, `inputOutput`.
  public func storedIndexes() throws -> [StoredIndexes] {
    try storedExtensions().filter { $0.status.kind == IndexTrees.kind && $0.formatVersion == IndexTrees.formatVersion }
      .map { try StoredIndexes($0) }
  }
}
