// What was found in a catalog, kept for the next transaction.

internal import Foundation
internal import QuireDatabase

/// The last catalog that was read, in bytes, and what it says for the declared indexes. A catalog changes only while
/// indexes are built, and each transaction looks at it.
///
/// Invariant: `last` is read and replaced under the lock alone.
final class MapCache: @unchecked Sendable {
  // Sendable: safe because of the invariant; what it leads to never changes.

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

  /// Foundation's lock, which is the system's: the thread sanitizer cannot look into the standard library's, and takes
  /// what that guards for a race.
  private let lock = NSLock()
  private var last: Known?

  /// The catalog that a transaction sees; taken apart unless it is the last one.
  func known(_ list: IndexList, _ store: ExtensionStore) throws -> Known {
    let bytes = try IndexTrees.catalogBytes(store)
    if let last = lock.withLock({ last }), last.bytes == bytes { return last }
    let catalog = try IndexTrees.catalog(bytes, of: store.name)
    let found = Known(bytes: bytes, catalog: catalog, map: IndexMap(list, catalog))
    lock.withLock { last = found }
    return found
  }
}
