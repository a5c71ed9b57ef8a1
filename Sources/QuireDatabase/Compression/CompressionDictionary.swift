// A dictionary, and LZ4 with it.
//
// LZ4 finds what a value has in common with the 64 KiB in front of it. A dictionary stands there in the place of other
// values, so that a value of a few hundred bytes is compressed as if it were the last of many.

internal import QuireStorage
internal import Synchronization

/// Bytes that many values of a collection have parts of.
///
/// Invariants: `byteCount` is 1 to `Limits.dictionaryByteCount`, and the bytes never change.
@safe package final class CompressionDictionary: @unchecked Sendable {
  // Sendable: safe because nothing changes but under the latch.
  /// Its number in its collection, from 1.
  package let number: UInt32
  /// The bytes.
  let bytes: UnsafeRawBufferPointer
  /// What LZ4 knows once it has looked at the bytes; made when the first value is compressed.
  private let table = Latch<CompressionStream?>(nil)

  /// Copies `bytes`.
  ///
  /// - Throws: `CompressionError.malformedDictionary` unless there are 1 to `Limits.dictionaryByteCount`.
  package init(number: UInt32, _ bytes: RawSpan) throws(CompressionError) {
    guard 1...Limits.dictionaryByteCount ~= bytes.byteCount else {
      throw .malformedDictionary(byteCount: bytes.byteCount)
    }
    self.number = number
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.byteCount, alignment: 8)
    unsafe bytes.withUnsafeBytes { unsafe copy.copyMemory(from: $0) }
    unsafe self.bytes = UnsafeRawBufferPointer(copy)
  }

  deinit { unsafe bytes.deallocate() }

  var byteCount: Int { unsafe bytes.count }

  /// Compresses `value` into the first bytes of `target`. Returns how many these are; 0 if there is not room enough.
  ///
  /// O(`value.count`), with liblz4 also a copy of 16 KiB. `stream` is memory to work in.
  func compress(
    _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, _ stream: CompressionStream
  ) -> Int {
    assert(value.count <= Int(Int32.max) && target.count <= Int(Int32.max), "a count is beyond what LZ4 takes")
    let written = unsafe stream.encode(value, into: target, bytes, loadedTable())
    assert(written <= target.count, "LZ4 has written behind its target")
    return max(0, written)
  }

  private func loadedTable() -> CompressionStream {
    table.withLock { table in
      if let table { return table }
      let made = unsafe CompressionStream(bytes)
      table = made
      return made
    }
  }

  /// Decompresses `block` into `target`, whose length is the value's. Returns whether that is what it became.
  ///
  /// Faster if the dictionary, or a copy of it, stands directly in front of `target`: `prefix` says where.
  func decompress(
    _ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, prefix: UnsafeRawPointer? = nil
  ) -> Bool {
    let dictionary = unsafe UnsafeRawBufferPointer(start: prefix ?? bytes.baseAddress, count: byteCount)
    return unsafe BlockCodec.decode(block, into: target, dictionary: dictionary)
  }
}
