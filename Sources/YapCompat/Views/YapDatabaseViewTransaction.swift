// Views in transactions: groups, positions, rows.

public import Foundation
internal import Quire

/// A view in one transaction. New type: `ViewReader`.
public class YapDatabaseViewTransaction: YapDatabaseExtensionTransaction {
  let view: YapDatabaseView
  let reader: ViewReader<Untyped, Untyped>
  /// The version that this transaction has given the view.
  private var newVersionTag: String??

  init(_ view: YapDatabaseView, _ transaction: YapDatabaseReadTransaction) throws {
    guard let adapter = view.adapter else { throw view.notRegistered() }
    self.view = view
    reader = try adapter.reader(transaction.access)
    super.init(view.registeredName ?? "", transaction)
  }

  // MARK: Groups

  /// The number of groups. New call: `ViewReader.groupCount`.
  public func numberOfGroups() -> UInt { attempt(0) { UInt(reader.groupCount) } }

  /// The names of the groups, in the order of their bytes. New call: `ViewReader.groups`.
  public func allGroups() -> [String] { attempt([]) { reader.groups } }

  /// Whether there is a group of this name. New call: `ViewReader.hasGroup(_:)`.
  public func hasGroup(_ group: String) -> Bool { attempt(false) { reader.hasGroup(group) } }

  /// The number of rows of a group; 0 if there is none. New call: `ViewReader.count(in:)`.
  public func numberOfItems(inGroup group: String) -> UInt { attempt(0) { UInt(reader.count(in: group)) } }

  /// The number of rows of all groups. New call: `ViewReader.count`.
  public func numberOfItemsInAllGroups() -> UInt { attempt(0) { UInt(reader.count) } }

  /// Whether a group has no row. New call: `ViewReader.count(in:)`.
  public func isEmptyGroup(_ group: String) -> Bool { numberOfItems(inGroup: group) == 0 }

  /// Whether the view has no row. New call: `ViewReader.isEmpty`.
  public func isEmpty() -> Bool { attempt(true) { reader.isEmpty } }

  /// Calls `block` with each group. New call: `ViewReader.groups`.
  public func iterateGroups(_ block: (_ group: String, _ stop: inout Bool) -> Void) {
    attempt(()) {
      for group in reader.groups where try !transaction.step(nil, { block(group, &$0) }) { return }
    }
  }

  /// The version of the view: what this transaction has made of it, or as of the newest commit. New call: `version` of
  /// the view's writer.
  public func versionTag() -> String? { newVersionTag ?? view.versionTag }

  /// Notes that the view has another version if the transaction commits.
  func noteVersionTag(_ versionTag: String?) throws {
    newVersionTag = .some(versionTag)
    let view = view
    try writing().onCommit { view.setVersionTag(versionTag) }
  }

  // MARK: Rows by position

  /// Collection and key of the row at an index of a group; nil if there are not so many. New call:
  /// `ViewReader.rowKey(at:in:)`.
  public func getCollectionKey(atIndex index: Int, inGroup group: String) -> (String, String)? {
    rowKey(index, group).map { ($0.collection, $0.key) }
  }

  /// The key of the row at an index of a group; nil if there are not so many. New call: `ViewReader.key(at:in:)`.
  public func key(at index: UInt, inGroup group: String) -> String? { rowKey(Int(index), group)?.key }

  /// The collection of the row at an index of a group; nil if there are not so many. New call:
  /// `ViewReader.rowKey(at:in:)`.
  public func collection(at index: UInt, inGroup group: String) -> String? { rowKey(Int(index), group)?.collection }

  /// The object of the row at an index of a group; nil if there are not so many. New call: `ViewReader.object(at:in:)`.
  public func object(at index: UInt, inGroup group: String) -> Any? { object(rowKey(Int(index), group)) }

  /// The metadata of the row at an index of a group; nil if there are not so many, or none. New call:
  /// `ViewReader.metadata(at:in:)`.
  public func metadata(at index: UInt, inGroup group: String) -> Any? { metadata(rowKey(Int(index), group)) }

  /// The first row's object. New call: `ViewReader.firstObject(in:)`.
  public func firstObject(inGroup group: String) -> Any? { object(rowKey(0, group)) }

  /// The last row's object. New call: `ViewReader.lastObject(in:)`.
  public func lastObject(inGroup group: String) -> Any? {
    object(rowKey(Int(numberOfItems(inGroup: group)) - 1, group))
  }

  func rowKey(_ index: Int, _ group: String) -> RowKey? {
    attempt(nil) { index < 0 ? nil : try reader.rowKey(at: index, in: group) }
  }

