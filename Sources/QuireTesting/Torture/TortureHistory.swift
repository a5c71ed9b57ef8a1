// One seed, one history: a database that works, crashes, recovers and works on, and a model that knows what it must
// hold.

internal import QuireStorage
internal import Synchronization

/// A tree as the model knows it.
struct NamedTree: Sendable {
  let name: String
  let tree: Tree
}

/// What a commit left besides its entries.
struct CommitNotes: Sendable {
  var trees: [NamedTree] = []
  /// The first row id and the first tree id that were not given out when it was made.
  var nextRowID: Int64 = 1
  var nextTreeID: UInt64 = 1
}

/// A snapshot that is held, and what it must show.
struct HeldPin {
  let snapshot: PinnedSnapshot
  let state: ModelState
  let trees: [NamedTree]
}

/// A transaction's closure asks for its end.
struct TortureAbort: Error {}

/// Drives an engine on a simulated disk through several lives and compares it with a model all the while.
///
/// ```swift
/// let report = TortureHistory(seed: 42).run()
/// ```
///
/// Everything is drawn from the seed. For one thread.
///
/// Invariants:
/// 1. `model.newest` is the newest commit that was appended, or may have been; `certain` the newest that surely was.
/// 2. `notes` has an entry for every state of the model.
/// 3. `engine` is open on `disk`, except while it is recovered.
package final class TortureHistory {
  static let path = "/torture/db"

  package let seed: UInt64
  package let configuration: TortureConfiguration
  var random: SeededRandom
  /// The engine draws from here.
  private let engineRandom: SharedRandom
  package var report = TortureReport()
  /// Takes a line for each operation, to follow a history.
  package var trace: ((String) -> Void)?

  var disk = SimulatedDisk()
  var engine: StorageEngine?
  var model = ReferenceModel()
  var notes: [UInt64: CommitNotes] = [0: CommitNotes()]
  var certain = CSN(0)
  /// The newest commit that a reader was shown in this life.
  var shown = CSN(0)
  /// Ids below were given out in this life or belong to a commit that survived.
  var nextRowID: Int64 = 1
  var nextTreeID: UInt64 = 1
  var pins: [HeldPin] = []
  var tickets: [(csn: CSN, ticket: CommitTicket)] = []
  /// Whether writing has stopped in this life.
  var hasStopped = false
  /// How often a change is a deletion in this life, in tenths.
  var deletionTenths = 2
  /// Whether an operation of the transaction failed and was gone over.
  var isHalfDone = false
  /// Whether a sync or a write failed in the life before.
  var followsFailure = false
  var operation = 0
  /// How many changes the last recovery made to the disk: where to cut the next one off.
  var recoveryChanges = 12
  /// The oldest commit that the recovery under way may come back with.
  var floor = CSN(0)
  private var bytePicker: KeyPicker
  private var integerPicker: KeyPicker
  private var values: ValueGenerator
  private var longRandom: SeededRandom
  /// What the callers of transactions were told that failed in this life.
  var told = ToldOutcomes()
  /// Lets calls fail at chosen places; apart from the rest, as the decoder's dice.
  let placedFaults = PlacedFaults()
  var placeRandom: SeededRandom
  /// Decides when the decoder is asked; apart from the rest, so that histories go on as they always have.
  var decoderRandom: SeededRandom

  /// A history whose manner is drawn from the seed as well.
  package convenience init(seed: UInt64) {
    var random = SeededRandom(seed: seed ^ 0x7042_7475_7265_5eed)
    self.init(seed: seed, TortureConfiguration(drawing: &random), random)
  }

  /// A history of a given manner.
  package convenience init(seed: UInt64, _ configuration: TortureConfiguration) {
    self.init(seed: seed, configuration, SeededRandom(seed: seed ^ 0x7042_7475_7265_5eed))
  }

  private init(seed: UInt64, _ configuration: TortureConfiguration, _ source: SeededRandom) {
    self.seed = seed
    self.configuration = configuration
    random = source
    engineRandom = SharedRandom(seed: random.next())
    let keyLimit = min(64, Limits.keyByteCount(pageSize: configuration.pageSize))
    let shapes: [KeyUniverse.Shape] = [.scattered, .sharedPrefix, .mixedLengths]
    let bytes = KeyUniverse(
      count: configuration.keyCount, shape: random.pick(shapes), maximumLength: keyLimit, seed: random.next())
    let integers = KeyUniverse(
      count: configuration.keyCount, shape: random.pick([.integers, .consecutive]), seed: random.next())
    bytePicker = KeyPicker(bytes, seed: random.next())
    integerPicker = KeyPicker(integers, seed: random.next())
    let valueSeed = random.next()
    values = ValueGenerator(configuration.valueSizes, seed: valueSeed)
    longRandom = SeededRandom(seed: valueSeed ^ 0x1095_0a1e)
    decoderRandom = SeededRandom(seed: valueSeed ^ 0xdec0_dec0)
    placeRandom = SeededRandom(seed: valueSeed ^ 0x91ac_e5ed)
    report.histories = 1
    report.hash.combine(seed)
  }

  /// Runs the history to its end, or to its first failure.
  package func run() -> TortureReport {
    do {
      disk.isPowerSafe = configuration.isPowerSafe
      try recover(disk, floor: CSN(0))
      try fillAtFirst()
      for _ in 0..<configuration.lifeCount {
        try live()
        try endLife()
      }
      try prove()
      closeForGood()
    } catch let failure as TortureFailure {
      report.failures.append(failure)
    } catch {
      report.failures.append(failure(.broken, "an error nobody expected: \(error)"))
    }
    finish(disk)
    engine = nil
    return report
  }

  // MARK: Parts

  func note(_ text: @autoclosure () -> String) {
    if let trace { trace("\(operation): \(text())") }
  }

  func failure(_ verdict: TortureFailure.Verdict, _ text: String) -> TortureFailure {
    TortureFailure(verdict: verdict, seed: seed, operation: operation, text: text)
  }

  /// The engine, which is open.
  func opened() throws -> StorageEngine {
    guard let engine else { throw failure(.broken, "there is no engine") }
    return engine
  }

  func environment(_ disk: SimulatedDisk) -> StorageEnvironment {
    let engineRandom = engineRandom
    return StorageEnvironment(
      fileSystem: disk, random: { engineRandom.next() }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: configuration.segmentByteCount, usualLogByteCount: configuration.usualLogByteCount,
      partByteCount: configuration.partByteCount, unloggedByteCount: configuration.unloggedByteCount,
      continuedLogByteCount: configuration.continuedLogByteCount,
      putsBeforeDeferral: configuration.putsBeforeDeferral)
  }

  var waitsForFlush: Bool { configuration.durability == .full }

  /// The trees of the newest commit.
  var trees: [NamedTree] { notes[model.newest.csn.rawValue]?.trees ?? [] }

  /// A key for a tree of this kind.
  func nextKey(_ kind: KeyKind) -> [UInt8] { kind == .int64 ? integerPicker.next() : bytePicker.next() }

  /// A range of keys.
  func nextRange(_ kind: KeyKind) -> ModelRange {
    kind == .int64 ? integerPicker.nextRange() : bytePicker.nextRange()
  }

  /// A value that fits a page beside `key`, or one that is too long for that.
  func nextValue(beside key: [UInt8]) -> [UInt8] {
    if configuration.longValueOneIn > 0, longRandom.oneIn(configuration.longValueOneIn) { return nextLongValue() }
    let limit = Limits.entryByteCount(pageSize: configuration.pageSize) - key.count
    return Array(values.next().prefix(max(0, limit)))
  }

  /// Half of them of few lengths, so that they take each other's places.
  private func nextLongValue() -> [UInt8] {
    let (page, longest) = (configuration.pageSize, configuration.longestValue)
    let count =
      longRandom.oneIn(2)
      ? longRandom.pick([page / 2, page, page + 1, 2 * page, longest]) : page / 3 + longRandom.below(longest)
    let start = longRandom.next()
    // Different at every place and quick to make.
    return (0..<count).map { UInt8(truncatingIfNeeded: (start &+ UInt64($0)) &* 0x9e37_79b9_7f4a_7c15 >> 56) }
  }

  /// Enters a disk that is done with into the hash.
  func finish(_ disk: SimulatedDisk) {
    report.hash.combine(disk.traceHash)
    if trace != nil { for operation in disk.trace.suffix(60) { note("  disk: \(operation)") } }
  }

  /// Adds a commit, or what may be one.
  func append(_ draft: TortureDraft, as csn: CSN) throws {
    guard csn > model.newest.csn else {
      throw failure(.ghost, "a commit got \(csn), but \(model.newest.csn) had been appended before")
    }
    // The ids of trees that were rolled back may be given out again after a crash: nobody knows of them.
    let known = notes[model.newest.csn.rawValue]?.nextTreeID ?? 1
    let nextTreeID = max(known, (draft.trees.map(\.tree.id.rawValue).max() ?? 0) + 1)
    model.append(draft.state, as: csn)
    // Another transaction has its number now.
    if let refused = told.refusal?.csn, refused <= csn { told.refusal = nil }
    notes[csn.rawValue] = CommitNotes(trees: draft.trees, nextRowID: nextRowID, nextTreeID: nextTreeID)
  }

  /// Forgets what nobody can ask for any more.
  func forget() {
    guard model.stateCount > 64 else { return }
    model.forget(before: pins.map(\.snapshot.csn).min() ?? shown)
    let oldest = model.oldestCSN.rawValue
    notes = notes.filter { $0.key >= oldest }
  }

  // MARK: Judging errors

  /// Whether the life may end in an error: the disk failed, or has no power.
  func judge(_ error: any Error, on failing: SimulatedDisk? = nil, since faults: Int, during call: String) throws {
    let disk = failing ?? disk
    if disk.isPoweredOff { return }
    guard let error = error as? StorageError else {
      throw (error as? TortureFailure) ?? failure(.broken, "\(call) threw \(error)")
    }
    note("\(call) threw \(error.code)")
    let struck = disk.counters.faultCount
    switch error.code {
    case .diskFull, .inputOutput:
      if struck > faults { return }
    case .failStop, .outcomeUnknown:
      if struck > 0 {
        hasStopped = true
        return
      }
    default: break
    }
    throw failure(.falseAlarm, "\(call) threw \(error)")
  }

  /// Whether the engine has stopped writing.
  func checkForStop() { hasStopped = hasStopped || engine?.core.queue.hasStopped ?? false }
}

/// Random numbers that several threads may draw, as the engine asks for.
final class SharedRandom: Sendable {
  private let random: Latch<SeededRandom>
  init(seed: UInt64) { random = Latch(SeededRandom(seed: seed)) }
  func next() -> UInt64 { random.withLock { $0.next() } }
}
