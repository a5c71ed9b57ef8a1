// Values that stand in extents, on their way to users: in memory that is theirs alone, and no more of it than was asked
// for.

extension TreeReader {
  /// The length of a value, wherever it stands.
  func byteCount(_ value: BorrowedValue) -> Int {
    value.isExtent ? ExtentReference(at: value.base).valueByteCount : value.count
  }

  /// A part of a value that stands in an extent, all of it by default, in memory that the caller frees.
  func load(
    _ value: BorrowedValue, _ range: Range<Int>? = nil
  ) throws(StorageError) -> UnsafeMutableRawBufferPointer {
    let extent = ExtentReference(at: value.base)
    let whole = 0..<extent.valueByteCount
    let range = range?.clamped(to: whole) ?? whole
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 16)
    do throws(StorageError) {
      if let base = buffer.baseAddress { try readExtent(extent, range, into: base) }
      return buffer
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
