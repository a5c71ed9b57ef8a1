// How far building has come.

internal import QuireDatabase

/// How far the walk through the rows has come whose postings are stored in "parts".
///
/// As bytes: the number of the last row in the order of numbers, the number of rows, and that of parts, with eight
/// bytes each, the highest first.
struct WalkedRows: Equatable {
  /// The last row that was walked past; nil if none was.
  var last: RowID?
  var rowCount = 0
  var partCount = 0

  init() {}

  /// The walk of bytes; nil if they break the format.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 24, let last = RowID(orderedBytes: Array(bytes.prefix(8))) else { return nil }
    func number(_ start: Int) -> Int? {
      Int(exactly: bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) })
    }
    // Both are counted on.
    guard let rowCount = number(8), rowCount < 1 << 62, let partCount = number(16), partCount > 0,
      partCount <= UInt32.max
    else { return nil }
    (self.last, self.rowCount, self.partCount) = (last, rowCount, partCount)
  }

  /// The bytes; nil if no part is stored.
  var bytes: [UInt8]? {
    guard let last else { return nil }
    var bytes = last.orderedBytes
    bytes.appendBigEndian(UInt64(rowCount))
    bytes.appendBigEndian(UInt64(partCount))
    return bytes
  }
}
