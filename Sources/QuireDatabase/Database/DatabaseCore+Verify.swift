// Checking that row tree, key index and collection tree say the same.

internal import QuireStorage

extension Database {
  /// Throws if an invariant of the object layer is broken, in memory or in the newest snapshot's rows. O(rows).
  package func checkInvariants() throws {
    try core.history.checkInvariants()
    try core.memory.checkInvariants()
    try core.observers.checkInvariants()
    try core.objectCache?.checkInvariants()
    try core.storage.read { tx in
      let csn = tx.csn
      try core.table.checkInvariants(csn: csn) { name in
        let stored = core.aliases.storedName(name) ?? name
        return try tx.value(for: [UInt8](stored.utf8), in: core.trees.collections).map { bytes throws(DatabaseError) in
          try CollectionFormat(bytes, name: name)
        }
      }
      try core.verifyObjects(tx)
    }
  }
}

extension DatabaseCore {
  /// Throws at the first thing that is wrong with a snapshot above the engine. O(rows).
  func verifyObjects(_ tx: borrowing QuireStorage.ReadTransaction) throws {
    try verifyRows(tx)
    try verifyExtensions(tx)
    try verifyFeeds(tx)
  }

  /// Throws at the first thing that is wrong with the rows of a snapshot. O(rows), and a page per level for each.
  ///
  /// What holds of every snapshot:
  /// 1. Every collection has a number of its own, below the next one, and at least one row.
  /// 2. Every entry of the key index belongs to a collection, and leads to a row of this collection and key.
  /// 3. There are as many rows as entries of the key index: with 2, every row has its entry.
  /// 4. Every half of a row decompresses, with the dictionary that it names, or is encrypted.
  /// 5. What is noted about a collection's dictionaries can be read, names one that is there or none, and no dictionary
  ///    has a number that is still to be given.
  func verifyRows(_ tx: borrowing QuireStorage.ReadTransaction) throws {
    let names = try collectionNames(tx)
    let dictionaries = try readDictionaries(tx, of: names)
    var unused = Set(names.keys)
    var cursor = try tx.cursor(trees.keys)
    while try cursor.next() {
      guard let key = try cursor.readKey(), let value = try cursor.value else { throw wrong(2, "an entry has gone") }
      guard let number = UInt32(bigEndianBytes: key.prefix(CollectionID.byteCount)),
        let rowID = Int64(littleEndianBytes: value)
      else { throw wrong(2, "an entry is too short") }
      guard RowID(stored: rowID) != nil else { throw wrong(2, "an entry says \(rowID), which is no row's number") }
      let id = CollectionID(number)
      guard let name = names[id] else { throw wrong(2, "\(id) has entries and no name") }
      unused.remove(id)
      let found: Void? = try tx.withValue(for: rowID, in: trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes in
          try verify(unsafe RowView(bytes), id, key.dropFirst(CollectionID.byteCount), name, dictionaries[id] ?? [:])
        }
      }
      if found == nil { throw wrong(2, "row \(rowID) is missing", name) }
    }
    if let id = unused.min() { throw wrong(1, "\(id) has no row", names[id]) }
    let (rows, keys) = (try tx.count(of: trees.rows), try tx.count(of: trees.keys))
    if rows != keys { throw wrong(3, "\(rows) rows, but \(keys) keys") }
  }

  private func verify(
    _ row: RowView, _ id: CollectionID, _ key: ArraySlice<UInt8>, _ name: String,
    _ dictionaries: [UInt32: CompressionDictionary]
  ) throws {
    guard row.collection == id, unsafe row.key.elementsEqual(key) else {
      throw wrong(2, "the entry leads to a row of \(row.collection) and another key", name)
    }
    do {
      func decode(_ half: UnsafeRawBufferPointer) throws {
        // Whether it decrypts is for who has the key to see.
        if unsafe SealedHeader.isSealed(half) {
          _ = try unsafe SealedHeader(half)
          return
        }
        _ = try unsafe ValueCompression.decode(half.bytes) { number in
          guard let dictionary = dictionaries[number] else { throw CompressionError.missingDictionary(number) }
          return dictionary
        }
      }
      try unsafe decode(row.object)
      if let metadata = unsafe row.metadata { try unsafe decode(metadata) }
    } catch {
      throw wrong(4, "\(error)", name)
    }
  }

  /// The dictionaries of these collections. What is stored for others is passed over: it means nothing.
  private func readDictionaries(
    _ tx: borrowing QuireStorage.ReadTransaction, of names: [CollectionID: String]
  ) throws -> [CollectionID: [UInt32: CompressionDictionary]] {
    guard let tree = tx.tree(named: DictionaryRecord.treeName) else { return [:] }
    var found: [CollectionID: [UInt32: CompressionDictionary]] = [:]
    var records: [CollectionID: DictionaryRecord] = [:]
    var cursor = try tx.cursor(tree)
    while try cursor.next() {
      guard let key = try cursor.readKey(), let id = UInt32(bigEndianBytes: key.prefix(CollectionID.byteCount)),
        let name = names[CollectionID(id)]
      else { continue }
      guard let number = UInt32(bigEndianBytes: key.dropFirst(CollectionID.byteCount)) else {
        throw wrong(5, "an entry of \(key.count) bytes in its key is no dictionary", name)
      }
      do {
        if number == 0 {
          records[CollectionID(id)] = try DictionaryRecord(try cursor.value ?? [])
        } else {
          let dictionary = try cursor.withValue { bytes in try CompressionDictionary(number: number, bytes) }
          found[CollectionID(id), default: [:]][number] = dictionary
        }
      } catch let error as CompressionError {
        throw wrong(4, "\(error)", name)
      } catch let error as DatabaseError {
        throw wrong(5, error.message, name)
      }
    }
    for (id, name) in names {
      try verify(records[id] ?? DictionaryRecord(), found[id] ?? [:], name)
    }
    return found
  }

  private func verify(
    _ record: DictionaryRecord, _ dictionaries: [UInt32: CompressionDictionary], _ name: String
  ) throws {
    if record.current != 0, dictionaries[record.current] == nil {
      throw wrong(5, "dictionary \(record.current) is missing", name)
    }
    if let last = dictionaries.keys.max(), last > record.lastNumber {
      throw wrong(5, "dictionary \(last) is there, and \(record.lastNumber) was given last", name)
    }
  }

  private func collectionNames(_ tx: borrowing QuireStorage.ReadTransaction) throws -> [CollectionID: String] {
    let next = try tx.value(for: DatabaseTrees.nextCollectionIDKey, in: trees.info) ?? [1, 0, 0, 0]
    guard let next = UInt32(littleEndianBytes: next) else { throw wrong(1, "the next number is none") }
    let limit = CollectionID(next)
    var names: [CollectionID: String] = [:]
    var cursor = try tx.cursor(trees.collections)
    while try cursor.next() {
      guard let key = try cursor.readKey(), let value = try cursor.value,
        let name = String(validating: key, as: UTF8.self)
      else { throw wrong(1, "a name is no text") }
      let id = try CollectionFormat(value, name: name).id
      guard names.updateValue(name, forKey: id) == nil, id < limit else { throw wrong(1, "\(id) is out of turn", name) }
    }
    return names
  }

  private func wrong(_ number: Int, _ what: String, _ collection: String? = nil) -> DatabaseError {
    DatabaseError(
      .damagedRow, "Rule \(number) of the rows is broken: \(what). Restore the database from a backup.", path: path,
      collection: collection)
  }
}
