// What one history is like, drawn from its seed: first which things happen at all, then how often. So rare mixtures are
// met as often as common ones.

internal import QuireStorage

/// What a history does between two crashes.
enum TortureOperation: Int, Sendable, CaseIterable {
  /// A transaction, and waiting for it.
  case commitAndWait
  /// A transaction whose commit is waited for later, or never.
  case commit
  /// Waiting for one of those.
  case wait
  /// Several of those before anything is synced.
  case group
  case flush
  /// A transaction that changes nothing, most often behind one that is not durable.
  case emptyWrite
  /// A transaction that throws.
  case abort
  /// A transaction whose record fits no segment.
  case bigTransaction
  /// A transaction that loads entries in bulk.
  case bulkLoad
  /// A checkpoint to its end.
  case checkpoint
  /// Some steps of the checkpoint that runs.
  case steps
  /// A record that marks a burst of commits durable.
  case mark
  case openPin
  case closePin
  /// Questions to a pin.
  case readPin
  /// Questions to the newest snapshot.
  case readNewest
  /// A tree is made or dropped.
  case changeTrees
  case allocateRowIDs
  /// The disk gets full, or has space again.
  case changeSpace
  /// The engine checks itself, in memory and on the disk.
  case verify
  /// Everything must work while the disk is well.
  case prove
  /// Some steps of the maintenance of the file.
  case maintain
  /// A compaction, to its end or to where somebody stops it.
  case compact
  /// A backup, to its end or to where somebody stops it; it must hold the newest snapshot.
  case backUp
}

