// What happens between an opening and the end that a life takes.

internal import QuireStorage

/// How a life ends.
enum LifeEnd: CaseIterable {
  case powerCut
  case kill
  case close
  case closeAndPowerCut
}

extension TortureHistory {
  /// Works until the operations are used up or the power fails.
  func live() throws {
    planFailures()
    writer.deletionTenths = random.pick(configuration.deletionTenths)
    // Soon after a failed sync is when what was shown may turn out not to be on the disk (hazards A5 and A6).
    let isShort = random.oneIn(followsFailure ? 2 : 6)
    followsFailure = false
    let count = isShort ? random.below(4) : configuration.operationsPerLife
    if random.oneIn(2) {
      // The cut falls between any two calls that change the disk, in the middle of whatever goes on then.
      system.disk.powerOff(beforeChange: system.disk.changeCount + random.below(8 * count + 8))
      if random.places.oneIn(8) { cutAtMetaPage(system.disk) }
    }
    var left = count
    while left > 0, !system.disk.isPoweredOff {
      left -= 1
      try operate()
      if system.hasStopped { left = min(left, 3) }
    }
  }

  /// Makes the trees that a history begins with; the disk is well meanwhile.
  func fillAtFirst() throws {
    guard configuration.entriesAtFirst > 0 else { return }
    // Keys come up again, so the number is not always reached.
    for _ in 0..<40 where oracle.model.newest.entryCount < configuration.entriesAtFirst {
      try writer.transact(TransactionPlan(changes: 0, byteCount: random.pick([500, 2000, 5000])))
      try system.step(upTo: configuration.stepRate / 16 + random.below(2))
    }
    try writer.waitForLast()
  }

  private func planFailures() {
    if !configuration.faultKinds.isEmpty {
      system.disk.setFaultPlan(FaultPlan(seed: random.next(), allowing: configuration.faultKinds))
    }
    system.placedFaults.plan(nil)
    if configuration.placedOneIn > 0, random.places.oneIn(configuration.placedOneIn) {
      system.placedFaults.plan(PlacedFault(drawing: &random.places))
    }
    guard configuration.failureOneIn > 0, random.oneIn(configuration.failureOneIn) else { return }
    // Every other sync of the data file is that of a meta page, which matters most.
    let path = random.oneIn(2) ? TortureSystem.path : nil
    let skipping = random.below(path == nil ? random.pick([4, 16, 64]) : 8)
    if random.oneIn(path == nil ? 3 : 8) {
      let kept = random.below(200)
      system.disk.failNext(.write, of: path, skipping: skipping, with: .errorAfter(kept, SystemCode.inputOutput))
    } else {
      let manner = random.pick(SyncFailure.allCases)
      system.disk.failNext(
        .synchronize, of: path, skipping: skipping,
        with: .failedSync(manner, SystemCode.inputOutput, survivorsOneIn: random.pick([0, 0, 1, 2, 4])))
    }
  }

  // MARK: Operations

  /// Does one operation, and some steps of the checkpoint that runs.
  func operate() throws {
    log.beginOperation()
    let drawn = random.nextOperation()
    log.note("\(drawn)")
    try perform(drawn)
    system.checkForStop()
    try system.step(upTo: configuration.stepRate / 16)
    if random.below(16) < configuration.stepRate % 16 { try system.step(upTo: 1) }
    oracle.forget(reader.pins)
  }

  private func perform(_ drawn: TortureOperation) throws {
    let faults = system.disk.counters.faultCount
    do {
      switch drawn {
      case .commitAndWait: try commitAndWait(random.nextPlan())
      case .commit: try writer.transact(random.nextPlan())
      case .wait: try writer.waitForAny()
      case .group: try commitGroup()
      case .flush: try flush()
      case .emptyWrite: try writeNothing()
      case .abort: try writer.transact(random.nextPlan(isAborted: true))
      case .bigTransaction: try commitBig()
      case .bulkLoad: try commitLoad()
      case .checkpoint: try checkpoint()
      case .steps: try system.step(upTo: 1 + random.below(8))
      case .mark: try system.opened().core.appendQuietMark()
      case .openPin: if reader.pins.count < configuration.pinLimit { try reader.openPin() }
      case .closePin: closePin()
      case .readPin: if !reader.pins.isEmpty { try reader.readPin(at: random.below(reader.pins.count)) }
      case .readNewest: try reader.readNewest()
      case .changeTrees: try commitWithTrees()
      case .allocateRowIDs:
        try writer.transact(TransactionPlan(changes: 0, isAborted: random.oneIn(2), allocatesRowIDs: true))
      case .changeSpace: changeSpace()
      case .verify: if !system.hasStopped { try verify() }
      case .prove: try proveInMidLife()
      case .maintain: try maintain()
      case .compact: try compact()
      case .backUp: try backUp()
      }
    } catch {
      try system.judge(error, since: faults, during: "\(drawn)")
    }
  }

