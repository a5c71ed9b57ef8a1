// Decoded objects, shared by the readers of all snapshots.
//
// An entry shows the object of a row for a range of commits. What is in the cache is right because
//
// - the writer tells it of all rows that a commit changes before any reader can see that commit, under the writer lock,
//   so in the order of commits: their entries end there, and their buckets note it;
// - a reader uses an entry only if its snapshot lies in the entry's range;
// - a reader takes an object in only if nothing in the bucket was changed after its snapshot, as far as the writer has
//   told. It does so under the latch that the writer tells under: either it comes first, and its entry is ended, or it
//   comes later, and sees that it is late. The entry's range begins at the bucket's newest change, which is at or
//   before the snapshot, so that older snapshots can use it, too;
// - removing all rows of a collection names no rows: for each collection the newest such commit is noted, and an entry
//   whose range began before that is of no use to readers of that commit. A snapshot that is older than it does
//   without the cache, as what was cleared still earlier is no longer known;
// - write transactions read past it, so that nothing that may be rolled back gets in;
// - rewriting rows in another form changes no object, and is not told.
//
// A transaction of more changes than the cache has room for counts as one that clears everything.

internal import QuireStorage
internal import Synchronization

/// The cache of one open database.
///
/// Invariants: those of its parts, and
/// 1. `clears` of a collection's number is at or after the newest published commit that has removed all its rows.
@safe final class ObjectCache: @unchecked Sendable {
  // Sendable: safe because the parts' memory is touched under their latches, and the rest is atomic or set once.
  private static let clearCount = 256
  private static let mostShards = 64

  private let collections: CollectionFilter
  private let hash: CacheHash
  private let shards: UnsafeMutablePointer<CacheShard>
  private let shardShift: UInt64
  private let shardCount: Int
  private let slotCount: Int
  /// By the last bits of a collection's number.
  private let clears: UnsafeMutablePointer<Atomic<UInt64>>
  /// By the last bits of a row's number, the hash under which the last such row was taken in, or 0: where to look, and
  /// no more than that, as it is the entry that says which row it is of.
  private let hints: UnsafeMutablePointer<Atomic<UInt64>>
  private let hintMask: Int

  init(_ options: ObjectCacheOptions) {
    collections = options.collections
    hash = CacheHash(seed: .random(in: .min ... .max))
    // Small caches have few parts, or their limits would be too coarse.
    let bytes = max(1, options.byteLimit)
    // There is a place for each object, and no more objects than bytes: a limit that is none is no reason to ask for
    // all memory.
    let limits = (count: max(1, min(options.countLimit, bytes / CacheEntry.overhead)), bytes: bytes)
    var shardBits = 0
    while 1 << shardBits < Self.mostShards, limits.count >> shardBits >= 128 { shardBits += 1 }
    shardCount = 1 << shardBits
    shardShift = 64 - UInt64(shardBits)
    unsafe shards = .allocate(capacity: shardCount)
    var slotCount = 0
    for index in 0..<shardCount {
      let state = CacheShardState(
        countLimit: max(1, limits.count >> shardBits), byteLimit: max(1, limits.bytes >> shardBits))
      slotCount += state.slotCount
      unsafe (shards + index).initialize(to: CacheShard(state))
    }
    self.slotCount = slotCount
    unsafe clears = .allocate(capacity: Self.clearCount)
    for index in 0..<Self.clearCount { unsafe (clears + index).initialize(to: Atomic(0)) }
    var hintCount = 1
    while hintCount < slotCount { hintCount *= 2 }
    hintMask = hintCount - 1
    unsafe hints = .allocate(capacity: hintCount)
    for index in 0..<hintCount { unsafe (hints + index).initialize(to: Atomic(0)) }
  }

  deinit {
    removeAll()
    for index in 0..<shardCount { unsafe shards[index].state.withLock { $0.deallocate() } }
    unsafe shards.deinitialize(count: shardCount)
    unsafe shards.deallocate()
    unsafe clears.deinitialize(count: Self.clearCount)
    unsafe clears.deallocate()
    unsafe hints.deinitialize(count: hintMask + 1)
    unsafe hints.deallocate()
  }

