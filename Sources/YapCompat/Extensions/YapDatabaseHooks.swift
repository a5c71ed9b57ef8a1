// Hooks under their original names.

internal import Quire

/// What happened to a row. New type: `Hooks.Flags`.
public struct YapDatabaseHooksBitMask: OptionSet, Hashable, Sendable {
  /// One bit for each; the same as in `Hooks.Flags`.
  public let rawValue: UInt
  /// Wraps bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The row is new.
  public static let insertedRow = YapDatabaseHooksBitMask(rawValue: 1)
  /// The row was there before, and something was stored.
  public static let updatedRow = YapDatabaseHooksBitMask(rawValue: 2)
  /// The object was stored.
  public static let changedObject = YapDatabaseHooksBitMask(rawValue: 4)
  /// The metadata were stored, or taken away.
  public static let changedMetadata = YapDatabaseHooksBitMask(rawValue: 8)
  /// The object was touched.
  public static let touchedObject = YapDatabaseHooksBitMask(rawValue: 16)
  /// The metadata were touched.
  public static let touchedMetadata = YapDatabaseHooksBitMask(rawValue: 32)
}

/// One half of a row, decoded when it is asked for: the original's lazy object. New call: `RowChange.object(in:)`.
public struct YapProxyObject {
  private let load: () throws -> Any?
  private let note: (any Error) -> Void

  init(_ load: @escaping () throws -> Any?, note: @escaping (any Error) -> Void) {
    self.load = load
    self.note = note
  }

  /// The object or the metadata; nil if there are none. Good until the block returns.
  public var realObject: Any? {
    do { return try load() } catch {
      note(error)
      return nil
    }
  }
}

/// Runs blocks when rows change, inside the transaction. New type: `Hooks`.
///
/// Nothing is stored. Errors of calls inside the blocks fail the transaction that changes the rows.
public final class YapDatabaseHooks: YapDatabaseExtension, @unchecked Sendable {
  // Sendable: safe because the blocks are guarded.

  /// A block that is told of a row that is stored or touched.
  @preconcurrency public typealias ModifyRow =
    @Sendable (
      _ transaction: YapDatabaseReadWriteTransaction, _ collection: String, _ key: String,
      _ proxyObject: YapProxyObject, _ proxyMetadata: YapProxyObject, _ flags: YapDatabaseHooksBitMask
    ) -> Void
  /// A block that is told of a row that is removed.
  @preconcurrency public typealias RemoveRow =
    @Sendable (
      _ transaction: YapDatabaseReadWriteTransaction, _ collection: String, _ key: String
    ) -> Void
  /// A block that is told that all rows are removed.
  @preconcurrency public typealias RemoveAllRows = @Sendable (_ transaction: YapDatabaseReadWriteTransaction) -> Void

  private struct Blocks {
    var willModifyRow: ModifyRow?
    var didModifyRow: ModifyRow?
    var willRemoveRow: RemoveRow?
    var didRemoveRow: RemoveRow?
    var willRemoveAllRows: RemoveAllRows?
    var didRemoveAllRows: RemoveAllRows?
    var allowedCollections: YapWhitelistBlacklist<String>?
  }

  private let blocks = Guarded(Blocks())

  /// Hooks without a block; set those that are wanted before registering them. New call:
  /// `Hooks(_:collections:halves:)`.
  public override init() {}

  /// A row is about to be stored or touched; the old one is still there. New call: `Hooks.willModify`.
  @preconcurrency public var willModifyRow: ModifyRow? {
    get { blocks.withLock { $0.willModifyRow } }
    set { blocks.withLock { $0.willModifyRow = newValue } }
  }

  /// A row was stored or touched. New call: `Hooks.didModify`.
  @preconcurrency public var didModifyRow: ModifyRow? {
    get { blocks.withLock { $0.didModifyRow } }
    set { blocks.withLock { $0.didModifyRow = newValue } }
  }

