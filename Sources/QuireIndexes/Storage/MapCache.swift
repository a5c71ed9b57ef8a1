// What was found in a catalog, kept for the next transaction.

internal import QuireDatabase
internal import Synchronization

/// The last catalog that was read, in bytes, and what it says for the declared indexes. A catalog changes only while
/// indexes are built, and each transaction looks at it.
final class MapCache: Sendable {
  /// A catalog, and how the declared indexes meet it.
  final class Known: Sendable {
    fileprivate let bytes: [UInt8]
    let catalog: IndexCatalog
    let map: IndexMap

    fileprivate init(bytes: [UInt8], catalog: IndexCatalog, map: IndexMap) {
      self.bytes = bytes
      self.catalog = catalog
      self.map = map
    }
  }

  private let known = Mutex<Known?>(nil)

  /// The catalog that a transaction sees; taken apart unless it is the last one.
  func known(_ list: IndexList, _ store: ExtensionStore) throws -> Known {
    let bytes = try IndexTrees.catalogBytes(store)
    if let known = known.withLock({ $0 }), known.bytes == bytes { return known }
    let catalog = try IndexTrees.catalog(bytes, of: store.name)
    let found = Known(bytes: bytes, catalog: catalog, map: IndexMap(list, catalog))
    known.withLock { $0 = found }
    return found
  }
}
