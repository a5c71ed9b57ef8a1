// Changing the rows of a collection.

internal import QuireStorage

/// The rows of a collection in the write transaction. Reads see the transaction's own changes.
///
/// A call that fails because of its arguments or its coder changes nothing. After `damagedPage`, `inputOutput` or
/// `diskFull` the transaction can only be rolled back, to a savepoint or as a whole.
public struct WritableRows<Object: Sendable, Metadata: Sendable>: RowReading {
  public let handle: RowHandle<Object, Metadata>

  @inlinable init(handle: RowHandle<Object, Metadata>) { self.handle = handle }

  // MARK: Storing

  /// Stores `object` under `key`, in the place of what was there. Without `metadata` the row has none afterwards, also
  /// if it had some before: to keep it, use `replace`.
  ///
  /// Touches one page per level of key index and row tree.
  ///
  /// - Throws: `keyTooLong`, `nameTooLong`, `valueTooLong`, `encodingFailed`, `collectionMismatch`, `diskFull`,
  ///   `damagedPage`, `inputOutput`, and what a sanitizer throws.
  @inlinable public func set(_ object: Object, metadata: Metadata? = nil, for key: String) throws {
    let rows = handle.rows
    try unsafe withUnsafePointer(to: object) { object in
      guard let metadata else { return try unsafe rows.set(key, UnsafeRawPointer(object), nil) }
      try unsafe withUnsafePointer(to: metadata) { metadata in
        try unsafe rows.set(key, UnsafeRawPointer(object), UnsafeRawPointer(metadata))
      }
    }
  }

  /// Stores `object` under `key` unless there is a row. Returns whether it was stored.
  ///
  /// Costs what `set` costs, also where there is a row: the object is encoded before the key is looked up.
  ///
  /// - Throws: as `set(_:metadata:for:)`.
  package func insert(_ object: Object, metadata: Metadata? = nil, for key: String) throws -> Bool {
    let rows = handle.rows
    if rows.isSanitized {
      guard try handle.opened.rowID(key) == nil else { return false }
      try set(object, metadata: metadata, for: key)
      return true
    }
    return try unsafe withUnsafePointer(to: object) { object in
      guard let metadata else {
        return try unsafe rows.store(key, UnsafeRawPointer(object), nil, nil, nil, replaces: false)
      }
      return try unsafe withUnsafePointer(to: metadata) { metadata in
        try unsafe rows.store(key, UnsafeRawPointer(object), nil, UnsafeRawPointer(metadata), nil, replaces: false)
      }
    }
  }

  /// Stores `object` and `metadata`, whose encoded forms the caller has already, under `key`: spares the coders. The
  /// bytes are what the coders made of these values, before compression; they are not looked at. Of a value without
  /// bytes the coder makes them.
  ///
  /// Bytes of a half that the collection sanitizes are passed over: what the sanitizer returns is what is encoded,
  /// stored and cached. Bytes that another program makes must be of a coder that is self-contained; see
  /// ``RowCoder/isSelfContained``.
  ///
  /// - Throws: as `set(_:metadata:for:)`.
  public func set(
    _ object: Object, encoded: [UInt8]?, metadata: Metadata? = nil, encodedMetadata: [UInt8]? = nil, for key: String
  ) throws {
    let rows = handle.rows
    try unsafe withUnsafePointer(to: object) { object in
      guard let metadata else { return try unsafe rows.set(key, UnsafeRawPointer(object), encoded, nil, nil) }
      try unsafe withUnsafePointer(to: metadata) { metadata in
        try unsafe rows.set(
          key, UnsafeRawPointer(object), encoded, UnsafeRawPointer(metadata), encodedMetadata)
      }
    }
  }

  /// Stores `object` in the place of the one under `key`, if there is a row; its metadata stays.
  ///
  /// - Returns: whether there is a row.
  @discardableResult
  public func replace(_ object: Object, for key: String) throws -> Bool {
    try replace(object, encoded: nil, for: key)
  }

