// Deciding call by call whether something goes wrong.

/// The faults of a running disk.
struct FaultState: Sendable {
  /// A fault that a test asked for.
  private struct Planned: Sendable {
    /// Strikes the call of this number, or, if nil, the first that fits.
    var number: Int?
    var kind: OperationKind?
    var path: String?
    var skipCount: Int
    var effect: FaultEffect
  }

  /// A write that the drive will confirm and not do.
  private struct PlannedLie: Sendable {
    var path: String
    var skipCount: Int
    var lie: DriveLie
  }

  private(set) var plan = FaultPlan.none
  /// Draws for this disk alone, so that faults do not shift what a workload draws.
  var random = SeededRandom(seed: 0)
  var isEnabled = true
  private var isCalm = true
  private var planned: [Planned] = []
  private var lies: [PlannedLie] = []
  private var fullUntil = 0
  /// What goes wrong with the call that runs, as somebody said who came in between.
  var immediate: FaultEffect?
  /// The numbers of the calls that find no space.
  var fullRange = 0..<0
  /// What calls that find no space are told.
  var fullCode = SystemCode.noSpace

  mutating func setPlan(_ plan: FaultPlan) {
    self.plan = plan
    random = SeededRandom(seed: plan.seed)
    isCalm = plan.isCalm
    fullUntil = 0
  }

  /// Forgets the faults that a test asked for.
  mutating func removePlanned() { planned = [] }

  mutating func add(number: Int, _ effect: FaultEffect) {
    planned.append(Planned(number: number, kind: nil, path: nil, skipCount: 0, effect: effect))
  }

  mutating func add(_ kind: OperationKind, path: String?, skipCount: Int, _ effect: FaultEffect) {
    planned.append(Planned(number: nil, kind: kind, path: path, skipCount: skipCount, effect: effect))
  }

  mutating func add(_ lie: DriveLie, path: String, skipCount: Int) {
    lies.append(PlannedLie(path: path, skipCount: skipCount, lie: lie))
  }

  /// What the drive does with the write to `path` that happens now.
  mutating func takeLie(path: String) -> DriveLie? {
    guard !lies.isEmpty, let index = lies.firstIndex(where: { $0.path == path }) else { return nil }
    if lies[index].skipCount > 0 {
      lies[index].skipCount -= 1
      return nil
    }
    return lies.remove(at: index).lie
  }

  /// What goes wrong with the call of this number, if anything does.
  mutating func effect(for operation: DiskOperation, number: Int, allocates: Bool) -> FaultEffect? {
    if !isEnabled { return nil }
    if let immediate { return immediate }
    if !planned.isEmpty, let effect = takePlanned(operation, number: number) { return effect }
    if allocates, fullRange.contains(number) { return .error(fullCode) }
    if isCalm { return nil }
    switch operation.kind {
    case .read: return readEffect(operation)
    case .write: return fullEffect(number, allocates) ?? writeEffect(operation)
    case .resize:
      return fullEffect(number, allocates) ?? (strikes(.resizeError) ? .error(SystemCode.inputOutput) : nil)
    case .allocate: return fullEffect(number, allocates) ?? allocateEffect(operation)
    case .synchronize: return synchronizeEffect()
    case .open:
      if !strikes(.openError) { return nil }
      let codes = [SystemCode.tooManyFiles, SystemCode.tooManyFiles, SystemCode.systemTableFull, SystemCode.denied]
      return .error(codes[random.below(codes.count)])
    case .synchronizeDirectory: return strikes(.directorySyncError) ? failedSync(SystemCode.inputOutput) : nil
    case .link, .rename: return strikes(.linkError) ? .error(SystemCode.inputOutput) : nil
    case .unlink: return strikes(.unlinkError) ? .error(SystemCode.inputOutput) : nil
    case .lock: return strikes(.lockError) ? .error(SystemCode.noLocks) : nil
    case .status: return strikes(.statusError) ? .error(SystemCode.inputOutput) : nil
    }
  }

  private mutating func readEffect(_ operation: DiskOperation) -> FaultEffect? {
    if strikes(.interruptedRead) { return .error(SystemCode.interrupted) }
    if strikes(.readError) { return .error(SystemCode.inputOutput) }
    if strikes(.badSector) { return .badSector(at: operation.offset + random.below(max(1, operation.count))) }
    return strikes(.shortRead) ? short(operation.count) : nil
  }

  private mutating func writeEffect(_ operation: DiskOperation) -> FaultEffect? {
    if strikes(.interruptedWrite) { return .error(SystemCode.interrupted) }
    if strikes(.writeError) {
      return random.oneIn(2)
        ? .error(SystemCode.inputOutput)
        : .errorAfter(random.below(operation.count + 1), SystemCode.inputOutput)
    }
    return strikes(.shortWrite) ? short(operation.count) : nil
  }

  private mutating func allocateEffect(_ operation: DiskOperation) -> FaultEffect? {
    if strikes(.interruptedWrite) { return .error(SystemCode.interrupted) }
    if !strikes(.resizeError) { return nil }
    return .errorAfter(random.below(operation.count + 1), SystemCode.inputOutput)
  }

  /// A full disk stays full for a while, however often one asks.
  private mutating func fullEffect(_ number: Int, _ allocates: Bool) -> FaultEffect? {
    if !allocates && !plan.refusesOverwritesWhenFull { return nil }
    if number >= fullUntil {
      if !strikes(.diskFull) { return nil }
      fullUntil = number + 1 + random.below(plan.fullPeriod)
    }
    return .error(plan.fullCode)
  }

  private mutating func synchronizeEffect() -> FaultEffect? {
    let isFull = strikes(.syncFull)
    if !isFull && !strikes(.syncError) { return nil }
    return failedSync(isFull ? plan.fullCode : SystemCode.inputOutput)
  }

  private mutating func failedSync(_ code: Int32) -> FaultEffect {
    let failure = plan.syncFailures[random.below(plan.syncFailures.count)]
    return .failedSync(failure, code, survivorsOneIn: plan.survivorsOneIn)
  }

  /// One byte, all but one, or half.
  private mutating func short(_ count: Int) -> FaultEffect? {
    if count < 2 { return nil }
    return .short([1, count - 1, count / 2][random.below(3)])
  }

  private mutating func strikes(_ kind: FaultKind) -> Bool {
    let rate = plan[kind]
    return rate > 0 && random.oneIn(rate)
  }

  private mutating func takePlanned(_ operation: DiskOperation, number: Int) -> FaultEffect? {
    for index in planned.indices {
      let fault = planned[index]
      if let wanted = fault.number {
        if wanted != number { continue }
      } else {
        if fault.kind != operation.kind || (fault.path != nil && fault.path != operation.path) { continue }
        if fault.skipCount > 0 {
          planned[index].skipCount -= 1
          continue
        }
      }
      planned.remove(at: index)
      return fault.effect
    }
    return nil
  }
}
