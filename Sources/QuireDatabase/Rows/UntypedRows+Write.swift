// Encoding rows and handing them to the transaction.

internal import QuireStorage

extension UntypedRows {
  // MARK: Encoding

  /// Encodes the object at `object` and appends it to the row: or `encoded`, if that is there.
  func append(
    object: UnsafeRawPointer, _ encoded: [UInt8]?, _ key: String, to row: inout RowBuilder
  ) throws(DatabaseError) {
    if let encoded {
      return try unsafe opened.append(encoded.span.bytes, .object, key, compression, protections, to: &row)
    }
    try opened.encodeObject(key, compression, protections, to: &row) { bytes, context in
      try withDescription { try unsafe $0.objectCoder.encode(object, into: &bytes, context, key) }
    }
  }

  /// Encodes the metadata at `metadata` and appends them to the row: or `encoded`, if that is there.
  func append(
    metadata: UnsafeRawPointer, _ encoded: [UInt8]?, _ key: String, to row: inout RowBuilder
  ) throws(DatabaseError) {
    if let encoded {
      try unsafe opened.append(encoded.span.bytes, .metadata, key, compression, protections, to: &row)
      return row.endMetadata()
    }
    try opened.encodeMetadata(key, compression, protections, to: &row) { bytes, context in
      try withDescription { try unsafe $0.metadataCoder.encode(metadata, into: &bytes, context, key) }
    }
  }

  // MARK: Storing

  /// What hooks are shown of the values at these places.
  private func boxed(object: UnsafeRawPointer?, metadata: UnsafeRawPointer??) -> RowContent {
    withDescription { description in
      .given(
        object: unsafe object.map { unsafe description.object.boxed($0) },
        metadata: unsafe metadata.map { unsafe $0.map { unsafe description.metadata.boxed($0) } })
    }
  }

  /// Stores a row whole, in the place of what was there, once it was put into shape.
  @usableFromInline func set(_ key: String, _ object: UnsafeRawPointer, _ metadata: UnsafeRawPointer?) throws {
    try unsafe set(key, object, nil, metadata, nil)
  }

  /// The same with the encoded bytes of values, if they are given; of what is put into shape they are passed over.
  @inline(__always)
  func set(
    _ key: String, _ object: UnsafeRawPointer, _ encoded: [UInt8]?, _ metadata: UnsafeRawPointer?,
    _ encodedMetadata: [UInt8]?
  ) throws {
    if isSanitized { return try unsafe setSanitized(key, object, encoded, metadata, encodedMetadata) }
    _ = try unsafe store(key, object, encoded, metadata, encodedMetadata)
  }

  @inline(never)
  private func setSanitized(
    _ key: String, _ object: UnsafeRawPointer, _ encoded: [UInt8]?, _ metadata: UnsafeRawPointer?,
    _ encodedMetadata: [UInt8]?
  ) throws {
    try opened.check()
    guard let sanitizers = withDescription({ $0.collection.sanitizers }) else { return }
    let isStored: Void? = try unsafe withSanitized(object, key, sanitizers) { (object) throws in
      try unsafe withSanitized(metadata: metadata, key, sanitizers) { (metadata) throws in
        _ = try unsafe store(
          key, object, sanitizers.hasObject ? nil : encoded, metadata, sanitizers.hasMetadata ? nil : encodedMetadata)
      }
      try unsafe sanitizers.didStore(object, key)
    }
    if isStored == nil { _ = try remove(key) }
  }

  func store(
    _ key: String, _ object: UnsafeRawPointer, _ encoded: [UInt8]?, _ metadata: UnsafeRawPointer?,
    _ encodedMetadata: [UInt8]?, replaces: Bool = true
  ) throws -> Bool {
    try opened.store(
      key, hasMetadata: unsafe metadata != nil, replaces: replaces,
      unsafe boxed(object: object, metadata: .some(metadata))
    ) { row in
      if let metadata = unsafe metadata { try unsafe append(metadata: metadata, encodedMetadata, key, to: &row) }
      try unsafe append(object: object, encoded, key, to: &row)
    }
  }

  /// Stores an object in the place of the one under `key`, once it was put into shape, and returns whether there is
  /// such a row. Bytes are those of the object, and passed over where it is put into shape.
  func replace(_ key: String, _ object: UnsafeRawPointer, _ encoded: [UInt8]? = nil) throws -> Bool {
    guard try opened.rowID(key) != nil else { return false }
    func store(_ object: UnsafeRawPointer, _ encoded: [UInt8]?) throws -> Bool {
      try opened.replace(.object, key, unsafe boxed(object: object, metadata: nil)) { row in
        try unsafe append(object: object, encoded, key, to: &row)
      }
    }
    guard let sanitizers = withDescription({ $0.collection.sanitizers }) else {
      return try unsafe store(object, encoded)
    }
    let isStored = try unsafe withSanitized(object, key, sanitizers) { (object) throws in
      let isStored = try unsafe store(object, sanitizers.hasObject ? nil : encoded)
      if isStored { try unsafe sanitizers.didStore(object, key) }
      return isStored
    }
    if let isStored { return isStored }
    _ = try remove(key)
    return true
  }

