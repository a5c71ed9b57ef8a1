// Where bytes are put together.

/// Bytes that are put together one behind the other, in memory that is kept for the next ones.
///
/// For one thread at a time.
@safe final class ByteBuilder {
  @exclusivity(unchecked) private var base: UnsafeMutablePointer<UInt8>
  @exclusivity(unchecked) private var capacity = 1 << 9
  @exclusivity(unchecked) private var end = 0

  init() { unsafe base = .allocate(capacity: capacity) }

  deinit { unsafe base.deallocate() }

  @inline(__always) var count: Int { unsafe end }

  /// The bytes, copied.
  var copied: [UInt8] { unsafe [UInt8](bytes) }

  /// The bytes where they lie, good until something is appended or taken away.
  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  /// Takes the first bytes away.
  func removeFirst(_ removed: Int) {
    assert(removed >= 0 && removed <= count, "bytes are taken away that are not there")
    unsafe base.update(from: base + removed, count: count - removed)
    unsafe end -= removed
  }

  /// Forgets what stands from an offset on, and keeps the memory.
  func removeAll(from offset: Int = 0) {
    assert(offset <= count, "bytes are cut that are not there")
    unsafe end = offset
  }

  subscript(index: Int) -> UInt8 {
    get {
      assert(index >= 0 && index < count, "a byte is read that is not there")
      return unsafe base[index]
    }
    set {
      assert(index >= 0 && index < count, "a byte is changed that is not there")
      unsafe base[index] = newValue
    }
  }

  /// Appends `added` bytes, which whoever calls has to write, to where it is told, before anything else is appended.
  @inline(__always) func append(_ added: Int) -> UnsafeMutablePointer<UInt8> {
    if unsafe count + added > capacity { grow(added) }
    let start = unsafe base + count
    unsafe end += added
    return unsafe start
  }

  @inline(never) private func grow(_ added: Int) {
    let larger = unsafe max(count + added, 2 * capacity)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    unsafe grown.update(from: base, count: count)
    unsafe base.deallocate()
    unsafe (base, capacity) = unsafe (grown, larger)
  }

  @inline(__always) func append(_ byte: UInt8) { unsafe append(1).pointee = byte }

  func append(_ other: UnsafeRawBufferPointer) {
    guard let source = other.baseAddress else { return }
    unsafe UnsafeMutableRawPointer(append(other.count)).copyMemory(from: source, byteCount: other.count)
  }

  /// Appends a number as `ByteReader.varint` reads it.
  @inline(__always) func appendVarint(_ number: UInt64) {
    if number < 0x80 { append(UInt8(truncatingIfNeeded: number)) } else { appendLongVarint(number) }
  }

  private func appendLongVarint(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }
}
