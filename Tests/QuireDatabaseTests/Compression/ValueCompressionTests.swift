// Stored values: what goes in comes out, and whatever else is read is an error or some bytes, never a trap.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct ValueCompressionTests {
  /// What the bytes of a test value look like.
  enum Content: CaseIterable {
    case zeros, repetitive, text, random

    /// Makes `count` bytes of this kind; equal seeds give equal bytes.
    func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
      var random = SeededRandom(seed: seed)
      let words = ["{\"title\":", "\"artist\":", "\"Blue\",", "\"Miles\",", "1959,", "true}", "[", "]"]
      var bytes: [UInt8] = []
      while bytes.count < count {
        switch self {
        case .zeros: return [UInt8](repeating: 0, count: count)
        case .repetitive: bytes += [0, 1, 2, 3, 4, 5, 6]
        case .text: bytes += words[random.below(words.count)].utf8
        case .random: withUnsafeBytes(of: random.next().littleEndian) { bytes.append(contentsOf: $0) }
        }
      }
      return Array(bytes.prefix(count))
    }
  }

  /// The stored form of `value`.
  static func encode(_ value: [UInt8], _ compression: Compression) throws -> [UInt8] {
    try ValueCompression.encode(value.span.bytes, compression)
  }

  /// The value behind `encoded`.
  static func decode(_ encoded: [UInt8]) throws -> [UInt8] {
    try ValueCompression.decode(encoded.span.bytes)
  }

  /// The varint of `value` as the format has it, written once more so that the test does not believe the code.
  static func varint(_ value: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = value
    repeat {
      bytes.append(UInt8(rest % 128) + (rest >= 128 ? 128 : 0))
      rest /= 128
    } while rest > 0
    return bytes
  }

  // MARK: - What goes in comes out

  @Test(arguments: Content.allCases, [Compression.none, .lz4(above: 256), .lz4(above: 0), .lz4(above: -1)])
  func roundTrips(content: Content, compression: Compression) throws {
    let largest = compression == .lz4(above: 256) ? (TestSize.isFull ? 1 << 20 : 1 << 17) : 65_536
    let sizes = Array(0...40) + [127, 128, 129, 255, 256, 257, 258, 1_000, 16_383, 16_384, largest]
    let room = DecodingRoom()
    for size in sizes {
      let value = content.bytes(size)
      let encoded = try Self.encode(value, compression)
      #expect(encoded.count <= size + 1, "\(size) bytes")
      #expect(try Self.decode(encoded) == value, "\(size) bytes")
      let lent = try ValueCompression.withDecoded(encoded.span.bytes, room) { Array($0) }
      #expect(lent == value, "\(size) bytes lent")
    }
  }

  /// The bytes themselves, because they are in files.
  @Test func layout() throws {
    #expect(try Self.encode([], .lz4(above: 256)) == [0])
    #expect(try Self.encode([], .lz4(above: -1)) == [0])
    #expect(try Self.encode([7, 8, 9], .none) == [0, 7, 8, 9])
    // A literal 0, a match of 4 + 15 + 3 x 255 + 210 bytes at distance 1, then the last five bytes, always literal.
    let zeros: [UInt8] = [1] + Self.varint(1_000) + [0x1f, 0, 1, 0, 255, 255, 255, 210, 0x50, 0, 0, 0, 0, 0]
    #expect(try Self.decode(zeros) == [UInt8](repeating: 0, count: 1_000))
    #expect(try Self.encode([UInt8](repeating: 0, count: 1_000), .lz4(above: 256)).prefix(3) == zeros.prefix(3))
  }

  @Test func thresholdIsExclusive() throws {
    #expect(try Self.encode(Content.zeros.bytes(255), .lz4(above: 256))[0] == 0)
    #expect(try Self.encode(Content.zeros.bytes(256), .lz4(above: 256))[0] == 0)
    #expect(try Self.encode(Content.zeros.bytes(257), .lz4(above: 256))[0] == 1)
    #expect(try Self.encode(Content.zeros.bytes(257), .lz4(above: 256)).count < 30)
    #expect(try Self.encode(Content.zeros.bytes(65_536), .none).count == 65_537)
  }

  @Test(arguments: [257, 300, 4_096, 65_536])
  func incompressibleStaysPlain(size: Int) throws {
    let value = Content.random.bytes(size)
    #expect(try Self.encode(value, .lz4(above: 256)) == [0] + value)
  }

  @Test func appendsAndAllocatesOnce() throws {
    var buffer: [UInt8] = [1, 2, 3]
    var starts: [Int] = []
    let values = [10, 300, 5_000].flatMap { size in Content.allCases.map { $0.bytes(size) } }
    for value in values {
      starts.append(buffer.count)
      try ValueCompression.encode(value.span.bytes, .lz4(above: 256), appendingTo: &buffer)
    }
    #expect(buffer.prefix(3) == [1, 2, 3])
    for (index, value) in values.enumerated() {
      let end = index + 1 < starts.count ? starts[index + 1] : buffer.count
      #expect(try Self.decode(Array(buffer[starts[index]..<end])) == value)
    }
    for content in Content.allCases {
      var roomy: [UInt8] = []
      roomy.reserveCapacity(5_001)
      let address = roomy.withUnsafeBytes { $0.baseAddress }
      try ValueCompression.encode(content.bytes(5_000).span.bytes, .lz4(above: 256), appendingTo: &roomy)
      #expect(roomy.withUnsafeBytes { $0.baseAddress } == address, "one byte more than the value is always enough")
    }
  }

  // MARK: - What came out of a damaged file

  @Test(arguments: [Content.zeros, .repetitive, .text])
  func everyTruncationIsAnError(content: Content) throws {
    let encoded = try Self.encode(content.bytes(3_000), .lz4(above: 256))
    try #require(encoded[0] == 1)
    for count in 0..<encoded.count {
      #expect(throws: CompressionError.self, "\(count) of \(encoded.count) bytes") {
        try Self.decode(Array(encoded.prefix(count)))
      }
    }
  }

  @Test(arguments: [Content.zeros, .repetitive, .text], [1 as UInt64, 2, 3])
  func corruptionsNeverTrap(content: Content, seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let pristine = try Self.encode(content.bytes(300 + random.below(4_000), seed: seed), .lz4(above: 256))
    var decodedCount = 0
    for round in 0..<3_000 {
      var encoded = pristine
      for _ in 0...random.below(4) {
        let index = random.oneIn(3) ? random.below(min(8, encoded.count)) : random.below(encoded.count)
        switch random.below(4) {
        case 0: encoded[index] ^= 1 << UInt8(random.below(8))
        case 1: encoded[index] = UInt8(truncatingIfNeeded: random.next())
        case 2: encoded[index] = 255
        default: encoded.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
        }
      }
      do {
        let value = try Self.decode(encoded)
        decodedCount += 1
        #expect(value.count <= 255 * encoded.count, "seed \(seed), round \(round)")
      } catch is CompressionError {
        // Detected, as it should be.
      }
    }
    // Damage inside literals is not detectable here, so that some rounds must get through; else nothing was tried.
    #expect(decodedCount > 0 && decodedCount < 3_000)
  }

  @Test func garbageNeverTraps() throws {
    var random = SeededRandom(seed: 99)
    for round in 0..<20_000 {
      let size = random.below(64)
      let garbage = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      let declared = UInt64(random.below(256 * (size + 1)))
      let encoded = random.oneIn(2) ? [1] + Self.varint(declared) + garbage : garbage
      do {
        let count = try Self.decode(encoded).count
        #expect(count <= 255 * encoded.count, "round \(round)")
      } catch is CompressionError {
        // Detected, as it should be.
      }
    }
  }

  @Test func falseLengthsAreErrors() throws {
    let value = Content.text.bytes(3_000)
    let encoded = try Self.encode(value, .lz4(above: 256))
    let block = encoded.dropFirst(1 + Self.varint(3_000).count)
    for declared in [1, 2, 2_999, 3_001, 4_000] as [UInt64] {
      #expect(throws: CompressionError.malformedBlock, "\(declared)") {
        try Self.decode([1] + Self.varint(declared) + block)
      }
    }
    #expect(throws: CompressionError.malformedLength) { try Self.decode([1] + Self.varint(0) + block) }
    #expect(throws: CompressionError.malformedLength) { try Self.decode([1, 0]) }
  }

  @Test func expansionBombsAreRefusedByTheirLength() throws {
    let cap = UInt64(Limits.valueByteCount)
    for declared in [255 * 8 + 1, cap, cap + 1, 1 << 31, 1 << 32, 1 << 34] as [UInt64] {
      #expect(throws: CompressionError.implausibleLength(declared: declared, compressed: 8)) {
        try Self.decode([1] + Self.varint(declared) + Content.random.bytes(8))
      }
    }
    // Plausible for so many bytes, were it not for the cap.
    let large = Content.zeros.bytes((1 << 30) / 255 + 1)
    #expect(throws: CompressionError.implausibleLength(declared: cap + 1, compressed: large.count)) {
      try Self.decode([1] + Self.varint(cap + 1) + large)
    }
  }

  @Test func malformedHeadersAreErrors() throws {
    #expect(throws: CompressionError.empty) { try Self.decode([]) }
    for tag in 3...255 as ClosedRange<UInt8> {
      #expect(throws: CompressionError.unknownStorage(tag)) { try Self.decode([tag, 1, 2, 3]) }
    }
    let full: UInt8 = 0xff
    let lengths: [[UInt8]] = [
      [], [0x80], [full, full, full, full], [0x80, 0], [0x81, 0x80, 0], [full, full, full, full, full, 1],
      [UInt8](repeating: full, count: 64),
    ]
    for length in lengths {
      #expect(throws: CompressionError.malformedLength, "\(length)") { try Self.decode([1] + length) }
    }
  }

  /// The bytes are never looked at: this memory is only promised by the system, not used.
  @Test func tooLongValuesAreRefused() throws {
    let byteCount = Limits.valueByteCount + 1
    let mapped = mmap(nil, byteCount + 1, PROT_READ, MAP_PRIVATE | MAP_ANON, -1, 0)
    try #require(mapped != MAP_FAILED)
    let memory = UnsafeRawBufferPointer(start: mapped, count: byteCount + 1)
    defer { munmap(mapped, byteCount + 1) }
    for compression in [Compression.none, .lz4(above: 256)] {
      var buffer: [UInt8] = [42]
      #expect(throws: CompressionError.tooLong(byteCount: byteCount)) {
        let value = UnsafeRawBufferPointer(rebasing: memory.dropLast()).bytes
        try ValueCompression.encode(value, compression, appendingTo: &buffer)
      }
      #expect(buffer == [42])
    }
    // Zeros: the first says that the rest is plain.
    #expect(throws: CompressionError.tooLong(byteCount: byteCount)) {
      try ValueCompression.decode(memory.bytes)
    }
  }

  @Test func messagesNameTheProblem() {
    #expect(CompressionError.tooLong(byteCount: 5).description.contains("5 bytes"))
    #expect(CompressionError.implausibleLength(declared: 77, compressed: 3).description.contains("77"))
    #expect(CompressionError.unknownStorage(9).description.contains("9"))
    for error in [CompressionError.empty, .malformedLength, .malformedBlock] {
      #expect(error.description.hasSuffix("Verify the database."))
    }
  }
}
