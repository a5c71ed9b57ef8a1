// Rows of one collection in one transaction, for code that does not know their types: what is compiled for each type of
// an app's is a thin skin over this.

internal import QuireStorage

/// A collection in a transaction with what an app says of it. A few words, which it costs nothing to make for a
/// collection that the transaction has used before.
///
/// Values are handed out by their place in memory: whoever is handed one takes it out of there, once and before
/// anything else is asked of the transaction. Only `RowHandle` and what is made of one does so, which was opened with
/// the types of the description. Of a call that throws nothing is left to be taken.
@safe @usableFromInline struct UntypedRows {
  @usableFromInline let opened: OpenedCollection
  /// What the app says of the collection; kept by the transaction, or by `own`.
  let description: Unmanaged<KeptCollection>
  /// The description if the transaction does not keep it.
  private let own: KeptCollection?

  @usableFromInline @inline(__always)
  init(_ opened: OpenedCollection, _ description: Unmanaged<KeptCollection>, own: KeptCollection?) {
    self.opened = opened
    unsafe self.description = unsafe description
    self.own = own
  }

  var transaction: TransactionState { opened.transaction }

  /// Calls `body` with the description, which is not counted.
  @inline(__always)
  func withDescription<Result>(_ body: (KeptCollection) throws -> Result) rethrows -> Result {
    defer { withExtendedLifetime(own) {} }
    return try unsafe description._withUnsafeGuaranteedRef(body)
  }

  // One by one: a copy of the whole would count all that a description refers to.
  @inline(__always) var compression: Compression { withDescription { $0.compression } }
  @inline(__always) var protections: RowProtections { withDescription { $0.protections } }
  @inline(__always) var isSanitized: Bool { withDescription { $0.collection.sanitizers != nil } }
  var isProtected: Bool { !protections.isEmpty }
  /// Whether objects are looked for in the cache. Not those that are encrypted: who has other keys, or takes only what
  /// is encrypted, would be given what somebody else could read.
  @inline(__always) var isCached: Bool { opened.isCached && !isProtected }

  // MARK: Decoding

