// Walking through the rows of a group, without knowing their types.

internal import QuireDatabase

/// A walk through the rows of a group, or of a part of it, in its order or against it.
///
/// Where nothing can change meanwhile, rows are fetched ahead, side by side; what went wrong with one of them is told
/// when its turn comes. For the thread and the life of its transaction.
///
/// Invariants:
/// 1. `rest` are the indexes of the rows that have not been handed out, of which `fetched`, from `position` on, are the
///    next ones.
/// 2. The cursor is on the entry of the last row that was fetched, if there was one.
final class ViewWalk {
  /// How many rows are fetched ahead at the most.
  private static let mostAhead = 16

  private let store: ExtensionStore
  private let trees: ViewTrees
  private let group: String
  private let isReversed: Bool
  private var cursor: ExtensionCursor<[UInt8]>?
  private var isStarted = false
  private var rest = 0..<0
  private var fetched: [RowChange] = []
  private var position = 0
  private var failure: (any Error)?
  /// How many rows are fetched at once.
  private var batchCount: Int

  /// - Parameter range: the part; all of the group if nil.
  init(_ store: ExtensionStore, _ trees: ViewTrees, _ group: String, _ range: Range<Int>?, isReversed: Bool) {
    self.store = store
    self.trees = trees
    self.group = group
    self.isReversed = isReversed
    // Who says how many rows are wanted wants them all.
    batchCount = !store.mayFetchAhead ? 1 : range == nil ? 2 : Self.mostAhead
    store.noting(()) { try begin(range) }
  }

  private func begin(_ range: Range<Int>?) throws {
    guard let id = try trees.group(group) else { return }
    let all = 0..<(try trees.count(id))
    let part = range.map { $0.clamped(to: all) } ?? all
    guard !part.isEmpty else { return }
    let cursor = try trees.entries.cursor()
    let start = try trees.entries.rank(of: id.prefix)
    guard try cursor.seek(toIndex: start + (isReversed ? part.upperBound - 1 : part.lowerBound)) else { return }
    (self.cursor, rest) = (cursor, part)
  }

  /// The next row and its index in the group; nil behind the last one, and after an error, which the transaction's next
  /// call throws.
  func next() -> (index: Int, row: RowChange)? {
    guard !rest.isEmpty else { return nil }
    if position == fetched.count || !store.isUsable {
      let isFetched = store.noting(false) {
        try trees.naming(group) { try fetch() }
        return true
      }
      guard isFetched else {
        end()
        return nil
      }
    }
    let row = fetched[position]
    position += 1
    let index = isReversed ? rest.upperBound - 1 : rest.lowerBound
    rest = isReversed ? rest.lowerBound..<index : (index + 1)..<rest.upperBound
    return (index, row)
  }

  private func end() { (cursor, rest, fetched, position) = (nil, 0..<0, [], 0) }

  /// The row that was handed out is none that a view shows: nothing follows, and the transaction's next call throws.
  func failDamaged() {
    store.noting(()) { throw trees.damaged() }
    end()
  }

  /// Fetches the next rows, one at least.
  private func fetch() throws {
    if let failure { throw failure }
    guard let cursor else { throw trees.damaged() }
    var rowIDs: [RowID] = []
    do {
      while rowIDs.count < min(batchCount, rest.count) {
        rowIDs.append(try nextRowID(cursor))
      }
    } catch {
      // The rows in front of it are good.
      failure = error
      if rowIDs.isEmpty { throw error }
    }
    position = 0
    do { fetched = try store.rows(rowIDs) } catch {
      fetched = try rowsInFrontOfFailure(rowIDs)
    }
    assert(!fetched.isEmpty && fetched.count <= rest.count, "a walk goes on without rows, or behind the last one")
    if store.mayFetchAhead { batchCount = min(2 * batchCount, Self.mostAhead) }
  }

  private func nextRowID(_ cursor: ExtensionCursor<[UInt8]>) throws -> RowID {
    if isStarted {
      guard try isReversed ? cursor.previous() : cursor.next() else { throw trees.damaged() }
    }
    isStarted = true
    guard let rowID = try cursor.rowID, rowID.rawValue > 0 else { throw trees.damaged() }
    return rowID
  }

  /// The rows that can be had one by one; what goes wrong with the one behind them is told in its turn.
  private func rowsInFrontOfFailure(_ rowIDs: [RowID]) throws -> [RowChange] {
    var rows: [RowChange] = []
    do {
      for rowID in rowIDs {
        guard let row = try store.row(rowID) else { throw trees.damaged() }
        rows.append(row)
      }
    } catch {
      failure = error
      if rows.isEmpty { throw error }
    }
    return rows
  }
}
