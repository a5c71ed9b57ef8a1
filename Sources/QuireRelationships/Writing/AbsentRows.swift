// The rows that edges know of and that are not there.

internal import HashTreeCollections
internal import QuireDatabase

/// Rows that edges lead from or to and that do not exist: those that may come yet, and those that were removed.
///
/// Invariants:
/// 1. `waiting` has the rows that do not exist, each under a number that stands for it: the id of the row that was
///    removed from there in this transaction, or a number below 0. No number stands for two rows.
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
    lastStandIn = min(lastStandIn, standIn)
    waiting[key] = standIn
    waitingKeys[standIn] = key
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
  }
}
