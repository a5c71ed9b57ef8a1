// The block that says what a secondary index holds of a row.

public import Foundation
internal import Quire

/// Fills in the values of a row's columns, by their names, into a dictionary; a row for which it stays empty is not in
/// the index. New type: the key paths of an `Index`.
///
/// Values are numbers, strings, `Data`, `Date`, which counts as seconds since the beginning of 2001, or `NSNull`. What
/// stands under no column's name has no meaning, and what is of another type is left out, with a warning in the log.
public struct YapDatabaseSecondaryIndexHandler: Sendable {
  /// What the block reads of a row.
  enum Reads {
    case key
    case metadata
    case object
    case row
  }

  /// A row as the block is handed it.
  struct Row {
    let collection: String
    let key: String
    let object: Any?
    let metadata: Any?
  }

  let halves: ChangedHalves
  let reads: Reads
  let fill: @Sendable (YapDatabaseReadTransaction, NSMutableDictionary, Row) throws -> Void

  /// By collection and key. New call: `Index(_:_:)`.
  @preconcurrency public static func withKeyBlock(
    options: YapDatabaseBlockInvoke = .onInsertOnly,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ dict: NSMutableDictionary, _ collection: String, _ key: String
      ) throws -> Void
  ) -> Self {
    Self(halves: options.halves, reads: .key) { try block($0, $1, $2.collection, $2.key) }
  }

  /// By the object. New call: `Index(_:_:)`.
  @preconcurrency public static func withObjectBlock(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ dict: NSMutableDictionary, _ collection: String, _ key: String, _ object: Any
      ) throws -> Void
  ) -> Self {
    Self(halves: options.halves, reads: .object) { transaction, values, row in
      guard let object = row.object else { return }
      try block(transaction, values, row.collection, row.key, object)
    }
  }

  /// By the metadata. New call: `Index(_:_:)`.
  @preconcurrency public static func withMetadataBlock(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ dict: NSMutableDictionary, _ collection: String, _ key: String, _ metadata: Any?
      ) throws -> Void
  ) -> Self {
    Self(halves: options.halves, reads: .metadata) { try block($0, $1, $2.collection, $2.key, $2.metadata) }
  }

  /// By all of the row. New call: `Index(_:_:)`.
  @preconcurrency public static func withRowBlock(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ dict: NSMutableDictionary, _ collection: String, _ key: String, _ object: Any,
        _ metadata: Any?
      ) throws -> Void
  ) -> Self {
    Self(halves: options.halves, reads: .row) { transaction, values, row in
      guard let object = row.object else { return }
      try block(transaction, values, row.collection, row.key, object, row.metadata)
    }
  }

  /// The values of a row's columns; nil if the row is not in the index.
  func values(
    of change: RowChange, _ columns: [QueryColumn], _ database: YapDatabase, _ name: String
  ) throws -> [QueryValue]? {
    guard let given = try dictionary(of: change, database) else { return nil }
    return columns.map { column in
      guard let value = given[column.name] else { return .null }
      if let value = QueryValue(value) { return column.affinity.stored(value) }
      YapDatabase.log(
        .warning,
        """
        The handler of the index “\(name)” has set the column “\(column.name)” to a value of type \(type(of: value)), \
        which is left out. Set a number, a string, data, a date, or `NSNull`. \
        [collection “\(change.collection)”, key “\(change.key)”]
        """)
      return .null
    }
  }

  /// What the block fills in; nil if that is nothing.
  func dictionary(of change: RowChange, _ database: YapDatabase) throws -> NSMutableDictionary? {
    guard let row = try row(change, database) else { return nil }
    let given = NSMutableDictionary()
    let transaction = YapDatabaseReadTransaction(database, nil, .reading(change.readTransaction))
    defer { transaction.end() }
    try fill(transaction, given, row)
    if let failure = transaction.failure { throw failure }
    return given.count > 0 ? given : nil
  }

  /// What the block is handed; nil for a row of a collection for which nothing is registered that could read it.
  private func row(_ change: RowChange, _ database: YapDatabase) throws -> Row? {
    if case .key = reads { return Row(collection: change.collection, key: change.key, object: nil, metadata: nil) }
    guard let bridge = database.registry.find(change.collection), bridge.readsObjects else { return nil }
    var (object, metadata): (Any?, Any?) = (nil, nil)
    if case .metadata = reads {} else { object = try bridge.object(of: change) }
    if case .object = reads {} else { metadata = try bridge.metadata(of: change) }
    return Row(collection: change.collection, key: change.key, object: object, metadata: metadata)
  }
}
