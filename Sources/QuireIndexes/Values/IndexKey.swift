// The keys of an index's tree: the values of the columns, one behind the other, and the row's number.

internal import QuireDatabase

/// How keys are put together.
///
/// A value takes at most `columnByteCount` bytes of a key: of a longer one the rest stands in the tree of records
/// alone, and decides there.
enum IndexKey {
  /// An index has at most so many columns.
  static let columnLimit = 4
  /// The most bytes of a value in a key: of four columns and the number 968, where keys may have 1,024.
  static let columnByteCount = 240
  /// The bytes of a row's number.
  static let rowIDByteCount = 8
  /// The most bytes of a key.
  static let mostByteCount = columnLimit * columnByteCount + rowIDByteCount

  /// Writes the bytes of a column's value into a key: as they are, or each turned over, and no more than a key has.
  /// There is room for as many columns as an index has.
  @inline(__always)
  static func write(
    _ value: UnsafeRawBufferPointer, isDescending: Bool, to key: UnsafeMutableRawBufferPointer, at offset: inout Int
  ) {
    let byteCount = min(value.count, columnByteCount)
    precondition(offset <= key.count - rowIDByteCount - byteCount, "a key is longer than keys are")
    guard byteCount > 0, let source = value.baseAddress, let target = key.baseAddress else { return }
    unsafe (target + offset).copyMemory(from: source, byteCount: byteCount)
    if isDescending {
      for index in offset..<offset + byteCount { unsafe key[index] = ~key[index] }
    }
    offset += byteCount
  }

  /// The number at the end of a key; nil if the key is too short.
  static func rowID(_ key: [UInt8]) -> RowID? {
    guard key.count >= rowIDByteCount else { return nil }
    return RowID(orderedBytes: Array(key.suffix(rowIDByteCount)))
  }

  /// The number at the end of a key where it lies.
  static func rowID(_ key: RawSpan) -> RowID? {
    guard key.byteCount >= rowIDByteCount else { return nil }
    let word = UInt64(bigEndian: unsafe key.unsafeLoadUnaligned(fromByteOffset: key.byteCount - 8, as: UInt64.self))
    return RowID(Int64(bitPattern: word ^ 1 << 63))
  }
}

extension RowID {
  /// What stands for it at the end of a key, as it lies in memory.
  var orderedWord: UInt64 { (UInt64(bitPattern: rawValue) ^ 1 << 63).bigEndian }
}
