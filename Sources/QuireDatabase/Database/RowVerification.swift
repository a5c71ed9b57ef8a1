// Holding the entries of the key index against the rows that they lead to.

internal import QuireStorage

/// One look at all rows by their keys, for rules 2 and 4 of `DatabaseCore.verifyRows`. For one thread.
final class RowVerification {
  private let tree: Tree
  private let path: String
  private let collections: [CollectionID: VerifiedCollection]
  private let dictionaries: [CollectionID: [UInt32: CompressionDictionary]]
  private let decodesValues: Bool
  private let room = DecodingRoom()
  /// The collections of which no entry was seen.
  private(set) var unseen: Set<CollectionID>
  /// That of the last entry: those of one collection stand together.
  private var current: VerifiedCollection?
  private var currentDictionaries: [UInt32: CompressionDictionary] = [:]

  /// - Parameter tree: that of the rows.
  init(
    tree: Tree, path: String, _ collections: [CollectionID: VerifiedCollection],
    _ dictionaries: [CollectionID: [UInt32: CompressionDictionary]], decodesValues: Bool
  ) {
    (self.tree, self.path, self.collections, self.dictionaries) = (tree, path, collections, dictionaries)
    self.decodesValues = decodesValues
    unseen = Set(collections.keys)
  }

  /// Looks at each entry of the key index; `step` is called every 256 entries, `report` with what is wrong with one.
  func run(
    _ tx: borrowing QuireStorage.ReadTransaction, keys: Tree, step: () throws -> Void,
    _ report: (DatabaseError) throws -> Void
  ) throws {
    var cursor = try tx.cursor(keys)
    var steps = SearchSteps()
    try cursor.forEach { key, value in
      try steps.count(step)
      do { try unsafe key.withUnsafeBytes { unsafe try look($0, value, tx) } } catch let error as DatabaseError {
        try report(error)
      }
      return true
    }
  }

  private func look(
    _ entry: UnsafeRawBufferPointer, _ value: RawSpan, _ tx: borrowing QuireStorage.ReadTransaction
  ) throws {
    guard entry.count >= CollectionID.byteCount, value.byteCount == MemoryLayout<Int64>.size else {
      throw wrong(2, "an entry is too short")
    }
    let number = unsafe UInt32(bigEndian: entry.loadUnaligned(as: UInt32.self))
    let rowID = unsafe Int64(littleEndian: value.unsafeLoadUnaligned(as: Int64.self))
    guard RowID(stored: rowID) != nil else { throw wrong(2, "an entry says \(rowID), which is no row's number") }
    let collection = try collection(CollectionID(number))
    let key = unsafe UnsafeRawBufferPointer(rebasing: entry[CollectionID.byteCount...])
    let found: Void? = try tx.withValue(for: rowID, in: tree) { bytes in
      try unsafe bytes.withUnsafeBytes { try unsafe look(RowView($0), key, collection) }
    }
    if found == nil { throw unsafe wrong(2, "row \(rowID) is missing", collection.name, key) }
  }

  private func collection(_ id: CollectionID) throws(DatabaseError) -> VerifiedCollection {
    if let current, current.id == id { return current }
    guard let collection = collections[id] else { throw wrong(2, "\(id) has entries and no name") }
    unseen.remove(id)
    (current, currentDictionaries) = (collection, dictionaries[id] ?? [:])
    return collection
  }

  private func look(_ row: RowView, _ key: UnsafeRawBufferPointer, _ collection: VerifiedCollection) throws {
    guard row.collection == collection.id, unsafe row.key.hasSameBytes(as: key) else {
      throw unsafe wrong(2, "the entry leads to a row of \(row.collection) and another key", collection.name, key)
    }
    try unsafe look(row.object, collection.coders.object, collection.object, key, collection.name)
    if let metadata = unsafe row.metadata {
      try unsafe look(metadata, collection.coders.metadata, collection.metadata, key, collection.name)
    }
  }

  private func look(
    _ half: UnsafeRawBufferPointer, _ coder: StoredCoder, _ context: RowCodingContext, _ key: UnsafeRawBufferPointer,
    _ name: String
  ) throws {
    var isDecompressed = false
    do {
      _ = try unsafe StoredHalf.decompress(half, room, dictionary: dictionary) { bytes in
        isDecompressed = true
        if decodesValues { try unsafe StoredHalf.check(bytes, coder, context) }
      }
    } catch {
      if !isDecompressed { throw unsafe wrong(4, "\(error)", name, key) }
      throw DatabaseError(
        .damagedRow,
        """
        A row does not decode as \(coder.description), which the file notes of its collection. Store it again, or \
        restore the database from a backup.
        """, path: path, collection: name, key: unsafe String(decoding: key, as: UTF8.self), cause: error)
    }
  }

  private func dictionary(_ number: UInt32) throws -> CompressionDictionary {
    guard let found = currentDictionaries[number] else { throw CompressionError.missingDictionary(number) }
    return found
  }

  private func wrong(_ number: Int, _ what: String) -> DatabaseError {
    .brokenRowRule(number, what, path: path, nil)
  }

  private func wrong(
    _ number: Int, _ what: String, _ collection: String, _ key: UnsafeRawBufferPointer
  ) -> DatabaseError {
    .brokenRowRule(number, what, path: path, collection, key: unsafe String(decoding: key, as: UTF8.self))
  }
}

/// Counts the entries that a search has looked at.
struct SearchSteps {
  /// How many entries there are between two calls.
  static let entryCount = 256
  private var count = 0

  /// Counts an entry; calls `step` where enough were counted.
  mutating func count(_ step: () throws -> Void) rethrows {
    count += 1
    if count % Self.entryCount == 0 { try step() }
  }
}

extension DatabaseError {
  /// A rule of the rows is broken: one of those that `DatabaseCore.verifyRows` lists.
  static func brokenRowRule(
    _ number: Int, _ what: String, path: String, _ collection: String?, key: String? = nil
  ) -> DatabaseError {
    DatabaseError(
      .damagedRow, "Rule \(number) of the rows is broken: \(what). \(StorageError.restoring)", path: path,
      collection: collection, key: key)
  }
}

/// A collection whose rows are verified: what has written them, and what it takes to read them.
final class VerifiedCollection {
  let id: CollectionID
  let name: String
  let coders: StoredCoders
  let object: RowCodingContext
  let metadata: RowCodingContext

  init(_ name: String, _ format: CollectionFormat) {
    id = format.id
    self.name = name
    coders = format.coders
    object = RowCodingContext(schema: format.objectSchema, of: name)
    metadata = RowCodingContext(schema: format.metadataSchema, of: name)
  }
}
