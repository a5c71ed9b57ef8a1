// Encoding rows and handing them to the transaction.

internal import QuireStorage

extension RowHandle {
  // MARK: Sanitizers

  /// What is to be stored; nil if the row is to go.
  func sanitized(_ object: Object, _ metadata: Metadata?, _ key: String) throws -> (Object, Metadata?)? {
    try opened.check()
    guard let sanitizers else { return (object, metadata) }
    guard let object = try sanitized(object, key) else { return nil }
    guard let metadata, let sanitize = sanitizers.metadata else { return (object, metadata) }
    return (object, try sanitize(key, metadata))
  }

  /// The object that is to be stored; nil if the row is to go.
  func sanitized(_ object: Object, _ key: String) throws -> Object? {
    try opened.check()
    guard let sanitize = sanitizers?.object else { return object }
    return try sanitize(key, object)
  }

  /// The metadata that is to be stored.
  func sanitized(metadata: Metadata, _ key: String) throws -> Metadata? {
    guard let sanitize = sanitizers?.metadata else { return metadata }
    return try sanitize(key, metadata)
  }

  // MARK: Encoding

  /// Encodes an object and appends it to the row.
  @inlinable
  func append(object: Object, _ key: String, to row: inout RowBuilder) throws(DatabaseError) {
    try opened.encodeObject(key, compression, protections, to: &row) { bytes, context in
      try unsafe description._withUnsafeGuaranteedRef {
        try $0.collection.coder.encode(object, into: &bytes, context, key)
      }
    }
    withExtendedLifetime(own) {}
  }

  /// Encodes a metadata and appends it to the row.
  @inlinable
  func append(metadata: Metadata, _ key: String, to row: inout RowBuilder) throws(DatabaseError) {
    try opened.encodeMetadata(key, compression, protections, to: &row) { bytes, context in
      try unsafe description._withUnsafeGuaranteedRef {
        try $0.collection.metadataCoder.encode(metadata, into: &bytes, context, key)
      }
    }
    withExtendedLifetime(own) {}
  }

  /// Appends an object to the row: as `encoded`, if that is there.
  func append(object: Object, _ encoded: [UInt8]?, _ key: String, to row: inout RowBuilder) throws(DatabaseError) {
    guard let encoded else { return try append(object: object, key, to: &row) }
    try unsafe opened.append(encoded.span.bytes, .object, key, compression, protections, to: &row)
  }

  /// Appends metadata to the row: as `encoded`, if that is there.
  func append(
    metadata: Metadata, _ encoded: [UInt8]?, _ key: String, to row: inout RowBuilder
  ) throws(DatabaseError) {
    guard let encoded else { return try append(metadata: metadata, key, to: &row) }
    try unsafe opened.append(encoded.span.bytes, .metadata, key, compression, protections, to: &row)
    row.endMetadata()
  }
}

extension OpenedCollection {
  /// Has `body` encode an object, and appends it to the row.
  @usableFromInline
  func encodeObject(
    _ key: String, _ compression: Compression, _ protections: RowProtections, to row: inout RowBuilder,
    _ body: (inout [UInt8], RowCodingContext) throws -> Void
  ) throws(DatabaseError) {
    try encode(.object, key, compression, protections, to: &row, state.contexts.object, body)
  }

  /// Has `body` encode metadata, and appends them to the row.
  @usableFromInline
  func encodeMetadata(
    _ key: String, _ compression: Compression, _ protections: RowProtections, to row: inout RowBuilder,
    _ body: (inout [UInt8], RowCodingContext) throws -> Void
  ) throws(DatabaseError) {
    try encode(.metadata, key, compression, protections, to: &row, state.contexts.metadata, body)
    row.endMetadata()
  }

  /// Encodes one half. The coder may come back, to store another row: it finds other memory then.
  @inline(__always)
  private func encode(
    _ half: RowHalf, _ key: String, _ compression: Compression, _ protections: RowProtections,
    to row: inout RowBuilder, _ context: RowCodingContext, _ body: (inout [UInt8], RowCodingContext) throws -> Void
  ) throws(DatabaseError) {
    let scratch = transaction.scratch
    var encoded: [UInt8] = []
    swap(&encoded, &scratch.encoded)
    defer { swap(&encoded, &scratch.encoded) }
    encoded.removeAll(keepingCapacity: true)
    try transaction.beginEncoding()
    defer { transaction.endEncoding() }
    do { try body(&encoded, context) } catch { throw unencodable(half.name, key, error) }
    try unsafe append(encoded.span.bytes, half, key, compression, protections, to: &row)
  }

  /// Appends what is encoded already.
  func append(
    _ encoded: RawSpan, _ half: RowHalf, _ key: String, _ compression: Compression, _ protections: RowProtections,
    to row: inout RowBuilder
  ) throws(DatabaseError) {
    do {
      if let protection = unsafe protections[half] {
        try appendSealed(encoded, half, key, compression, unsafe protection.takeUnretainedValue(), to: &row)
      } else if case .dictionary(let above) = compression, encoded.byteCount > above {
        try append(encoded, above: above, to: &row)
      } else {
        try row.append(encoded, compression)
      }
    } catch CompressionError.tooLong(let byteCount) {
      let cause = CompressionError.tooLong(byteCount: byteCount)
      throw DatabaseError(.valueTooLong, "\(cause)", collection: name, key: key, cause: cause)
    } catch {
      throw failure(error, key)
    }
  }

