// Opening what a crash has left, with crashes in the middle of it, and finding out which commit it is.

internal import QuireStorage

extension TortureHistory {
  /// Opens `image` and goes on with it.
  ///
  /// - Parameter floor: the oldest commit that may be found.
  func recover(_ image: SimulatedDisk, floor: CSN) throws {
    let (disk, engine) = try open(image, floor: floor)
    let csn = random.oneIn(2) ? try identifyTwin(engine, disk) : try identify(engine, floor: self.floor)
    try adopt(engine, disk, csn)
    if random.oneIn(4) { try readNewest(isThorough: false) }
    if random.oneIn(8) { try verify() }
    if random.oneIn(16) { try prove() }
    disk.faultsAreEnabled = true
  }

  /// Opens `image`, checks it and throws it away.
  func tryImage(_ image: SimulatedDisk, floor: CSN) throws {
    let (disk, engine) = try open(image, floor: floor)
    _ = try identify(engine, floor: self.floor)
    finish(disk)
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
      if isCut { disk.powerOff(beforeChange: random.below(recoveryChanges + 1)) }
      // A full disk may still be full, or have been cleared.
      if disk.capacity != nil, depth > 2 || random.oneIn(2) { disk.capacity = nil }
      let drawsFaults = !isCut && depth < 3 && !configuration.faultKinds.isEmpty && random.oneIn(4)
      let isFaulty = drawsFaults || disk.capacity != nil
      disk.setFaultPlan(
        drawsFaults ? FaultPlan(seed: random.next(), allowing: configuration.faultKinds) : .none)
      if trace != nil { disk.isTracing = true }
      let decoded = try decode(disk)
      do throws(StorageError) {
        let engine = try StorageEngine(
          at: Self.path, options: configuration.options, environment: environment(disk))
        // Log files that nobody needs any more are removed last, and no failure of that is told.
        if disk.isPoweredOff { throw engine.core.closedError() }
        disk.powerOff(beforeChange: nil)
        disk.setFaultPlan(.none)
        disk.capacity = nil
        if !isCut { recoveryChanges = max(4, disk.changeCount) }
        opened = engine
      } catch {
        depth += 1
        note("opening threw \(error)")
        if !disk.isPoweredOff { finish(disk) }
        disk = try followUp(disk, error, isFaulty: isFaulty)
      }
      if let opened {
        try compare(decoded, with: opened, disk)
        return (disk, opened)
      }
    }
  }

  /// The disk on which to try again after an opening failed.
  private func followUp(_ disk: SimulatedDisk, _ error: StorageError, isFaulty: Bool) throws -> SimulatedDisk {
    if disk.isPoweredOff {
      note("the power failed in recovery")
      report.nested += 1
      finish(disk)
      if random.oneIn(4) { return disk.processKillImage() }
      // Whatever a killed process left in the cache may be gone now.
      floor = min(floor, model.durable)
      return disk.crashImage(.random(random.next()))
    }
    try judge(error, on: disk, since: 0, during: "opening")
    hasStopped = false
    floor = min(floor, model.durable)
    guard isFaulty else { throw failure(.falseAlarm, "opening threw \(error) again") }
    finish(disk)
    return random.oneIn(2) ? disk.crashImage(.random(random.next())) : disk.processKillImage()
  }

  /// The same by way of a second opening of what the first has left, which must find the same commit. The engine itself
  /// has no page in memory afterwards, so that later reads meet the disk and its faults.
  private func identifyTwin(_ engine: StorageEngine, _ disk: SimulatedDisk) throws -> CSN {
    let copy = disk.copy()
    let csn = try engine.read { $0.csn }
    let twin: StorageEngine
    do throws(StorageError) {
      twin = try StorageEngine(at: Self.path, options: configuration.options, environment: environment(copy))
    } catch {
      throw failure(.falseAlarm, "opening again what recovery had made threw \(error)")
    }
    let found = try identify(twin, floor: floor)
    if found != csn { throw failure(.broken, "recovery gave \(csn), and opening it once more \(found)") }
    return csn
  }

  /// Which commit the database stands for: it must be one that may be there, and nothing else may be.
  func identify(_ engine: StorageEngine, floor: CSN) throws -> CSN {
    do {
      return try engine.read { tx in
        let csn = tx.csn
        let digest = try digest(of: tx)
        if let state = model.state(at: csn), state.csn == csn, state.digest == digest {
          guard csn >= floor else {
            throw failure(.lost, "recovery came back with \(csn), but \(floor) was acknowledged or shown")
          }
          return csn
        }
        throw try diagnosis(tx, digest, floor: floor)
      }
    } catch let failure as TortureFailure {
      throw failure
    } catch {
      throw failure(.falseAlarm, "reading what recovery made threw \(error)")
    }
  }

  private func diagnosis(
    _ tx: borrowing ReadTransaction, _ digest: StateDigest, floor: CSN
  ) throws -> TortureFailure {
    let content = try content(of: tx)
    try checkRefusal(tx.csn, digest)
    let nearest = model.state(at: tx.csn) ?? model.newest
    let differences = nearest.differences(in: content, limit: 6)
    let verdict: TortureFailure.Verdict = tx.csn < floor ? .lost : .ghost
    return failure(
      verdict,
      """
      recovery calls itself \(tx.csn); acknowledged or shown is \(floor), appended \(model.newest.csn); \
      compared with \(nearest.csn): \(differences)
      """)
  }

  /// Goes on with what a recovery found.
  func adopt(_ engine: StorageEngine, _ disk: SimulatedDisk, _ csn: CSN) throws {
    note("recovered as \(csn): \(disk.crashReport.map(\.description) ?? "no power cut")")
    if csn < model.durableState.csn { throw failure(.lost, "\(csn) is older than what was acknowledged") }
    countOutcomes(csn)
    self.engine = engine
    self.disk = disk
    placedFaults.watch(disk, engine.core, path: Self.path)
    // Opening makes durable what it shows, whatever it was before.
    model.truncate(to: csn)
    notes = notes.filter { $0.key <= csn.rawValue }
    certain = csn
    shown = csn
    hasStopped = false
    let kept = notes[csn.rawValue] ?? CommitNotes()
    nextRowID = kept.nextRowID
    nextTreeID = kept.nextTreeID
  }
}
