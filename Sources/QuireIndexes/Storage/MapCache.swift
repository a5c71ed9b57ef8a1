// What was found in a catalog, kept for the next transaction.

internal import Synchronization

/// The last catalog that was read, in bytes, and what it says for the declared indexes. A catalog changes only while
/// indexes are built, and each transaction looks at it.
final class MapCache: Sendable {
  private struct Known: Sendable {
    let bytes: [UInt8]
    let map: IndexMap
  }

  private let known = Mutex<Known?>(nil)

  /// The map of a catalog's bytes; what `make` makes of them, unless they are the last ones.
  func map(of bytes: [UInt8], _ make: () throws -> IndexMap) rethrows -> IndexMap {
    if let known = known.withLock({ $0 }), known.bytes == bytes { return known.map }
    let map = try make()
    known.withLock { $0 = Known(bytes: bytes, map: map) }
    return map
  }
}
