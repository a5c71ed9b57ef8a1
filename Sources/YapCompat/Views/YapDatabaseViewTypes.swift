// The blocks of views.

internal import Quire

/// When a block is asked again: what of a row was stored or touched. New type: `ChangedHalves`.
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
  /// When the object was touched.
  public static let ifObjectTouched = YapDatabaseBlockInvoke(rawValue: 8)
  /// When the metadata were touched.
  public static let ifMetadataTouched = YapDatabaseBlockInvoke(rawValue: 16)

  /// When the object was stored or touched.
  public static let object: YapDatabaseBlockInvoke = [.ifObjectModified, .ifObjectTouched]
  /// When the metadata were stored or touched.
  public static let metadata: YapDatabaseBlockInvoke = [.ifMetadataModified, .ifMetadataTouched]

  var halves: ChangedHalves {
    let all: [(YapDatabaseBlockInvoke, ChangedHalves)] = [
      (.ifObjectModified, .storedObject), (.ifMetadataModified, .storedMetadata), (.ifObjectTouched, .touchedObject),
      (.ifMetadataTouched, .touchedMetadata),
    ]
    return all.reduce(into: []) { halves, pair in if contains(pair.0) { halves.insert(pair.1) } }
  }
}

/// Says which group a row belongs to; nil for none. New type: `ViewGrouping`.
public struct YapDatabaseViewGrouping: Sendable {
  let halves: ChangedHalves
  let group: @Sendable (YapDatabaseReadTransaction, BlockRow) throws -> String?

  /// By collection and key. New call: `ViewGrouping.byKey(_:)`.
  @preconcurrency public static func withKeyBlock(
    options: YapDatabaseBlockInvoke = .onInsertOnly,
    _ block: @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String) throws -> String?
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1.collection, $1.key) }
  }

  /// By the object. New call: `ViewGrouping.byObject(_:)`.
  @preconcurrency public static func withObjectBlock(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String, _ object: Any) throws ->
      String?
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1.collection, $1.key, $1.object()) }
  }

  /// By the metadata. New call: `ViewGrouping.byMetadata(_:)`.
  @preconcurrency public static func withMetadataBlock(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ collection: String, _ key: String, _ metadata: Any?) throws ->
      String?
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1.collection, $1.key, $1.metadata()) }
  }

  /// By all of the row. New call: `ViewGrouping.byRow(_:)`.
  @preconcurrency public static func withRowBlock(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ collection: String, _ key: String, _ object: Any, _ metadata: Any?
      ) throws -> String?
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1.collection, $1.key, $1.object(), $1.metadata()) }
  }

  func made(_ database: YapDatabase) -> ViewGrouping<Untyped, Untyped> {
    let group = group
    return .severalByRow(halves) { [weak database] row in
      guard let database else { throw DatabaseError.databaseGone() }
      // Nobody could read such a row.
      guard database.registry.find(row.collection)?.readsObjects == true else { return [] }
      let row = BlockRow(row: row, database: database)
      return try row.withTransaction { try group($0, row) }.map { [$0] } ?? []
    }
  }
}

/// Says which rows of its parent a filtered view shows. New type: `ViewFilter`.
public struct YapDatabaseViewFiltering: Sendable {
  let halves: ChangedHalves
  let isIncluded: @Sendable (YapDatabaseReadTransaction, String, BlockRow) throws -> Bool

  /// By collection and key. New call: `ViewFilter.byKey(_:)`.
  @preconcurrency public static func withKeyBlock(
    options: YapDatabaseBlockInvoke = .onInsertOnly,
    _ block:
      @escaping @Sendable (YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String) throws ->
      Bool
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1, $2.collection, $2.key) }
  }

  /// By the object. New call: `ViewFilter.byObject(_:)`.
  @preconcurrency public static func withObjectBlock(
    options: YapDatabaseBlockInvoke = .object,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String, _ object: Any
      ) throws -> Bool
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1, $2.collection, $2.key, $2.object()) }
  }

  /// By the metadata. New call: `ViewFilter.byMetadata(_:)`.
  @preconcurrency public static func withMetadataBlock(
    options: YapDatabaseBlockInvoke = .metadata,
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String, _ metadata: Any?
      ) throws -> Bool
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1, $2.collection, $2.key, $2.metadata()) }
  }

  /// By all of the row. New call: `ViewFilter.byRow(_:_:)`.
  @preconcurrency public static func withRowBlock(
    options: YapDatabaseBlockInvoke = [.object, .metadata],
    _ block:
      @escaping @Sendable (
        YapDatabaseReadTransaction, _ group: String, _ collection: String, _ key: String, _ object: Any,
        _ metadata: Any?
      ) throws -> Bool
  ) -> Self {
    Self(halves: options.halves) { try block($0, $1, $2.collection, $2.key, $2.object(), $2.metadata()) }
  }

  func made(_ database: YapDatabase) -> ViewFilter<Untyped, Untyped> {
    let isIncluded = isIncluded
    return .byRow(halves) { [weak database] group, row in
      guard let database else { throw DatabaseError.databaseGone() }
      let row = BlockRow(row: row, database: database)
      return try row.withTransaction { try isIncluded($0, group, row) }
    }
  }
}
