// A row for code that does not know its types: its halves are decoded when they are asked for, and once.

internal import QuireStorage

/// A row and what was decoded of it: what stands behind `FamilyRow`.
///
/// Halves are handed out by their place in memory, where they stay as long as this lives; who takes them for values of
/// a type knows that the collection was described with it. For the thread and the life of the transaction.
///
/// Invariant: there is memory, and a description that it is of, once a half was decoded; `hasObject` and `metadata` say
/// which halves are in it.
@safe final class DecodedRow {
  /// The row.
  let change: RowChange
  private let described: DescribedRows
  /// Room for both halves, and what it was made for, kept as long as there is something in it.
  @exclusivity(unchecked) private var memory: (place: UnsafeMutableRawPointer, description: KeptCollection)?
  @exclusivity(unchecked) private var hasObject = false
  @exclusivity(unchecked) private var metadata = MetadataKnowledge.unknown

  /// Of a row of the collection that is described.
  init(_ change: RowChange, _ described: DescribedRows) {
    self.change = change
    self.described = described
  }

  deinit {
    guard let (place, description) = unsafe memory else { return }
    if unsafe hasObject { unsafe description.object.destroy(place) }
    if unsafe metadata == .present { unsafe description.metadata.destroy(place + description.metadataOffset) }
    unsafe place.deallocate()
  }

  /// Where the object is, of the type that the collection was described with.
  ///
  /// - Throws: `collectionMismatch`, `decodingFailed`; `damagedRow` if the row is gone.
  func object() throws -> UnsafeRawPointer {
    if unsafe hasObject, let memory = unsafe memory { return unsafe UnsafeRawPointer(memory.place) }
    let rows = try described.rows()
    let place = unsafe room(rows).place
    guard try unsafe decodeObject(rows, into: place) else { throw gone() }
    assert(unsafe !hasObject, "an object is decoded over another one")
    unsafe hasObject = true
    return UnsafeRawPointer(place)
  }

  /// Where the metadata are; nil if there are none.
  ///
  /// - Throws: `collectionMismatch`, `decodingFailed`.
  func metadataIfAny() throws -> UnsafeRawPointer? {
    if unsafe metadata == .unknown {
      let rows = try described.rows()
      let (place, description) = unsafe room(rows)
      let isThere = try unsafe decodeMetadata(rows, into: place + description.metadataOffset)
      unsafe metadata = isThere ? .present : .absent
    }
    guard unsafe metadata == .present, let (place, description) = unsafe memory else { return nil }
    return unsafe UnsafeRawPointer(place + description.metadataOffset)
  }

  private func gone() -> DatabaseError {
    DatabaseError(
      .damagedRow,
      "An extension leads to a row that is not there. Verify the database, and register the extension anew.",
      collection: change.collection, key: change.key)
  }

  private func room(_ rows: UntypedRows) -> (place: UnsafeMutableRawPointer, description: KeptCollection) {
    if let memory = unsafe memory { return unsafe memory }
    let description = rows.withDescription { $0 }
    let place = UnsafeMutableRawPointer.allocate(
      byteCount: max(1, description.roomByteCount), alignment: description.roomAlignment)
    unsafe memory = (place, description)
    return unsafe (place, description)
  }

  // MARK: Decoding

  /// Makes the object at `place`, and returns whether there is one.
  private func decodeObject(_ rows: UntypedRows, into place: UnsafeMutableRawPointer) throws -> Bool {
    switch change.content {
    case .given(let object?, _): return rows.withDescription { unsafe $0.object.unbox(object, to: place) }
    case .gone: return false
    case .bytes(let bytes), .encoded(let bytes):
      if rows.isCached, let rowID = change.rowID {
        let found = try unsafe rows.objectCached(change.key, rowID, of: bytes)
        rows.withDescription { unsafe $0.object.move(found, to: place) }
      } else {
        try unsafe bytes.withUnsafeBytes { bytes in
          try unsafe rows.decodeObject(of: try unsafe RowView(bytes), change.key, into: place)
        }
      }
      return true
    case .given(nil, _), .stored:
      var isThere = false
      do {
        try rows.opened.withRow(change.key) { _, row in
          try unsafe rows.decodeObject(of: row, change.key, into: place)
          isThere = true
        }
      } catch {
        if isThere { unsafe rows.destroyObject(place) }
        throw error
      }
      return isThere
    }
  }

  /// Makes the metadata at `place`, and returns whether there are some.
  private func decodeMetadata(_ rows: UntypedRows, into place: UnsafeMutableRawPointer) throws -> Bool {
    switch change.content {
    case .given(_, .some(let metadata)):
      guard let metadata else { return false }
      return rows.withDescription { unsafe $0.metadata.unbox(metadata, to: place) }
    case .gone: return false
    case .bytes(let bytes), .encoded(let bytes):
      return try unsafe bytes.withUnsafeBytes { bytes in
        try unsafe rows.decodeMetadata(of: try unsafe RowView(bytes), change.key, into: place)
      }
    case .given(_, .none), .stored:
      var isThere = false
      do {
        try rows.opened.withRow(change.key) { _, row in
          isThere = try unsafe rows.decodeMetadata(of: row, change.key, into: place)
        }
      } catch {
        if isThere { rows.withDescription { unsafe $0.metadata.destroy(place) } }
        throw error
      }
      return isThere
    }
  }
}

/// The rows of one collection as an app describes it, opened when the first half of one is decoded: a type that nobody
/// decodes is none of the collection's.
final class DescribedRows {
  let name: String
  private let open: () -> UntypedRows
  private var opened: UntypedRows?

  init(_ name: String, _ open: @escaping () -> UntypedRows) {
    self.name = name
    self.open = open
  }

  /// The collection in the transaction, its types checked.
  fileprivate func rows() throws(DatabaseError) -> UntypedRows {
    let rows = opened ?? open()
    opened = rows
    try rows.opened.check()
    return rows
  }
}