  /// A row is about to be removed, and still there. New call: `Hooks.willRemove`.
  @preconcurrency public var willRemoveRow: RemoveRow? {
    get { blocks.withLock { $0.willRemoveRow } }
    set { blocks.withLock { $0.willRemoveRow = newValue } }
  }

  /// A row was removed. New call: `Hooks.didRemove`.
  @preconcurrency public var didRemoveRow: RemoveRow? {
    get { blocks.withLock { $0.didRemoveRow } }
    set { blocks.withLock { $0.didRemoveRow = newValue } }
  }

  /// All rows of all collections are about to be removed. New call: `Hooks.willRemoveAll`.
  @preconcurrency public var willRemoveAllRows: RemoveAllRows? {
    get { blocks.withLock { $0.willRemoveAllRows } }
    set { blocks.withLock { $0.willRemoveAllRows = newValue } }
  }

  /// All rows of all collections were removed. New call: `Hooks.didRemoveAll`.
  @preconcurrency public var didRemoveAllRows: RemoveAllRows? {
    get { blocks.withLock { $0.didRemoveAllRows } }
    set { blocks.withLock { $0.didRemoveAllRows = newValue } }
  }

  /// The collections whose rows the blocks are told of; nil for all. New call: `collections:` of `Hooks`.
  public var allowedCollections: YapWhitelistBlacklist<String>? {
    get { blocks.withLock { $0.allowedCollections } }
    set { blocks.withLock { $0.allowedCollections = newValue } }
  }

  override func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    let blocks = blocks.withLock { $0 }
    let allowed = blocks.allowedCollections
    var hooks = Hooks(name, collections: .matching { allowed?.isAllowed($0) ?? true })
    hooks.willModify = modification(blocks.willModifyRow, database)
    hooks.didModify = modification(blocks.didModifyRow, database)
    hooks.willRemove = removal(blocks.willRemoveRow, database)
    hooks.didRemove = removal(blocks.didRemoveRow, database)
    hooks.willRemoveAll = clearing(blocks.willRemoveAllRows, database)
    hooks.didRemoveAll = clearing(blocks.didRemoveAllRows, database)
    return hooks
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    YapDatabaseExtensionTransaction(registeredName ?? "", transaction)
  }

  private func modification(_ block: ModifyRow?, _ database: YapDatabase) -> Hooks.Modification? {
    guard let block else { return nil }
    return { [weak database] tx, change, flags in
      try Self.run(database, tx) { database, transaction in
        let object = YapProxyObject(
          { try database.registry.bridge(change.collection).object(of: change) }, note: transaction.note)
        let metadata = YapProxyObject(
          { try database.registry.bridge(change.collection).metadata(of: change) }, note: transaction.note)
        block(
          transaction, change.collection, change.key, object, metadata,
          YapDatabaseHooksBitMask(rawValue: UInt(flags.rawValue)))
      }
    }
  }

  private func removal(_ block: RemoveRow?, _ database: YapDatabase) -> Hooks.Removal? {
    guard let block else { return nil }
    return { [weak database] tx, change in
      try Self.run(database, tx) { _, transaction in block(transaction, change.collection, change.key) }
    }
  }

  private func clearing(_ block: RemoveAllRows?, _ database: YapDatabase) -> Hooks.Clearing? {
    guard let block else { return nil }
    return { [weak database] tx in try Self.run(database, tx) { _, transaction in block(transaction) } }
  }

  /// Runs a block with a transaction of its own over the one that is running; throws the first error of its calls.
  private static func run(
    _ database: YapDatabase?, _ tx: WriteTransaction, _ body: (YapDatabase, YapDatabaseReadWriteTransaction) -> Void
  ) throws {
    guard let database else { throw DatabaseError.databaseGone() }
    let transaction = YapDatabaseReadWriteTransaction(database, nil, tx)
    defer { transaction.end() }
    body(database, transaction)
    if let failure = transaction.failure { throw failure }
    if transaction.isRolledBack { try tx.rollback() }
  }
}
