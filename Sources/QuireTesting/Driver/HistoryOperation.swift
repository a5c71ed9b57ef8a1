// The operations of a history as values, so that some can be left out.

/// An operation of a history: a change of rows, or what happens to the database between transactions.
struct HistoryOperation: Sendable {
  /// What is done. Collections and extensions are given by their places in the test.
  enum Action: Sendable {
    // In transactions:
    case set(Int, String, seed: UInt64)
    case replaceObject(Int, String, seed: UInt64)
    case replaceMetadata(Int, String, seed: UInt64)
    case touch(Int, String)
    case remove(Int, [String])
    case clear(Int)
    case clearAll
    // Between transactions:
    /// Rows are stored under an older name of the collection, and renamed by the opening that follows.
    case rename(Int, [String], seed: UInt64)
    /// Registers an extension, with the next transactions between the steps of that, and stops after some of them.
    case register(Int, version: Int, interleaving: Int, stopAfter: Int?)
    case unregister(Int)
    /// Opens again, with what was registered before, or without.
    case reopen(isBare: Bool)
    case upgrade(Int, version: Int)
    case checkpoint, flush, beginCheckpoint
    case stepCheckpoint(Int)
    case holdSnapshot
    case crash(seed: UInt64, isKilled: Bool, isBare: Bool)
    /// The operation after it meets this.
    case cutPower(PowerCut)
    case refuse(SimulatedDisk.Call, after: Int, SimulatedDisk.Refusal)
  }

  /// When the power goes off, and what is left then.
  struct PowerCut: Sendable {
    /// Before this change to the disk, counted from the beginning of the operation.
    var change: Int
    var seed: UInt64
    /// Whether it is the process alone that ends.
    var isKill: Bool
  }

  /// The transaction that a change is part of. Changes of one number that follow each other are one transaction, or one
  /// savepoint of it.
  struct Scope: Sendable {
    var transaction: Int
    var isUndone: Bool
    var savepoint: Int?
    var isSavepointUndone = false
  }

  let action: Action
  var scope: Scope?

  /// Whether it only prepares what the next operation meets.
  var isPreparation: Bool {
    switch action {
    case .cutPower, .refuse: true
    default: false
    }
  }
}

// MARK: - Drawing

extension HistoryOperation {
  /// The operations of a history; the same ones for the same seed and test.
  static func history(of test: CrashTest, seed: UInt64) -> [HistoryOperation] {
    var draw = HistoryDraw(test: test, random: SeededRandom(seed: seed ^ 0x6372_6173_6865_73))
    var operations: [HistoryOperation] = []
    for number in 0..<test.stepCount { draw.step(number, into: &operations) }
    return operations + [HistoryOperation(action: .crash(seed: seed, isKilled: false, isBare: false))]
  }
}

/// Draws operations.
private struct HistoryDraw {
  let test: CrashTest
  var random: SeededRandom

  mutating func step(_ number: Int, into operations: inout [HistoryOperation]) {
    if random.oneIn(5) {
      let change = random.below(random.pick([6, 40, 150]))
      let cut = HistoryOperation.PowerCut(change: change, seed: random.next(), isKill: random.oneIn(3))
      operations.append(HistoryOperation(action: .cutPower(cut)))
    } else if random.oneIn(8) {
      let call = random.pick([SimulatedDisk.Call.write, .write, .sync, .grow, .read, .open])
      let refusal = random.pick(SimulatedDisk.Refusal.allCases)
      operations.append(HistoryOperation(action: .refuse(call, after: random.below(random.pick([1, 2, 6])), refusal)))
    }
    if random.below(5) < 3 { return transaction(number, into: &operations) }
    operations.append(HistoryOperation(action: random.below(5) < 2 ? crash() : event()))
  }

  private mutating func transaction(_ number: Int, into operations: inout [HistoryOperation]) {
    var scope = HistoryOperation.Scope(transaction: number, isUndone: random.oneIn(10))
    for part in 0..<1 + random.below(3) {
      scope.savepoint = random.oneIn(3) ? part : nil
      scope.isSavepointUndone = scope.savepoint != nil && random.oneIn(2)
      for _ in 0..<1 + random.below(3) { operations.append(HistoryOperation(action: change(), scope: scope)) }
    }
  }

  private mutating func change() -> HistoryOperation.Action {
    let place = random.below(test.collections.count)
    let keys = test.collections[place].keys
    let key = random.pick(keys)
    switch random.below(40) {
    case 0...16: return .set(place, key, seed: random.next())
    case 17...20: return .replaceObject(place, key, seed: random.next())
    case 21...26: return .replaceMetadata(place, key, seed: random.next())
    case 27, 28: return .touch(place, key)
    case 29...33: return .remove(place, [key])
    case 34...36: return .remove(place, some(keys))
    case 37, 38: return .clear(place)
    default: return .clearAll
    }
  }

  /// One to four of the keys.
  private mutating func some(_ keys: [String]) -> [String] {
    Set((0..<1 + random.below(4)).map { _ in random.pick(keys) }).sorted()
  }

  private mutating func crash() -> HistoryOperation.Action {
    .crash(seed: random.next(), isKilled: random.oneIn(3), isBare: random.oneIn(4))
  }

  private mutating func event() -> HistoryOperation.Action {
    switch random.below(20) {
    case 0...5 where !test.extensions.isEmpty:
      let place = random.below(test.extensions.count)
      return .register(
        place, version: random.below(test.extensions[place].versionCount), interleaving: random.below(4),
        stopAfter: random.oneIn(4) ? random.below(4) : nil)
    case 6 where !test.extensions.isEmpty: return .unregister(random.below(test.extensions.count))
    case 7 where !test.extensions.isEmpty, 8 where !test.extensions.isEmpty:
      let place = random.below(test.extensions.count)
      return .upgrade(place, version: random.below(test.extensions[place].versionCount))
    case 9 where test.renamesCollections, 10 where test.renamesCollections:
      let place = random.below(test.collections.count)
      return .rename(place, some(test.collections[place].keys), seed: random.next())
    case 11: return .checkpoint
    case 12: return .flush
    case 13: return .beginCheckpoint
    case 14: return .stepCheckpoint(1 + random.below(6))
    case 15, 16: return .holdSnapshot
    default: return .reopen(isBare: random.oneIn(3))
    }
  }
}
