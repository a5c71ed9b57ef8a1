// Opening what a crash has left, with crashes in the middle of it, and finding out which commit it is.

internal import QuireStorage

extension TortureHistory {
  /// Opens `image` and goes on with it.
  ///
  /// - Parameter floor: the oldest commit that may be found.
  func recover(_ image: SimulatedDisk, floor: CSN) throws {
    let (disk, engine) = try open(image, floor: floor)
    let csn = random.oneIn(2) ? try identifyTwin(engine, disk) : try reader.identify(engine, floor: self.floor)
    try adopt(engine, disk, csn)
    if random.oneIn(4) { try reader.readNewest(isThorough: false) }
    if random.oneIn(8) { try verify() }
    if random.oneIn(16) { try prove() }
    disk.faultsAreEnabled = true
  }

  /// Opens `image`, checks it and throws it away.
  func tryImage(_ image: SimulatedDisk, floor: CSN) throws {
    let (disk, engine) = try open(image, floor: floor)
    _ = try reader.identify(engine, floor: self.floor)
    log.finish(disk)
  }

  /// Opens `image`, cutting the power in some recoveries. The disk that comes back is well for now.
  private func open(_ image: SimulatedDisk, floor: CSN) throws -> (SimulatedDisk, StorageEngine) {
    self.floor = floor
    var disk = image
    var depth = 0
    var opened: StorageEngine?
    while true {
      let oneIn = followsFailure ? 1 : configuration.nestedOneIn
      let isCut = depth < 3 && configuration.nestedOneIn > 0 && random.oneIn(oneIn)
      if isCut {
        disk.powerOff(beforeChange: random.below(recoveryChanges + 1))
        if random.places.oneIn(followsFailure ? 2 : 4) { cutAtMetaPage(disk) }
      }
      // A full disk may still be full, or have been cleared.
      if disk.capacity != nil, depth > 2 || random.oneIn(2) { disk.capacity = nil }
      let drawsFaults = !isCut && depth < 3 && !configuration.faultKinds.isEmpty && random.oneIn(4)
      let isFaulty = drawsFaults || disk.capacity != nil
      disk.setFaultPlan(
        drawsFaults ? FaultPlan(seed: random.next(), allowing: configuration.faultKinds) : .none)
      if log.trace != nil { disk.isTracing = true }
      let decoded = try decoder.decode(disk)
      do throws(StorageError) {
        let engine = try StorageEngine(
          at: TortureSystem.path, options: configuration.options, environment: system.environment(disk))
        // Log files that nobody needs any more are removed last, and no failure of that is told.
        if disk.isPoweredOff { throw engine.core.closedError() }
        disk.powerOff(beforeChange: nil)
        disk.powerOff(behindWriteTo: nil)
        disk.setFaultPlan(.none)
        disk.capacity = nil
        if !isCut { recoveryChanges = max(4, disk.changeCount) }
        opened = engine
      } catch {
        depth += 1
        log.note("opening threw \(error)")
        if !disk.isPoweredOff { log.finish(disk) }
        disk = try followUp(disk, error, isFaulty: isFaulty)
      }
      if let opened {
        try decoder.compare(decoded, with: opened, disk)
        return (disk, opened)
      }
    }
  }

  /// Has the next meta page be the last that is written, before it is synced: of all that an opening or a checkpoint
  /// does, this decides most, and it is one change of many.
  func cutAtMetaPage(_ disk: SimulatedDisk) {
    disk.powerOff(beforeChange: nil)
    disk.powerOff(behindWriteTo: TortureSystem.path, below: 2 * configuration.pageSize)
  }

  /// The disk on which to try again after an opening failed.
  private func followUp(_ disk: SimulatedDisk, _ error: StorageError, isFaulty: Bool) throws -> SimulatedDisk {
    if disk.isPoweredOff {
      log.note("the power failed in recovery")
      log.report.nested += 1
      log.finish(disk)
      if random.oneIn(4) { return disk.processKillImage() }
      // Whatever a killed process left in the cache may be gone now.
      floor = min(floor, oracle.model.durable)
      return disk.crashImage(.random(random.next()))
    }
    try system.judge(error, on: disk, since: 0, during: "opening")
    system.forgetStop()
    floor = min(floor, oracle.model.durable)
    guard isFaulty else { throw log.failure(.falseAlarm, "opening threw \(error) again") }
    log.finish(disk)
    return random.oneIn(2) ? disk.crashImage(.random(random.next())) : disk.processKillImage()
  }

  /// The same by way of a second opening of what the first has left, which must find the same commit. The engine itself
  /// has no page in memory afterwards, so that later reads meet the disk and its faults.
  private func identifyTwin(_ engine: StorageEngine, _ disk: SimulatedDisk) throws -> CSN {
    let copy = disk.copy()
    let csn = try engine.read { $0.csn }
    let twin: StorageEngine
    do throws(StorageError) {
      twin = try StorageEngine(
        at: TortureSystem.path, options: configuration.options, environment: system.environment(copy))
    } catch {
      throw log.failure(.falseAlarm, "opening again what recovery had made threw \(error)")
    }
    let found = try reader.identify(twin, floor: floor)
    if found != csn { throw log.failure(.broken, "recovery gave \(csn), and opening it once more \(found)") }
    return csn
  }

  /// Goes on with what a recovery found.
  func adopt(_ engine: StorageEngine, _ disk: SimulatedDisk, _ csn: CSN) throws {
    log.note("recovered as \(csn): \(disk.crashReport.map(\.description) ?? "no power cut")")
    if csn < oracle.model.durableState.csn { throw log.failure(.lost, "\(csn) is older than what was acknowledged") }
    oracle.countOutcomes(csn)
    system.begin(engine, disk)
    oracle.truncate(to: csn)
  }
}