  private func commitAndWait(_ plan: TransactionPlan) throws {
    guard try writer.transact(plan) != nil, !writer.tickets.isEmpty else { return }
    try writer.waitForLast()
  }

  private func commitGroup() throws {
    for _ in 0..<2 + random.below(5) {
      try writer.transact(random.nextPlan())
      if random.oneIn(3) { try system.step(upTo: 1) }
      if random.oneIn(4) { try reader.readNewest() }
    }
    if random.oneIn(2) { try writer.waitForAny() }
  }

  private func commitBig() throws {
    let plan = TransactionPlan(
      changes: 1, isAborted: random.oneIn(6), changesTrees: random.oneIn(6),
      byteCount: random.pick(configuration.bigByteCounts))
    if random.oneIn(2) { try commitAndWait(plan) } else { try writer.transact(plan) }
  }

  private func commitWithTrees() throws {
    var plan = random.nextPlan(isAborted: random.oneIn(4))
    plan.changesTrees = true
    if random.oneIn(2) { try commitAndWait(plan) } else { try writer.transact(plan) }
  }

  /// A transaction with bulk loads and other changes.
  private func commitLoad() throws {
    var plan = random.nextPlan(isAborted: random.oneIn(5))
    plan.changesTrees = random.oneIn(3)
    plan.loads = 1 + random.below(2)
    if random.oneIn(2), try writer.transact(plan) != nil, !writer.tickets.isEmpty {
      try writer.waitForLast()
    } else {
      try writer.transact(plan)
    }
  }

  private func writeNothing() throws {
    if random.oneIn(2) { try writer.transact(random.nextPlan()) }
    let base = oracle.model.newest.csn
    guard try writer.transact(TransactionPlan(changes: 0)) != nil, let last = writer.tickets.last, last.csn >= base
    else { return }
    try writer.waitForLast()
  }

  private func flush() throws {
    let newest = oracle.certain
    try system.opened().flush()
    oracle.model.acknowledge(newest)
    log.note("flushed \(newest)")
  }

  private func checkpoint() throws {
    // What a checkpoint holds is durable, in every mode.
    let newest = oracle.certain
    let faults = system.disk.counters.faultCount
    do {
      try system.opened().checkpoint()
    } catch let error as StorageError
      where error.code == .diskFull && configuration.faultKinds.isEmpty && system.disk.counters.faultCount == faults
    {
      // Nothing is committed before there are places for it (hazard A13).
      throw log.failure(.broken, "a checkpoint found no space: \(error)")
    }
    oracle.model.acknowledge(newest)
    log.note("checkpoint of \(newest)")
  }

  private func closePin() {
    // The oldest stays to the end of the life if pins are kept.
    reader.closePin(keeping: configuration.keepsPins ? 1 : 0)
  }

  /// Takes some steps of maintenance, or all that there are. Each may be a commit that changes nothing.
  private func maintain() throws {
    let engine = try system.opened()
    let (isWhole, hadStopped) = (random.oneIn(3), system.hasStoppedByNow)
    for _ in 0..<(isWhole ? 200 : 1 + random.below(6)) where !system.disk.isPoweredOff {
      do {
        let hasMore = try engine.core.maintainStep()
        try oracle.noteMaintenance(engine.core)
        if !hasMore { break }
      } catch {
        try noteStoppedMaintenance(engine.core, hadStopped: hadStopped)
        throw error
      }
      if random.oneIn(8) { try reader.readNewest() }
    }
  }

  private func noteStoppedMaintenance(_ core: EngineCore, hadStopped: Bool) throws {
    try oracle.noteMaintenance(core)
    if system.hasStoppedByNow, !hadStopped { try oracle.noteStoppedRearrangement() }
  }

  private func changeSpace() {
    if system.disk.capacity == nil || random.oneIn(3) {
      system.disk.capacity = system.disk.usedByteCount + random.below(random.pick([1, 4, 16, 64]) << 10)
      log.note("space is short")
    } else {
      system.disk.capacity = nil
      log.note("space is back")
    }
  }