  /// Stores metadata with the row under `key`, once they were put into shape, or takes them away, and returns whether
  /// there is such a row. Bytes are as in `replace`.
  func replaceMetadata(_ key: String, _ metadata: UnsafeRawPointer?, _ encoded: [UInt8]?) throws -> Bool {
    guard try opened.rowID(key) != nil else { return false }
    let sanitizers = withDescription { $0.collection.sanitizers }
    return try unsafe withSanitized(metadata: metadata, key, sanitizers) { (metadata) throws in
      try opened.replace(.metadata, key, unsafe boxed(object: nil, metadata: .some(metadata))) { row in
        guard let metadata = unsafe metadata else { return }
        try unsafe append(metadata: metadata, sanitizers?.hasMetadata == true ? nil : encoded, key, to: &row)
      }
    }
  }

  /// Removes the row under `key`, and returns whether there was one.
  func remove(_ key: String) throws -> Bool {
    try opened.checkWriting()
    return try RowRemoval(transaction).removeRow(opened.state, key)
  }

  /// Calls `body` with what is to be stored of an object, and returns what that returns; nil if the row is to go.
  private func withSanitized<Result>(
    _ object: UnsafeRawPointer, _ key: String, _ sanitizers: UntypedSanitizers,
    _ body: (UnsafeRawPointer) throws -> Result
  ) throws -> Result? {
    guard sanitizers.hasObject else { return try unsafe body(object) }
    return try unsafe withRoom { (room, _) throws in
      guard try unsafe sanitizers.sanitize(object: object, key, into: room) else { return nil }
      defer { unsafe destroyObject(room) }
      return try unsafe body(UnsafeRawPointer(room))
    }
  }

  /// Calls `body` with what is to be stored of metadata, if there are some, and returns what that returns.
  private func withSanitized<Result>(
    metadata: UnsafeRawPointer?, _ key: String, _ sanitizers: UntypedSanitizers?,
    _ body: (UnsafeRawPointer?) throws -> Result
  ) throws -> Result {
    guard let metadata = unsafe metadata, let sanitizers, sanitizers.hasMetadata else {
      return try unsafe body(metadata)
    }
    return try unsafe withRoom { (_, room) throws in
      guard try unsafe sanitizers.sanitize(metadata: metadata, key, into: room) else { return try body(nil) }
      defer { withDescription { unsafe $0.metadata.destroy(room) } }
      return try unsafe body(UnsafeRawPointer(room))
    }
  }

  /// Calls `body` with the place of a copy of the object under `key`, and returns what that returns; nil if there is
  /// no such row.
  func withCopy<Result>(_ key: String, _ body: (UnsafeMutableRawPointer) throws -> Result) throws -> Result? {
    // Of a transaction that is over there is no room.
    try opened.check()
    return try unsafe withRoom { (room, _) throws in
      var isThere = false
      do {
        try unsafe opened.withObject(key, protections, { _ in }) { bytes, context in
          assert(!isThere, "a value is decoded over another one")
          try unsafe decodeObject(bytes, context, key, into: room)
          isThere = true
        }
      } catch {
        if isThere { unsafe destroyObject(room) }
        throw error
      }
      guard isThere else { return nil }
      defer { unsafe destroyObject(room) }
      return try unsafe body(room)
    }
  }
}

extension OpenedCollection {
  /// Has `body` encode an object, and appends it to the row.
  func encodeObject(
    _ key: String, _ compression: Compression, _ protections: RowProtections, to row: inout RowBuilder,
    _ body: (inout [UInt8], RowCodingContext) throws -> Void
  ) throws(DatabaseError) {
    try encode(.object, key, compression, protections, to: &row, state.contexts.object, body)
  }

  /// Has `body` encode metadata, and appends them to the row.
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

  func unencodable(_ half: String, _ key: String, _ cause: any Error) -> DatabaseError {
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
  /// are shown `content`. A row that is there stays unless it is to be replaced. Returns whether the row was stored.
  func store(
    _ key: String, hasMetadata: Bool, replaces: Bool = true, _ content: @autoclosure () -> RowContent,
    _ build: (inout RowBuilder) throws -> Void
  ) throws -> Bool {
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
        if !replaces, try rowID(key) != nil { return false }
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
        stored = try insertOrReplace(row, key, replaces: replaces)
      }
      if !stored.isNew, !replaces { return false }
      try transaction.session()?.did(stored.isNew ? .insert : .update, stored.rowID, key, state, content())
      if let above = state.trainingIsDue { try DictionaryTrainer(transaction).trainIfDue(state, above: above) }
      return true
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
      if let above = state.trainingIsDue { try DictionaryTrainer(transaction).trainIfDue(state, above: above) }
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
