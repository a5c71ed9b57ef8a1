// What the database notes about the dictionaries of a collection.
//
// The tree `quire.dictionaries`, numbers in keys big-endian and in values little-endian:
//
//     collection id (4), 0 (4)        the record: the last number that was given (4), the number of the dictionary for
//                                     new values, or 0 (4), how many rows there were when one was trained last (8)
//     collection id (4), number (4)   the bytes of a dictionary, 1 to 65,536
//
// A dictionary stays as long as its collection: rows name it. Numbers are not given twice, so that what is known of one
// stays true in every snapshot. Entries of a collection that is gone mean nothing.

/// What is noted about a collection's dictionaries.
struct DictionaryRecord: Hashable, Sendable {
  /// The last number that was given; 0 before the first.
  var lastNumber: UInt32 = 0
  /// The dictionary for new values; 0 for none.
  var current: UInt32 = 0
  /// How many rows the collection had when a dictionary was last trained, whether it was kept or not.
  var rowCount: Int64 = 0

  static let treeName = "quire.dictionaries"

  /// Where a dictionary stands in the tree, or the record, under number 0.
  static func key(_ collection: CollectionID, _ number: UInt32) -> [UInt8] {
    collection.prefix + number.bigEndianBytes
  }

  /// Nothing was trained yet.
  init() {}

  /// The stored form.
  var bytes: [UInt8] { lastNumber.littleEndianBytes + current.littleEndianBytes + rowCount.littleEndianBytes }

  /// What is wrong with it beside the dictionaries that are stored, by their numbers; nil if nothing is.
  func flaw(beside dictionaries: [UInt32: CompressionDictionary]) -> String? {
    if current != 0, dictionaries[current] == nil { return "dictionary \(current) is missing" }
    guard let last = dictionaries.keys.max(), last > lastNumber else { return nil }
    return "dictionary \(last) is there, and \(lastNumber) was given last"
  }

  /// Reads the stored form; the bytes may be any.
  ///
  /// - Throws: `damagedRow`.
  init(_ bytes: [UInt8]) throws(DatabaseError) {
    guard bytes.count == 16, let lastNumber = UInt32(littleEndianBytes: bytes[0..<4]),
      let current = UInt32(littleEndianBytes: bytes[4..<8]), let rowCount = Int64(littleEndianBytes: bytes[8..<16]),
      current <= lastNumber, rowCount >= 0
    else { throw Self.damaged() }
    self.lastNumber = lastNumber
    self.current = current
    self.rowCount = rowCount
  }

  /// The error for a record that breaks the format, or that other entries contradict.
  static func damaged() -> DatabaseError {
    DatabaseError(
      .damagedRow, "What is noted about the dictionaries of a collection breaks the format. Verify the database.")
  }

  /// The record once a dictionary was trained from a collection of so many rows, with its number if it was kept.
  func after(rowCount: Int, keeping number: UInt32?) -> DictionaryRecord {
    var record = self
    record.rowCount = Int64(rowCount)
    assert(rowCount >= 0 && number.map { $0 == nextNumber } ?? true, "a dictionary has another number than the next")
    if let number { (record.lastNumber, record.current) = (number, number) }
    return record
  }

  /// The number of the next dictionary; nil when all have been given.
  var nextNumber: UInt32? { lastNumber < .max - 1 ? lastNumber + 1 : nil }
}
