// Rows of one collection in one transaction, with their types.

internal import QuireStorage

/// A collection opened in a transaction; what stands behind `ReadableRows` and `WritableRows`.
///
/// A few words, which it costs nothing to make for a collection that the transaction has used before. Invariant: the
/// description of `rows` is of these types.
@safe public struct RowHandle<Object: Sendable, Metadata: Sendable> {
  @usableFromInline let rows: UntypedRows

  @inlinable @inline(__always) init(_ rows: UntypedRows) { self.rows = rows }

  init(_ opened: OpenedCollection, _ collection: RowCollection<Object, Metadata>) {
    let description = KeptCollection(collection.untyped, object: Object.self, metadata: Metadata.self)
    unsafe self.init(UntypedRows(opened, .passUnretained(description), own: description))
  }

  var opened: OpenedCollection { rows.opened }
  var transaction: TransactionState { rows.transaction }
  var state: CollectionState { opened.state }
  var collection: RowCollection<Object, Metadata> { RowCollection(rows.withDescription { $0.collection }) }
  var coder: RowCoder<Object> { RowCoder(rows.withDescription { $0.objectCoder }) }
  var compression: Compression { rows.compression }
  var protections: RowProtections { rows.protections }
  var isCached: Bool { rows.isCached }

  // MARK: Taking values

  /// Takes the object that is at `place`.
  @inline(__always) private func taken(object place: UnsafeMutableRawPointer) -> Object {
    assert(rows.withDescription { $0.isOf(Object.self, Metadata.self) }, "a value is taken for one of another type")
    return unsafe place.assumingMemoryBound(to: Object.self).move()
  }

  @inline(__always) private func taken(metadata place: UnsafeMutableRawPointer) -> Metadata {
    assert(rows.withDescription { $0.isOf(Object.self, Metadata.self) }, "a value is taken for one of another type")
    return unsafe place.assumingMemoryBound(to: Metadata.self).move()
  }

  /// The object of a row.
  func object(_ row: RowView, _ key: String) throws -> Object {
    unsafe taken(object: try unsafe rows.object(row, key))
  }

  /// The metadata of a row, if it has some.
  func metadata(_ row: RowView, _ key: String) throws -> Metadata? {
    guard let place = try unsafe rows.metadata(row, key) else { return nil }
    return unsafe taken(metadata: place)
  }

  /// The row of a view.
  func row(_ key: String, _ rowID: RowID, _ view: RowView) throws -> Row<Object, Metadata> {
    Row(taking: try rows.found(key, rowID, view))
  }

  /// The object of encoded bytes.
  func decode(
    _ bytes: UnsafeRawBufferPointer, _ context: Unmanaged<RowCodingContext>, _ key: String
  ) throws -> Object {
    let place = try unsafe rows.withRoom { (room, _) throws in
      try unsafe rows.decodeObject(bytes, context, key, into: room)
      return unsafe room
    }
    return unsafe taken(object: place)
  }

  /// The metadata under `key` as the cache knows them; `.some(nil)` for a row without, nil if nothing is known.
  func metadataCached(_ key: String) -> Metadata?? {
    switch unsafe rows.metadataCached(key) {
    case .none: nil
    case .some(.none): .some(nil)
    case .some(.some(let place)): unsafe .some(taken(metadata: place))
    }
  }

  /// The object of the row of a number if it is in the cache, which it is found in without a look at any tree. What is
  /// not there, or is a row of another collection, is nil.
  package func objectCached(_ rowID: RowID) -> Object? {
    guard let place = unsafe rows.objectCached(rowID) else { return nil }
    return unsafe taken(object: place)
  }

  /// The object of a row whose bytes were read already: through the cache, which spares decoding.
  func objectCached(_ key: String, _ rowID: RowID, of bytes: [UInt8]) throws -> Object {
    unsafe taken(object: try unsafe rows.objectCached(key, rowID, of: bytes))
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

  // MARK: Many rows

  /// The objects under `keys` that exist, in the order of `keys`.
  @usableFromInline func objects(_ keys: [String]) throws(DatabaseError) -> [Object] {
    assert(rows.withDescription { $0.isOf(Object.self, Metadata.self) }, "values are taken for ones of another type")
    if isCached {
      let found = try rows.objectsCached(keys)
      // The memory of all empty arrays is one, and not to be written to.
      if found.rowCount == 0 { return [] }
      return unsafe [Object](unsafeUninitializedCapacity: found.rowCount) { room, count in
        while let row = found.next() {
          unsafe room.moveInitializeObject(from: row.object, at: count)
          count += 1
        }
      }
    }
    let entries = try opened.entries(keys, .object)
    if entries.isEmpty { return [] }
    var failure: DatabaseError?
    // In one piece: code that does not know `Object` by name would ask what an array of it is with each append.
    let objects = unsafe [Object](unsafeUninitializedCapacity: entries.count) { room, count in
      guard let base = room.baseAddress else { return }
      do throws(DatabaseError) {
        try unsafe rows.decodeObjects(of: entries, into: UnsafeMutableRawPointer(base), &count)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return objects
  }
}

extension UnsafeMutableBufferPointer {
  /// Moves a value to `index`, where there is none.
  @inline(__always) fileprivate func moveInitializeObject(from place: UnsafeMutableRawPointer, at index: Int) {
    guard let base = baseAddress else { preconditionFailure("there is no room for a value") }
    unsafe (base + index).moveInitialize(from: place.assumingMemoryBound(to: Element.self), count: 1)
  }
}
