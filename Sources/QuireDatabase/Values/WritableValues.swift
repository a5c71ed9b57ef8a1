// Storing rows of a collection whose types nobody knows.

/// The rows of a collection in the write transaction, read and stored without their types.
///
/// Each half is stored as a coder of the app's would: of the kind that the file notes for the collection, and of the
/// version that the half says, so that the app reads it as one of its own rows of that time. A collection that does not
/// exist gets the coders of the first row that is stored, or those of its ``CollectionNotes``.
///
/// ```swift
/// try tx.values(in: "songs").update("s1") { song in song["plays"] = 0 }
/// ```
///
/// What the app's closures would do to a row is not done: sanitizers do not run, as they are the app's. Extensions that
/// are registered follow as ever. Those that are stored and not registered, as all are in a tool, are marked as out of
/// date in the same commit if they follow the collection, and built anew when the app registers them: none of them ever
/// shows a row that is not there.
///
/// A collection that is encrypted is refused: what is stored here would be in the clear. A program that has the key
/// stores values through `RowCollection<RowValue, RowValue>` with `encrypted(with:)`.
///
/// For the thread and the life of its transaction. A call that fails because of its arguments changes nothing.
public struct WritableValues: Sequence {
  /// The rows, for reading.
  public let rows: ValueRows
  private let plan: ValueStoring

  init(_ rows: ValueRows, _ notes: CollectionNotes?) {
    self.rows = rows
    plan = ValueStoring(rows.opened, notes)
  }

  // MARK: Reading

  /// The row under `key`, or nil, as ``ValueRows/row(_:)``.
  public func row(_ key: String) throws(DatabaseError) -> ValueRow? { try rows.row(key) }

  /// The number of rows. O(log n).
  public func count() throws(DatabaseError) -> Int { try rows.count() }

  /// The rows in the order of their keys. A loop ends where a row is changed in it.
  public func makeIterator() -> ValueRows.Iterator { rows.makeIterator() }

  // MARK: Storing

  /// Stores a row, in the place of what was there: an object, and metadata if there are some.
  ///
  /// - Throws: `collectionMismatch` if a half is of another coder than the collection's, `missingKey` if it is
  ///   encrypted, or the collection is; `encodingFailed` if the coder does not store such a value; and as
  ///   ``WritableRows/set(_:metadata:for:)-(_,_,String)``.
  public func set(_ object: StoredHalf, metadata: StoredHalf? = nil, for key: String) throws {
    try plan.store(object, metadata, key)
  }

  /// Stores a row, in the place of what was there, in the form that it has: of the same coders and versions. Halves
  /// that are new are of the collection's coders, binary ones if it has none, and of version 0: where the app's coder
  /// has upgrades, say another one with a ``StoredHalf``.
  ///
  /// - Throws: as the other form.
  public func set(_ object: RowValue, metadata: RowValue? = nil, for key: String) throws {
    let former = try rows.row(key)
    try plan.store(
      plan.half(object, former?.object, .object), metadata.map { plan.half($0, former?.metadata, .metadata) }, key)
  }

  /// Stores a row unless there is one under `key`. Returns whether it was stored.
  ///
  /// - Throws: as `set`.
  @discardableResult
  public func insert(_ object: StoredHalf, metadata: StoredHalf? = nil, for key: String) throws -> Bool {
    guard try plan.isFree(key) else { return false }
    try plan.store(object, metadata, key)
    return true
  }

  /// The same with values, as the other form of `set` stores them.
  @discardableResult
  public func insert(_ object: RowValue, metadata: RowValue? = nil, for key: String) throws -> Bool {
    try insert(plan.half(object, nil, .object), metadata: metadata.map { plan.half($0, nil, .metadata) }, for: key)
  }

  /// Reads the object under `key`, lets `body` change it, and stores it under the coder and the version that it has;
  /// the metadata stay. Returns whether there is a row.
  ///
  /// - Throws: `encodingFailed` if it is of a custom coder, whose bytes nobody can change but the app; what `body`
  ///   throws; and as `set`.
  @discardableResult
  public func update(_ key: String, _ body: (inout RowValue) throws -> Void) throws -> Bool {
    guard let row = try rows.row(key) else { return false }
    let object = try plan.changed(row.object, .object, key, body)
    try plan.store(object, row.metadata, key)
    return true
  }

  /// Stores metadata with the row under `key`, as `update` does the object; nil takes them away. Returns whether there
  /// is a row.
  ///
  /// - Throws: as `set`.
  @discardableResult
  public func replaceMetadata(_ metadata: RowValue?, for key: String) throws -> Bool {
    guard let row = try rows.row(key) else { return false }
    try plan.store(row.object, metadata.map { plan.half($0, row.metadata, .metadata) }, key)
    return true
  }

  /// Removes the row under `key`, encrypted or not. Returns whether there was one.
  @discardableResult
  public func remove(_ key: String) throws -> Bool {
    try rows.opened.checkWriting()
    return try RowRemoval(rows.opened.transaction).removeRow(rows.opened.state, key)
  }
}