/// How a history goes.
package struct TortureConfiguration: Sendable, CustomStringConvertible {
  var pageSize = 512
  var logLimit = 16 << 10
  var segmentByteCount = 12 << 10
  /// How long a record becomes before a part of it is appended.
  var partByteCount = 1 << 20
  /// How many bytes of parts there are before a transaction may go unlogged.
  var unloggedByteCount = 1 << 20
  /// How long the log may become however little data there is.
  var usualLogByteCount = 1 << 20
  /// From how many bytes of log on a recovery has the log go on.
  var continuedLogByteCount = 1 << 20
  /// After how many puts in a row the next ones wait.
  var putsBeforeDeferral = 0
  var cachePages = 64
  var durability = Durability.full
  var lifeCount = 4
  var operationsPerLife = 40
  /// Changes in a transaction: one exactly, or up to this many.
  var transactionLength = 4
  /// How often a savepoint is made in a transaction: one in so many.
  var savepointOneIn = 2
  var keyCount = 64
  /// Entries that are put in before anything else, so that trees are deep from the start.
  var entriesAtFirst = 0
  /// How often a change is a deletion, in tenths: one of these for each life.
  var deletionTenths = [2]
  var valueSizes = ValueGenerator.Sizes.equal(24)
  /// One value in so many is longer than a page; 0 for none. The longest such value, in bytes.
  var longValueOneIn = 0
  var longestValue = 0
  var treeLimit = 3
  /// How many pins may be held, and whether they outlive the moment.
  var pinLimit = 4
  var keepsPins = false
  /// How likely an operation is, by its raw value.
  var weights = [Int](repeating: 1, count: TortureOperation.allCases.count)
  /// How many steps of a checkpoint follow each operation, on average in sixteenths.
  var stepRate = 16
  /// Images of each power cut that are recovered, all but the last to be thrown away.
  var imagesPerCrash = 1
  /// One recovery in so many is cut off in its turn; 0 for none.
  var nestedOneIn = 2
  /// One life in so many has a failing sync or write planned; 0 for none.
  var failureOneIn = 0
  /// One life in so many has a call fail at a chosen place; 0 for none.
  var placedOneIn = 0
  /// What the disk may do by itself.
  var faultKinds: [FaultKind] = []
  /// Whether the disk gets full.
  var isSpaceShort = false
  /// Whether the disk says how much space is left: with enough, memory is given back by other ways.
  var tellsFreeByteCount = true
  /// Whether groups of commits start blocks of their own, and whether the disk needs that.
  var alignsLogGroups = false
  var isPowerSafe = true
  /// The shortest that a long record may be made, in bytes.
  var bigByteCounts = [4, 8, 12, 16, 32].map { $0 << 10 }

  /// The settings of short histories without faults, for tests that try every crash.
  package init() {}

  /// Draws everything.
  package init(drawing random: inout SeededRandom) {
    pageSize = random.pick([512, 512, 512, 1024, 4096])
    logLimit = random.pick([16, 16, 32, 64, 256]) << 10
    segmentByteCount = random.pick([12, 12, 16, 24, 32, 64]) << 10
    partByteCount = random.pick([1 << 20, 64 + random.below(200), 64 + random.below(2000), 2000])
    unloggedByteCount = random.pick([0, 1000, 8 << 10, 1 << 20])
    usualLogByteCount = random.pick([0, 16 << 10, 64 << 10, 1 << 20])
    cachePages = random.pick([32, 48, 64, 256, 4096])
    durability = random.pick([.full, .full, .full, .relaxed, .interval(.milliseconds(10))])
    lifeCount = 2 + random.below(8)
    operationsPerLife = random.pick([4, 12, 30, 60, 120])
    transactionLength = random.pick([1, 1, 3, 8, 24])
    savepointOneIn = random.pick([1, 2, 2, 8])
    keyCount = random.pick([4, 16, 64, 512, 512, 4096])
    // Branches that merge, and pages that no transaction touches for a while, need trees of several levels.
    entriesAtFirst = keyCount < 512 || random.oneIn(3) ? 0 : random.pick([100, 300, 600])
    deletionTenths = random.pick([[2], [2, 7], [1, 6], [1, 3, 8]])
    let length = random.pick([8, 16, 24, 24, 100])
    valueSizes = random.oneIn(4) ? .mixed(pageByteCount: pageSize / 8, rare: pageSize / 4) : .equal(length)
    treeLimit = 1 + random.below(4)
    pinLimit = random.pick([0, 1, 4, 16])
    keepsPins = random.oneIn(2)
    imagesPerCrash = random.pick([1, 2, 3, 4])
    nestedOneIn = random.pick([1, 2, 2, 4])
    stepRate = random.pick([0, 4, 16, 64])
    drawWeights(&random)
    drawFaults(&random)
    drawMemory(&random)
    drawLongValues(random)
    drawOperations(random)
    drawPlaced(random)
  }

  /// From a copy of the dice, too. Every fourth history is about failures where commits are decided: small transactions
  /// and such that are too large for the log, in short lives of which each has one.
  private mutating func drawPlaced(_ random: SeededRandom) {
    var random = random
    random = SeededRandom(seed: random.next() ^ 0x91ac_e5ed)
    guard random.oneIn(4) else { return placedOneIn = random.pick([0, 0, 1, 3]) }
    placedOneIn = 1
    durability = random.pick([.full, .full, .full, .relaxed])
    lifeCount = 6 + random.below(8)
    operationsPerLife = random.pick([4, 12, 30])
    entriesAtFirst = min(entriesAtFirst, 300)
    unloggedByteCount = random.pick([0, 1000, 1 << 20])
    partByteCount = random.pick([64 + random.below(200), 2000])
    // Logs that become longer, and those that may not.
    if random.oneIn(3) { (segmentByteCount, usualLogByteCount, logLimit) = (12 << 10, 64 << 10, 256 << 10) }
    bigByteCounts = [4, 8, 16, 32].map { $0 << 10 }
    self[.bigTransaction] = random.pick([2, 6])
    self[.checkpoint] = random.pick([1, 3])
    self[.commitAndWait] = 4
    // Other failures would stop most lives before.
    (failureOneIn, faultKinds, isSpaceShort) = (0, random.pick([[], FaultPlan.harmlessKinds]), false)
    self[.changeSpace] = 0
  }

  /// From a copy of the dice, like the long values: how often an operator asks for something.
  private mutating func drawOperations(_ random: SeededRandom) {
    var random = random
    for operation in [TortureOperation.compact, .backUp] { self[operation] = random.pick([0, 0, 1, 2]) }
  }

  /// From a copy of the dice: what else a seed means stays as it was before there were long values, and puts that wait.
  private mutating func drawLongValues(_ random: SeededRandom) {
    var random = random
    longValueOneIn = random.pick([0, 0, 2, 6, 20])
    // A chunk has sixteen pages, or fewer of the larger sizes: lists of chunks are met too.
    longestValue = random.pick([2, 4, 20, 40]) * min(pageSize, 1024)
    putsBeforeDeferral = random.pick([0, 0, 1, 4, 20, 2000])
    continuedLogByteCount = random.pick([0, 0, 0, 1000, 1 << 20])
    tellsFreeByteCount = !random.oneIn(3)
  }

  private mutating func drawWeights(_ random: inout SeededRandom) {
    for operation in TortureOperation.allCases where operation != .compact && operation != .backUp {
      self[operation] = random.oneIn(3) ? 0 : 1 + random.below(8)
    }
    // Without commits there is nothing to lose.
    self[.commitAndWait] = max(1, self[.commitAndWait])
    self[.commit] += 2
    // Long ones are rare, or there would be nothing else.
    self[.bigTransaction] = min(1, self[.bigTransaction])
    self[.bulkLoad] = min(random.pick([1, 3]), self[.bulkLoad])
    self[.prove] = min(1, self[.prove])
    self[.verify] = min(1, self[.verify])
    self[.checkpoint] = min(random.pick([1, 8]), self[.checkpoint])
  }

  private mutating func drawFaults(_ random: inout SeededRandom) {
    switch random.below(9) {
    case 0: faultKinds = FaultPlan.harmlessKinds
    case 1: faultKinds = FaultKind.allCases
    case 2: faultKinds = [.diskFull, .openError, .unlinkError, .directorySyncError, .statusError]
    case 3: faultKinds = [.syncError, .syncFull, .writeError, .shortWrite]
    case 4: faultKinds = [.readError, .badSector, .shortRead, .interruptedRead]
    default: break
    }
    failureOneIn = random.pick([0, 0, 4, 1])
    isSpaceShort = random.oneIn(4)
    if !isSpaceShort { self[.changeSpace] = 0 }
    alignsLogGroups = random.oneIn(4)
    // Pages shorter than a sector cannot live on a disk that damages whole ones.
    isPowerSafe = !(alignsLogGroups && pageSize == DiskGeometry.pageByteCount && random.oneIn(2))
  }

  /// Every other history has trees and transactions that are larger than its memory.
  private mutating func drawMemory(_ random: inout SeededRandom) {
    guard random.oneIn(2) else { return }
    cachePages = random.pick([32, 32, 48, 64])
    keyCount = max(keyCount, random.pick([512, 2048]))
    // Large pages take many entries to fill, and a history has a fraction of a second.
    let cacheByteCount = min(64 << 10, cachePages * pageSize)
    entriesAtFirst = max(entriesAtFirst, random.pick([0, 1, 2]) * cacheByteCount / 64)
    bigByteCounts += [cacheByteCount, 2 * cacheByteCount, 4 * cacheByteCount]
    self[.bigTransaction] = random.pick([1, 1, 2])
    // Records that fit a segment are logged, and their pages spill all the same.
    if random.oneIn(2) {
      logLimit = 256 << 10
      segmentByteCount = 256 << 10
    }
  }

  subscript(operation: TortureOperation) -> Int {
    get { weights[operation.rawValue] }
    set { weights[operation.rawValue] = newValue }
  }

  var options: StorageOptions {
    StorageOptions(
      pageSize: pageSize, cacheSize: cachePages * pageSize, durability: durability, logLimit: logLimit,
      alignsLogGroups: alignsLogGroups, createsIfMissing: true)
  }

  package var description: String {
    let operations = TortureOperation.allCases.filter { self[$0] > 0 }.map { "\($0) \(self[$0])" }
    return """
      pages \(pageSize), segments \(segmentByteCount) to \(logLimit), usually \(usualLogByteCount), \
      parts \(partByteCount), unlogged from \(unloggedByteCount), \
      logs go on from \(continuedLogByteCount), \
      puts wait after \(putsBeforeDeferral), \
      cache \(cachePages) pages, \(durability), \
      \(lifeCount) lives of \(operationsPerLife), transactions of \(transactionLength), \
      savepoints 1/\(savepointOneIn), \
      \(keyCount) keys, \(entriesAtFirst) at first, deletions \(deletionTenths)/10, \
      values \(valueSizes), long 1/\(longValueOneIn) up to \(longestValue), \
      \(treeLimit) trees, \(pinLimit) pins\(keepsPins ? " kept" : ""), \
      steps \(stepRate)/16, images \(imagesPerCrash), nested 1/\(nestedOneIn), failures 1/\(failureOneIn), \
      placed 1/\(placedOneIn), \
      faults \(faultKinds), \(isSpaceShort ? "space is short, " : "")\(alignsLogGroups ? "aligned, " : "")\
      \(isPowerSafe ? "" : "not power-safe, ")big ones from \(bigByteCounts), \(operations.joined(separator: ", "))
      """
  }
}
