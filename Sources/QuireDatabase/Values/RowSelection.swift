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
  /// Whether a row may come or go by a change of something else than the row: of another row, as with edges and limits,
  /// or of what no row tells. What follows a selection, like a search view, asks about the changed rows alone if not,
  /// and otherwise for all rows again with every commit. False by default.
  var dependsOnOtherRows: Bool { get }
  /// A text of which the same selection can be made again, for what is stored of it, such as the text that was searched
  /// for. Nil, by default, if there is none.
  var storedForm: String? { get }
  /// What it selects in a transaction, for one run of a query. Of one that writes, `handle.writeTransaction` of `tx`
  /// asks extensions for what they have not written yet.
  func rows(in tx: ReadTransaction) throws -> any SelectedRows
}

extension RowSelection {
  public var spansCollections: Bool { false }
  public var dependsOnOtherRows: Bool { false }
  public var storedForm: String? { nil }
}

/// A selection that tells how well a row fits, like a search by words.
public protocol RankedSelection: RowSelection {
  /// The best rows, the best one first, with their scores, of which a higher one is better.
  ///
  /// - Parameters:
  ///   - limit: how many at the most.
  ///   - tx: where they are looked for.
  func rankedRowIDs(limit: Int, in tx: ReadTransaction) throws -> [(rowID: RowID, score: Double)]
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
  /// Calls `body` with the numbers of all rows, as `rowIDs` gives them, which it calls by default. One that finds them
  /// step by step can be stopped so: by an error of `body`'s, which is rethrown.
  func forEachRowID(_ body: (RowID) throws -> Void) throws
  /// Those of some rows that are selected, in any order. By default looked up among all.
  func filter(_ rowIDs: [RowID]) throws -> [RowID]
}

extension SelectedRows {
  public func forEachRowID(_ body: (RowID) throws -> Void) throws { try rowIDs().forEach(body) }
  public func filter(_ rowIDs: [RowID]) throws -> [RowID] {
    let all = Set(try self.rowIDs())
    return rowIDs.filter { all.contains($0) }
  }
}
