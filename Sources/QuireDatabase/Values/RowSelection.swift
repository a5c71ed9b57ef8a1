// Rows that something beside their own fields tells: the currency between queries, joins and searches.

/// Rows that something beside their own fields tells: edges, a result of a search, a list. What joins are made of.
///
/// A condition of a query has one by `Condition.rows(_:)`; any module may add its own. Part of `&&`, `||` and `!` like
/// all other conditions, in old snapshots and in write transactions as well.
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
