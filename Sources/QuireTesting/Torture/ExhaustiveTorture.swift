// Short histories, and every crash that is possible in each: at every change of the disk, and in every recovery.

internal import QuireStorage

/// Tries all crashes of one short history.
///
/// For every change that the history makes to the disk the power is cut before it; then the images are tried in which
/// everything unsynced is there, nothing is, and each single sector is missing; and the recoveries of these images are
/// cut off before each of their own changes.
package final class ExhaustiveTorture {
  private let seed: UInt64
  private let stride: Int
  private var report = TortureReport()

  /// The history of a seed.
  ///
  /// - Parameter stride: before how many of its changes the power is cut: each, or one of so many.
  package init(seed: UInt64, stride: Int = 1) {
    self.seed = seed
    self.stride = stride
  }

  /// How a short history goes: small in everything, without faults.
  private static func configuration(_ seed: UInt64) -> TortureConfiguration {
    var random = SeededRandom(seed: seed ^ 0x5407)
    var configuration = TortureConfiguration()
    configuration.operationsPerLife = 6 + random.below(10)
    configuration.transactionLength = random.pick([1, 3, 8])
    configuration.partByteCount = random.pick([1 << 20, 64, 100 + random.below(900)])
    configuration.keyCount = random.pick([4, 16])
    configuration.durability = random.pick([.full, .full, .relaxed])
    configuration.stepRate = random.pick([4, 16])
    configuration.imagesPerCrash = 1
    configuration.nestedOneIn = 0
    for operation in TortureOperation.allCases { configuration[operation] = 0 }
    configuration[.commitAndWait] = 4
    configuration[.commit] = 3
    configuration[.group] = 1
    configuration[.steps] = 2
    configuration[.readNewest] = 1
    configuration[.checkpoint] = random.below(2)
    configuration[.bigTransaction] = random.below(2)
    configuration[.changeTrees] = 1
    configuration[.abort] = random.below(3)
    configuration[.bulkLoad] = random.below(2)
    if random.oneIn(2) {
      // Spills, within one transaction.
      configuration.cachePages = 32
      configuration.keyCount = 512
      configuration.bigByteCounts = [20 << 10, 40 << 10]
    }
    configuration.longValueOneIn = random.pick([0, 3])
    configuration.longestValue = 1024
    if random.oneIn(2) {
      // Logs long enough to be cut, and to go on.
      configuration.continuedLogByteCount = 0
      configuration.valueSizes = .equal(400)
    }
    return configuration
  }

  /// Tries everything, or stops at the first failure.
  package func run() -> TortureReport {
    report.histories = 1
    let changes = work(until: nil).system.disk.changeCount
    var cut = 0
    while cut < changes, report.failures.isEmpty {
      let history = work(until: cut)
      do {
        if let failure = history.log.report.failures.first { throw failure }
        try tryImages(of: history)
      } catch let failure as TortureFailure {
        report.failures.append(failure)
      } catch {
        report.failures.append(history.log.failure(.broken, "an error nobody expected: \(error)"))
      }
      var counts = history.log.report
      counts.histories = 0
      counts.failures = []
      report.add(counts)
      report.hash.combine(history.system.disk.traceHash)
      cut += stride
    }
    return report
  }

  /// The history up to a number of changes.
  private func work(until cut: Int?) -> TortureHistory {
    let history = TortureHistory(seed: seed, Self.configuration(seed))
    history.system.disk.powerOff(beforeChange: cut)
    history.liveOnce()
    return history
  }

  // MARK: Images

  private func tryImages(of history: TortureHistory) throws {
    let units = history.system.disk.pendingUnitCount()
    var modes = [CrashMode.allNew, .allOld]
    // Of a large batch a sample: losses in its middle are alike.
    let stride = max(1, units / 24)
    for unit in Swift.stride(from: 0, to: units, by: stride) { modes.append(.loseOne(unit)) }
    for (index, mode) in modes.enumerated() {
      report.crashes += 1
      try check(history, history.system.disk.crashImage(mode), "cut with \(mode)")
      if index < 4 { try cutRecoveries(of: history, mode) }
    }
  }

  private func check(_ history: TortureHistory, _ image: SimulatedDisk, _ text: String) throws {
    let engine: StorageEngine
    do throws(StorageError) { engine = try open(history, image) } catch {
      throw history.log.failure(.falseAlarm, "\(text): opening threw \(error)")
    }
    recoveryChanges = image.changeCount
    if engine.core.hasContinuedLog { report.logContinuations += 1 }
    _ = try history.reader.identify(engine, floor: history.oracle.model.durable)
  }

  private func open(_ history: TortureHistory, _ image: SimulatedDisk) throws(StorageError) -> StorageEngine {
    try StorageEngine(
      at: TortureSystem.path, options: history.configuration.options, environment: history.system.environment(image))
  }

  /// How many changes the last recovery made to its disk.
  private var recoveryChanges = 0

  /// Cuts the power before each change that the recovery makes, and tries two images each time.
  private func cutRecoveries(of history: TortureHistory, _ mode: CrashMode) throws {
    let count = recoveryChanges
    for cut in 0..<count {
      let image = history.system.disk.crashImage(mode)
      image.powerOff(beforeChange: cut)
      do throws(StorageError) {
        _ = try open(history, image)
      } catch {
        if !image.isPoweredOff { throw history.log.failure(.falseAlarm, "opening threw \(error)") }
      }
      for second in [CrashMode.allNew, .allOld, .random(seed &+ UInt64(cut))] {
        report.nested += 1
        let text = "cut with \(mode), recovery cut before change \(cut) with \(second)"
        try check(history, image.crashImage(second), text)
      }
    }
  }
}

extension TortureHistory {
  /// Creates the database and lives one life without an end, or until the power fails.
  func liveOnce() {
    do {
      do throws(StorageError) {
        try system.create()
      } catch {
        if system.disk.isPoweredOff { return }
        throw log.failure(.falseAlarm, "creating threw \(error)")
      }
      for _ in 0..<configuration.operationsPerLife where !system.disk.isPoweredOff { try operate() }
    } catch {
      log.report.failures.append((error as? TortureFailure) ?? log.failure(.broken, "\(error)"))
    }
    system.disk.powerOff()
    system.countWork()
    reader.closePins()
    system.forgetEngine()
  }
}