  private func proveInMidLife() throws {
    if system.hasStopped { return }
    system.disk.capacity = nil
    system.disk.setFaultPlan(.none)
    system.disk.faultsAreEnabled = false
    try prove()
    system.disk.faultsAreEnabled = true
  }

  // MARK: Ends

  /// Ends the life in one way or another, and begins the next.
  func endLife() throws {
    if !system.disk.isPoweredOff, random.oneIn(2) { try readBeforeEnd() }
    var end = LifeEnd.powerCut
    if !system.disk.isPoweredOff {
      // A process that saw a sync fail is often the only one that ended; the machine follows later.
      let isKilled = system.hasStopped && !random.oneIn(configuration.placedOneIn == 1 ? 2 : 4)
      end = isKilled ? .kill : random.pick(LifeEnd.allCases)
    }
    log.note("\(end)")
    followsFailure = system.hasStopped && system.disk.counters.faultCount > 0
    switch end {
    case .powerCut:
      // The process may have died just there, and nothing else.
      if system.disk.isPoweredOff, random.oneIn(4) { return try kill() }
    case .kill: return try kill()
    case .close, .closeAndPowerCut:
      if try close(), end == .close { return }
    }
    try cutPower()
  }

  /// What is shown in the last moment must be there afterwards.
  private func readBeforeEnd() throws {
    let faults = system.disk.counters.faultCount
    do { try reader.readNewest() } catch { try system.judge(error, since: faults, during: "reading") }
  }

  private func leave() {
    system.countWork()
    reader.closePins()
    writer.forgetTickets()
    system.end()
  }

  private func cutPower() throws {
    system.disk.powerOff()
    leave()
    log.report.crashes += 1
    for _ in 1..<configuration.imagesPerCrash {
      try tryImage(system.disk.crashImage(.random(random.next())), floor: oracle.model.durable)
      log.report.crashes += 1
    }
    try recover(system.disk.crashImage(.random(random.next())), floor: oracle.model.durable)
  }

  private func kill() throws {
    // Without failed syncs and writes, what was handed to the system is there; else what is known to be durable.
    let floor = system.disk.counters.faultCount == 0 ? oracle.certain : oracle.model.durable
    leave()
    log.report.crashes += 1
    let image = system.disk.processKillImage()
    // The cache of a file may have been dropped by the time that the next process looks.
    if random.oneIn(4) { image.evictCache() }
    try recover(image, floor: floor)
    if random.oneIn(4) { system.disk.evictCache() }
  }

  /// Closes and opens again; false if the power failed or is to be cut now.
  private func close() throws -> Bool {
    let faults = system.disk.counters.faultCount
    if !reader.pins.isEmpty, random.oneIn(4) { try expectInUse() }
    reader.closePins()
    let (engine, hadStopped) = (try system.opened(), system.hasStoppedByNow)
    do {
      try engine.close()
      // A file that is mostly free is shortened before, in steps of maintenance.
      try oracle.noteMaintenance(engine.core)
      if system.disk.counters.faultCount == faults || !system.hasStopped { oracle.model.acknowledge(oracle.certain) }
      // Log files are removed last, and no failure of that is told.
      if system.disk.isPoweredOff { return false }
    } catch {
      try noteStoppedMaintenance(engine.core, hadStopped: hadStopped)
      try system.judge(error, since: faults, during: "close")
      if system.disk.isPoweredOff { return false }
      try kill()
      return true
    }
    if system.disk.counters.faultCount == faults { try decoder.checkClosed(system.disk, oracle.certain) }
    let names = (0..<Limits.segmentFileCount).map { "\(TortureSystem.path)-log\($0)" }
    if !system.hasStopped, random.oneIn(4) {
      // After a clean close the data file is all there is to the database.
      for name in names { system.disk.remove(name) }
    }
    if random.oneIn(2) { return false }
    leave()
    try recover(system.disk.processKillImage(), floor: oracle.certain)
    return true
  }

  private func expectInUse() throws {
    do {
      try system.opened().close()
      throw log.failure(.broken, "an engine was closed under a pin")
    } catch let error as StorageError where error.code == .inUse {
      return
    }
  }

  /// Ends the last life.
  func closeForGood() {
    system.countWork()
    reader.closePins()
    do { try system.engine?.close() } catch {
      log.report.failures.append(log.failure(.broken, "the last close threw \(error)"))
    }
  }
}
