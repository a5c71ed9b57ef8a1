// Whether the objects of a collection are cached, asked once.

internal import Synchronization

extension CollectionRecord {
  /// Whether the cache keeps objects of the collection; asks it once.
  func isKept(in cache: ObjectCache) -> Bool {
    let known = keeping.load(ordering: .relaxed)
    if known != 0 { return known == 2 }
    let isKept = cache.keeps(name)
    keeping.store(isKept ? 2 : 1, ordering: .relaxed)
    return isKept
  }
}
