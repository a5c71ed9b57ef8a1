// What goes wrong on the simulated disk: rates drawn from a seed, and single faults planned by a test.

/// The kinds of faults that a plan can draw.
package enum FaultKind: Int, Sendable, CaseIterable {
  /// A read returns fewer bytes than there are.
  case shortRead
  /// A write takes fewer bytes than it was given.
  case shortWrite
  /// A read is interrupted by a signal.
  case interruptedRead
  /// A write is interrupted by a signal.
  case interruptedWrite
  /// A read fails once.
  case readError
  /// A sector cannot be read any more until it is written, or until the plan ends.
  case badSector
  /// A write fails; a part of it may have been done.
  case writeError
  /// A resize or an allocation fails.
  case resizeError
  /// There is no space, or no quota, for a number of operations.
  case diskFull
  /// A sync fails with EIO although all writes worked.
  case syncError
  /// A sync fails for lack of space.
  case syncFull
  /// Opening fails, most often for want of descriptors.
  case openError
  /// Syncing a directory fails; its names stay pending, or are forgotten, or are durable after all.
  case directorySyncError
  /// Giving a second name fails.
  case linkError
  /// Taking a name away fails.
  case unlinkError
  /// Locking fails for want of lock records.
  case lockError
  /// Asking for length and identity fails.
  case statusError
}

/// Which faults exist in a run and how often they strike.
///
/// Drawn from a seed in the manner of swarm testing: first which kinds exist at all, then a rate for each. So most
/// plans have few kinds, and rare mixtures happen.
///
///     disk.setFaultPlan(FaultPlan(seed: 7, allowing: FaultPlan.harmlessKinds))
package struct FaultPlan: Sendable, CustomStringConvertible {
  /// Nothing goes wrong.
  package static let none = FaultPlan()
  /// What every program has to bear without noticing: short transfers and interruptions.
  package static let harmlessKinds: [FaultKind] = [.shortRead, .shortWrite, .interruptedRead, .interruptedWrite]

  /// By the raw value of the kind: a fault in so many calls on average, or 0 for never.
  private var rates = [Int](repeating: 0, count: FaultKind.allCases.count)
  /// What failed syncs do to unsynced changes.
  package var syncFailures = SyncFailure.allCases
  /// A failed sync that forgets still wrote one sector in so many; 0 for none.
  package var survivorsOneIn = 0
  /// How many operations long the disk stays full, at most.
  package var fullPeriod = 20
  /// What a full disk answers.
  package var fullCode = SystemCode.noSpace
  /// Whether a full disk refuses to overwrite as well, as copy-on-write file systems do.
  package var refusesOverwritesWhenFull = false
  /// Where the draws of the run begin.
  package var seed: UInt64 = 0

  /// A plan without faults, to be filled by hand.
  package init() {}

  /// Draws a plan; one in eight has no faults at all.
  package init(seed: UInt64, allowing kinds: [FaultKind] = FaultKind.allCases) {
    var random = SeededRandom(seed: seed)
    self.seed = random.next()
    let existsOneIn = 1 << (1 + random.below(3))
    let isCalm = random.oneIn(8)
    for kind in FaultKind.allCases {
      let exists = random.oneIn(existsOneIn)
      let rate = 8 << (2 * random.below(5))
      if exists && !isCalm && kinds.contains(kind) { self[kind] = rate }
    }
    syncFailures = SyncFailure.allCases.filter { _ in random.oneIn(2) }
    if syncFailures.isEmpty { syncFailures = SyncFailure.allCases }
    survivorsOneIn = random.oneIn(2) ? 0 : 1 + random.below(4)
    fullPeriod = 1 << random.below(8)
    let fullCodes = [SystemCode.noSpace, SystemCode.noSpace, SystemCode.quotaExceeded, SystemCode.fileTooLarge]
    fullCode = fullCodes[random.below(fullCodes.count)]
    refusesOverwritesWhenFull = random.oneIn(2)
  }

  /// How rare faults of `kind` are: one in so many calls that could have them, 0 for never.
  package subscript(kind: FaultKind) -> Int {
    get { rates[kind.rawValue] }
    set { rates[kind.rawValue] = newValue }
  }

  /// Whether nothing can go wrong.
  package var isCalm: Bool { rates.allSatisfy { $0 == 0 } }

  package var description: String {
    let kinds = FaultKind.allCases.filter { self[$0] > 0 }.map { "\($0) 1/\(self[$0])" }
    return kinds.isEmpty ? "no faults" : kinds.joined(separator: ", ")
  }
}

/// What goes wrong with one call.
package enum FaultEffect: Hashable, Sendable {
  /// The call fails with this `errno` and changes nothing.
  case error(Int32)
  /// So many bytes of a write are written, then it fails with this `errno`.
  case errorAfter(Int, Int32)
  /// A read or write moves at most so many bytes, and at least one.
  case short(Int)
  /// The sector at this offset cannot be read any more.
  case badSector(at: Int)
  /// A sync fails with this `errno` and loses what was pending, but for one sector in `survivorsOneIn` (0: none, 1:
  /// all, so that everything is on the disk although the sync has failed). Of a directory the names are lost.
  case failedSync(SyncFailure, Int32, survivorsOneIn: Int)
}
