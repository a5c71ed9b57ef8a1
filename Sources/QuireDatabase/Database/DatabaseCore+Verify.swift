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
      try core.table.checkInvariants(csn: csn, count: tx.count(of: core.trees.collections)) { name in
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
  ///    has a number that is still to be given, or is one of a collection whose number is.
  ///
  /// - Parameters:
  ///   - decodesValues: whether each half that is not encrypted is read without its type, too: as what its coder is
  ///     noted to be.
  ///   - step: called every 256 entries of the key index; what it throws ends the look.
  ///   - report: gets what is wrong with one row or collection; if it returns, the others are looked at.
  func verifyRows(
    _ tx: borrowing QuireStorage.ReadTransaction, decodesValues: Bool = false, step: () throws -> Void = {},
    _ report: (DatabaseError) throws -> Void = { throw $0 }
  ) throws {
    let collections = try verifiedCollections(tx)
    let names = collections.mapValues(\.name)
    let rows = RowVerification(
      tree: trees.rows, path: path, collections, try readDictionaries(tx, of: names), decodesValues: decodesValues)
    try rows.run(tx, keys: trees.keys, step: step, report)
    for id in rows.unseen.sorted() { try report(wrong(1, "\(id) has no row", names[id])) }
    let (rowCount, keyCount) = (try tx.count(of: trees.rows), try tx.count(of: trees.keys))
    if rowCount != keyCount { try report(wrong(3, "\(rowCount) rows, but \(keyCount) keys")) }
  }

  /// The dictionaries of these collections. What is stored for others is passed over, unless their numbers are still to
  /// be given: it means nothing.
  private func readDictionaries(
    _ tx: borrowing QuireStorage.ReadTransaction, of names: [CollectionID: String]
  ) throws -> [CollectionID: [UInt32: CompressionDictionary]] {
    guard let tree = tx.tree(named: DictionaryRecord.treeName) else { return [:] }
    var found: [CollectionID: [UInt32: CompressionDictionary]] = [:]
    var records: [CollectionID: DictionaryRecord] = [:]
    let next = try nextCollectionID(tx)
    var cursor = try tx.cursor(tree)
    while try cursor.next() {
      guard let key = try cursor.readKey(), let id = UInt32(bigEndianBytes: key.prefix(CollectionID.byteCount)) else {
        continue
      }
      guard let name = names[CollectionID(id)] else {
        if CollectionID(id) >= next { throw wrong(5, "\(CollectionID(id)) has dictionaries, and is still to be made") }
        continue
      }
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
      let flaw = (records[id] ?? DictionaryRecord()).flaw(beside: found[id] ?? [:])
      if let flaw { throw wrong(5, flaw, name) }
    }
    return found
  }

  private func verifiedCollections(
    _ tx: borrowing QuireStorage.ReadTransaction
  ) throws -> [CollectionID: VerifiedCollection] {
    let limit = try nextCollectionID(tx)
    var found: [CollectionID: VerifiedCollection] = [:]
    var cursor = try tx.cursor(trees.collections)
    while try cursor.next() {
      guard let key = try cursor.readKey(), let value = try cursor.value,
        let name = String(validating: key, as: UTF8.self)
      else { throw wrong(1, "a name is no text") }
      let format = try CollectionFormat(value, name: name)
      guard found.updateValue(VerifiedCollection(name, format), forKey: format.id) == nil, format.id < limit else {
        throw wrong(1, "\(format.id) is out of turn", name)
      }
    }
    return found
  }

  private func nextCollectionID(_ tx: borrowing QuireStorage.ReadTransaction) throws -> CollectionID {
    let next = try tx.value(for: DatabaseTrees.nextCollectionIDKey, in: trees.info) ?? [1, 0, 0, 0]
    guard let next = UInt32(littleEndianBytes: next) else { throw wrong(1, "the next number is none") }
    return CollectionID(next)
  }

  private func wrong(_ number: Int, _ what: String, _ collection: String? = nil) -> DatabaseError {
    .brokenRowRule(number, what, path: path, collection)
  }
}
