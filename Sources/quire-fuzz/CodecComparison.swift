// Two decoders and two encoders of LZ4 beside each other: this package's and liblz4's.
//
// Values are drawn from a seed, encoded by both, and decoded by both from either block. Then the blocks are changed:
// both decoders must accept what comes of it, with the same bytes, or both refuse. The one case that liblz4 leaves
// undefined is an offset of 0, which is refused. All buffers end, or begin, at memory that nobody may touch.

#if canImport(CLZ4) && !canImport(Musl)
  import CLZ4
  import QuireLZ4
  import QuireTesting

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif

  /// Draws blocks and compares what becomes of them.
  struct CodecComparison {
    /// How many blocks were decoded by both.
    private(set) var blockCount = 0
    /// How many of them both accepted.
    private(set) var acceptedCount = 0
    /// How many of them liblz4 accepted and QuireLZ4 refused for an offset of 0.
    private(set) var undefinedCount = 0

    private var random: SeededRandom
    private var drawer: CodecValues
    private let block = GuardedMemory(capacity: 160 << 10)
    private let ours = GuardedMemory(capacity: 208 << 10)
    private let theirs = GuardedMemory(capacity: 144 << 10)
    private let dictionary = GuardedMemory(capacity: 64 << 10)
    private let index = GuardedMemory(capacity: LZ4Encoder.indexByteCount)
    private let table = GuardedMemory(capacity: LZ4Encoder.mostTableByteCount)
    /// What blocks that are changed are made from.
    private var source: [UInt8] = []
    private var changed: [UInt8] = []
    private static let changesPerBlock = 12

    init(seed: UInt64) {
      random = SeededRandom(seed: seed)
      drawer = CodecValues(seed: random.next())
    }

    /// What was counted.
    var summary: String {
      "\(blockCount) blocks: \(acceptedCount) accepted by both, "
        + "\(blockCount - acceptedCount - undefinedCount) refused by both, \(undefinedCount) with an offset of 0"
    }

    /// One value, its blocks, and changes of them.
    ///
    /// - Throws: `Finding`.
    mutating func step() throws {
      let words = random.oneIn(2) ? drawer.dictionary() : []
      let value = drawer.value(words)
      let lent = dictionary.lend(words.count, atEnd: random.oneIn(2))
      lent.copyBytes(from: words)
      let dictionary = UnsafeRawBufferPointer(lent)
      for byUs in [true, false] {
        try encode(value, dictionary, byUs: byUs)
        try compare(source, value.count, dictionary, expected: value)
        for _ in 0..<Self.changesPerBlock {
          changed.removeAll(keepingCapacity: true)
          changed.append(contentsOf: source)
          drawer.change(&changed)
          let count = random.oneIn(4) ? max(0, value.count + random.below(9) - 4) : value.count
          try compare(changed, count, dictionary, expected: nil)
        }
      }
    }

    /// Sets `source` to the block of a value.
    private mutating func encode(_ value: [UInt8], _ dictionary: UnsafeRawBufferPointer, byUs: Bool) throws {
      let room = block.lend(Int(LZ4_compressBound(Int32(value.count))), atEnd: true)
      let written = encode(value, dictionary, room, byUs: byUs)
      try demand(written > 0, "a value of \(value.count) bytes has no room in its bound")
      source.removeAll(keepingCapacity: true)
      source.append(contentsOf: room.prefix(written))
      guard byUs, random.oneIn(8) else { return }
      // As little room as the block takes, or less.
      let less = random.below(written + 1)
      let again = encode(value, dictionary, block.lend(less, atEnd: true), byUs: true)
      try demand(again == (less == written ? written : 0), "\(again) bytes in a room of \(less) for \(written)")
    }

    private func encode(
      _ value: [UInt8], _ dictionary: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer, byUs: Bool
    ) -> Int {
      value.withUnsafeBytes { value in
        byUs ? encodeByUs(value, dictionary, target) : encodeByThem(value, dictionary, target)
      }
    }

    private func encodeByUs(
      _ value: UnsafeRawBufferPointer, _ dictionary: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer
    ) -> Int {
      let table = table.lend(LZ4Encoder.tableByteCount(for: value.count), atEnd: true)
      if dictionary.isEmpty { return LZ4Encoder.encode(value, into: target, table: table) }
      let index = index.lend(LZ4Encoder.indexByteCount, atEnd: true)
      LZ4Encoder.makeIndex(of: dictionary, in: index)
      return LZ4Encoder.encode(
        value, into: target, dictionary: dictionary, index: UnsafeRawBufferPointer(index), table: table)
    }

    private func encodeByThem(
      _ value: UnsafeRawBufferPointer, _ dictionary: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer
    ) -> Int {
      guard !dictionary.isEmpty else {
        return Int(
          LZ4_compress_default(value.characters, target.characters, Int32(value.count), Int32(target.count)))
      }
      guard let stream = LZ4_createStream() else { return 0 }
      defer { LZ4_freeStream(stream) }
      LZ4_loadDict(stream, dictionary.characters, Int32(dictionary.count))
      return Int(
        LZ4_compress_fast_continue(
          stream, value.characters, target.characters, Int32(value.count), Int32(target.count), 1))
    }

    /// Decodes a block by both.
    private mutating func compare(
      _ bytes: [UInt8], _ count: Int, _ dictionary: UnsafeRawBufferPointer, expected: [UInt8]?
    ) throws {
      let atEnd = random.oneIn(2)
      let lent = block.lend(bytes.count, atEnd: atEnd)
      lent.copyBytes(from: bytes)
      let block = UnsafeRawBufferPointer(lent)
      let isPrefixed = random.oneIn(2)
      // A prefix stands directly in front of the result.
      let oursWhole = ours.lend((isPrefixed ? dictionary.count : 0) + count, atEnd: atEnd)
      let ours = UnsafeMutableRawBufferPointer(rebasing: oursWhole.suffix(count))
      if isPrefixed { oursWhole.copyBytes(from: dictionary) }
      let isOurs =
        isPrefixed
        ? LZ4Decoder.decode(block, into: ours, prefixByteCount: dictionary.count)
        : LZ4Decoder.decode(block, into: ours, dictionary: dictionary)
      let theirs = theirs.lend(count, atEnd: true)
      let written = LZ4_decompress_safe_usingDict(
        block.characters, theirs.characters, Int32(block.count), Int32(count), dictionary.characters,
        Int32(dictionary.count))
      let isTheirs = Int(written) == count
      blockCount += 1
      if isOurs != isTheirs {
        let who = isOurs ? "QuireLZ4" : "liblz4"
        try demand(isTheirs && BlockWalk.hasOffsetOfZero(block), "\(who) alone accepts: \(bytes)")
        undefinedCount += 1
      } else if isOurs {
        acceptedCount += 1
        try demand(ours.isEqual(to: UnsafeRawBufferPointer(theirs)), "decoders differ: \(bytes)")
      }
      guard let expected else { return }
      let isSame = expected.withUnsafeBytes { ours.isEqual(to: $0) }
      try demand(isOurs && isSame, "a value comes back as another one: \(bytes)")
    }
  }

  extension UnsafeRawBufferPointer {
    /// The bytes as liblz4 wants them.
    fileprivate var characters: UnsafePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }
  }

  extension UnsafeMutableRawBufferPointer {
    /// The bytes as liblz4 wants them.
    fileprivate var characters: UnsafeMutablePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }

    /// Whether all bytes are the same.
    fileprivate func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
      guard let base = baseAddress, let otherBase = other.baseAddress, count == other.count else {
        return isEmpty && other.isEmpty
      }
      return memcmp(base, otherBase, count) == 0
    }
  }
#endif
