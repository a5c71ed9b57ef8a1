// Bytes on loan: in a page, or in a buffer made for the occasion.

/// A value that a transaction has lent, or the reference to one that stands in an extent, until the transaction is told
/// that the loan is over.
@usableFromInline package struct BorrowedValue {
  @usableFromInline package let base: UnsafeRawPointer
  /// The number of bytes, with the flag of the cell.
  @usableFromInline let lengthField: UInt32
  /// Whether the bytes are a copy that the end of the loan frees; otherwise they lie in a page.
  package let isCopy: Bool

  /// The value, or the reference, of a cell.
  @inline(__always) package init(_ cell: LeafCell) {
    base = cell.value
    lengthField = UInt32(cell.lengthField)
    isCopy = false
  }

  /// Bytes of a page that are no value of a cell; at most 32767.
  @inline(__always) package init(base: UnsafeRawPointer, count: Int) {
    self.base = base
    lengthField = UInt32(count)
    isCopy = false
  }

  /// A copy of `value`.
  package init(copying value: BorrowedValue) {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(value.count, 1), alignment: 16)
    copy.copyMemory(from: value.base, byteCount: value.count)
    base = UnsafeRawPointer(copy)
    lengthField = value.lengthField
    isCopy = true
  }

  /// How many bytes lie at `base`.
  @inlinable package var count: Int { Int(lengthField & 0x7fff) }
  /// Whether the bytes are a reference to an extent.
  @inlinable package var isExtent: Bool { lengthField & 0x8000 != 0 }

  /// Frees a copy.
  package func deallocate() { base.deallocate() }
}
