// Dictionaries in the trees of a transaction. The format stands in `DictionaryRecord.swift`.

internal import QuireStorage

/// The dictionaries of collections as one transaction sees them.
///
/// A view of the transaction, for as long as that; what it has found stands with the collections.
struct DictionaryCatalog {
  let transaction: TransactionState

  /// The dictionary that a value of the collection names.
  ///
  /// - Throws: `CompressionError` if there is none, or if it is none; `damagedPage`, `inputOutput`.
  func dictionary(_ number: UInt32, _ collection: CollectionState) throws -> CompressionDictionary {
    if let last = collection.dictionaries.last, last.number == number { return last }
    if let own = collection.dictionaries.own(number) { return own }
    let shared = collection.sharedDictionaries
    if let known = shared.known(number) {
      collection.dictionaries.remember(known)
      return known
    }
    guard let id = collection.id, let found = try storedDictionary(number, id) else {
      throw CompressionError.missingDictionary(number)
    }
    shared.remember(found)
    collection.dictionaries.remember(found)
    return found
  }

  private func storedDictionary(_ number: UInt32, _ id: CollectionID) throws -> CompressionDictionary? {
    guard let tree = transaction.tree(named: DictionaryRecord.treeName) else { return nil }
    var cursor = try transaction.cursor(tree)
    guard try cursor.seek(DictionaryRecord.key(id, number)) else { return nil }
    return try cursor.withValue { bytes in try CompressionDictionary(number: number, bytes) }
  }

  /// What is noted about the collection's dictionaries now.
  func newest(_ collection: CollectionState) throws -> NewestDictionary {
    if let newest = collection.dictionaries.newest { return newest }
    let outlook = collection.sharedDictionaries.outlook
    let newest = try outlook.newest ?? storedNewest(collection.isNew ? nil : collection.id)
    collection.dictionaries.begin(isWriting: transaction.isWriting, outlook, newest)
    return newest
  }

  /// What is stored about the dictionaries of a collection.
  private func storedNewest(_ id: CollectionID?) throws -> NewestDictionary {
    guard let id, let tree = transaction.tree(named: DictionaryRecord.treeName) else { return NewestDictionary() }
    let bytes = try transaction.value(DictionaryRecord.key(id, 0), in: tree)
    let record = try bytes.map { try DictionaryRecord($0) } ?? DictionaryRecord()
    // A number that is given again would take a dictionary from the rows that name it.
    if let next = record.nextNumber {
      if try hasEntry(of: id, from: DictionaryRecord.key(id, next), in: tree) { throw DictionaryRecord.damaged() }
    }
    if record.current == 0 { return NewestDictionary(record: record) }
    guard let dictionary = try storedDictionary(record.current, id) else {
      throw CompressionError.missingDictionary(record.current)
    }
    return NewestDictionary(record: record, dictionary: dictionary)
  }

  /// Notes what training has found.
  func storeNewest(
    _ record: DictionaryRecord, _ new: CompressionDictionary?, _ id: CollectionID
  ) throws(StorageError) {
    let known = transaction.tree(named: DictionaryRecord.treeName)
    let tree = if let known { known } else { try transaction.createTree(DictionaryRecord.treeName, .bytes) }
    try transaction.putBytes(DictionaryRecord.key(id, 0), record.bytes, in: tree)
    guard let new else { return }
    try DictionaryRecord.key(id, new.number).withSearchKey { (key) throws(StorageError) in
      try unsafe transaction.put(key, new.bytes, in: tree)
    }
  }

  /// Whether anything is stored about the dictionaries of a collection.
  func haveEntries(of id: CollectionID) throws(DatabaseError) -> Bool {
    guard let tree = transaction.tree(named: DictionaryRecord.treeName) else { return false }
    do { return try hasEntry(of: id, from: id.prefix, in: tree) } catch { throw transaction.wrap(error) }
  }

  /// Whether a collection has an entry at a key or behind it.
  private func hasEntry(of id: CollectionID, from key: [UInt8], in tree: Tree) throws -> Bool {
    var cursor = try transaction.cursor(tree)
    let isThere = try cursor.seek(key)
    return try (isThere || cursor.isOnEntry) && cursor.readKey()?.starts(with: id.prefix) ?? false
  }

  /// Removes all that is stored about the dictionaries of a collection that is gone.
  func removeAll(of id: CollectionID) throws(StorageError) {
    guard let tree = transaction.tree(named: DictionaryRecord.treeName) else { return }
    try transaction.deleteRange(from: id.prefix, to: id.end, in: tree)
  }
}

extension TransactionState {
  /// The dictionaries of collections.
  var dictionaries: DictionaryCatalog { DictionaryCatalog(transaction: self) }

  // MARK: Decoding

  /// Calls `body` with the value that `stored` is the stored form of.
  @inline(__always)
  func withDecoded<Result>(
    _ stored: UnsafeRawBufferPointer, _ collection: CollectionState,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    try unsafe ValueCompression.withDecoded(
      stored.bytes, scratch.room, dictionary: { try dictionaries.dictionary($0, collection) }, body)
  }
}

extension OpenedCollection {
  /// Whether `append` would store `value` in the way in which `stored`, its stored form, does. Compresses it if it has
  /// to.
  func isStoredAsNow(_ stored: RawSpan, _ value: RawSpan, _ compression: Compression) throws -> Bool {
    guard case .dictionary(let above) = compression, value.byteCount > above,
      value.byteCount <= Limits.dictionaryValueByteCount,
      let dictionary = try transaction.dictionaries.newest(state).dictionary
    else { return try ValueCompression.isStoredAsNow(stored, value, compression) }
    let header = try StoredHeader(stored)
    if header.dictionary == dictionary.number { return true }
    var buffer: [UInt8] = []
    let isSmaller = ValueCompression.encode(value, dictionary, transaction.scratch.stream, appendingTo: &buffer)
    return !isSmaller && header.decodedByteCount == nil
  }

  /// Appends a value in its stored form where a dictionary may be used for it.
  @inline(never)
  func append(_ value: RawSpan, above: Int, to row: inout RowBuilder) throws {
    let (state, byteCount) = (state, value.byteCount)
    let newest = try transaction.dictionaries.newest(state)
    state.dictionaries.attempts.candidateCount += 1
    if state.dictionaries.attempts.candidateCount >= DictionaryTraining.leastCandidateCount {
      state.trainingIsDue = above
    }
    let dictionary = byteCount <= Limits.dictionaryValueByteCount ? newest.dictionary : nil
    guard dictionary != nil || Compression.dictionary(above: above).compresses(byteCount),
      state.dictionaries.triesAll || state.dictionaries.attempts.isNextTried()
    else { return try row.append(value, .none) }
    let isSmaller =
      if let dictionary {
        row.append(value, dictionary, transaction.scratch.stream)
      } else {
        row.append(compressing: value)
      }
    state.dictionaries.attempts.note(success: isSmaller)
    if !isSmaller { try row.append(value, .none) }
  }
}