  /// Stores `object`, whose encoded form the caller has already, in the place of the one under `key`, if there is a
  /// row; its metadata stays. The bytes are those of ``set(_:encoded:metadata:encodedMetadata:for:)``, and are passed
  /// over where objects are sanitized.
  ///
  /// - Returns: whether there is a row.
  @discardableResult
  public func replace(_ object: Object, encoded: [UInt8]?, for key: String) throws -> Bool {
    try unsafe withUnsafePointer(to: object) { try unsafe handle.rows.replace(key, UnsafeRawPointer($0), encoded) }
  }

  /// Stores `metadata` with the row under `key`, if there is one; nil takes it away. The object stays, and is not
  /// decoded.
  ///
  /// - Returns: whether there is a row.
  @discardableResult
  public func replaceMetadata(_ metadata: Metadata?, for key: String) throws -> Bool {
    try replaceMetadata(metadata, encoded: nil, for: key)
  }

  /// Stores `metadata`, whose encoded form the caller has already, with the row under `key`, if there is one; nil takes
  /// it away. The bytes are those of ``set(_:encoded:metadata:encodedMetadata:for:)``, and are passed over where
  /// metadata are sanitized.
  ///
  /// - Returns: whether there is a row.
  @discardableResult
  public func replaceMetadata(_ metadata: Metadata?, encoded: [UInt8]?, for key: String) throws -> Bool {
    guard let metadata else { return try unsafe handle.rows.replaceMetadata(key, nil, nil) }
    return try unsafe withUnsafePointer(to: metadata) { metadata in
      try unsafe handle.rows.replaceMetadata(key, UnsafeRawPointer(metadata), encoded)
    }
  }

  /// Reads the object under `key`, lets `body` change it, and stores it; the metadata stays.
  ///
  /// - Returns: whether there is a row.
  @discardableResult
  public func update(_ key: String, _ body: (inout Object) throws -> Void) throws -> Bool {
    try handle.transaction.finishRounds(before: key, of: handle.state)
    let rows = handle.rows
    assert(rows.withDescription { $0.isOf(Object.self, Metadata.self) }, "a value is changed as one of another type")
    let isReplaced = try unsafe rows.withCopy(key) { place in
      let object = unsafe place.assumingMemoryBound(to: Object.self)
      try unsafe body(&object.pointee)
      return try unsafe rows.replace(key, UnsafeRawPointer(object))
    }
    return isReplaced ?? false
  }

  // MARK: Touching

  /// Reports the row under `key` as changed, object and metadata, and writes nothing. Returns whether there is a row.
  @discardableResult
  public func touch(_ key: String) throws -> Bool { try handle.opened.touch(key, [.object, .metadata]) }

  /// Reports the object under `key` as changed, and writes nothing. Returns whether there is a row.
  @discardableResult
  public func touchObject(_ key: String) throws -> Bool { try handle.opened.touch(key, .object) }

  /// Reports the metadata under `key` as changed, and writes nothing. Returns whether there is a row.
  @discardableResult
  public func touchMetadata(_ key: String) throws -> Bool { try handle.opened.touch(key, .metadata) }

  // MARK: Removing

  /// Removes the row under `key`. Returns whether there was one.
  @discardableResult
  public func remove(_ key: String) throws -> Bool {
    try handle.rows.remove(key)
  }

  /// Removes the rows under `keys`. Returns how many there were.
  @discardableResult
  public func remove(_ keys: some Sequence<String>) throws -> Int {
    try handle.opened.checkWriting()
    // All at once: the sequence may be one over these very rows, which would end with the first removal.
    let keys = Array(keys)
    try handle.opened.check()
    return try RowRemoval(handle.transaction).removeRows(handle.state, keys)
  }

  /// Removes all rows of the collection. Returns how many there were. Reported as one change: `isCleared`.
  @discardableResult
  public func removeAll() throws -> Int {
    try handle.opened.checkWriting()
    do { return try RowRemoval(handle.transaction).removeAll(handle.state) } catch { throw handle.failure(error, nil) }
  }
}

/// All rows in the order of their keys' bytes, as `rows`: for `for row in tx[.songs]`. A change of the transaction ends
/// the loop with `mutatedDuringIteration`.
extension WritableRows: Sequence {
  /// Begins at the first row; see ``RowSequence``.
  @inlinable @inline(__always) public func makeIterator() -> RowSequence<Object, Metadata>.Iterator {
    rows.makeIterator()
  }
}
