// What a transaction lends to its user when memory is short.

/// Room for one value. A transaction that holds addresses of pages between its calls keeps their memory from being
/// reused; when the budget is nearly used up, it lends copies instead and holds nothing.
struct ValueLender: ~Copyable {
  private let buffer: UnsafeMutableRawPointer?

  /// A lender; whether it copies is settled for its life.
  init(_ reader: TreeReader) {
    buffer = reader.lendsCopies ? UnsafeMutableRawPointer.allocate(byteCount: reader.pageSize, alignment: 16) : nil
  }

  deinit { buffer?.deallocate() }

  /// Whether values are copied.
  @inline(__always) var copies: Bool { buffer != nil }

  /// The value as it may be lent: good until the next call.
  @inline(__always) func lend(_ value: BorrowedValue?) -> BorrowedValue? {
    guard let buffer, let value else { return value }
    buffer.copyMemory(from: value.base, byteCount: value.count)
    return BorrowedValue(base: UnsafeRawPointer(buffer), lengthField: value.lengthField)
  }
}
