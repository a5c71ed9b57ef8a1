// The blocks of views.

public import Foundation
internal import Quire

/// When a block is asked again: what of a row was stored or touched. New type: `RowParts`.
public struct YapDatabaseBlockInvoke: OptionSet, Hashable, Sendable {
  /// One bit for each.
  public let rawValue: UInt
  /// Wraps bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// For new rows only.
  public static let onInsertOnly: YapDatabaseBlockInvoke = []
  /// When the object was stored.
  public static let ifObjectModified = YapDatabaseBlockInvoke(rawValue: 2)
  /// When the metadata were stored.
  public static let ifMetadataModified = YapDatabaseBlockInvoke(rawValue: 4)
  /// When the object was touched; the same as modified here.
  public static let ifObjectTouched = YapDatabaseBlockInvoke(rawValue: 8)
  /// When the metadata were touched; the same as modified here.
  public static let ifMetadataTouched = YapDatabaseBlockInvoke(rawValue: 16)

  /// When the object was stored or touched.
  public static let object: YapDatabaseBlockInvoke = [.ifObjectModified, .ifObjectTouched]
  /// When the metadata were stored or touched.
  public static let metadata: YapDatabaseBlockInvoke = [.ifMetadataModified, .ifMetadataTouched]

  var parts: RowParts {
    var parts: RowParts = []
    if !isDisjoint(with: .object) { parts.insert(.object) }
    if !isDisjoint(with: .metadata) { parts.insert(.metadata) }
    return parts
  }
}

/// A row as the blocks of views are handed it; decoded where they ask.
struct BlockRow {
  let row: UntypedRow
  let database: YapDatabase

  var collection: String { row.collection }
  var key: String { row.key }

  /// - Throws: `collectionNotRegistered`, `decodingFailed`.
  func object() throws -> Any {
    guard let object = try database.registry.bridge(row.collection).object(of: row) else {
      throw DatabaseError(
        .damagedRow, "A view leads to a row that is not there. Verify the database.", collection: collection, key: key)
    }
    return object
  }

  func metadata() throws -> Any? { try database.registry.bridge(row.collection).metadata(of: row) }

  /// Runs a block with a transaction to read other rows by; throws the first error of its calls.
  func withTransaction<Result>(_ body: (YapDatabaseReadTransaction) throws -> Result) throws -> Result {
    let transaction = YapDatabaseReadTransaction(database, nil, .reading(row.readTransaction))
    defer { transaction.end() }
    let result = try body(transaction)
    if let failure = transaction.failure { throw failure }
    return result
  }
}

/// Says which group a row belongs to; nil for none. New type: `ViewGrouping`.
public struct YapDatabaseViewGrouping: Sendable {
  let parts: RowParts
  let group: @Sendable (YapDatabaseReadTransaction, BlockRow) throws -> String?

  /// By collection and key. New call: `ViewGrouping.byKey(_:)`.
  public static func withKeyBlock(
    options: YapDatabaseBlockInvoke = .onInsertOnly,
    _ block: @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String) throws -> String?
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1.collection, $1.key) }
  }

  /// By the object. New call: `ViewGrouping.byObject(_:)`.
  public static func withObjectBlock(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String, _ object: Any) throws ->
      String?
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1.collection, $1.key, $1.object()) }
  }

  /// By the metadata. New call: `ViewGrouping.byMetadata(_:)`.
  public static func withMetadataBlock(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String, _ metadata: Any?) throws ->
      String?
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1.collection, $1.key, $1.metadata()) }
  }

  /// By all of the row. New call: `ViewGrouping.byRow(_:)`.
  public static func withRowBlock(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ collection: String, _ key: String, _ object: Any, _ metadata: Any?
      ) throws -> String?
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1.collection, $1.key, $1.object(), $1.metadata()) }
  }

  func made(_ database: YapDatabase) -> ViewGrouping<Untyped, Untyped> {
    let group = group
    return .severalByRow(parts) { [weak database] row in
      guard let database else { throw DatabaseError.databaseGone() }
      // Nobody could read such a row.
      guard database.registry.find(row.collection)?.readsObjects == true else { return [] }
      let row = BlockRow(row: row, database: database)
      return try row.withTransaction { try group($0, row) }.map { [$0] } ?? []
    }
  }
}