  func object(_ key: RowKey?) -> Any? {
    key.flatMap { transaction.object(forKey: $0.key, inCollection: $0.collection) }
  }

  func metadata(_ key: RowKey?) -> Any? {
    key.flatMap { transaction.metadata(forKey: $0.key, inCollection: $0.collection) }
  }

  // MARK: Positions of rows

  /// The group of a row; nil if it is not in the view. New call: `ViewReader.position(of:)`.
  public func group(forKey key: String, inCollection collection: String?) -> String? {
    getGroupIndex(forKey: key, inCollection: collection)?.0
  }

  /// The group of a row and its index there; nil if it is not in the view. New call: `ViewReader.position(of:)`.
  public func getGroupIndex(forKey key: String, inCollection collection: String?) -> (String, Int)? {
    attempt(nil) { try reader.position(of: RowKey(collection ?? "", key)).map { ($0.group, $0.index) } }
  }

  // MARK: Enumeration

  /// Calls `block` with the collection, key and index of each row of a group, or of a part of it. New call:
  /// `ViewReader.rows(in:_:)`.
  public func iterateKeys(
    inGroup group: String, reversed: Bool = false, range: Range<Int>? = nil,
    using block: (_ collection: String, _ key: String, _ index: Int, _ stop: inout Bool) -> Void
  ) {
    forEachRow(group, reversed, range) { row, index, stop in block(row.collection, row.key, index, &stop) }
  }

  /// Calls `block` with each row of a group, or of a part of it, without its object. New call:
  /// `ViewReader.rows(in:_:)`.
  public func iterateKeysAndMetadata(
    inGroup group: String, reversed: Bool = false, range: Range<Int>? = nil,
    using block: (_ collection: String, _ key: String, _ metadata: Any?, _ index: Int, _ stop: inout Bool) -> Void
  ) {
    forEachRow(group, reversed, range) { row, index, stop in
      block(row.collection, row.key, try row.metadata(), index, &stop)
    }
  }

  /// Calls `block` with each row of a group, or of a part of it, without its metadata. New call:
  /// `ViewReader.rows(in:_:)`.
  public func iterateKeysAndObjects(
    inGroup group: String, reversed: Bool = false, range: Range<Int>? = nil,
    using block: (_ collection: String, _ key: String, _ object: Any, _ index: Int, _ stop: inout Bool) -> Void
  ) {
    forEachRow(group, reversed, range) { row, index, stop in
      block(row.collection, row.key, try row.object(), index, &stop)
    }
  }

  /// Calls `block` with each row of a group, or of a part of it. New call: `ViewReader.rows(in:_:)`.
  public func iterateRows(
    inGroup group: String, reversed: Bool = false, range: Range<Int>? = nil,
    using block: (
      _ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ index: Int, _ stop: inout Bool
    ) -> Void
  ) {
    forEachRow(group, reversed, range) { row, index, stop in
      block(row.collection, row.key, try row.object(), try row.metadata(), index, &stop)
    }
  }

  private func forEachRow(
    _ group: String, _ isReversed: Bool, _ range: Range<Int>?, _ block: (BlockRow, Int, inout Bool) throws -> Void
  ) {
    attempt(()) {
      let rows = reader.rows(in: group, range)
      for (index, row) in isReversed ? rows.reversed() : rows {
        let row = BlockRow(row: row, database: transaction.database)
        guard try transaction.step(row.collection, { try block(row, index, &$0) }) else { return }
      }
    }
  }

  // MARK: Searching

  /// The indexes of the rows of a group that lie within an interval of the view's own order; nil if there are none. New
  /// call: `ViewReader.range(in:where:)`.
  ///
  /// - Parameters:
  ///   - group: whose rows are compared; they stand in that order.
  ///   - compare: where a row is: `orderedAscending` in front of the interval, `orderedSame` inside,
  ///     `orderedDescending` behind.
  public func findRange(
    inGroup group: String,
    using compare: (_ collection: String, _ key: String, _ object: Any) throws -> ComparisonResult
  ) -> Range<Int>? {
    attempt(nil) {
      try reader.range(in: group) { row in
        let row = BlockRow(row: row, database: transaction.database)
        return try compare(row.collection, row.key, row.object()).rawValue
      }
    }
  }

  /// The index of the first of these rows; nil if there are none. New call: `ViewReader.range(in:where:)`.
  public func findFirstMatch(
    inGroup group: String,
    using compare: (_ collection: String, _ key: String, _ object: Any) throws -> ComparisonResult
  ) -> Int? {
    findRange(inGroup: group, using: compare)?.lowerBound
  }
}
