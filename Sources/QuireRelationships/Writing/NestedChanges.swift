// Changes inside of changes: hooks and rules change rows while others are being stored or deleted.

internal import QuireDatabase

/// The stores that have begun and not ended, against the number of changes so far.
///
/// Invariant: `begun` has the innermost store last, with the number of changes at its beginning.
struct NestedStores {
  private var changeCount = 0
  private var begun: [(key: RowKey, changeCount: Int)] = []

  /// An object is about to be stored.
  mutating func begin(_ key: RowKey) {
    assert(begun.last.map { $0.changeCount <= changeCount } ?? true, "an inner store has begun before an outer one")
    begun.append((key, changeCount))
  }

  /// A row has changed.
  mutating func noteChange() { changeCount &+= 1 }

  /// An object was stored. Returns whether no row was changed since that began. What began inside and never ended is
  /// passed over: hooks may give up.
  mutating func end(_ key: RowKey) -> Bool {
    defer { noteChange() }
    while let last = begun.popLast() {
      if last.key == key { return last.changeCount == changeCount }
    }
    return false
  }
}

/// The row that a rule is deleting, and how rules and hooks have come to it by turns.
///
/// Invariants:
/// 1. `depth` is 0 exactly if no row is being deleted, and `EdgeLimits.returnCount` at the most.
/// 2. A deletion has ended before the next one begins: what is deleted inside of it waits on the list.
struct NestedDeletion {
  /// The row that a rule is deleting.
  private(set) var row: Int64?
  /// How many rows have been deleted by rules, each of which was stored by a hook because of the one before, up to the
  /// row that is being deleted.
  private var depth = 0
  /// The same up to the rows that such hooks have stored.
  private var returns: [Int64: Int] = [:]

  /// A rule is about to delete a row. Returns false if hooks have stored such rows too many times.
  mutating func begin(_ row: Int64) -> Bool {
    assert(self.row == nil && depth == 0, "a rule deletes a row while it deletes another one")
    let count = (returns.removeValue(forKey: row) ?? 0) + 1
    guard count <= EdgeLimits.returnCount else { return false }
    (self.row, depth) = (row, count)
    return true
  }

  /// It was deleted, or could not be.
  mutating func end() {
    assert(row != nil && (1...EdgeLimits.returnCount).contains(depth), "no row is being deleted")
    (row, depth) = (nil, 0)
  }

  /// The error for a row that hooks have stored too many times.
  static func endless(_ key: RowKey, _ store: ExtensionStore) -> DatabaseError {
    DatabaseError(
      .hooksTooDeep,
      """
      Rules of the relationship “\(store.name)” have deleted a row \(EdgeLimits.returnCount) times, each time a hook \
      of another extension stored a row that was to be deleted, too. Have the hook leave alone what is being removed.
      """, path: store.database.path, collection: key.collection, key: key.key)
  }

  /// A row has come while a rule deletes another one, in a hook of that: it is what has become of it.
  mutating func noteReturn(of row: RowID) {
    assert((depth > 0) == (self.row != nil), "a deletion has no depth")
    if depth > 0 { returns[row.rawValue] = depth }
  }

  /// Whether hooks have stored rows while rules deleted others.
  var hasReturns: Bool { !returns.isEmpty }

  /// All rules are applied.
  mutating func forgetReturns() { returns = [:] }
}
