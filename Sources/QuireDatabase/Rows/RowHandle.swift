// Rows of one collection in one transaction: decoding what the trees hold.

internal import QuireStorage

/// A collection opened in a transaction; what stands behind `ReadableRows` and `WritableRows`.
///
/// A few words, which it costs nothing to make for a collection that the transaction has used before.
@safe public struct RowHandle<Object: Sendable, Metadata: Sendable> {
  @usableFromInline let opened: OpenedCollection
  /// What the app says of the collection; kept by the transaction, or by `own`.
  @usableFromInline let description: Unmanaged<RowCollection<Object, Metadata>.Kept>
  /// The description if the transaction does not keep it.
  @usableFromInline let own: AnyObject?

  @inlinable @inline(__always)
  init(
    _ opened: OpenedCollection, _ description: Unmanaged<RowCollection<Object, Metadata>.Kept>, own: AnyObject?
  ) {
    self.opened = opened
    unsafe self.description = unsafe description
    self.own = own
  }

  init(_ opened: OpenedCollection, _ collection: RowCollection<Object, Metadata>) {
    let description = RowCollection.Kept(collection)
    unsafe self.init(opened, .passUnretained(description), own: description)
  }

  // One by one: a copy of the whole would count all that a description refers to.
  @inlinable @inline(__always) var coder: RowCoder<Object> {
    unsafe description._withUnsafeGuaranteedRef { $0.collection.coder }
  }
  @inlinable @inline(__always) var metadataCoder: RowCoder<Metadata> {
    unsafe description._withUnsafeGuaranteedRef { $0.collection.metadataCoder }
  }
  @inlinable @inline(__always) var sanitizers: Sanitizers<Object, Metadata>? {
    unsafe description._withUnsafeGuaranteedRef { $0.collection.sanitizers }
  }
  @inlinable @inline(__always) var compression: Compression {
    unsafe description._withUnsafeGuaranteedRef { $0.compression }
  }
  @inlinable @inline(__always) var protections: RowProtections {
    unsafe description._withUnsafeGuaranteedRef { $0.protections }
  }
  /// Whether objects are looked for in the cache. Not those that are encrypted: who has other keys, or takes only what
  /// is encrypted, would be given what somebody else could read.
  @inlinable @inline(__always) var isCached: Bool { opened.isCached && !isProtected }
  @usableFromInline var isProtected: Bool { !protections.isEmpty }

  var transaction: TransactionState { opened.transaction }
  var state: CollectionState { opened.state }

  // MARK: Decoding

  /// The object under `key`, or nil.
  @inlinable @inline(__always) func get(_ key: String) throws(DatabaseError) -> Object? {
    if isCached { return try getCached(key) }
    var object: Object?
    try unsafe opened.withObject(key, protections) { bytes, context in object = try unsafe decode(bytes, context, key) }
    withExtendedLifetime(own) {}
    // Taken, as a copy would be counted.
    return object.take()
  }

  /// The object of a row.
  @inlinable func object(_ row: RowView, _ key: String) throws -> Object {
    var object: Object?
    try unsafe opened.withObject(of: row, key, protections) { bytes, context in
      object = try unsafe decode(bytes, context, key)
    }
    guard let object = withExtendedLifetime(own, { object }) else { throw RowView.damaged() }
    return object
  }

  /// The metadata of a row, if it has some.
  @inlinable func metadata(_ row: RowView, _ key: String) throws -> Metadata? {
    guard row.hasMetadata else { return nil }
    var metadata: Metadata?
    try unsafe opened.withMetadata(of: row, key, protections) { bytes, context in
      metadata = try unsafe context._withUnsafeGuaranteedRef { context in
        try unsafe description._withUnsafeGuaranteedRef {
          try unsafe $0.collection.metadataCoder.decode(bytes, context, key)
        }
      }
    }
    return withExtendedLifetime(own) { metadata }
  }

  @inlinable @inline(__always)
  func decode(
    _ bytes: UnsafeRawBufferPointer, _ context: Unmanaged<RowCodingContext>, _ key: String
  ) throws -> Object {
    try unsafe context._withUnsafeGuaranteedRef { context in
      try unsafe description._withUnsafeGuaranteedRef { try unsafe $0.collection.coder.decode(bytes, context, key) }
    }
  }

  // MARK: One row

  /// Calls `body` with the parts of the row under `key`. Touches one page per level of key index and row tree.
  @inline(__always)
  func withRow<Result>(_ key: String, _ body: (RowID, RowView) throws -> Result) throws(DatabaseError) -> Result? {
    try opened.check()
    opened.noteRead(key, [.object, .metadata])
    guard let id = opened.id, let rowID = try transaction.rowID(id, key) else { return nil }
    do {
      let result = try transaction.withValue(rowID.rawValue, in: transaction.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { try body(rowID, unsafe RowView($0)) }
      }
      if let result { return result }
    } catch {
      throw failure(error, key)
    }
    throw missingRow(rowID, key)
  }

  /// The error for an entry of the key index whose row is not there.
  func missingRow(_ rowID: RowID, _ key: String) -> DatabaseError { opened.missingRow(rowID, key) }

  /// `error` with the row that it happened to.
  func failure(_ error: any Error, _ key: String?) -> DatabaseError { opened.failure(error, key) }

  /// The row of a view.
  @inlinable
  func row(_ key: String, _ rowID: RowID, _ view: RowView) throws -> Row<Object, Metadata> {
    Row(key: key, rowID: rowID, object: try object(view, key), metadata: try metadata(view, key))
  }
}
