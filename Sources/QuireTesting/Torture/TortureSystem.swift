// The system under test: an engine on a simulated disk.

internal import QuireStorage

/// The engine of a history and the disk that it works on, from opening to opening.
///
/// Invariants:
/// 1. `engine` is open on `disk`, except while it is recovered.
/// 2. `hasStopped` is true if writing was seen to have stopped in this life.
final class TortureSystem {
  static let path = "/torture/db"

  let log: TortureLog
  private let configuration: TortureConfiguration
  private let random: SharedRandom
  private(set) var disk = SimulatedDisk()
  private(set) var engine: StorageEngine?
  /// Whether writing has stopped in this life.
  private(set) var hasStopped = false
  /// Lets calls fail at chosen places.
  let placedFaults = PlacedFaults()

  init(_ log: TortureLog, _ configuration: TortureConfiguration, _ random: SharedRandom) {
    self.log = log
    self.configuration = configuration
    self.random = random
  }

  // MARK: Lives

  /// A life begins with an engine that was opened on a disk.
  func begin(_ engine: StorageEngine, _ disk: SimulatedDisk) {
    self.engine = engine
    self.disk = disk
    disk.tellsFreeByteCount = configuration.tellsFreeByteCount
    placedFaults.watch(disk, engine.core, path: Self.path)
    hasStopped = false
  }

  /// An opening has failed: whatever stopped, the next opening begins anew.
  func forgetStop() { hasStopped = false }

  /// Opens the first engine on the disk.
  func create() throws(StorageError) {
    disk.tellsFreeByteCount = configuration.tellsFreeByteCount
    engine = try StorageEngine(at: Self.path, options: configuration.options, environment: environment(disk))
  }

  /// Lets the engine go without closing it.
  func forgetEngine() { engine = nil }

  /// The life ends; nothing uses its disk any more.
  func end() {
    engine = nil
    log.finish(disk)
  }

  /// The engine, which is open.
  func opened() throws -> StorageEngine {
    guard let engine else { throw log.failure(.broken, "there is no engine") }
    return engine
  }

  func environment(_ disk: SimulatedDisk) -> StorageEnvironment {
    let random = random
    return StorageEnvironment(
      fileSystem: disk, random: { random.next() }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: configuration.segmentByteCount, usualLogByteCount: configuration.usualLogByteCount,
      partByteCount: configuration.partByteCount, unloggedByteCount: configuration.unloggedByteCount,
      continuedLogByteCount: configuration.continuedLogByteCount,
      putsBeforeDeferral: configuration.putsBeforeDeferral)
  }

  // MARK: Judging errors

  /// Whether the life may end in an error: the disk failed, or has no power.
  func judge(_ error: any Error, on failing: SimulatedDisk? = nil, since faults: Int, during call: String) throws {
    let disk = failing ?? disk
    if disk.isPoweredOff { return }
    guard let error = error as? StorageError else {
      throw (error as? TortureFailure) ?? log.failure(.broken, "\(call) threw \(error)")
    }
    log.note("\(call) threw \(error.code)")
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
    throw log.failure(.falseAlarm, "\(call) threw \(error)")
  }

  /// Whether the engine has stopped writing.
  func checkForStop() { hasStopped = hasStopped || engine?.core.queue.hasStopped ?? false }

  /// Whether writing has stopped, looked at now.
  var hasStoppedByNow: Bool {
    checkForStop()
    return hasStopped
  }

  // MARK: Work

  /// Lets the checkpoint that runs take some steps.
  func step(upTo count: Int) throws {
    let engine = try opened()
    for _ in 0..<count {
      if disk.isPoweredOff || !engine.core.stepCheckpoint() { break }
      log.note("a step of the checkpoint")
    }
    checkForStop()
  }

  /// Adds what the engine has done in this life.
  func countWork() {
    guard let engine else { return }
    let statistics = engine.statistics
    log.report.checkpoints += statistics.checkpoints
    log.report.logLengthenings += statistics.logLengthenings
    log.report.logContinuations += engine.core.hasContinuedLog ? 1 : 0
    log.report.pagesSpilled += statistics.pagesSpilled
    log.report.pagesEvicted += statistics.pagesEvicted
    log.report.putRuns += engine.core.context.writtenRunCount
    let (placed, unlogged) = placedFaults.takeCounts()
    for place in FaultPlace.allCases {
      log.report.placedFaults[place.rawValue] += placed[place.rawValue]
      log.report.placedUnlogged[place.rawValue] += unlogged[place.rawValue]
    }
  }
}