extension WriteTransaction {
  /// The rows of a collection, to be read and stored without their types. Constant time until it is used.
  public func values(in name: String) -> WritableValues { WritableValues(ValueRows(rawRows(name)), nil) }

  /// The same, with what another file notes of the collection: if it does not exist, it is made so, and then the bytes
  /// of halves that were read there mean the same here. Fields that `notes` do not name are spelled out in the rows. In
  /// a collection that exists, and has other names of fields, halves are stored by their values.
  ///
  /// Calls throw `collectionMismatch` if rows are there of coders of another kind.
  public func values(in name: String, as notes: CollectionNotes) -> WritableValues {
    WritableValues(ValueRows(rawRows(name)), notes)
  }
}

/// What a `WritableValues` knows of its collection once it has stored something.
private final class ValueStoring {
  private let opened: OpenedCollection
  private let notes: CollectionNotes?
  /// Whether the first row is known to be in the clear, and the first one that has metadata.
  private var hasCheckedObject = false
  private var hasCheckedMetadata = false
  /// The names of fields that `notes` have, once they were checked.
  private var schemas: (object: RowSchema, metadata: RowSchema)?

  init(_ opened: OpenedCollection, _ notes: CollectionNotes?) {
    self.opened = opened
    self.notes = notes
  }

  // MARK: Halves

  /// A value in the form of the half in whose place it comes, or of the collection.
  func half(_ value: RowValue, _ former: StoredHalf?, _ half: RowHalf) -> StoredHalf {
    if let former { return former.with(value) }
    let stored = opened.state.coders
    let noted = notes?.coders ?? stored
    let coder = half == .object ? stored.object.or(noted.object) : stored.metadata.or(noted.metadata)
    // Where a collection has got upgrades, rows of no version are binary ones.
    let kind: CoderKind = coder.hasVersions ? .binary : CoderKind(coder) ?? .binary
    return StoredHalf(.value(value)).with(value, kind)
  }

  /// A half whose value `body` has changed.
  func changed(
    _ half: StoredHalf, _ which: RowHalf, _ key: String, _ body: (inout RowValue) throws -> Void
  ) throws -> StoredHalf {
    if case .encrypted(let number) = half.content { throw failure(which, key, StoredHalfError.encrypted(number)) }
    guard var value = half.value else { throw failure(which, key, StoredHalfError.kind(half.coder, nil)) }
    try body(&value)
    return half.with(value)
  }

  // MARK: Storing

  /// Whether there is no row under a key.
  func isFree(_ key: String) throws(DatabaseError) -> Bool {
    try opened.checkStorable(key)
    return try opened.rowID(key) == nil
  }

  /// Stores a row.
  func store(_ object: StoredHalf, _ metadata: StoredHalf?, _ key: String) throws {
    try opened.checkStorable(key)
    try checkInTheClear(key, hasMetadata: metadata != nil)
    let (coders, objectBytes, metadataBytes) = try encoded(object, metadata, key)
    // Not before the row is known to be one: what it says of a new collection would hold for the next one.
    try opened.state.check(coders)
    func build(_ row: inout RowBuilder, _ compression: Compression) throws(DatabaseError) {
      if let metadataBytes {
        try unsafe opened.append(metadataBytes.span.bytes, .metadata, key, compression, .none, to: &row)
        row.endMetadata()
      }
      try unsafe opened.append(objectBytes.span.bytes, .object, key, compression, .none, to: &row)
    }
    func content() -> RowContent {
      var row = RowBuilder()
      row.begin(key: key, hasMetadata: metadata != nil)
      do throws(DatabaseError) { try build(&row, .none) } catch { opened.transaction.note(error) }
      return .encoded(row.bytes)
    }
    _ = try opened.store(key, hasMetadata: metadata != nil, content()) { row in
      try build(&row, .dictionary(above: Self.compressedAbove))
    }
  }

  /// The bytes of the halves of a row, and the coders that read them. If there are none, the collection is as before.
  private func encoded(
    _ object: StoredHalf, _ metadata: StoredHalf?, _ key: String
  ) throws -> (coders: StoredCoders, object: [UInt8], metadata: [UInt8]?) {
    let mark = opened.state.mark
    do {
      let (coders, hasFixedNames) = try prepare(object, metadata)
      let objectBytes = try bytes(of: object, .object, coders.object, key, hasFixedNames)
      let metadataBytes = try metadata.map { try bytes(of: $0, .metadata, coders.metadata, key, hasFixedNames) }
      return (coders, objectBytes, metadataBytes)
    } catch {
      opened.state.restore(mark)
      throw error
    }
  }

  /// As a `RowCollection` without a choice of its own.
  private static let compressedAbove = 200

