// LZ4 itself: blocks, whatever stands around them, by the codec of this package.
//
// What it writes liblz4 reads, and the other way round; `BlockCodec+Library.swift` says where that one is used.

#if !canImport(CLZ4) || canImport(Musl) || SwiftLZ4
  internal import QuireLZ4

  /// Blocks of LZ4.
  ///
  /// Stateless; every call may be made from any thread.
  enum BlockCodec {
    /// Encodes `value` into the first bytes of `target`. Returns how many these are; 0 if there is not room enough.
    static func encode(_ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
      let byteCount = LZ4Encoder.tableByteCount(for: value.count)
      return unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 16) { table in
        unsafe LZ4Encoder.encode(value, into: target, table: table)
      }
    }

    /// Decodes `block` into `target`, whose length is the value's. Returns whether that is what it became.
    static func decode(_ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Bool {
      unsafe LZ4Decoder.decode(block, into: target)
    }

    /// Decodes `block`, which refers to `dictionary`, into `target`, whose length is the value's. Returns whether that
    /// is what it became.
    ///
    /// Faster if the dictionary stands directly in front of `target`.
    @inline(__always)
    static func decode(
      _ block: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, dictionary: UnsafeRawBufferPointer
    ) -> Bool {
      if let end = unsafe dictionary.baseAddress.map({ unsafe $0 + dictionary.count }),
        unsafe end == UnsafeRawPointer(target.baseAddress)
      {
        return unsafe LZ4Decoder.decode(block, into: target, prefixByteCount: dictionary.count)
      }
      return unsafe LZ4Decoder.decode(block, into: target, dictionary: dictionary)
    }
  }

  /// LZ4's memory while it compresses, or what it knows of a dictionary: 16 KiB, used again and again.
  @safe final class CompressionStream: @unchecked Sendable {
    // Sendable: safe because one transaction has it at a time; that of a dictionary is only read once it is made.
    private let memory: UnsafeMutableRawBufferPointer

    init() {
      let byteCount = max(LZ4Encoder.indexByteCount, LZ4Encoder.mostTableByteCount)
      unsafe memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
    }

    /// Looks through a dictionary.
    convenience init(_ dictionary: UnsafeRawBufferPointer) {
      self.init()
      unsafe LZ4Encoder.makeIndex(of: dictionary, in: memory)
    }

    deinit { unsafe memory.deallocate() }

    /// Encodes `value` into the first bytes of `target`. Returns how many these are; 0 if there is not room enough.
    ///
    /// O(`value.count`). `loaded` was made of `dictionary`.
    func encode(
      _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer,
      _ dictionary: UnsafeRawBufferPointer, _ loaded: CompressionStream
    ) -> Int {
      unsafe LZ4Encoder.encode(
        value, into: target, dictionary: dictionary, index: UnsafeRawBufferPointer(loaded.memory), table: memory)
    }
  }
#endif