  private func unencodable(_ half: String, _ key: String, _ cause: any Error) -> DatabaseError {
    DatabaseError(
      .encodingFailed, "The \(half) could not be encoded. Nothing was stored; see the cause.",
      path: transaction.database.path, collection: name, key: key, cause: cause)
  }

  // MARK: Storing

  /// Throws unless a row may be stored under `key` now.
  func checkStorable(_ key: String) throws(DatabaseError) {
    try checkWriting()
    let byteCount = key.utf8.count
    guard byteCount > Limits.rowKeyByteCount else { return }
    throw DatabaseError(
      .keyTooLong, "The key has \(byteCount) bytes; at most \(Limits.rowKeyByteCount) are possible.",
      collection: state.name, key: key)
  }

  /// Stores a row whole. `build` appends the metadata, if it has some, and the object. It runs before anything is
  /// looked up: a coder of the app's may come back and change rows, this one too. So may the hooks of extensions, which
  /// are shown `content`.
  @usableFromInline func store(
    _ key: String, hasMetadata: Bool, _ content: @autoclosure () -> RowContent,
    _ build: (inout RowBuilder) throws -> Void
  ) throws {
    try checkStorable(key)
    let transaction = transaction
    var row = RowBuilder()
    swap(&row, &transaction.scratch.row)
    defer { swap(&row, &transaction.scratch.row) }
    row.begin(key: key, hasMetadata: hasMetadata)
    try build(&row)
    try state.willWrite(hasMetadata ? [.object, .metadata] : .object)
    do {
      var known: RowID?
      if let session = try transaction.session() {
        try session.checkRowsMayChange()
        try transaction.finishRounds(before: key, of: state)
        // Who hears of a row before it is stored is told whether it is new.
        if session.needsWillChange(of: state.name) {
          known = try state.id.flatMap { id throws(DatabaseError) in try transaction.rowID(id, key) }
          let mutationCount = transaction.mutationCount
          try session.will(known == nil ? .insert : .update, known, key, state, content())
          // A hook may have removed or replaced it.
          if transaction.mutationCount != mutationCount { known = nil }
        }
      }
      row.setCollection(try state.existingOrNewID(in: transaction))
      let stored: (rowID: RowID, isNew: Bool)
      if let known {
        try replace(row, key, known, [.object, .metadata])
        stored = (known, false)
      } else {
        stored = try insertOrReplace(row, key)
      }
      try transaction.session()?.did(stored.isNew ? .insert : .update, stored.rowID, key, state, content())
      if let above = state.dictionaries.isDue { try DictionaryTrainer(transaction).trainIfDue(state, above: above) }
    } catch let error as StorageError {
      throw DatabaseError(error, collection: state.name, key: key)
    }
  }

  /// Stores one half of a row in the place of the old one. `build` appends it, if it is there at all; it runs before
  /// anything is looked up, as in `store`, and hooks are shown `content`.
  ///
  /// - Returns: whether there is such a row.
  func replace(
    _ half: RowHalves, _ key: String, _ content: @autoclosure () -> RowContent,
    _ build: (inout RowBuilder) throws -> Void
  ) throws -> Bool {
    try checkStorable(key)
    let transaction = transaction
    var (row, part) = (RowBuilder(), RowBuilder())
    swap(&row, &transaction.scratch.row)
    swap(&part, &transaction.scratch.part)
    defer {
      swap(&row, &transaction.scratch.row)
      swap(&part, &transaction.scratch.part)
    }
    part.beginHalf()
    try build(&part)
    let kind = half == .object ? RowChange.Kind.replaceObject : .replaceMetadata
    if let session = try transaction.session() {
      try transaction.finishRounds(before: key, of: state)
      guard let id = state.id, let existing = try transaction.rowID(id, key) else { return false }
      try session.will(kind, existing, key, state, content())
    }
    guard let id = state.id, let existing = try transaction.rowID(id, key) else { return false }
    try state.willWrite(half)
    do {
      let isFound: Bool? = try transaction.withValue(existing.rawValue, in: transaction.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes in
          unsafe row.replace(half, of: try RowView(bytes), id, key, with: part)
          return true
        }
      }
      if isFound == nil { throw missingRow(existing, key) }
      try replace(row, key, existing, half)
      try transaction.session()?.did(kind, existing, key, state, content())
      if let above = state.dictionaries.isDue { try DictionaryTrainer(transaction).trainIfDue(state, above: above) }
    } catch let error as StorageError {
      throw DatabaseError(error, collection: state.name, key: key)
    }
    return true
  }

  /// Reports a row as changed.
  func touch(_ key: String, _ halves: RowHalves) throws -> Bool {
    try checkWriting()
    try transaction.finishRounds(before: key, of: state)
    guard let id = state.id, let rowID = try transaction.rowID(id, key) else { return false }
    let kind: RowChange.Kind =
      switch halves {
      case .object: .touchObject
      case .metadata: .touchMetadata
      default: .touchRow
      }
    try transaction.session()?.will(kind, rowID, key, state, .stored)
    transaction.noteTouch(state, id, key, rowID, halves)
    try transaction.session()?.did(kind, rowID, key, state, .stored)
    return true
  }
}