  /// The hash's upper bits; the lower ones choose the bucket.
  @inline(__always) private func shard(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> shardShift) }

  // MARK: Reading

  /// Whether objects of the collection are kept.
  func keeps(_ collection: String) -> Bool { collections.contains(collection) }

  /// The commit that entries must not be older than for a reader of the snapshot `csn`; nil if it has to do without.
  func cleared(_ collection: CollectionID, csn: CSN) -> UInt64? {
    let cleared = unsafe clears[Int(collection.rawValue) % Self.clearCount].load(ordering: .acquiring)
    return cleared <= csn.rawValue ? cleared : nil
  }

  /// Where a row would be.
  @inline(__always) func place(_ collection: CollectionID, _ key: String) -> CachePlace {
    hash.place(collection.rawValue, key)
  }

  /// Calls `body` with the entry of a row if it shows what the snapshot does; returns what `body` returns: whether it
  /// is of use. `body` runs under a latch, and does no more than to copy what it needs.
  @inline(__always) func use(
    _ place: inout CachePlace, _ key: String, csn: CSN, cleared: UInt64, _ types: CachedTypes,
    _ body: (Unmanaged<CacheEntry>) -> Bool
  ) -> Bool {
    let shard = shard(place.hash)
    unsafe shards[shard].prefetch(place.hash)
    return unsafe shards[shard].state.withLock { state in
      unsafe state.use(&place, key, csn: csn.rawValue, cleared: cleared, types, body)
    }
  }

  /// As above for a row of which the number is known.
  @inline(__always) func use(
    _ rowID: RowID, _ collection: CollectionID, csn: CSN, cleared: UInt64, _ types: CachedTypes,
    _ body: (Unmanaged<CacheEntry>) -> Bool
  ) -> Bool {
    let hash = unsafe hints[hint(rowID)].load(ordering: .relaxed)
    guard hash != 0 else { return false }
    let shard = shard(hash)
    unsafe shards[shard].prefetch(hash)
    return unsafe shards[shard].state.withLock { state in
      unsafe state.use(rowID, hash, collection.rawValue, csn: csn.rawValue, cleared: cleared, types, body)
    }
  }

  @inline(__always) private func hint(_ rowID: RowID) -> Int { Int(truncatingIfNeeded: rowID.rawValue) & hintMask }

  /// Takes in what a reader of the snapshot `csn` has found.
  func insert(_ entry: CacheEntry, _ lines: CachedLines, _ place: CachePlace, csn: CSN, cleared: UInt64) {
    release { released in
      unsafe shards[shard(place.hash)].state.withLock { state in
        state.insert(entry, lines, place.hash, csn: csn.rawValue, cleared: cleared, &released)
      }
    }
    unsafe hints[hint(entry.rowID)].store(place.hash, ordering: .relaxed)
  }

  // MARK: Changes

  /// Notes what a commit changes, before anybody sees it. Under the writer lock. O(changes).
  func note(_ changes: ChangeLog, csn: CSN) {
    if changes.count > slotCount { return noteClearing(of: nil, csn) }
    unsafe changes.forEachStoredChange { (collection, key) in
      guard let key = unsafe key else { return noteClearing(of: collection, csn) }
      guard let collection else { return }
      let hash = unsafe hash.hash(collection.rawValue, key)
      unsafe shards[shard(hash)].state.withLock { $0.mark(hash, csn: csn.rawValue) }
    }
  }

  /// Notes that all rows of a collection, or of all of them, are removed.
  private func noteClearing(of collection: CollectionID?, _ csn: CSN) {
    if let collection {
      assert(
        unsafe clears[Int(collection.rawValue) % Self.clearCount].load(ordering: .relaxed) <= csn.rawValue,
        "commits are told in another order than they have")
      return unsafe clears[Int(collection.rawValue) % Self.clearCount].store(csn.rawValue, ordering: .releasing)
    }
    for index in 0..<Self.clearCount { unsafe clears[index].store(csn.rawValue, ordering: .releasing) }
  }

  // MARK: Memory

  /// Lets go of everything.
  func removeAll() {
    for index in 0..<shardCount {
      release { released in unsafe shards[index].state.withLock { $0.removeAll(&released) } }
    }
  }

  /// Lets go of what `body` takes out, one by one and after it.
  private func release(_ body: (inout CacheEntry?) -> Void) {
    var released: CacheEntry?
    body(&released)
    while let entry = released {
      released = entry.next
      entry.next = nil
    }
  }

  var statistics: ObjectCacheStatistics {
    var sum = ObjectCacheStatistics()
    for index in 0..<shardCount { sum += unsafe shards[index].state.withLock { $0.statistics } }
    return sum
  }

  /// Throws if an invariant is broken.
  func checkInvariants() throws(DatabaseError) {
    for index in 0..<shardCount {
      let problem = unsafe shards[index].state.withLock { state in
        state.checkInvariants(hash) { shard($0) == index }
      }
      if let problem { throw DatabaseError(.damagedRow, "Invariant of the cache of objects: \(problem).") }
    }
  }
}