  /// Calls `body` with room for a row; what it makes there is to be taken at once.
  @inline(__always)
  func withRoom<Result, Failure>(
    _ body: (_ object: UnsafeMutableRawPointer, _ metadata: UnsafeMutableRawPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let scratch = transaction.scratch
    let (byteCount, alignment, offset) = withDescription { ($0.roomByteCount, $0.roomAlignment, $0.metadataOffset) }
    let room = unsafe scratch.values.begin(byteCount: byteCount, alignment: alignment)
    defer { unsafe scratch.values.end() }
    return try unsafe body(room, room + offset)
  }

  /// Makes the object of its encoded bytes at `place`.
  @inline(__always)
  func decodeObject(
    _ bytes: UnsafeRawBufferPointer, _ context: Unmanaged<RowCodingContext>, _ key: String,
    into place: UnsafeMutableRawPointer
  ) throws {
    try unsafe context._withUnsafeGuaranteedRef { context in
      try withDescription { try unsafe $0.objectCoder.decode(bytes, context, key, into: place) }
    }
  }

  /// Makes the object of a row at `place`.
  func decodeObject(of row: RowView, _ key: String, into place: UnsafeMutableRawPointer) throws {
    var isThere = false
    do {
      try unsafe opened.withObject(of: row, key, protections) { bytes, context in
        assert(!isThere, "a value is decoded over another one")
        try unsafe decodeObject(bytes, context, key, into: place)
        isThere = true
      }
    } catch {
      if isThere { unsafe destroyObject(place) }
      throw error
    }
    if !isThere { throw RowView.damaged() }
  }

  /// Makes the metadata of a row at `place`, if it has some, and returns whether it has.
  func decodeMetadata(of row: RowView, _ key: String, into place: UnsafeMutableRawPointer) throws -> Bool {
    guard row.hasMetadata else { return false }
    var isThere = false
    do {
      try unsafe opened.withMetadata(of: row, key, protections) { bytes, context in
        assert(!isThere, "a value is decoded over another one")
        try unsafe context._withUnsafeGuaranteedRef { context in
          try withDescription { try unsafe $0.metadataCoder.decode(bytes, context, key, into: place) }
        }
        isThere = true
      }
    } catch {
      if isThere { withDescription { unsafe $0.metadata.destroy(place) } }
      throw error
    }
    return isThere
  }

  /// Makes both halves of a row, and returns whether there are metadata.
  func decode(
    _ row: RowView, _ key: String, into object: UnsafeMutableRawPointer, _ metadata: UnsafeMutableRawPointer
  ) throws -> Bool {
    try unsafe decodeObject(of: row, key, into: object)
    do { return try unsafe decodeMetadata(of: row, key, into: metadata) } catch {
      unsafe destroyObject(object)
      throw error
    }
  }

  func destroyObject(_ place: UnsafeMutableRawPointer) { withDescription { unsafe $0.object.destroy(place) } }

  /// Ends the life of a row that nobody is going to take.
  func destroy(_ row: FoundRow) {
    unsafe destroyObject(row.object)
    if let metadata = unsafe row.metadata { withDescription { unsafe $0.metadata.destroy(metadata) } }
  }

  // MARK: One row

  /// The object under `key`, to be taken; nil if there is none.
  @usableFromInline func get(_ key: String) throws(DatabaseError) -> UnsafeMutableRawPointer? {
    if isCached { return try unsafe getCached(key) }
    var found: UnsafeMutableRawPointer?
    do {
      try unsafe opened.withObject(key, protections, { _ in }) { bytes, context in
        assert(unsafe found == nil, "a value is decoded over another one")
        unsafe found = try withRoom { (room, _) throws in
          try unsafe decodeObject(bytes, context, key, into: room)
          return unsafe room
        }
      }
    } catch {
      if let found = unsafe found { unsafe destroyObject(found) }
      throw error
    }
    return unsafe found
  }

  /// The row under `key`, to be taken; nil if there is none.
  @usableFromInline func row(_ key: String) throws(DatabaseError) -> FoundRow? {
    if isCached { return try rowCached(key) }
    var found: FoundRow?
    do { try opened.withRow(key) { rowID, row in found = try self.found(key, rowID, row) } } catch {
      if let found { destroy(found) }
      throw error
    }
    return found
  }

  /// The halves of a row, to be taken.
  func found(_ key: String, _ rowID: RowID, _ row: RowView) throws -> FoundRow {
    try unsafe withRoom { (object, metadata) throws in
      let hasMetadata = try unsafe decode(row, key, into: object, metadata)
      return unsafe FoundRow(key: key, rowID: rowID, object: object, metadata: hasMetadata ? metadata : nil)
    }
  }

  /// The object of a row, to be taken.
  func object(_ row: RowView, _ key: String) throws -> UnsafeMutableRawPointer {
    try unsafe withRoom { (room, _) throws in
      try unsafe decodeObject(of: row, key, into: room)
      return unsafe room
    }
  }

  /// The metadata of a row, to be taken, if it has some.
  func metadata(_ row: RowView, _ key: String) throws -> UnsafeMutableRawPointer? {
    try unsafe withRoom { (_, room) throws in
      try unsafe decodeMetadata(of: row, key, into: room) ? room : nil
    }
  }
}

/// A row whose halves are to be taken out of the memory where they are.
@safe @usableFromInline struct FoundRow {
  @usableFromInline let key: String
  @usableFromInline let rowID: RowID
  @usableFromInline let object: UnsafeMutableRawPointer
  @usableFromInline let metadata: UnsafeMutableRawPointer?

  init(key: String, rowID: RowID, object: UnsafeMutableRawPointer, metadata: UnsafeMutableRawPointer?) {
    self.key = key
    self.rowID = rowID
    unsafe self.object = unsafe object
    unsafe self.metadata = unsafe metadata
  }
}

extension Row {
  /// Takes the halves of a row, which are of these types.
  @inlinable @inline(__always) init(taking found: FoundRow) {
    unsafe self.init(
      key: found.key, rowID: found.rowID, object: found.object.assumingMemoryBound(to: Object.self).move(),
      metadata: found.metadata?.assumingMemoryBound(to: Metadata.self).move())
  }
}
