// From the untyped calls to a typed collection, and back.

internal import Foundation
internal import Quire

/// What one row holds, as untyped code sees it.
typealias AnyRow = (object: Any, metadata: Any?)

/// A row as a view's closures are shown it: in a view whose collections differ in their types.
typealias UntypedRow = ViewRow<Untyped, Untyped>

/// The type of rows that are never decoded under it.
struct Untyped: Sendable {
  private init() {}
}

/// A collection whose types were registered, for code that does not know them.
///
/// All calls are for the thread of the transaction. They throw what the typed ones throw, and `collectionMismatch` for
/// a value of another type.
protocol CollectionBridge: Sendable {
  /// The name of the collection.
  var name: String { get }
  /// Whether bytes that an app has made are stored as they are.
  var takesBytes: Bool { get }
  /// Whether objects can be read: not with a serializer alone.
  var readsObjects: Bool { get }

  /// The same collection, read by way of what a connection and the database keep of decoded values; `own` is nil where
  /// no connection reads.
  func reading(
    by own: RowCaches?, _ shared: RowCaches, _ policies: (object: YapDatabasePolicy, metadata: YapDatabasePolicy)
  ) -> any CollectionBridge

  func object(_ key: String, _ tx: TransactionAccess) throws -> Any?
  func metadata(_ key: String, _ tx: TransactionAccess) throws -> Any?
  func row(_ key: String, _ tx: TransactionAccess) throws -> AnyRow?
  /// One entry for each key, nil where there is no row.
  func rows(_ keys: [String], _ tx: TransactionAccess) throws -> [AnyRow?]
  func keys(_ tx: TransactionAccess) -> KeySequence

  /// Calls `body` with rows in the order of keys until it returns false; `filter` is asked before a row is read.
  func forEachRow(
    _ tx: TransactionAccess, _ filter: ((String) throws -> Bool)?, _ body: (String, AnyRow) throws -> Bool) throws
  /// Calls `body` with metadata in the order of keys until it returns false. Decodes no object.
  func forEachMetadata(
    _ tx: TransactionAccess, _ filter: ((String) throws -> Bool)?, _ body: (String, Any?) throws -> Bool) throws

  func set(_ object: Any, _ metadata: Any?, _ encoded: EncodedRow, _ key: String, _ tx: WriteTransaction) throws
  func replace(_ object: Any, _ encoded: Data?, _ key: String, _ tx: WriteTransaction) throws -> Bool
  func replaceMetadata(_ metadata: Any?, _ encoded: Data?, _ key: String, _ tx: WriteTransaction) throws -> Bool
  func touch(_ part: TouchedPart, _ key: String, _ tx: WriteTransaction) throws
  func remove(_ keys: [String], _ tx: WriteTransaction) throws
  func removeAll(_ tx: WriteTransaction) throws

  /// The halves of a row that a view or a hook is shown.
  func object(of row: UntypedRow) throws -> Any?
  func metadata(of row: UntypedRow) throws -> Any?
  func object(of change: RowChange) throws -> Any?
  func metadata(of change: RowChange) throws -> Any?

  /// The type of what is stored of objects: bytes where an app's blocks make them.
  var objectType: Any.Type { get }
  /// Stores what a node has become that was told of an edge, by the sanitizers of the collection.
  func replaceNode(_ changed: Any, _ key: String, _ sanitizers: SanitizerPair, _ tx: WriteTransaction) throws
}

/// What of a row is reported as changed.
enum TouchedPart {
  case object
  case metadata
  case row
}

/// The parts of a row that an app has encoded itself.
struct EncodedRow {
  var object: Data?
  var metadata: Data?
}
