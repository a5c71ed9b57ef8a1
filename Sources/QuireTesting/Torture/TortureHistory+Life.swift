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
    deletionTenths = random.pick(configuration.deletionTenths)
    // Soon after a failed sync is when what was shown may turn out not to be on the disk (hazards A5 and A6).
    let isShort = random.oneIn(followsFailure ? 2 : 6)
    followsFailure = false
    let count = isShort ? random.below(4) : configuration.operationsPerLife
    if random.oneIn(2) {
      // The cut falls between any two calls that change the disk, in the middle of whatever goes on then.
      disk.powerOff(beforeChange: disk.changeCount + random.below(8 * count + 8))
    }
    var left = count
    while left > 0, !disk.isPoweredOff {
      left -= 1
      try operate()
      if hasStopped { left = min(left, 3) }
    }
  }

  /// Makes the trees that a history begins with; the disk is well meanwhile.
  func fillAtFirst() throws {
    guard configuration.entriesAtFirst > 0 else { return }
    // Keys come up again, so the number is not always reached.
    for _ in 0..<40 where model.newest.entryCount < configuration.entriesAtFirst {
      try transact(TransactionPlan(changes: 0, byteCount: random.pick([500, 2000, 5000])))
      try step(upTo: configuration.stepRate / 16 + random.below(2))
    }
    try wait(at: tickets.count - 1)
  }

  private func planFailures() {
    if !configuration.faultKinds.isEmpty {
      disk.setFaultPlan(FaultPlan(seed: random.next(), allowing: configuration.faultKinds))
    }
    placedFaults.plan(nil)
    if configuration.placedOneIn > 0, placeRandom.oneIn(configuration.placedOneIn) {
      placedFaults.plan(PlacedFault(drawing: &placeRandom))
    }
    guard configuration.failureOneIn > 0, random.oneIn(configuration.failureOneIn) else { return }
    // Every other sync of the data file is that of a meta page, which matters most.
    let path = random.oneIn(2) ? Self.path : nil
    let skipping = random.below(path == nil ? random.pick([4, 16, 64]) : 8)
    if random.oneIn(path == nil ? 3 : 8) {
      let kept = random.below(200)
      disk.failNext(.write, of: path, skipping: skipping, with: .errorAfter(kept, SystemCode.inputOutput))
    } else {
      let manner = random.pick(SyncFailure.allCases)
      disk.failNext(
        .synchronize, of: path, skipping: skipping,
        with: .failedSync(manner, SystemCode.inputOutput, survivorsOneIn: random.pick([0, 0, 1, 2, 4])))
    }
  }

  // MARK: Operations

  private func drawOperation() -> TortureOperation {
    var drawn = random.below(configuration.weights.reduce(0, +))
    for operation in TortureOperation.allCases {
      drawn -= configuration[operation]
      if drawn < 0 { return operation }
    }
    return .commitAndWait
  }

  /// Does one operation, and some steps of the checkpoint that runs.
  func operate() throws {
    operation += 1
    report.operations += 1
    let drawn = drawOperation()
    note("\(drawn)")
    try perform(drawn)
    checkForStop()
    try step(upTo: configuration.stepRate / 16)
    if random.below(16) < configuration.stepRate % 16 { try step(upTo: 1) }
    forget()
  }

  private func perform(_ drawn: TortureOperation) throws {
    let faults = disk.counters.faultCount
    do {
      switch drawn {
      case .commitAndWait: try commitAndWait(draw())
      case .commit: try transact(draw())
      case .wait: if !tickets.isEmpty { try wait(at: random.below(tickets.count)) }
      case .group: try commitGroup()
      case .flush: try flush()
      case .emptyWrite: try writeNothing()
      case .abort: try transact(draw(isAborted: true))
      case .bigTransaction: try commitBig()
      case .bulkLoad: try commitLoad()
      case .checkpoint: try checkpoint()
      case .steps: try step(upTo: 1 + random.below(8))
      case .mark: try opened().core.appendQuietMark()
      case .openPin: if pins.count < configuration.pinLimit { try openPin() }
      case .closePin: closePin()
      case .readPin: if !pins.isEmpty { try readPin(at: random.below(pins.count)) }
      case .readNewest: try readNewest()
      case .changeTrees: try commitWithTrees()
      case .allocateRowIDs:
        try transact(TransactionPlan(changes: 0, isAborted: random.oneIn(2), allocatesRowIDs: true))
      case .changeSpace: changeSpace()
      case .verify: if !hasStopped { try verify() }
      case .prove: try proveInMidLife()
      case .maintain: try maintain()
      case .compact: try compact()
      case .backUp: try backUp()
      }
    } catch {
      try judge(error, since: faults, during: "\(drawn)")
    }
  }

  private func commitAndWait(_ plan: TransactionPlan) throws {
    guard try transact(plan) != nil, !tickets.isEmpty else { return }
    try wait(at: tickets.count - 1)
  }

  private func commitGroup() throws {
    for _ in 0..<2 + random.below(5) {
      try transact(draw())
      if random.oneIn(3) { try step(upTo: 1) }
      if random.oneIn(4) { try readNewest() }
    }
    if random.oneIn(2), !tickets.isEmpty { try wait(at: random.below(tickets.count)) }
  }

  private func commitBig() throws {
    let plan = TransactionPlan(
      changes: 1, isAborted: random.oneIn(6), changesTrees: random.oneIn(6),
      byteCount: random.pick(configuration.bigByteCounts))
    if random.oneIn(2) { try commitAndWait(plan) } else { try transact(plan) }
  }

  private func commitWithTrees() throws {
    var plan = draw(isAborted: random.oneIn(4))
    plan.changesTrees = true
    if random.oneIn(2) { try commitAndWait(plan) } else { try transact(plan) }
  }

  private func writeNothing() throws {
    if random.oneIn(2) { try transact(draw()) }
    let base = model.newest.csn
    guard try transact(TransactionPlan(changes: 0)) != nil, let last = tickets.last, last.csn >= base else { return }
    try wait(at: tickets.count - 1)
  }

  private func flush() throws {
    let newest = certain
    try opened().flush()
    model.acknowledge(newest)
    note("flushed \(newest)")
  }

  private func checkpoint() throws {
    // What a checkpoint holds is durable, in every mode.
    let newest = certain
    let faults = disk.counters.faultCount
    do {
      try opened().checkpoint()
    } catch let error as StorageError
      where error.code == .diskFull && configuration.faultKinds.isEmpty && disk.counters.faultCount == faults
    {
      // Nothing is committed before there are places for it (hazard A13).
      throw failure(.broken, "a checkpoint found no space: \(error)")
    }
    model.acknowledge(newest)
    note("checkpoint of \(newest)")
  }

  /// Lets the checkpoint that runs take some steps.
  func step(upTo count: Int) throws {
    let engine = try opened()
    for _ in 0..<count {
      if disk.isPoweredOff || !engine.core.stepCheckpoint() { break }
      note("a step of the checkpoint")
    }
    checkForStop()
  }

  private func closePin() {
    guard !pins.isEmpty else { return }
    // The oldest stays to the end of the life if pins are kept.
    let first = configuration.keepsPins ? 1 : 0
    if pins.count > first { pins.remove(at: first + random.below(pins.count - first)) }
  }

  /// Takes some steps of maintenance, or all that there are. Each may be a commit that changes nothing.
  private func maintain() throws {
    let engine = try opened()
    let isWhole = random.oneIn(3)
    for _ in 0..<(isWhole ? 200 : 1 + random.below(6)) where !disk.isPoweredOff {
      do {
        let hasMore = try engine.core.maintainStep()
        try noteMaintenance(engine.core)
        if !hasMore { break }
      } catch {
        try noteStoppedMaintenance(engine.core)
        throw error
      }
      if random.oneIn(8) { try readNewest() }
    }
  }

  private func noteStoppedMaintenance(_ core: EngineCore) throws {
    checkForStop()
    try noteMaintenance(core)
    if hasStopped { try noteStoppedRearrangement() }
  }

  /// A record without operations may be in the file, unless everything had stopped before, at a record with some.
  func noteStoppedRearrangement() throws {
    let csn = CSN(model.newest.csn.rawValue + 1)
    if told.refusal?.csn == csn { return }
    try append(TortureDraft(state: model.newest, trees: trees), as: csn)
  }

  func noteMaintenance(_ core: EngineCore) throws {
    while model.newest.csn < core.head.csn {
      try append(TortureDraft(state: model.newest, trees: trees), as: CSN(model.newest.csn.rawValue + 1))
      certain = model.newest.csn
      note("a step of maintenance made \(certain)")
    }
  }

  private func changeSpace() {
    if disk.capacity == nil || random.oneIn(3) {
      disk.capacity = disk.usedByteCount + random.below(random.pick([1, 4, 16, 64]) << 10)
      note("space is short")
    } else {
      disk.capacity = nil
      note("space is back")
    }
  }

  private func proveInMidLife() throws {
    if hasStopped { return }
    disk.capacity = nil
    disk.setFaultPlan(.none)
    disk.faultsAreEnabled = false
    try prove()
    disk.faultsAreEnabled = true
  }

  // MARK: Ends

  /// Ends the life in one way or another, and begins the next.
  func endLife() throws {
    if !disk.isPoweredOff, random.oneIn(2) { try readBeforeEnd() }
    var end = LifeEnd.powerCut
    if !disk.isPoweredOff {
      // A process that saw a sync fail is often the only one that ended; the machine follows later.
      end = hasStopped && !random.oneIn(configuration.placedOneIn == 1 ? 2 : 4) ? .kill : random.pick(LifeEnd.allCases)
    }
    note("\(end)")
    followsFailure = hasStopped && disk.counters.faultCount > 0
    switch end {
    case .powerCut:
      // The process may have died just there, and nothing else.
      if disk.isPoweredOff, random.oneIn(4) { return try kill() }
    case .kill: return try kill()
    case .close, .closeAndPowerCut:
      if try close(), end == .close { return }
    }
    try cutPower()
  }

  /// What is shown in the last moment must be there afterwards.
  private func readBeforeEnd() throws {
    let faults = disk.counters.faultCount
    do { try readNewest() } catch { try judge(error, since: faults, during: "reading") }
  }

  /// Adds what the engine has done in this life.
  func countWork() {
    guard let engine else { return }
    let statistics = engine.statistics
    report.checkpoints += statistics.checkpoints
    report.logLengthenings += statistics.logLengthenings
    report.logContinuations += engine.core.hasContinuedLog ? 1 : 0
    report.pagesSpilled += statistics.pagesSpilled
    report.pagesEvicted += statistics.pagesEvicted
    let (placed, unlogged) = placedFaults.takeCounts()
    for place in FaultPlace.allCases {
      report.placedFaults[place.rawValue] += placed[place.rawValue]
      report.placedUnlogged[place.rawValue] += unlogged[place.rawValue]
    }
  }

  private func leave() {
    countWork()
    pins = []
    tickets = []
    engine = nil
    finish(disk)
  }

  private func cutPower() throws {
    disk.powerOff()
    leave()
    report.crashes += 1
    for _ in 1..<configuration.imagesPerCrash {
      try tryImage(disk.crashImage(.random(random.next())), floor: model.durable)
      report.crashes += 1
    }
    try recover(disk.crashImage(.random(random.next())), floor: model.durable)
  }

  private func kill() throws {
    // Without failed syncs and writes, what was handed to the system is there; else what is known to be durable.
    let floor = disk.counters.faultCount == 0 ? certain : model.durable
    leave()
    report.crashes += 1
    let image = disk.processKillImage()
    // The cache of a file may have been dropped by the time that the next process looks.
    if random.oneIn(4) { image.evictCache() }
    try recover(image, floor: floor)
    if random.oneIn(4) { disk.evictCache() }
  }

  /// Closes and opens again; false if the power failed or is to be cut now.
  private func close() throws -> Bool {
    let faults = disk.counters.faultCount
    if !pins.isEmpty, random.oneIn(4) { try expectInUse() }
    pins = []
    let engine = try opened()
    do {
      try engine.close()
      // A file that is mostly free is shortened before, in steps of maintenance.
      try noteMaintenance(engine.core)
      if disk.counters.faultCount == faults || !hasStopped { model.acknowledge(certain) }
      // Log files are removed last, and no failure of that is told.
      if disk.isPoweredOff { return false }
    } catch {
      try noteStoppedMaintenance(engine.core)
      try judge(error, since: faults, during: "close")
      if disk.isPoweredOff { return false }
      try kill()
      return true
    }
    if disk.counters.faultCount == faults { try checkClosed(certain) }
    let names = (0..<Limits.segmentFileCount).map { "\(Self.path)-log\($0)" }
    if !hasStopped, random.oneIn(4) {
      // After a clean close the data file is all there is to the database.
      for name in names { disk.remove(name) }
    }
    if random.oneIn(2) { return false }
    leave()
    try recover(disk.processKillImage(), floor: certain)
    return true
  }

  private func expectInUse() throws {
    do {
      try opened().close()
      throw failure(.broken, "an engine was closed under a pin")
    } catch let error as StorageError where error.code == .inUse {
      return
    }
  }

  /// Ends the last life.
  func closeForGood() {
    countWork()
    pins = []
    do { try engine?.close() } catch { report.failures.append(failure(.broken, "the last close threw \(error)")) }
  }
}
