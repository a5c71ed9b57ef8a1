// Dictionaries, and values that name them, from a file that anybody may have written.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite struct DictionaryDamageTests {
  private static let dictionary = Array("the quick brown fox jumps over the lazy dog, and so does the next one".utf8)
  private static let value = Array("the lazy dog jumps over the quick brown fox, and so does the next one too".utf8)

  struct NoTree: Error {}

  /// The files of a closed database of 1,500 notes with a dictionary.
  private static let files = Result { () throws -> [(name: String, data: Data)] in
    let folder = try TestFolder()
    let db = try folder.open()
    try db.storeNotes(0..<1_500)
    try db.close()
    return try FileManager.default.contentsOfDirectory(atPath: folder.url.path).map { name in
      (name: name, data: try Data(contentsOf: folder.url.appendingPathComponent(name)))
    }
  }

  /// A database of 1,500 notes with a dictionary, whose trees `change` has changed below the object layer.
  private func forged(
    _ folder: TestFolder,
    _ change: (borrowing QuireStorage.WriteTransaction, _ dictionaries: Tree, _ rows: Tree) throws -> Void
  ) throws -> Database {
    for (name, data) in try Self.files.get() { try data.write(to: folder.url.appendingPathComponent(name)) }
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      let (dictionaries, rows) = (tx.tree(named: "quire.dictionaries"), tx.tree(named: "quire.rows"))
      guard let dictionaries, let rows else { throw NoTree() }
      try change(tx, dictionaries, rows)
    }
    try engine.close()
    return try folder.open()
  }

  /// The record's key is a collection and 0, a dictionary's a collection and its number.
  private static func key(_ number: UInt8) -> [UInt8] { [0, 0, 0, 1, 0, 0, 0, number] }

  /// The code of the error of reading the last row, which names the dictionary.
  private func readCode(_ db: Database) -> DatabaseError.Code? {
    errorCode { try db.read { tx throws in _ = try tx[.notes].get("n1499") } }
  }

  // MARK: What is stored of dictionaries

  @Test func aMissingDictionaryIsAnErrorWithItsRow() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in
      let isDeleted = try tx.delete(Self.key(1), in: dictionaries)
      #expect(isDeleted)
    }
    do {
      try db.read { tx throws in _ = try tx[.notes].get("n1499") }
      Issue.record("the row was read without its dictionary")
    } catch let error as DatabaseError {
      #expect(error.collection == "notes" && error.key == "n1499")
      #expect("\(error)".contains("dictionary 1"))
    }
    #expect(errorCode { try db.verify() } == .damagedRow)
    // Rows that do not name it are there, and nothing new is stored with what is not.
    #expect(try db.read { tx throws in try tx[.notes].get("n0") } != nil)
    #expect(errorCode { try db.storeNotes(2_000..<2_001) } != nil)
    #expect(try db.read { tx throws in try tx[.notes].get("n2000") } == nil)
    try db.close()
  }

  @Test(arguments: [0, 65_537, 1 << 20]) func aDictionaryOfAFalseLengthIsRefused(byteCount: Int) throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in
      try tx.put([UInt8](repeating: 7, count: byteCount), for: Self.key(1), in: dictionaries)
    }
    #expect(readCode(db) == .decodingFailed)
    #expect(errorCode { try db.verify() } == .damagedRow)
    try db.close()
  }

  @Test(arguments: [1, 3, 16_384, 65_536]) func anotherDictionaryGivesAnErrorOrAnotherValue(byteCount: Int) throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in
      try tx.put([UInt8](repeating: 7, count: byteCount), for: Self.key(1), in: dictionaries)
    }
    // Pages are checksummed, so that this is somebody's work; it may be told or not, but must end.
    _ = readCode(db)
    try? db.verify()
    try db.close()
  }

  @Test(arguments: [
    [], [1], [UInt8](repeating: 0xff, count: 16), [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], [UInt8](repeating: 0, count: 17),
  ])
  func aForgedRecordIsRefusedByWhoNeedsIt(record: [UInt8]) throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in try tx.put(record, for: Self.key(0), in: dictionaries) }
    #expect(errorCode { try db.storeNotes(2_000..<2_001) } == .damagedRow)
    #expect(errorCode { try db.verify() } == .damagedRow)
    #expect(readCode(db) == nil)
    try db.close()
  }

  /// Records that would give the number of a dictionary again, and none at all.
  @Test(arguments: [[UInt8](repeating: 0, count: 16), nil])
  func noNumberOfADictionaryIsGivenAgain(record: [UInt8]?) throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in
      if let record {
        try tx.put(record, for: Self.key(0), in: dictionaries)
      } else {
        _ = try tx.delete(Self.key(0), in: dictionaries)
      }
    }
    #expect(errorCode { try db.verify() } == .damagedRow)
    #expect(errorCode { try db.storeNotes(2_000..<4_000) } == .damagedRow)
    #expect(readCode(db) == nil)
    try db.close()
  }

  @Test func entriesOfCollectionsThatAreGoneMeanNothing() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in
      guard let info = tx.tree(named: "quire.info") else { throw NoTree() }
      try tx.put([100, 0, 0, 0], for: Array("nextCollectionID".utf8), in: info)
      try tx.put([1, 2, 3], for: [0, 0, 0, 99, 0, 0, 0, 1], in: dictionaries)
      try tx.put([1, 2, 3], for: [7], in: dictionaries)
    }
    try db.verify()
    #expect(readCode(db) == nil)
    try db.write { tx throws in try tx[.blobs].set([1, 2, 3], for: "blob") }
    try db.verify()
    try db.close()
  }

  /// The next collection would take the dictionaries for its own.
  @Test(arguments: [[0, 0, 0, 2, 0, 0, 0, 1], [0, 0, 0, 2, 0, 0, 0, 0], [0, 0, 0, 2, 9]] as [[UInt8]])
  func entriesOfTheNextCollectionAreFound(key: [UInt8]) throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in try tx.put([1, 2, 3], for: key, in: dictionaries) }
    let error = #expect(throws: DatabaseError.self) { try db.verify() }
    #expect(error?.code == .damagedRow && error?.message.contains("still to be made") == true)
    #expect(errorCode { try db.write { tx throws in try tx[.blobs].set([1, 2, 3], for: "blob") } } == .damagedRow)
    // What is there is read and written as before, and after reopening.
    #expect(readCode(db) == nil)
    try db.storeNotes(2_000..<2_001)
    try db.close()
    let again = try folder.open()
    #expect(readCode(again) == nil)
    #expect(try again.read { tx throws in try tx[.notes].get("n2000") } != nil)
    #expect(errorCode { try again.write { tx throws in try tx[.blobs].set([1, 2, 3], for: "blob") } } == .damagedRow)
    try again.close()
  }

  @Test func manyNumbersAreReadWithoutBeingKept() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, rows in
      // Every row names a dictionary of its own, that is not there.
      for row in 1_100..<1_500 as Range<Int64> {
        guard var bytes = try tx.value(for: row, in: rows) else { continue }
        // Header, length of the metadata, key, metadata; then the object.
        let start = 11 + Int(bytes[5]) + Int(bytes[7])
        bytes.replaceSubrange(start..., with: [2, UInt8(row % 100) + 2, 5, 0])
        try tx.put(bytes, for: row, in: rows)
      }
    }
    var failures = 0
    for index in 1_100..<1_500
    where errorCode({ try db.read { tx throws in _ = try tx[.notes].get("n\(index)") } }) != nil {
      failures += 1
    }
    #expect(failures > 390)
    try db.close()
  }

  // MARK: Values

  private func decode(_ stored: [UInt8], _ dictionary: [UInt8] = dictionary) throws -> [UInt8] {
    let dictionary = try CompressionDictionary(number: 3, dictionary.span.bytes)
    return try ValueCompression.decode(stored.span.bytes) { number in
      guard number == 3 else { throw CompressionError.missingDictionary(number) }
      return dictionary
    }
  }

  @Test func anEntryThatIsNoDictionaryIsFound() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, dictionaries, _ throws in
      try tx.put([1, 2, 3], for: Self.key(7) + [9], in: dictionaries)
    }
    // A number that was given would be taken for a free one.
    #expect(errorCode { try db.verify() } == .damagedRow)
    #expect(errorCode { try db.storeNotes(2_000..<2_001) } == .damagedRow)
    #expect(try db.read { tx throws in try tx[.notes].get("n1499") } != nil)
  }

  /// A value that is a copy of the dictionary's first 20 bytes and five bytes of its own, by hand: 2 for the way, 3 for
  /// the number, 25 for the length; a match of 20 bytes at the distance of the whole dictionary, then five literals.
  @Test func layout() throws {
    let distance = Self.dictionary.count
    let stored: [UInt8] = [2, 3, 25, 0x0f, UInt8(distance), 0, 1, 0x50] + Array("12345".utf8)
    #expect(try decode(stored) == Array(Self.dictionary.prefix(20)) + Array("12345".utf8))
    // In front of the dictionary there is nothing.
    #expect(throws: CompressionError.malformedBlock) {
      try decode([2, 3, 25, 0x0f, UInt8(distance + 1), 0, 1, 0x50] + Array("12345".utf8))
    }
    #expect(throws: CompressionError.missingDictionary(4)) { try decode([2, 4] + stored[2...]) }
    #expect(throws: CompressionError.malformedLength) { try decode([2, 0] + stored[2...]) }
    #expect(throws: CompressionError.malformedLength) { try decode([2, 0x80, 0x80, 0x80, 0x80, 0x10] + stored[2...]) }
    #expect(throws: CompressionError.malformedLength) { try decode([2, 3, 0] + stored[3...]) }
    #expect(throws: CompressionError.malformedBlock) { try decode([2, 3, 26] + stored[3...]) }
    // More than a value with a dictionary may have: nothing is allocated for it.
    #expect(throws: CompressionError.implausibleLength(declared: 32_769, compressed: 10)) {
      try decode([2, 3, 0x81, 0x80, 0x02] + stored[3...])
    }
    for count in 0..<stored.count {
      #expect(throws: CompressionError.self) { try decode(Array(stored.prefix(count))) }
    }
  }

  @Test(arguments: TestSize.some(1...4 as ClosedRange<UInt64>, of: 2)) func corruptionsNeverTrap(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let folder = try TestFolder()
    let db = try folder.open()
    try db.storeNotes(0..<1_500)
    try db.close()
    let engine = try StorageEngine(at: folder.path, options: StorageOptions(isReadOnly: true))
    let (dictionary, row) = try engine.read { tx in
      let (dictionaries, rows) = (tx.tree(named: "quire.dictionaries"), tx.tree(named: "quire.rows"))
      guard let dictionaries, let rows else { throw NoTree() }
      let dictionary = try #require(try tx.value(for: Self.key(1), in: dictionaries))
      return (dictionary, try #require(try tx.value(for: 1_500 as Int64, in: rows)))
    }
    try engine.close()
    // The way of storing and the number of the dictionary, in front of the object.
    let start = try #require(row.indices.dropLast(20).last { row[$0] == 2 && row[$0 + 1] == 1 })
    let made = try CompressionDictionary(number: 1, dictionary.span.bytes)
    let room = DecodingRoom()
    var (good, bad) = (0, 0)
    for _ in 0..<TestSize.trials(4_000, divisor: 2) {
      var stored = Array(row[start...])
      for _ in 0...random.below(3) { stored[random.below(stored.count)] = UInt8(truncatingIfNeeded: random.next()) }
      if random.below(4) == 0 { stored.removeLast(random.below(stored.count)) }
      do {
        let value = try ValueCompression.decode(stored.span.bytes) { number in
          guard number == 1 else { throw CompressionError.missingDictionary(number) }
          return made
        }
        // Both ways of decoding agree.
        let lent = try ValueCompression.withDecoded(stored.span.bytes, room, dictionary: { _ in made }) { Array($0) }
        #expect(lent == value)
        good += 1
      } catch is CompressionError {
        bad += 1
      }
    }
    #expect(good > 0 && bad > 0)
  }
}
