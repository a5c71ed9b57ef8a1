// Values that stand in extents, on their way to users: lent from their slot if they take no more than a page, otherwise
// in memory that is the reader's alone, and no more of it than was asked for.

/// The bytes of a value, or a part of them, until `deallocate`.
@usableFromInline package struct ValueBytes {
  @usableFromInline let base: UnsafeRawPointer
  @usableFromInline let count: Int
  /// Whether the bytes are the reader's own; otherwise they lie in a slot, good until the access epoch moves on.
  @usableFromInline let isOwned: Bool

  init(base: UnsafeRawPointer, count: Int, isOwned: Bool) {
    self.base = base
    self.count = count
    self.isOwned = isOwned
  }

  /// Those of a value that stands in its cell; of one in an extent, the reference.
  @inlinable @inline(__always) init(_ value: BorrowedValue) {
    base = value.base
    count = value.count
    isOwned = false
  }

  /// Frees memory of one's own.
  @inlinable @inline(__always) func deallocate() { if isOwned { free() } }
  @usableFromInline func free() { base.deallocate() }
}

// Where a value is looked up in a slot, the caller has announced an access epoch, and keeps it for as long as anybody
// looks at what is lent from there.
extension TreeReader {
  /// The length of a value, wherever it stands.
  func byteCount(_ value: BorrowedValue) -> Int {
    value.isExtent ? ExtentReference(at: value.base).valueByteCount : value.count
  }

  /// Whether a value stands in an extent and is looked up in a slot: only then is an access epoch needed. Reading a
  /// long one from the file may take its time, and would hold up what others have taken out of memory.
  @inline(__always) func isInSlot(_ value: BorrowedValue) -> Bool {
    value.isExtent && ExtentReference(at: value.base).valueByteCount <= pageSize
  }

  /// A part of a value that stands in an extent, all of it by default.
  ///
  /// - Parameter inPlace: whether it may be lent from the slot that it lies in.
  @inline(__always) func longValue(
    _ value: BorrowedValue, _ range: Range<Int>?, inPlace: Bool
  ) throws(StorageError) -> ValueBytes {
    let extent = ExtentReference(at: value.base)
    let whole = 0..<extent.valueByteCount
    let range = range?.clamped(to: whole) ?? whole
    if inPlace, !range.isEmpty, let base = try access.valueAddress(extent) {
      return ValueBytes(base: base + range.lowerBound, count: range.count, isOwned: false)
    }
    return try load(extent, range)
  }

  @inline(never) private func load(
    _ extent: ExtentReference, _ range: Range<Int>
  ) throws(StorageError) -> ValueBytes {
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: max(range.count, 1), alignment: 16)
    do throws(StorageError) {
      try readExtent(extent, range, into: buffer)
      return ValueBytes(base: buffer, count: range.count, isOwned: true)
    } catch {
      buffer.deallocate()
      throw error
    }
  }

  /// A copy of a part of a value, all of it by default.
  func copy(_ value: BorrowedValue, _ range: Range<Int>? = nil) throws(StorageError) -> [UInt8] {
    let whole = 0..<byteCount(value)
    let range = range?.clamped(to: whole) ?? whole
    guard value.isExtent else {
      return [UInt8](UnsafeRawBufferPointer(start: value.base + range.lowerBound, count: range.count))
    }
    let extent = ExtentReference(at: value.base)
    var failure: StorageError?
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      guard let base = buffer.baseAddress else { return }
      do throws(StorageError) {
        try readExtent(extent, range, into: UnsafeMutableRawPointer(base))
        count = range.count
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }
}

/// Room for the long values that a cursor shows, kept from one to the next.
struct LongValueBuffer {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var loaded: ExtentReference?

  /// The value of `extent`, read unless it is the one that was read last; good until the next call.
  mutating func value(
    of extent: ExtentReference, _ reader: TreeReader
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    let byteCount = extent.valueByteCount
    if extent != loaded {
      loaded = nil
      if memory.count < byteCount {
        memory.deallocate()
        memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
      }
      if let base = memory.baseAddress { try reader.readExtent(extent, 0..<byteCount, into: base) }
      loaded = extent
    }
    return UnsafeRawBufferPointer(rebasing: memory[..<byteCount])
  }

  /// Frees the room.
  func deallocate() { memory.deallocate() }
}
