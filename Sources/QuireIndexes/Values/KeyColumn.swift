// A column with a direction.

/// A column of an index, or of an order, without the types of the rows.
struct KeyColumn: Sendable {
  let column: Column
  let isDescending: Bool

  init(_ column: Column, isDescending: Bool) {
    self.column = column
    self.isDescending = isDescending
  }

  /// The bytes of a value in a key of the index: as they are, or each turned over, and no longer than a key has them.
  func keyBytes(_ value: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    unsafe value.withUnsafeBytes { unsafe appendKeyBytes($0, to: &bytes) }
    return bytes
  }

  /// Appends these bytes to a key.
  func appendKeyBytes(_ value: UnsafeRawBufferPointer, to key: inout [UInt8]) {
    let cut = unsafe value.prefix(IndexKey.columnByteCount)
    if isDescending { unsafe key.append(contentsOf: cut.lazy.map { ~$0 }) } else { unsafe key.append(contentsOf: cut) }
  }
}
