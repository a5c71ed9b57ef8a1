// The rows that edges know of and that are not there.

internal import HashTreeCollections
internal import QuireDatabase

/// Rows that edges lead from or to and that do not exist: those that may come yet, and those that were removed.
///
/// Invariants:
/// 1. `waiting` has the rows that do not exist, each under a number that stands for it: the id of the row that was
///    removed from there in this transaction, or a number below 0 and not below `lastStandIn`. No number stands for two
///    rows.
/// 2. `waitingKeys` is `waiting` the other way round.
/// 3. `removed` has the ids of removed rows of which edges are noted, by their keys, unless a row is there again.
final class AbsentRows {
  private(set) var waiting: [RowKey: Int64] = [:]
  private var waitingKeys: [Int64: RowKey] = [:]
  private var lastStandIn: Int64 = 0
  var removed: RemovedRows

  init(_ trees: EdgeTrees) throws { removed = try RemovedRows(trees) }

  var isEmpty: Bool { get throws { try waiting.isEmpty && removed.isEmpty } }

  /// The number that stands for a row, which is waited for from now on.
  func wait(for key: RowKey) throws -> Int64 {
    if let known = waiting[key] { return known }
    let standIn = try removed.id(of: key) ?? lastStandIn - 1
    assert(waitingKeys[standIn] == nil, "a number stands for two rows")
    lastStandIn = min(lastStandIn, standIn)
    waiting[key] = standIn
    waitingKeys[standIn] = key
    assert(waiting.count == waitingKeys.count, "rows and the numbers that stand for them are not as many")
    return standIn
  }

  /// The number that stands for a row that does not exist, or did until it was removed in this transaction.
  func standIn(_ key: RowKey) throws -> Int64? { try isEmpty ? nil : waiting[key] ?? removed.id(of: key) }

  /// The row that is waited for under a number.
  func waitingKey(_ standIn: Int64) -> RowKey? { waitingKeys[standIn] }

  /// A row has come, or was given up. Returns whether it was waited for.
  @discardableResult
  func stopWaiting(for key: RowKey) -> Bool {
    guard let standIn = waiting.removeValue(forKey: key) else { return false }
    assert(waitingKeys[standIn] == key, "a number stands for another row than the one that waits under it")
    waitingKeys[standIn] = nil
    return true
  }

  /// No edge knows of any row.
  func removeAll() throws {
    waiting.removeAll()
    waitingKeys.removeAll()
    try removed.removeAll()
  }

  // MARK: Savepoints

  /// What a savepoint has to remember.
  struct Mark {
    fileprivate var waiting: [RowKey: Int64] = [:]
    fileprivate var waitingKeys: [Int64: RowKey] = [:]
    fileprivate var removed: TreeDictionary<RowKey, Int64> = [:]
  }

  var mark: Mark { Mark(waiting: waiting, waitingKeys: waitingKeys, removed: removed.memory) }

  func restore(_ mark: Mark) {
    waiting = mark.waiting
    waitingKeys = mark.waitingKeys
    removed.restore(mark.removed)
    assert(lastStandIn <= waiting.values.min() ?? 0, "a number is given out again that a savepoint has brought back")
  }

  // MARK: Checking

  /// Throws unless `waiting` and `waitingKeys` mirror each other and what is kept of removed rows agrees. O(n).
  func checkInvariants() throws {
    guard waiting.count == waitingKeys.count, waiting.allSatisfy({ waitingKeys[$0.value] == $0.key }) else {
      throw DatabaseError(.damagedRow, "Rows that are waited for, and the numbers that stand for them, do not agree.")
    }
    guard waiting.values.allSatisfy({ $0 >= lastStandIn }) else {
      throw DatabaseError(.damagedRow, "A number below the last one that was given out stands for a row.")
    }
    try removed.checkInvariants()
  }
}
