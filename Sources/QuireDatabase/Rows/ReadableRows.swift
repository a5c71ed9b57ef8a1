// Reading the rows of a collection.

internal import QuireStorage

/// What can be read of a collection in a transaction, of either kind: `ReadableRows` and `WritableRows` are all that
/// conform.
///
/// A transaction and its rows are for the thread that runs the closure, and end with it: later calls throw
/// `transactionClosed`. Every call may throw `damagedPage`, `truncatedFile`, `damagedRow` or `inputOutput`; those that
/// decode, `decodingFailed` with the coder's error as its cause; and the first one of a collection whose types or
/// coders are not those it was used with before, `collectionMismatch`.
public protocol RowReading<Object, Metadata> {
  /// The type of the objects.
  associatedtype Object: Sendable
  /// The type of the metadata.
  associatedtype Metadata: Sendable
  /// The collection in the transaction.
  var handle: RowHandle<Object, Metadata> { get }
}

/// The rows of a collection in a read transaction.
public struct ReadableRows<Object: Sendable, Metadata: Sendable>: RowReading {
  public let handle: RowHandle<Object, Metadata>

  @inlinable init(handle: RowHandle<Object, Metadata>) { self.handle = handle }
}

/// All rows in the order of their keys' bytes, as `rows`: for `for row in tx[.songs]`.
extension ReadableRows: Sequence {
  /// Begins at the first row; see ``RowSequence``.
  @inlinable @inline(__always) public func makeIterator() -> RowSequence<Object, Metadata>.Iterator {
    rows.makeIterator()
  }
}

extension RowReading {
  /// The object under `key`, or nil. Touches one page per level of key index and row tree; allocates what the object
  /// itself needs, and room for it if it was compressed.
  @inlinable @inline(__always) public func get(_ key: String) throws(DatabaseError) -> Object? {
    guard let place = unsafe try handle.rows.get(key) else { return nil }
    return unsafe place.assumingMemoryBound(to: Object.self).move()
  }

  /// The row under `key`, or nil. Cost as `get`.
  @inlinable public func row(_ key: String) throws(DatabaseError) -> Row<Object, Metadata>? {
    guard let found = try handle.rows.row(key) else { return nil }
    return Row(taking: found)
  }

  /// The metadata under `key`; nil if there is no such row, or if it has none. Reads no object: of a long one not even
  /// its pages.
  public func metadata(_ key: String) throws(DatabaseError) -> Metadata? {
    let handle = handle
    if handle.isCached, let known = handle.metadataCached(key) { return known }
    return try handle.withMetadata(key) { row in try handle.metadata(row, key) } ?? nil
  }

  /// Whether there is a row under `key`. Touches one page per level of the key index.
  @inlinable public func contains(_ key: String) throws(DatabaseError) -> Bool { try rowID(key) != nil }

  /// The number of the row under `key`, or nil. Touches one page per level of the key index.
  @inlinable public func rowID(_ key: String) throws(DatabaseError) -> RowID? { try handle.rows.opened.rowID(key) }

  /// The number of rows. O(log n). An error is thrown by the transaction's next call.
  @inlinable public var count: Int { handle.rows.opened.count }

  /// Whether there is no row. O(log n).
  @inlinable public var isEmpty: Bool { count == 0 }

  /// The number of rows whose keys lie in `range`. O(log n).
  public func count(_ range: some KeyRange) throws(DatabaseError) -> Int {
    try handle.opened.count { KeyBounds($0, from: range.firstKey, upTo: range.endKey) }
  }

  /// The number of rows whose keys begin with `prefix`. O(log n).
  public func count(prefix: String) throws(DatabaseError) -> Int {
    try handle.opened.count { KeyBounds($0, prefix: prefix) }
  }

  /// The number of rows whose keys lie between two keys, the first of them among these; nil stands for the beginning or
  /// the end. O(log n).
  public func count(from first: String?, upTo end: String?) throws(DatabaseError) -> Int {
    try handle.opened.count { KeyBounds($0, from: first, upTo: end) }
  }

  /// The number of rows with this key and those above. O(log n).
  public func count(from first: String) throws(DatabaseError) -> Int { try count(from: first, upTo: nil) }

  /// The number of rows with keys below this one. O(log n).
  public func count(upTo end: String) throws(DatabaseError) -> Int { try count(from: nil, upTo: end) }

  // MARK: Rows for many keys

  /// The rows under `keys` that exist, in the order of `keys`. Looked up side by side, in a fraction of the time of as
  /// many calls of `row`.
  @inlinable
  public func rows(for keys: some Sequence<String>) throws(DatabaseError) -> [Row<Object, Metadata>] {
    let found = try handle.rows.rows(Array(keys))
    var rows: [Row<Object, Metadata>] = []
    rows.reserveCapacity(found.rowCount)
    while let row = found.next() { rows.append(Row(taking: row)) }
    return rows
  }

