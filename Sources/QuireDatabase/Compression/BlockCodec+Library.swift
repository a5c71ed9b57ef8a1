// LZ4 itself: blocks, whatever stands around them, by liblz4, where the system has it and nobody has asked for the
// codec of this package.

#if canImport(CLZ4) && !canImport(Musl) && !SwiftLZ4
  internal import CLZ4

  /// Blocks of LZ4.
  ///
  /// Stateless; every call may be made from any thread.
  enum BlockCodec {
    /// Encodes `value` into the first bytes of `target`. Returns how many these are; 0 if there is not room enough.
    @inline(__always)
    static func encode(_ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
      // The cap on values keeps both counts far below the range of Int32, and neither buffer is empty.
      unsafe Int(
        LZ4_compress_default(
          value.baseAddress?.assumingMemoryBound(to: CChar.self),
          target.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(value.count), Int32(target.count)))
    }

    /// Decodes `block` into `target`, whose length is the value's. Returns whether that is what it became.
    @inline(__always)
    static func decode(_ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Bool {
      // LZ4 reads and writes within the two counts whatever the bytes are, and returns less than 0 for bad ones.
      let written = unsafe LZ4_decompress_safe(
        block.baseAddress?.assumingMemoryBound(to: CChar.self),
        target.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(block.count), Int32(target.count))
      return Int(written) == target.count
    }

    /// Decodes `block`, which refers to `dictionary`, into `target`, whose length is the value's. Returns whether that
    /// is what it became.
    ///
    /// Twice as fast if the dictionary stands directly in front of `target`.
    @inline(__always)
    static func decode(
      _ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, dictionary: UnsafeRawBufferPointer
    ) -> Bool {
      // LZ4 reads and writes within the counts whatever the bytes are, and returns less than 0 for bad ones.
      let written = unsafe LZ4_decompress_safe_usingDict(
        block.baseAddress?.assumingMemoryBound(to: CChar.self),
        target.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(block.count), Int32(target.count),
        dictionary.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(dictionary.count))
      return Int(written) == target.count
    }
  }

  /// LZ4's memory while it compresses, or what it knows of a dictionary: 16 KiB, used again and again.
  @safe final class CompressionStream: @unchecked Sendable {
    // Sendable: safe because one transaction has it at a time; that of a dictionary is only read once it is made.
    private let memory: UnsafeMutableRawPointer
    /// The memory as LZ4 wants it.
    private let pointer: UnsafeMutablePointer<LZ4_stream_t>

    private static let byteCount = Int(LZ4_sizeofState())

    init() {
      unsafe memory = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 16)
      guard let pointer = unsafe LZ4_initStream(memory, Self.byteCount) else {
        // It asks for an alignment of 8 and for as many bytes as it has just said.
        preconditionFailure("LZ4 refuses the memory that it has asked for")
      }
      unsafe self.pointer = unsafe pointer
    }

    /// Looks through a dictionary.
    convenience init(_ dictionary: UnsafeRawBufferPointer) {
      self.init()
      unsafe _ = LZ4_loadDict(
        pointer, dictionary.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(dictionary.count))
    }

    deinit { unsafe memory.deallocate() }

    /// Encodes `value` into the first bytes of `target`. Returns how many these are; 0 if there is not room enough.
    ///
    /// O(`value.count`), and a copy of 16 KiB: hashing the whole dictionary for each value would take ten times as
    /// long. `loaded` was made of `dictionary`, which it refers to.
    @inline(__always)
    func encode(
      _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer,
      _ dictionary: UnsafeRawBufferPointer, _ loaded: CompressionStream
    ) -> Int {
      unsafe memory.copyMemory(from: loaded.memory, byteCount: Self.byteCount)
      // The caps on values and dictionaries keep the counts far below the range of Int32.
      return unsafe Int(
        LZ4_compress_fast_continue(
          pointer, value.baseAddress?.assumingMemoryBound(to: CChar.self),
          target.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(value.count), Int32(target.count), 1))
    }
  }
#endif
