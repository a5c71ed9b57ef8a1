// The order of rows in the groups of views.

public import Foundation
public import Quire

/// Says which of two rows of a group comes first. New type: `ViewSorting`.
public struct YapDatabaseViewSorting: Sendable {
  /// The sorting of the view itself, whose blocks are handed what they ask for of a database.
  let made: @Sendable (YapDatabase) -> ViewSorting<Untyped, Untyped>

  private static func comparing(
    _ halves: ChangedHalves,
    _ compare: @escaping @Sendable (YapDatabaseReadTransaction, String, BlockRow, BlockRow) throws -> ComparisonResult
  ) -> Self {
    Self { database in
      .byRow(halves) { [weak database] group, left, right in
        guard let database else { throw DatabaseError.databaseGone() }
        let (left, right) = (BlockRow(row: left, database: database), BlockRow(row: right, database: database))
        return try left.withTransaction { try compare($0, group, left, right) } == .orderedAscending
      }
    }
  }

  private static func keyed<Key: SortKey>(
    _ halves: ChangedHalves, _ key: @escaping @Sendable (YapDatabaseReadTransaction, BlockRow) throws -> Key
  ) -> Self {
    Self { database in
      .byRow(
        halves,
        key: { [weak database] row in
          guard let database else { throw DatabaseError.databaseGone() }
          let row = BlockRow(row: row, database: database)
          return try row.withTransaction { try key($0, row) }
        })
    }
  }

  // MARK: Comparing

  /// By collections and keys. New call: `ViewSorting.byKey()`.
  @preconcurrency public static func withKeyBlock(
    options: YapDatabaseBlockInvoke = .onInsertOnly,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ collection2: String,
        _ key2: String
      ) throws -> ComparisonResult
  ) -> Self {
    comparing(options.halves) { try block($0, $1, $2.collection, $2.key, $3.collection, $3.key) }
  }

  /// By objects. New call: `ViewSorting.byObject(key:)`, which is faster, or `ViewSorting.byObject(_:)`.
  @preconcurrency public static func withObjectBlock(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ object1: Any,
        _ collection2: String, _ key2: String, _ object2: Any
      ) throws -> ComparisonResult
  ) -> Self {
    comparing(options.halves) {
      try block($0, $1, $2.collection, $2.key, $2.object(), $3.collection, $3.key, $3.object())
    }
  }

  /// By metadata. New call: `ViewSorting.byMetadata(key:)`.
  @preconcurrency public static func withMetadataBlock(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ metadata1: Any?,
        _ collection2: String, _ key2: String, _ metadata2: Any?
      ) throws -> ComparisonResult
  ) -> Self {
    comparing(options.halves) {
      try block($0, $1, $2.collection, $2.key, $2.metadata(), $3.collection, $3.key, $3.metadata())
    }
  }

  /// By all of the rows. New call: `ViewSorting.byRow(_:_:)`.
  @preconcurrency public static func withRowBlock(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection1: String, _ key1: String, _ object1: Any,
        _ metadata1: Any?, _ collection2: String, _ key2: String, _ object2: Any, _ metadata2: Any?
      ) throws -> ComparisonResult
  ) -> Self {
    comparing(options.halves) {
      try block(
        $0, $1, $2.collection, $2.key, $2.object(), $2.metadata(), $3.collection, $3.key, $3.object(), $3.metadata())
    }
  }

  // MARK: Keys to sort by

  /// By a key made of the object: storing a row compares nothing, and decodes no other. Not in the original. New call:
  /// `ViewSorting.byObject(key:)`.
  @preconcurrency public static func withObjectSortKey<Key: SortKey>(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String, _ object: Any) throws -> Key
  ) -> Self {
    keyed(options.halves) { try block($0, $1.collection, $1.key, $1.object()) }
  }

  /// By a key made of the metadata. Not in the original. New call: `ViewSorting.byMetadata(key:)`.
  @preconcurrency public static func withMetadataSortKey<Key: SortKey>(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String, _ metadata: Any?) throws ->
      Key
  ) -> Self {
    keyed(options.halves) { try block($0, $1.collection, $1.key, $1.metadata()) }
  }

  /// By a key made of all of the row. Not in the original. New call: `ViewSorting.byRow(_:key:)`.
  @preconcurrency public static func withRowSortKey<Key: SortKey>(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ collection: String, _ key: String, _ object: Any, _ metadata: Any?
      ) throws -> Key
  ) -> Self {
    keyed(options.halves) { try block($0, $1.collection, $1.key, $1.object(), $1.metadata()) }
  }
}