/// Says which of two rows of a group comes first. New type: `ViewSorting`.
public struct YapDatabaseViewSorting: Sendable {
  let parts: RowParts
  let compare: @Sendable (YapDatabaseReadTransaction, String, BlockRow, BlockRow) throws -> ComparisonResult

  /// By collections and keys. New call: `ViewSorting.byKey()`.
  public static func withKeyBlock(
    options: YapDatabaseBlockInvoke = .onInsertOnly,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ collection2: String,
        _ key2: String
      ) throws -> ComparisonResult
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1, $2.collection, $2.key, $3.collection, $3.key) }
  }

  /// By objects. New call: `ViewSorting.byObject(key:)`, which is faster, or `ViewSorting.byObject(_:)`.
  public static func withObjectBlock(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ object1: Any,
        _ collection2: String, _ key2: String, _ object2: Any
      ) throws -> ComparisonResult
  ) -> Self {
    Self(parts: options.parts) {
      try block($0, $1, $2.collection, $2.key, $2.object(), $3.collection, $3.key, $3.object())
    }
  }

  /// By metadata. New call: `ViewSorting.byMetadata(key:)`.
  public static func withMetadataBlock(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ metadata1: Any?,
        _ collection2: String, _ key2: String, _ metadata2: Any?
      ) throws -> ComparisonResult
  ) -> Self {
    Self(parts: options.parts) {
      try block($0, $1, $2.collection, $2.key, $2.metadata(), $3.collection, $3.key, $3.metadata())
    }
  }

  /// By all of the rows. New call: `ViewSorting.byRow(_:_:)`.
  public static func withRowBlock(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ object1: Any,
        _ metadata1: Any?, _ collection2: String, _ key2: String, _ object2: Any, _ metadata2: Any?
      ) throws -> ComparisonResult
  ) -> Self {
    Self(parts: options.parts) {
      try block(
        $0, $1, $2.collection, $2.key, $2.object(), $2.metadata(), $3.collection, $3.key, $3.object(), $3.metadata())
    }
  }

  func made(_ database: YapDatabase) -> ViewSorting<Untyped, Untyped> {
    let compare = compare
    return .byRow(parts) { [weak database] group, left, right in
      guard let database else { throw DatabaseError.databaseGone() }
      let (left, right) = (BlockRow(row: left, database: database), BlockRow(row: right, database: database))
      return try left.withTransaction { try compare($0, group, left, right) } == .orderedAscending
    }
  }
}

/// Says which rows of its parent a filtered view shows. New type: `ViewFilter`.
public struct YapDatabaseViewFiltering: Sendable {
  let parts: RowParts
  let isIncluded: @Sendable (YapDatabaseReadTransaction, String, BlockRow) throws -> Bool

  /// By collection and key. New call: `ViewFilter.byKey(_:)`.
  public static func withKeyBlock(
    options: YapDatabaseBlockInvoke = .onInsertOnly,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String) throws ->
      Bool
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1, $2.collection, $2.key) }
  }

  /// By the object. New call: `ViewFilter.byObject(_:)`.
  public static func withObjectBlock(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String, _ object: Any
      ) throws -> Bool
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1, $2.collection, $2.key, $2.object()) }
  }

  /// By the metadata. New call: `ViewFilter.byMetadata(_:)`.
  public static func withMetadataBlock(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String, _ metadata: Any?
      ) throws -> Bool
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1, $2.collection, $2.key, $2.metadata()) }
  }

  /// By all of the row. New call: `ViewFilter.byRow(_:_:)`.
  public static func withRowBlock(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String, _ object: Any,
        _ metadata: Any?
      ) throws -> Bool
  ) -> Self {
    Self(parts: options.parts) { try block($0, $1, $2.collection, $2.key, $2.object(), $2.metadata()) }
  }

  func made(_ database: YapDatabase) -> ViewFilter<Untyped, Untyped> {
    let isIncluded = isIncluded
    return .byRow(parts) { [weak database] group, row in
      guard let database else { throw DatabaseError.databaseGone() }
      let row = BlockRow(row: row, database: database)
      return try row.withTransaction { try isIncluded($0, group, row) }
    }
  }
}
