// Secondary indexes in transactions.

public import Foundation
internal import Quire

/// A secondary index in one transaction, whose own changes it shows. New type: `FoundRows`.
///
/// A query that cannot be understood goes to the log with the place and what helps, and the call answers false or nil;
/// the transaction goes on. `check(_:)` throws instead. Rows come in the query's order, and otherwise in the order in
/// which they were stored first; those that are equal in the query's order do, too.
public final class YapDatabaseSecondaryIndexTransaction: YapDatabaseExtensionTransaction {
  private let trees: SecondaryIndexTrees

  init(_ index: SecondaryIndexExtension, _ transaction: YapDatabaseReadTransaction) throws {
    switch transaction.access {
    case .reading(let tx): trees = try tx.access(to: index)
    case .writing(let tx): trees = try tx.access(to: index).trees
    }
    super.init(index.name, transaction)
  }

  // MARK: Queries

  /// Throws what is wrong with a query: its text, the names of columns in it, its parameters. Not in the original. New
  /// call: none is needed, as the compiler sees.
  ///
  /// - Throws: `malformedQuery`, which says where and what helps.
  public func check(_ query: YapDatabaseQuery) throws {
    _ = try query.bound(trees.columns)
    guard let aggregate = try query.aggregate?.get() else { return }
    let text = Array((query.aggregateFunction ?? "").utf8)
    _ = try aggregate.argument?.bound(QueryScope(columns: trees.columns, parameters: [], text: text))
  }

  /// Runs `body`; nil if it throws that a query cannot be understood, which goes to the log.
  private func answer<Result>(_ body: () throws -> Result?) -> Result? {
    attempt(nil) {
      do { return try body() } catch let error as DatabaseError where error.code == .malformedQuery {
        YapDatabase.log(.error, "The index “\(name)” cannot answer a query. \(error)")
        return nil
      }
    }
  }

  private func rowIDs(_ query: YapDatabaseQuery) -> [RowID]? {
    answer { try SecondaryIndexQuery(trees, query.bound(trees.columns)).rowIDs() }
  }

  /// Calls `block` with each row that is found, until it wants to stop. Returns whether the query was understood.
  private func forEachRow(_ query: YapDatabaseQuery, _ block: (RowChange, inout Bool) throws -> Void) -> Bool {
    guard let rowIDs = rowIDs(query) else { return false }
    return attempt(false) {
      for rowID in rowIDs {
        guard let row = try trees.store.row(rowID) else { throw missing(rowID) }
        guard try transaction.step(row.collection, { try block(row, &$0) }) else { break }
      }
      return transaction.failure == nil
    }
  }

  private func missing(_ rowID: RowID) -> DatabaseError {
    trees.damaged("it leads to row \(rowID.rawValue), which is not there")
  }

  private func object(_ row: RowChange) throws -> Any {
    guard let object = try transaction.database.registry.bridge(row.collection).object(of: row) else {
      throw trees.damaged("it leads to a row that is not there")
    }
    return object
  }

  private func metadata(_ row: RowChange) throws -> Any? {
    try transaction.database.registry.bridge(row.collection).metadata(of: row)
  }

  // MARK: Rows

  /// Calls `block` with collection and key of each row that is found. Returns whether the query was understood. New
  /// call: `FoundRows.keys`.
  @discardableResult
  public func iterateKeys(
    matching query: YapDatabaseQuery, using block: (_ collection: String, _ key: String, _ stop: inout Bool) -> Void
  ) -> Bool {
    guard let rowIDs = rowIDs(query) else { return false }
    return attempt(false) {
      let tx = trees.store.readTransaction
      for rowID in rowIDs {
        guard let row = try tx.key(of: rowID) else { throw missing(rowID) }
        guard try transaction.step(row.collection, { block(row.collection, row.key, &$0) }) else { break }
      }
      return transaction.failure == nil
    }
  }

