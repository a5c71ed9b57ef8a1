// One seed, one history: a database that works, crashes, recovers and works on, and a model that knows what it must
// hold.

internal import QuireStorage

/// Drives an engine on a simulated disk through several lives and compares it with a model all the while.
///
/// ```swift
/// let report = TortureHistory(seed: 42).run()
/// ```
///
/// Everything is drawn from the seed. For one thread.
///
/// The history decides what is done when, and how lives end and begin. `writer` makes transactions, `reader` asks,
/// `system` is what they ask, `oracle` knows what must come of it, `decoder` holds files beside that, `random` is what
/// all draw from, and `log` what they say.
///
/// Invariant: `floor` is not newer than what was acknowledged or shown when the recovery began.
package final class TortureHistory {
  package let configuration: TortureConfiguration
  let log: TortureLog
  let random: TortureRandom
  let system: TortureSystem
  let oracle: TortureOracle
  let reader: TortureReader
  let writer: TortureWriter
  let decoder: DecoderComparison
  /// Whether a sync or a write failed in the life before.
  var followsFailure = false
  /// How many changes the last recovery made to the disk: where to cut the next one off.
  var recoveryChanges = 12
  /// The oldest commit that the recovery under way may come back with.
  var floor = CSN(0)

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
    self.configuration = configuration
    log = TortureLog(seed: seed)
    random = TortureRandom(configuration, source)
    system = TortureSystem(log, configuration, random.engine)
    oracle = TortureOracle(log, configuration)
    reader = TortureReader(random, system, oracle)
    writer = TortureWriter(configuration, random, reader)
    decoder = DecoderComparison(random: random, log: log, oracle: oracle)
  }

  /// Takes a line for each operation, to follow a history.
  package var trace: ((String) -> Void)? {
    get { log.trace }
    set { log.trace = newValue }
  }

  /// Runs the history to its end, or to its first failure.
  package func run() -> TortureReport {
    do {
      system.disk.isPowerSafe = configuration.isPowerSafe
      try recover(system.disk, floor: CSN(0))
      try fillAtFirst()
      for _ in 0..<configuration.lifeCount {
        try live()
        try endLife()
      }
      try prove()
      closeForGood()
    } catch let failure as TortureFailure {
      log.report.failures.append(failure)
    } catch {
      log.report.failures.append(log.failure(.broken, "an error nobody expected: \(error)"))
    }
    log.finish(system.disk)
    system.forgetEngine()
    return log.report
  }

  // MARK: Proof

  /// On a disk that is well, everything must work; at rest, everything must be accounted for.
  func prove() throws {
    let engine = try system.opened()
    do {
      try writer.transact(random.nextPlan())
      if !writer.tickets.isEmpty { try writer.waitForLast() }
      try engine.checkpoint()
      try engine.flush()
    } catch let failure as TortureFailure {
      throw failure
    } catch {
      throw log.failure(.broken, "on a disk without faults: \(error)")
    }
    oracle.model.acknowledge(oracle.certain)
    system.checkForStop()
    if system.hasStopped { throw log.failure(.broken, "writing stopped on a disk without faults") }
    try verify()
    try EngineChecks(log: log).checkParts(engine.core)
    if reader.pins.isEmpty { try EngineChecks(log: log).checkForLeaks(engine.core) }
    log.note("proved")
  }

  /// Lets the engine check itself; it must find nothing.
  func verify() throws {
    let faults = system.disk.counters.faultCount
    do {
      try system.opened().verify()
    } catch let failure as TortureFailure {
      throw failure
    } catch {
      try system.judge(error, since: faults, during: "the engine's own check")
    }
  }
}