  /// Finds out by which coders a row is stored, and whether the collection gets no names of fields by it. Has it take
  /// over the notes that there are.
  private func prepare(
    _ object: StoredHalf, _ metadata: StoredHalf?
  ) throws -> (coders: StoredCoders, hasFixedNames: Bool) {
    let state = opened.state
    if let notes {
      let schemas = try self.schemas ?? checkedSchemas(notes)
      self.schemas = schemas
      let hasNames = try state.adopt(notes.coders, schemas.object, schemas.metadata)
      return (state.coders, hasNames)
    }
    // What is noted stays; a collection of which nothing is known yet gets what its first row has.
    let isNew = opened.id == nil
    func coder(_ known: StoredCoder, _ half: StoredHalf?, _ mayNote: Bool) -> StoredCoder {
      guard known == .unknown, mayNote, let half, let kind = half.coder else { return known }
      return StoredCoder(kind.identity, hasUpgrades: half.version > 0)
    }
    // Metadata are unknown, too, as long as no row has some.
    let coders = StoredCoders(
      object: coder(state.coders.object, object, isNew),
      metadata: coder(state.coders.metadata, metadata, isNew || state.coders.object != .unknown))
    return (coders, false)
  }

  private func checkedSchemas(_ notes: CollectionNotes) throws -> (RowSchema, RowSchema) {
    do {
      return (try RowSchema(names: notes.object.fields), try RowSchema(names: notes.metadata.fields))
    } catch {
      throw DatabaseError(
        .invalidOption, "The names of fields are none that a collection can have. See the cause.",
        collection: opened.name, cause: error)
    }
  }

  private func bytes(
    of half: StoredHalf, _ which: RowHalf, _ coder: StoredCoder, _ key: String, _ hasFixedNames: Bool
  ) throws(DatabaseError) -> [UInt8] {
    let context = which == .object ? opened.state.contexts.object : opened.state.contexts.metadata
    try opened.transaction.beginEncoding()
    defer { opened.transaction.endEncoding() }
    do { return try half.bytes(coder, context, hasFixedNames: hasFixedNames) } catch {
      throw failure(which, key, error)
    }
  }

  private func failure(_ half: RowHalf, _ key: String, _ error: any Error) -> DatabaseError {
    guard let error = error as? StoredHalfError else { return opened.unencodable(half.name, key, error) }
    let code: DatabaseError.Code =
      switch error {
      case .encrypted: .missingKey
      case .otherCoder, .noVersions: .collectionMismatch
      case .version, .kind: .encodingFailed
      }
    return DatabaseError(
      code, "The \(half.name) cannot be stored. \(error.description)", path: opened.transaction.database.path,
      collection: opened.name, key: key)
  }

  // MARK: Encryption

  /// Throws if the row under a key is encrypted, or the collection's first row, or, where metadata are stored, its
  /// first row that has some: what is stored here would not be.
  private func checkInTheClear(_ key: String, hasMetadata: Bool) throws {
    if let id = opened.id, let rowID = try opened.transaction.rowID(id, key) {
      _ = try checkInTheClear(rowID, key)
    }
    let mayHaveMetadata = opened.state.coders.metadata != .unknown
    if hasCheckedObject, hasCheckedMetadata || !hasMetadata { return }
    if let id = opened.id {
      let cursor = try IndexCursor(RowScan(opened, .all), KeyBounds(id))
      while let row = try cursor.next() {
        if try checkInTheClear(row.rowID, row.key) || !hasMetadata || !mayHaveMetadata { break }
      }
    }
    hasCheckedObject = true
    if hasMetadata { hasCheckedMetadata = true }
  }

  /// Throws if a half of a row is encrypted. Returns whether the row has metadata.
  private func checkInTheClear(_ rowID: RowID, _ key: String) throws -> Bool {
    let transaction = opened.transaction
    let found: (key: UInt32?, hasMetadata: Bool)? = try transaction.withValue(
      rowID.rawValue, in: transaction.trees.rows
    ) { bytes in
      try unsafe bytes.withUnsafeBytes { bytes in
        let row = try unsafe RowView(bytes)
        if unsafe SealedHeader.isSealed(row.object) { return (try unsafe SealedHeader(row.object).keyID, false) }
        guard let metadata = unsafe row.metadata else { return (nil, false) }
        return (unsafe SealedHeader.isSealed(metadata) ? try unsafe SealedHeader(metadata).keyID : nil, true)
      }
    }
    guard let number = found?.key else { return found?.hasMetadata ?? false }
    throw DatabaseError(
      .missingKey,
      """
      The collection is encrypted, with key \(number), and what is stored without its types would be in the clear. \
      Store it through `RowCollection<RowValue, RowValue>` with `encrypted(with:)`, in a program that has the key.
      """, path: transaction.database.path, collection: opened.name, key: key)
  }
}

extension StoredCoder {
  /// This coder, or another one if it is not known.
  fileprivate func or(_ other: StoredCoder) -> StoredCoder { self == .unknown ? other : self }
}

extension StoredHalf {
  /// The same half with another value.
  fileprivate func with(_ value: RowValue) -> StoredHalf {
    coder.map { with(value, $0) } ?? StoredHalf(.value(value), version: version, coder: nil)
  }

  /// A value of this version, as a coder takes it: a number for a date, as JSON and people have them.
  fileprivate func with(_ value: RowValue, _ coder: CoderKind) -> StoredHalf {
    if coder == .timestamp, let date = value.date {
      return StoredHalf(.value(.date(date)), version: version, coder: coder)
    }
    return StoredHalf(.value(value), version: version, coder: coder)
  }
}