  /// Calls `block` with each row that is found, without its object. Returns whether the query was understood. New call:
  /// `FoundRows.all`.
  @discardableResult
  public func iterateKeysAndMetadata(
    matching query: YapDatabaseQuery,
    using block: (_ collection: String, _ key: String, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query) { row, stop in block(row.collection, row.key, try metadata(row), &stop) }
  }

  /// Calls `block` with each row that is found, without its metadata. Returns whether the query was understood. New
  /// call: `FoundRows.all`.
  @discardableResult
  public func iterateKeysAndObjects(
    matching query: YapDatabaseQuery,
    using block: (_ collection: String, _ key: String, _ object: Any, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query) { row, stop in block(row.collection, row.key, try object(row), &stop) }
  }

  /// Calls `block` with each row that is found. Returns whether the query was understood. New call: `FoundRows.all`.
  @discardableResult
  public func iterateRows(
    matching query: YapDatabaseQuery,
    using block: (_ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query) { row, stop in block(row.collection, row.key, try object(row), try metadata(row), &stop) }
  }

  // MARK: Values

  /// Calls `block` with the value of a column for each row that is found, without reading rows: an `Int`, `Double`,
  /// `String`, `Data`, or `NSNull`. Returns whether the query was understood. New call: `FoundRows.values(_:)`.
  @discardableResult
  public func iterateIndexedValues(
    inColumn column: String, matching query: YapDatabaseQuery,
    using block: (_ indexedValue: Any, _ stop: inout Bool) -> Void
  ) -> Bool {
    let values = answer { () throws -> [QueryValue]? in
      let (name, bound) = (QueryName(text: column, place: 0), try query.bound(trees.columns))
      let column = try QueryScope(columns: trees.columns, parameters: [], text: Array(column.utf8)).expression(name)
      // Gathered first, as the block may change rows.
      var values: [QueryValue] = []
      try SecondaryIndexQuery(trees, bound).forEachValues { row in
        values.append(column.value(row))
        return true
      }
      return values
    }
    guard let values else { return false }
    return attempt(false) {
      for value in values where try !transaction.step(nil, { block(value.object, &$0) }) { break }
      return transaction.failure == nil
    }
  }

  /// The number of rows that are found; nil if the query was not understood. Where one column answers the condition,
  /// O(log n). New call: `FoundRows.count`.
  public func numberOfRows(matching query: YapDatabaseQuery) -> UInt? {
    answer { UInt(try SecondaryIndexQuery(trees, query.bound(trees.columns)).count()) }
  }

  /// Sets `count` to the number of rows that are found; to 0 if the query was not understood. Returns whether it was.
  /// New call: `FoundRows.count`.
  @discardableResult
  public func getNumberOfRows(_ count: inout UInt, matching query: YapDatabaseQuery) -> Bool {
    let found = numberOfRows(matching: query)
    count = found ?? 0
    return found != nil
  }

  /// The value of a query's function over the rows that it finds: an `Int`, `Double`, `String` or `Data`. Nil if it is
  /// null, as the sum of no row is, or if the query was not understood. New call: `FoundRows.sum(_:)` and the like.
  public func performAggregateQuery(_ query: YapDatabaseQuery) -> Any? {
    answer {
      let value = try trees.value(of: query)
      return value == .null ? nil : value.object
    }
  }

  /// The numbers of rows, by their keys, for queries with `rowid IN (?)`; keys without a row are left out. New call:
  /// `ReadTransaction.rowID(of:)`.
  public func rowids(forKeys keys: [String], inCollection collection: String?) -> [String: NSNumber] {
    attempt([:]) {
      let tx = trees.store.readTransaction
      var numbers: [String: NSNumber] = [:]
      for key in keys {
        if let rowID = try tx.rowID(of: RowKey(collection ?? "", key)) {
          numbers[key] = NSNumber(value: rowID.rawValue)
        }
      }
      return numbers
    }
  }
}
