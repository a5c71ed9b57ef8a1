// Bytes on loan: in a page, or in a buffer made for the occasion.

/// A value that a transaction has lent, until it is told that the loan is over.
@usableFromInline package struct BorrowedValue {
  @usableFromInline package let base: UnsafeRawPointer
  @usableFromInline package let count: Int
  /// Whether the bytes are a copy that the end of the loan frees; otherwise they lie in a page.
  package let isCopy: Bool

  /// Bytes that lie in a page.
  @inline(__always) package init(base: UnsafeRawPointer, count: Int) {
    self.base = base
    self.count = count
    isCopy = false
  }

  /// A copy of `value`.
  package init(copying value: BorrowedValue) {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(value.count, 1), alignment: 16)
    copy.copyMemory(from: value.base, byteCount: value.count)
    base = UnsafeRawPointer(copy)
    count = value.count
    isCopy = true
  }

  /// Frees a copy.
  package func deallocate() { base.deallocate() }
}
