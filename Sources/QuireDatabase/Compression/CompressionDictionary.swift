// A dictionary, and LZ4 with it.
//
// LZ4 finds what a value has in common with the 64 KiB in front of it. A dictionary stands there in the place of other
// values, so that a value of a few hundred bytes is compressed as if it were the last of many.

internal import CLZ4
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
  /// O(`value.count`), and a copy of 16 KiB: hashing the whole dictionary for each value would take ten times as long.
  /// `stream` is memory to work in.
  func compress(
    _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, _ stream: CompressionStream
  ) -> Int {
    assert(value.count <= Int(Int32.max) && target.count <= Int(Int32.max), "a count is beyond what LZ4 takes")
    let table = loadedTable()
    stream.copy(table)
    // The caps on values and dictionaries keep the counts far below the range of Int32.
    let written = unsafe LZ4_compress_fast_continue(
      stream.pointer, value.baseAddress?.assumingMemoryBound(to: CChar.self),
      target.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(value.count), Int32(target.count), 1)
    assert(Int(written) <= target.count, "LZ4 has written behind its target")
    return max(0, Int(written))
  }

  private func loadedTable() -> CompressionStream {
    table.withLock { table in
      if let table { return table }
      let made = CompressionStream()
      unsafe _ = LZ4_loadDict(made.pointer, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(byteCount))
      table = made
      return made
    }
  }

  /// Decompresses `block` into `target`, whose length is the value's. Returns whether that is what it became.
  ///
  /// Twice as fast if the dictionary, or a copy of it, stands directly in front of `target`: `prefix` says where.
  func decompress(
    _ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, prefix: UnsafeRawPointer? = nil
  ) -> Bool {
    // LZ4 reads and writes within the counts whatever the bytes are, and returns less than 0 for bad ones.
    let written = unsafe LZ4_decompress_safe_usingDict(
      block.baseAddress?.assumingMemoryBound(to: CChar.self), target.baseAddress?.assumingMemoryBound(to: CChar.self),
      Int32(block.count), Int32(target.count),
      (prefix ?? bytes.baseAddress)?.assumingMemoryBound(to: CChar.self), Int32(byteCount))
    return Int(written) == target.count
  }
}

/// LZ4's memory while it compresses: 16 KiB, used again and again.
@safe final class CompressionStream: @unchecked Sendable {
  // Sendable: safe because one transaction has it at a time; that of a dictionary is only read once it is made.
  private let memory: UnsafeMutableRawPointer
  /// The memory as LZ4 wants it.
  let pointer: UnsafeMutablePointer<LZ4_stream_t>

  private static let byteCount = Int(LZ4_sizeofState())

  init() {
    unsafe memory = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 16)
    guard let pointer = unsafe LZ4_initStream(memory, Self.byteCount) else {
      // It asks for an alignment of 8 and for as many bytes as it has just said.
      preconditionFailure("LZ4 refuses the memory that it has asked for")
    }
    unsafe self.pointer = unsafe pointer
  }

  deinit { unsafe memory.deallocate() }

  /// Becomes what `other` is: a dictionary that was loaded there is loaded here.
  @inline(__always) func copy(_ other: CompressionStream) {
    unsafe memory.copyMemory(from: other.memory, byteCount: Self.byteCount)
  }
}
