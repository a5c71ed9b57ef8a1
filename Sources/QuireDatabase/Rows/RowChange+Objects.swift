// What a row held or is to hold, decoded when a hook asks.

internal import QuireStorage

extension RowChange {
  /// The object: the new one if one is stored, also before that; else the one that is there. Nil after a removal.
  ///
  /// - Throws: `collectionMismatch` if this is no row of the collection, `decodingFailed`, `damagedPage`,
  ///   `inputOutput`.
  public func object<Object, Metadata>(in collection: RowCollection<Object, Metadata>) throws -> Object? {
    try check(collection.name)
    switch content {
    case .given(let object, _):
      if let object { return object as? Object }
    case .gone: return nil
    case .bytes(let bytes), .encoded(let bytes):
      let handle = try handle(collection)
      if handle.isCached, let rowID { return try handle.objectCached(key, rowID, of: bytes) }
      return try unsafe bytes.withUnsafeBytes { bytes in try handle.object(try unsafe RowView(bytes), key) }
    case .stored: break
    }
    return try handle(collection).withRow(key) { _, row in try handle(collection).object(row, key) }
  }

  /// The metadata: the new ones if some are stored, also before that; else those that are there. Nil if there are none,
  /// and after a removal.
  ///
  /// - Throws: as `object`.
  public func metadata<Object, Metadata>(in collection: RowCollection<Object, Metadata>) throws -> Metadata? {
    try check(collection.name)
    switch content {
    case .given(_, .some(let metadata)): return metadata as? Metadata
    case .given(_, .none), .stored: break
    case .gone: return nil
    case .bytes(let bytes), .encoded(let bytes):
      let handle = try handle(collection)
      return try unsafe bytes.withUnsafeBytes { bytes in try handle.metadata(try unsafe RowView(bytes), key) }
    }
    let found = try handle(collection).withRow(key) { _, row in try handle(collection).metadata(row, key) }
    return found ?? nil
  }

  /// The object that the row has before the change, in `willChange` and `willRemove`: decoded once, whichever extension
  /// asks. Nil before an insert, and once the row has changed.
  ///
  /// - Throws: as `object`.
  public func objectBefore<Object, Metadata>(in collection: RowCollection<Object, Metadata>) throws -> Object? {
    try check(collection.name)
    guard let before else { return nil }
    let handle = try handle(collection)
    return try before.half(.object, transaction) {
      if case .bytes = content { return try object(in: collection) }
      return try handle.withRow(key) { _, row in try handle.object(row, key) }
    }
  }

  /// The metadata that the row has before the change, if it has some; likewise.
  ///
  /// - Throws: as `object`.
  public func metadataBefore<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>
  ) throws -> Metadata? {
    try check(collection.name)
    guard let before else { return nil }
    let handle = try handle(collection)
    return try before.half(.metadata, transaction) {
      if case .bytes = content { return try metadata(in: collection) }
      return try handle.withRow(key) { _, row in try handle.metadata(row, key) } ?? nil
    }
  }

  private func check(_ name: String) throws(DatabaseError) {
    guard name.hasSameBytes(as: collection) else {
      throw DatabaseError(
        .collectionMismatch,
        "A row of “\(collection)” was asked for as one of “\(name)”. Look at `collection` first.",
        collection: collection, key: key)
    }
  }

  /// The row's collection with its types, which are checked.
  private func handle<Object, Metadata>(
    _ collection: RowCollection<Object, Metadata>
  ) throws(DatabaseError) -> RowHandle<Object, Metadata> {
    let handle = transaction.open(collection)
    try handle.opened.check()
    return handle
  }
}
