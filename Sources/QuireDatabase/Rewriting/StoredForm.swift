// Whether what is stored of a row is what would be stored today.

internal import QuireStorage

/// How a stored half of a row, object or metadata, differs from what storing its value now would make of it.
enum StoredForm {
  /// Not at all, as far as anybody could tell.
  case current
  /// The coder's bytes are today's; the way in which they are stored is not.
  case repackable
  /// The coder's bytes are of an older version.
  case outdated

  /// The one place that decides it, for objects and metadata alike. Whatever a stored half can be that today's would
  /// not be belongs here, and `UntypedRows.renew` then replaces it: another version of the coder, another compression.
  ///
  /// Never says anything but `current` of what `renew` has stored: rewriting twice writes once. O(length), and tries to
  /// compress a value that is stored plain and long enough for it.
  ///
  /// - Throws: what is wrong with the bytes, which may be any, or that they are of a later version.
  init(
    of stored: UnsafeRawBufferPointer, _ half: RowHalf, _ key: String, _ coder: ValueCoder, _ rows: UntypedRows
  ) throws {
    let (opened, compression, protection) = (rows.opened, rows.compression, coder.protection)
    var isOfThisVersion = false
    var isStoredAsNow = false
    try unsafe opened.withDecoded(stored, half, key, rows.protections[half]) { encoded in
      isOfThisVersion = try unsafe coder.isOfThisVersion(encoded)
      if protection == nil {
        isStoredAsNow = try unsafe opened.isStoredAsNow(stored.bytes, encoded.bytes, compression)
      }
    }
    if let protection, unsafe SealedHeader.isSealed(stored),
      try unsafe SealedHeader(stored).keyID == protection.currentKeyID
    {
      let packed = try unsafe opened.opened(stored, half, key, protection)
      let value = try unsafe ValueCompression.decode(packed.span.bytes)
      isStoredAsNow = try unsafe ValueCompression.isStoredAsNow(packed.span.bytes, value.span.bytes, compression)
    }
    self = !isOfThisVersion ? .outdated : isStoredAsNow ? .current : .repackable
  }
}

extension UntypedRows {
  /// The forms of both halves of a row; metadata that are not there are current.
  private func forms(of row: RowView, _ key: String) throws -> (object: StoredForm, metadata: StoredForm) {
    let (objects, metadataCoder) = withDescription { ($0.objectCoder, $0.metadataCoder) }
    let object = unsafe try form(of: row.object, .object, key, objects)
    guard let metadata = unsafe row.metadata else { return (object, .current) }
    return (object, unsafe try form(of: metadata, .metadata, key, metadataCoder))
  }

  private func form(
    of stored: UnsafeRawBufferPointer, _ half: RowHalf, _ key: String, _ coder: ValueCoder
  ) throws -> StoredForm {
    do { return unsafe try StoredForm(of: stored, half, key, coder, self) } catch {
      throw opened.undecodable(half.name, key, error)
    }
  }

  /// Whether a row is stored in today's form.
  ///
  /// - Throws: `damagedRow`, `decodingFailed`; both name the row.
  func isCurrent(_ row: RowView, _ key: String) throws -> Bool { try forms(of: row, key) == (.current, .current) }

  /// Stores a row in today's form; does nothing if it is, or if there is none.
  ///
  /// What readers see is the same before and after. So neither extensions nor those who follow commits are told, and
  /// nothing but the row tree is changed, and the names of fields.
  ///
  /// - Returns: whether something was stored.
  func renew(_ key: String) throws -> Bool {
    let transaction = transaction
    try opened.checkWriting()
    // What is tried now must not depend on what was stored before, or a second run would find something to do.
    opened.state.dictionaries.triesAll = true
    guard let id = opened.id, let rowID = try transaction.rowID(id, key) else { return false }
    // A copy: coders run, and may come back to the database, while nothing of it is on loan.
    let stored = try transaction.wrapping(opened.name, key) { () throws(StorageError) in
      try transaction.value(rowID.rawValue, in: transaction.trees.rows)
    }
    guard let stored else { throw opened.missingRow(rowID, key) }
    var row = RowBuilder()
    swap(&row, &transaction.scratch.row)
    defer { swap(&row, &transaction.scratch.row) }
    let isChanged = try unsafe stored.withUnsafeBytes { bytes in
      let view: RowView
      do throws(DatabaseError) { view = try unsafe RowView(bytes) } catch { throw error.at(opened.name, key) }
      let forms = try forms(of: view, key)
      guard forms != (.current, .current) else { return false }
      row.begin(key: key, hasMetadata: view.hasMetadata)
      row.setCollection(id)
      try appendMetadata(of: view, forms.metadata, key, to: &row)
      try appendObject(of: view, forms.object, key, to: &row)
      return true
    }
    guard isChanged else { return false }
    try transaction.replaceBytes(of: rowID, with: row, opened.name, key)
    return true
  }

  private func appendObject(
    of view: RowView, _ form: StoredForm, _ key: String, to row: inout RowBuilder
  ) throws {
    switch form {
    case .current: unsafe row.append(stored: view.object)
    case .repackable: try unsafe repack(view.object, .object, key, to: &row)
    case .outdated:
      try unsafe withRoom { (object, _) throws in
        try unsafe decodeObject(of: view, key, into: object)
        defer { unsafe destroyObject(object) }
        try unsafe append(object: object, nil, key, to: &row)
      }
      try opened.state.willWrite(.object)
    }
  }

  private func appendMetadata(
    of view: RowView, _ form: StoredForm, _ key: String, to row: inout RowBuilder
  ) throws {
    guard let stored = unsafe view.metadata else { return }
    switch form {
    case .current: unsafe row.append(storedMetadata: stored)
    case .repackable:
      unsafe try repack(stored, .metadata, key, to: &row)
      row.endMetadata()
    case .outdated:
      try unsafe withRoom { (_, metadata) throws in
        guard try unsafe decodeMetadata(of: view, key, into: metadata) else {
          throw RowView.damaged().at(opened.name, key)
        }
        defer { withDescription { unsafe $0.metadata.destroy(metadata) } }
        try unsafe append(metadata: metadata, nil, key, to: &row)
      }
      try opened.state.willWrite(.metadata)
    }
  }

  /// Appends the coder's bytes of a half whose form was found out, and which therefore decompresses, as they would be
  /// stored today.
  private func repack(
    _ stored: UnsafeRawBufferPointer, _ half: RowHalf, _ key: String, to row: inout RowBuilder
  ) throws {
    let protections = protections
    let encoded = try unsafe opened.withDecoded(stored, half, key, protections[half]) { unsafe Array($0) }
    let bytes = unsafe encoded.span.bytes
    try opened.append(bytes, half, key, compression, protections, to: &row)
  }
}

extension TransactionState {
  /// Has the bytes of a row replaced by others with the same content.
  fileprivate func replaceBytes(
    of rowID: RowID, with row: borrowing RowBuilder, _ name: String, _ key: String
  ) throws(DatabaseError) {
    // Changes are not counted here: extensions that are not registered need not know (`markOthers`), and no iterator
    // of an app's is in a transaction of ours.
    do throws(StorageError) {
      try unsafe row.bytes.withValueBytes { (bytes) throws(StorageError) in
        try unsafe put(SearchKey(rowID.rawValue), bytes, in: trees.rows)
      }
    } catch {
      throw DatabaseError(error, collection: name, key: key)
    }
  }
}