  /// The objects under `keys` that exist, in the order of `keys`. Cost as `rows(for:)`.
  @inlinable public func objects(for keys: some Sequence<String>) throws(DatabaseError) -> [Object] {
    try handle.objects(Array(keys))
  }

  // MARK: Enumeration

  /// All rows in the order of their keys' bytes; lazily, a few fetched ahead.
  @inlinable public var rows: RowSequence<Object, Metadata> { RowSequence(handle.rows.allRows) }
  /// All keys in the order of their bytes. Touches no object.
  @inlinable public var keys: KeySequence { handle.rows.allKeys }
  /// All keys with their metadata, in the order of the keys' bytes. Decodes no object.
  @inlinable public var metadata: MetadataSequence<Object, Metadata> { MetadataSequence(handle.rows.allMetadata) }

  /// The rows whose keys lie in `range`.
  public func rows(_ range: some KeyRange) -> RowSequence<Object, Metadata> {
    rows(from: range.firstKey, upTo: range.endKey)
  }

  /// The rows from the key `from` up to the key `upTo`, which is not among them; nil means no bound. In the order of
  /// bytes, where a range of strings would trap if its bounds were in another order by Unicode's rules.
  public func rows(from first: String?, upTo end: String?) -> RowSequence<Object, Metadata> {
    RowSequence(handle.rows.source(.range(first, end)))
  }

  /// The rows from the key `from` on.
  public func rows(from first: String) -> RowSequence<Object, Metadata> { rows(from: first, upTo: nil) }

  /// The rows up to the key `upTo`, which is not among them.
  public func rows(upTo end: String) -> RowSequence<Object, Metadata> { rows(from: nil, upTo: end) }

  /// The rows whose keys begin with `prefix`.
  public func rows(prefix: String) -> RowSequence<Object, Metadata> {
    RowSequence(handle.rows.source(.prefix(prefix)))
  }

  /// The keys in `range`. Touches no object.
  public func keys(_ range: some KeyRange) -> KeySequence { keys(from: range.firstKey, upTo: range.endKey) }

  /// The keys from `from` up to `upTo`, which is not among them; nil means no bound. Touches no object.
  public func keys(from first: String?, upTo end: String?) -> KeySequence {
    KeySequence(RowScan(handle.opened, .range(first, end)))
  }

  /// The keys from `from` on. Touches no object.
  public func keys(from first: String) -> KeySequence { keys(from: first, upTo: nil) }

  /// The keys up to `upTo`, which is not among them. Touches no object.
  public func keys(upTo end: String) -> KeySequence { keys(from: nil, upTo: end) }

  /// The keys that begin with `prefix`. Touches no object.
  public func keys(prefix: String) -> KeySequence { KeySequence(RowScan(handle.opened, .prefix(prefix))) }

  /// The keys in `range` with their metadata. Decodes no object.
  public func metadata(_ range: some KeyRange) -> MetadataSequence<Object, Metadata> {
    MetadataSequence(handle.rows.source(.range(range.firstKey, range.endKey), .metadata))
  }

  /// The keys that begin with `prefix` with their metadata. Decodes no object.
  public func metadata(prefix: String) -> MetadataSequence<Object, Metadata> {
    MetadataSequence(handle.rows.source(.prefix(prefix), .metadata))
  }
}

extension RowHandle {
  /// Like `withRow`, with a view whose object may be cut off.
  func withMetadata<Result>(_ key: String, _ body: (RowView) throws -> Result) throws(DatabaseError) -> Result? {
    let transaction = transaction
    try opened.check()
    opened.noteRead(key, .metadata)
    guard let id = opened.id, let rowID = try transaction.rowID(id, key) else { return nil }
    let rows = transaction.trees.rows
    do {
      // All that stands in front of an object, if the metadata is not long itself; of a short row this is a view of it.
      var needed = 0
      let result = try transaction.withValue(rowID.rawValue, in: rows, range: 0..<Self.metadataFetch) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes -> Result? in
          guard let frame = unsafe RowFrame(bytes) else { throw RowView.damaged() }
          needed = frame.objectOffset
          return needed <= bytes.count ? try body(unsafe RowView(bytes)) : nil
        }
      }
      if let result = result ?? nil { return result }
      if needed > 0 {
        let result = try transaction.withValue(rowID.rawValue, in: rows, range: 0..<needed) { bytes in
          try unsafe bytes.withUnsafeBytes { try body(unsafe RowView($0)) }
        }
        if let result { return result }
      }
    } catch {
      throw failure(error, key)
    }
    throw missingRow(rowID, key)
  }

  /// Metadata up to about this length, in bytes, is read in one go.
  private static var metadataFetch: Int { 4096 }
}
