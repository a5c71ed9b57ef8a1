// How a history of threads over rows goes.

import QuireDatabase
import QuireTesting

/// What goes wrong in a history.
enum RowFault: Hashable, Sendable {
  case nothing
  /// A write, or a sync, of the log or of the data file fails.
  case write, synchronize
  /// The disk is full for a while.
  case full
}

/// A history, drawn from its seed. Which thread meets what is up to the threads.
struct ThreadedRowPlan: Sendable, CustomStringConvertible {
  let seed: UInt64
  let durability: Durability
  let writerCount: Int
  let readerCount: Int
  let operationCount: Int
  let collectionCount: Int
  let keyCount: Int
  let longestText: Int
  let pageSize: Int
  let cachePages: Int
  let logLimit: Int
  let unloggedByteCount: Int
  /// How many objects the cache of objects has room for; nil without one.
  let cachedObjects: Int?
  /// Whether the first collection is left out of the cache of objects.
  let sparesFirst: Bool
  let pauseOneIn: Int
  let longestPause: Int
  let fault: RowFault
  let isOfLog: Bool
  let skipCount: Int
  let fullCount: Int
  let syncFailure: SyncFailure

  init(seed: UInt64) {
    self.seed = seed
    var random = SeededRandom(seed: seed ^ 0x726f_7773)
    durability = random.pick([.full, .full, .relaxed, .interval(.milliseconds(1))])
    writerCount = 1 + random.below(3)
    readerCount = 1 + random.below(3)
    operationCount = random.pick([20, 40, 60])
    collectionCount = 1 + random.below(3)
    keyCount = random.pick([3, 12, 60])
    longestText = random.pick([20, 100, 600, 6000])
    pageSize = random.pick([1024, 4096])
    cachePages = random.pick([64, 300, 2000])
    logLimit = random.pick([32, 64, 256]) << 10
    unloggedByteCount = random.pick([3000, 4 << 20])
    cachedObjects = random.pick([nil, 8, 1000, 1000])
    sparesFirst = random.oneIn(4)
    pauseOneIn = random.pick([1, 3, 10])
    longestPause = random.pick([50, 300, 1000])
    fault = random.pick([.nothing, .nothing, .nothing, .write, .synchronize, .full])
    isOfLog = !random.oneIn(3)
    skipCount = random.below(random.pick([4, 20, 60]))
    fullCount = random.pick([20, 200])
    syncFailure = random.pick(SyncFailure.allCases)
  }

  var options: Database.Options {
    var options = Database.Options(
      durability: durability, cacheSize: cachePages * pageSize, pageSize: pageSize, logLimit: logLimit,
      maintainsWhenIdle: false, commitBuffer: .max)
    if let cachedObjects {
      let spared = sparesFirst ? [RowPlace.collectionName(0)] : []
      options.objectCache = ObjectCacheOptions(countLimit: cachedObjects, collections: .except(spared))
    }
    return options
  }

  /// Whether an error is one that the plan's fault may cause in a transaction that writes.
  func isExpected(_ error: DatabaseError) -> Bool {
    let codes: [DatabaseError.Code] = [.failStop, .inputOutput, .diskFull, .outcomeUnknown]
    return fault != .nothing && codes.contains(error.code)
  }

  /// Whether some of what is asked for may not be shown any more: what a failed sync has lost.
  func mayRefuseReads(_ error: DatabaseError) -> Bool { fault == .synchronize && error.code == .failStop }

  /// From the same seed, what one transaction draws.
  func random(_ thread: Int, _ number: Int) -> SeededRandom {
    var random = SeededRandom(seed: seed &* 31 &+ UInt64(thread << 20 | number))
    return random.fork()
  }

  var description: String {
    """
    \(durability), \(writerCount) writers and \(readerCount) readers of \(operationCount), \
    \(collectionCount) collections of \(keyCount) keys, texts up to \(longestText), \(cachePages) pages of \
    \(pageSize), log \(logLimit), unlogged from \(unloggedByteCount), objects \
    \(cachedObjects.map { "\($0)" } ?? "not") cached\
    \(sparesFirst ? " but the first collection's" : ""), pauses 1/\(pauseOneIn) up to \(longestPause) µs, fails: \
    \(fault) \(isOfLog ? "of the log" : "of the data file") after \(skipCount), full for \(fullCount), \(syncFailure)
    """
  }
}
