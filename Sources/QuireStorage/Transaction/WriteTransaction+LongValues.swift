// Long values, and parts of values, as the transaction sees them.

extension WriteTransaction {
  /// A part of a value that stands in an extent, all of it without a range; for as long as the value is on loan, and
  /// until it is deallocated.
  @usableFromInline func longValue(
    _ value: BorrowedValue, _ range: Range<Int>?
  ) throws(StorageError) -> ValueBytes {
    if lendsCopies, context.reader.isInSlot(value) { enter() }
    defer { leave() }
    return try context.reader.longValue(value, range, inPlace: !lendsCopies)
  }

  /// A copy of a part of a value, all of it without a range.
  @usableFromInline func copy(_ value: BorrowedValue, _ range: Range<Int>?) throws(StorageError) -> [UInt8] {
    if lendsCopies, context.reader.isInSlot(value) { enter() }
    defer { leave() }
    return try context.reader.copy(value, range)
  }

  /// The length of a value.
  @usableFromInline func byteCount(_ value: BorrowedValue) -> Int { context.reader.byteCount(value) }

  /// The length of the value stored under `key`, in bytes, or nil. Touches one page per level of the tree, and no long
  /// value.
  ///
  /// - Throws: `noSuchTree`, `treeMismatch`, `damagedPage`, `truncatedFile`, `inputOutput`.
  @inlinable public func valueByteCount<Key: StorageKey & ~Escapable>(
    for key: Key, in tree: Tree
  ) throws(StorageError) -> Int? {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    let value = try key.withSearchKey { (key) throws(StorageError) in try lend(key, in: tree) }
    guard let value else { return nil }
    defer { endLoan(value) }
    return byteCount(value)
  }

  /// The bytes `range` of the value stored under `key`, copied, or nil if there is no such entry. What of the range
  /// lies behind the value's end is left out.
  ///
  /// Of a long value only those pieces of 64 KiB are read that the range touches, and the list of their checksums.
  ///
  /// - Throws: `noSuchTree`, `treeMismatch`, `damagedPage`, `truncatedFile`, `inputOutput`.
  @inlinable public func value<Key: StorageKey & ~Escapable>(
    for key: Key, in tree: Tree, range: Range<Int>
  ) throws(StorageError) -> [UInt8]? {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    let value = try key.withSearchKey { (key) throws(StorageError) in try lend(key, in: tree) }
    guard let value else { return nil }
    defer { endLoan(value) }
    return try copy(value, range)
  }

  /// Calls `body` with the bytes `range` of the value stored under `key` and returns its result, or nil if there is no
  /// such entry. What of the range lies behind the value's end is left out.
  ///
  /// Cost as that of a copy of the range; of a short value nothing is copied. The bytes are valid until `body` returns,
  /// which may read on.
  ///
  /// - Throws: `noSuchTree`, `treeMismatch`, `damagedPage`, `truncatedFile`, `inputOutput`, and what `body` throws.
  @inlinable public func withValue<Key: StorageKey & ~Escapable, Result>(
    for key: Key, in tree: Tree, range: Range<Int>, _ body: (RawSpan) throws -> Result
  ) throws -> Result? {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    let value = try key.withSearchKey { (key) throws(StorageError) in try lend(key, in: tree) }
    guard let value else { return nil }
    defer { endLoan(value) }
    if value.isExtent {
      let bytes = try longValue(value, range)
      defer { bytes.deallocate() }
      return try body(RawSpan(_unsafeStart: bytes.base, byteCount: bytes.count))
    }
    let part = range.clamped(to: 0..<value.count)
    return try body(RawSpan(_unsafeStart: value.base + part.lowerBound, byteCount: part.count))
  }
}
