// Encoding rows and handing them to the transaction.

internal import QuireStorage

extension RowHandle {
  // MARK: Sanitizers

  /// What is to be stored; nil if the row is to go.
  func sanitized(_ object: Object, _ metadata: Metadata?, _ key: String) throws -> (Object, Metadata?)? {
    try transaction.check()
    guard let sanitizers = collection.sanitizers else { return (object, metadata) }
    guard let object = try sanitized(object, key) else { return nil }
    guard let metadata, let sanitize = sanitizers.metadata else { return (object, metadata) }
    return (object, try sanitize(key, metadata))
  }

  /// The object that is to be stored; nil if the row is to go.
  func sanitized(_ object: Object, _ key: String) throws -> Object? {
    try transaction.check()
    guard let sanitize = collection.sanitizers?.object else { return object }
    return try sanitize(key, object)
  }

  /// The metadata that is to be stored.
  func sanitized(metadata: Metadata, _ key: String) throws -> Metadata? {
    guard let sanitize = collection.sanitizers?.metadata else { return metadata }
    return try sanitize(key, metadata)
  }

  // MARK: Encoding

  /// Encodes an object and appends it to the row.
  func append(object: Object, _ key: String, to row: inout RowBuilder) throws(DatabaseError) {
    let scratch = transaction.scratch
    scratch.encoded.removeAll(keepingCapacity: true)
    do { try collection.coder.encode(object, into: &scratch.encoded, state.contexts.object) } catch {
      throw unencodable("object", key, error)
    }
    try unsafe append(scratch.encoded.span.bytes, key, to: &row)
  }

  /// Encodes a metadata and appends it to the row.
  func append(metadata: Metadata, _ key: String, to row: inout RowBuilder) throws(DatabaseError) {
    let scratch = transaction.scratch
    scratch.encoded.removeAll(keepingCapacity: true)
    do { try collection.metadataCoder.encode(metadata, into: &scratch.encoded, state.contexts.metadata) } catch {
      throw unencodable("metadata", key, error)
    }
    try unsafe append(scratch.encoded.span.bytes, key, to: &row)
    row.endMetadata()
  }

  /// Appends what is encoded already.
  func append(_ encoded: RawSpan, _ key: String, to row: inout RowBuilder) throws(DatabaseError) {
    do throws(CompressionError) { try row.append(encoded, collection.compression) } catch {
      throw DatabaseError(.valueTooLong, "\(error)", collection: state.name, key: key, cause: error)
    }
  }

  private func unencodable(_ half: String, _ key: String, _ cause: any Error) -> DatabaseError {
    DatabaseError(
      .encodingFailed, "The \(half) could not be encoded. Nothing was stored; see the cause.",
      path: transaction.database.path, collection: state.name, key: key, cause: cause)
  }

  // MARK: Storing

  /// Which halves of a row a call changes.
  enum Halves {
    case both
    case object
    case metadata

    var aspects: ChangeAspects {
      switch self {
      case .both: [.object, .metadata]
      case .object: .object
      case .metadata: .metadata
      }
    }
  }

  /// Stores a row. `build` appends the metadata, if it has some, and the object; it is given the old row, but for one
  /// that is stored whole. Without `hasMetadata` the row has some if the old one had.
  func store(
    _ key: String, _ halves: Halves, hasMetadata: Bool?, _ build: (inout RowBuilder, RowView?) throws -> Void
  ) throws {
    let transaction = transaction
    try transaction.checkWriting()
    guard key.utf8.count <= Limits.rowKeyByteCount else {
      throw DatabaseError(
        .keyTooLong, "The key has \(key.utf8.count) bytes; at most \(Limits.rowKeyByteCount) are possible.",
        collection: state.name, key: key)
    }
    // Taken out while it is filled: a coder of the app's may come back and store another row.
    var row = RowBuilder()
    swap(&row, &transaction.scratch.row)
    defer { swap(&row, &transaction.scratch.row) }
    do {
      let id = try state.existingOrNewID()
      let existing = try transaction.rowID(id, key)
      if halves == .both {
        row.begin(id, key: key, hasMetadata: hasMetadata ?? false)
        try build(&row, nil)
      } else if let existing {
        let isFound: Bool? = try transaction.withValue(existing.rawValue, in: transaction.database.trees.rows) { bytes in
          try unsafe bytes.withUnsafeBytes { bytes in
            let old = try unsafe RowView(bytes)
            row.begin(id, key: key, hasMetadata: unsafe hasMetadata ?? (old.metadata != nil))
            try build(&row, old)
            return true
          }
        }
        if isFound == nil { throw missingRow(existing, key) }
      } else {
        return
      }
      try transaction.write(row, key, state, existing, halves.aspects)
    } catch let error as StorageError {
      throw DatabaseError(error, collection: state.name, key: key)
    }
  }

  /// Reports a row as changed.
  func touch(_ key: String, _ aspects: ChangeAspects) throws -> Bool {
    try transaction.checkWriting()
    guard let id = state.id, let rowID = try transaction.rowID(id, key) else { return false }
    transaction.noteTouch(state, id, key, rowID, aspects)
    return true
  }
}
