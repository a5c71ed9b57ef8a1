// What is stored of extensions, for tools that know none of the types.

internal import QuireStorage

/// What is stored of an extension, whether it is registered or not.
///
/// For the thread and the life of its transaction.
public struct StoredExtension {
  /// What is known of it.
  public let status: ExtensionStatus
  /// The version of the form in which its kind stores what it has.
  public let formatVersion: UInt32
  /// The names of the collections whose rows it follows; nil if they are not listed.
  public let collections: [String]?
  /// Its trees and values.
  public let store: ExtensionStore

  /// Its stored trees with the numbers of their entries, in the order of their names. A look at the root of each.
  ///
  /// - Throws: `transactionClosed`, `damagedPage`, `inputOutput`.
  public func trees() throws(DatabaseError) -> [(name: String, entries: Int)] {
    let state = store.state
    try state.check()
    let prefix = store.id.treePrefix
    var trees: [(name: String, entries: Int)] = []
    for name in state.treeNames where name.hasPrefix(prefix) {
      guard let tree = state.tree(named: name) else { continue }
      let entries = try state.wrapping { () throws(StorageError) in try state.count(of: tree) }
      trees.append((String(decoding: name.utf8.dropFirst(prefix.utf8.count), as: UTF8.self), entries))
    }
    return trees.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// The name that one of its trees has in the engine, whose statistics know it by that.
  public func engineName(ofTree name: String) -> String { store.id.treeName(name) }
}

extension ReadTransaction {
  /// The extensions that are stored, in the order of their names' bytes.
  ///
  /// - Throws: `transactionClosed`, `damagedRow`, `damagedPage`, `inputOutput`.
  public func storedExtensions() throws(DatabaseError) -> [StoredExtension] {
    let registered = state.database.extensions.current?.list ?? []
    return try state.extensionCatalog.storedRecords().map { name, stored in
      let record = stored.shown(by: state.database.aliases)
      var collections: [String]?
      if case .only(let names) = record.collections { collections = names.map(\.string).sorted() }
      let isRegistered = registered.contains { $0.name.hasSameBytes(as: name) }
      return StoredExtension(
        status: ExtensionStatus(name, record, isRegistered: isRegistered, isPersistent: true),
        formatVersion: record.formatVersion, collections: collections,
        store: ExtensionStore(state: state, id: record.id, isPersistent: true, name: name))
    }
  }
}
