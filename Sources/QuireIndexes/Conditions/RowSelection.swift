// Rows that something beside their own fields tells, as parts of conditions.

public import QuireDatabase

/// Rows that something beside their own fields tells: edges, a result of a search, a list. What joins are made of.
///
/// A condition has one by `Condition.rows(_:)`; any module may add its own. Part of `&&`, `||` and `!` like all other
/// conditions, in old snapshots and in write transactions as well.
public protocol RowSelection: Sendable {
  /// What errors call it.
  var name: String { get }
  /// Whether it may give rows of collections other than the one that is asked, which are left out then. Without, they
  /// are refused.
  var spansCollections: Bool { get }
  /// What it selects in a transaction, for one run of a query.
  func rows(in tx: ReadTransaction) throws -> any SelectedRows
}

extension RowSelection {
  public var spansCollections: Bool { false }
}

/// What a selection selects in one transaction.
///
/// A query asks `cost` first, with a limit that is what the rest of its condition would cost: if it is not above,
/// all rows are found, and otherwise those alone are tested that the rest of the condition leaves.
public protocol SelectedRows: AnyObject {
  /// What plans call it, with what has been counted so far.
  var description: String { get }
  /// How many entries and rows are read to find all rows; nil if more than `limit`. May be asked again with a higher
  /// limit, and should read no more than that itself.
  func cost(upTo limit: Int) throws -> Int?
  /// The numbers of all rows, in any order; some may stand there twice, and some be gone.
  func rowIDs() throws -> [RowID]
  /// Those of some rows that are selected, in any order. By default looked up among all.
  func filter(_ rowIDs: [RowID]) throws -> [RowID]
}

extension SelectedRows {
  public func filter(_ rowIDs: [RowID]) throws -> [RowID] {
    let all = Set(try self.rowIDs())
    return rowIDs.filter { all.contains($0) }
  }
}

extension Condition {
  /// The rows of a selection.
  public static func rows(_ selection: some RowSelection) -> Self {
    Self(.selection(SelectionTest(selection), isNegated: false))
  }

  /// The rows whose numbers a closure gives, in any order. It is called once for a run of a query, if at all.
  ///
  /// ```swift
  /// let recent = Condition<Song, NoMetadata>.rows("recent") { tx in
  ///   try recentKeys.compactMap { try tx[.songs].rowID($0) }
  /// }
  /// ```
  ///
  /// - Parameter name: what plans and errors call them.
  public static func rows(
    _ name: String, _ find: @escaping @Sendable (ReadTransaction) throws -> [RowID]
  ) -> Self {
    rows(FoundSelection(name: name, find: find))
  }
}

/// A selection in a condition, told from all others by its identity.
final class SelectionTest: Sendable {
  let selection: any RowSelection

  init(_ selection: any RowSelection) { self.selection = selection }
}

/// Rows that a closure finds.
private struct FoundSelection: RowSelection {
  let name: String
  let find: @Sendable (ReadTransaction) throws -> [RowID]

  func rows(in tx: ReadTransaction) throws -> any SelectedRows { FoundList(name, tx, find) }
}

private final class FoundList: SelectedRows {
  private let name: String
  private let tx: ReadTransaction
  private let find: (ReadTransaction) throws -> [RowID]

  init(_ name: String, _ tx: ReadTransaction, _ find: @escaping (ReadTransaction) throws -> [RowID]) {
    (self.name, self.tx, self.find) = (name, tx, find)
  }

  var description: String { "“\(name)”" }
  // There is no other way than to find them.
  func cost(upTo limit: Int) -> Int? { 0 }
  func rowIDs() throws -> [RowID] { try find(tx) }
}

/// Numbers of rows that are known.
///
/// Invariant: in order, each once.
struct RowIDList: Sendable {
  let rowIDs: [RowID]

  init(_ rowIDs: [RowID]) { self.rowIDs = rowIDs.distinctInOrder() }

  /// O(log n).
  func contains(_ rowID: RowID) -> Bool {
    var (low, high) = (0, rowIDs.count)
    while low < high {
      let middle = (low + high) / 2
      if rowIDs[middle] < rowID { low = middle + 1 } else { high = middle }
    }
    return low < rowIDs.count && rowIDs[low] == rowID
  }
}
