// What an app says about the cache of objects, and what it is told.

/// How much of decoded objects is kept in memory, and of which collections.
///
/// ```swift
/// var options = Database.Options()
/// options.objectCache = ObjectCacheOptions(countLimit: 20_000, byteLimit: 32 << 20)
/// ```
///
/// The guide is <doc:Caching>.
public struct ObjectCacheOptions: Sendable {
  /// The most objects that are kept.
  public var countLimit: Int
  /// The most bytes that are kept. An object counts as what it takes in the file before compression, with its key and
  /// 192 bytes for itself; what it takes in memory is not known to anybody.
  public var byteLimit: Int
  /// The collections whose objects are kept. Asked now and then, and must always say the same.
  ///
  /// Leave out those whose objects are reference types that anybody changes: everybody is given the same instance.
  public var collections: CollectionFilter

  /// A cache of so much; what is left out has the value that suits most.
  public init(countLimit: Int = 10_000, byteLimit: Int = 16 << 20, collections: CollectionFilter = .all) {
    self.countLimit = countLimit
    self.byteLimit = byteLimit
    self.collections = collections
  }
}

/// What the cache of objects has been good for since opening, and what is in it now.
public struct ObjectCacheStatistics: Hashable, Sendable {
  /// How many reads found their object.
  public internal(set) var hits = 0
  /// How many did not, for whatever reason, and found it in the trees, or nothing.
  public internal(set) var misses = 0
  /// How many objects were taken in.
  public internal(set) var insertions = 0
  /// How many had to go for others.
  public internal(set) var evictions = 0
  /// How many show their row as it was before some commit, and only older snapshots can use them since then.
  public internal(set) var invalidations = 0
  /// How many are there now.
  public internal(set) var count = 0
  /// What they take, as `ObjectCacheOptions.byteLimit` counts it.
  public internal(set) var byteCount = 0

  /// The part of reads that found their object, from 0 to 1.
  public var hitRatio: Double { hits + misses == 0 ? 0 : Double(hits) / Double(hits + misses) }

  static func += (left: inout Self, right: Self) {
    left.hits += right.hits
    left.misses += right.misses
    left.insertions += right.insertions
    left.evictions += right.evictions
    left.invalidations += right.invalidations
    left.count += right.count
    left.byteCount += right.byteCount
  }
}
