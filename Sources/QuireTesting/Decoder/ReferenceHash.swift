// XXH3-64 once more, for the decoder alone: word by word as its definition goes, with nothing of the engine's in it. A
// mistake in one of the two shows in every checksum.

/// The seeded 64-bit XXH3 of bytes. Slow and plain.
package enum ReferenceHash {
  /// The 192 bytes that the definition mixes into every input.
  private static let secret: [UInt8] = bytes(
    """
    b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e\
    e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d\
    8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc\
    8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e
    """)

  private static let primes32: [UInt64] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d]
  private static let primes64: [UInt64] = [
    0x9e37_79b1_85eb_ca87, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
  ]

  private static func bytes(_ text: String) -> [UInt8] {
    let digits = text.compactMap { $0.hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  /// The hash of all bytes of `input`.
  package static func hash(_ input: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    secret.withUnsafeBytes { secret in
      switch input.count {
      case 0...16: short(input, seed, secret)
      case 17...128: upTo128(input, seed, secret)
      case 129...240: upTo240(input, seed, secret)
      default: long(input, seed, secret)
      }
    }
  }

  // MARK: Up to 240 bytes

  private static func short(
    _ input: UnsafeRawBufferPointer, _ seed: UInt64, _ secret: UnsafeRawBufferPointer
  ) -> UInt64 {
    let count = input.count
    switch count {
    case 0: return avalancheOfXXH64(seed ^ word(secret, 56) ^ word(secret, 64))
    case 1...3:
      let (first, middle, last) = (input[0], input[count / 2], input[count - 1])
      let combined = UInt64(first) << 16 | UInt64(middle) << 24 | UInt64(last) | UInt64(count) << 8
      return avalancheOfXXH64(combined ^ ((half(secret, 0) ^ half(secret, 4)) &+ seed))
    case 4...8:
      let turned = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) << 32
      let mixed = (half(input, count - 4) &+ half(input, 0) << 32) ^ ((word(secret, 8) ^ word(secret, 16)) &- turned)
      var result = mixed ^ rotated(mixed, 49) ^ rotated(mixed, 24)
      result = result &* 0x9fb2_1c65_1e98_df25
      result ^= (result >> 35) &+ UInt64(count)
      result = result &* 0x9fb2_1c65_1e98_df25
      return result ^ result >> 28
    default:
      let low = word(input, 0) ^ ((word(secret, 24) ^ word(secret, 32)) &+ seed)
      let high = word(input, count - 8) ^ ((word(secret, 40) ^ word(secret, 48)) &- seed)
      return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ folded(low, high))
    }
  }

  private static func upTo128(
    _ input: UnsafeRawBufferPointer, _ seed: UInt64, _ secret: UnsafeRawBufferPointer
  ) -> UInt64 {
    var sum = UInt64(input.count) &* primes64[0]
    for round in 0...((input.count - 1) / 32) {
      sum = sum &+ mixed(input, 16 * round, secret, 32 * round, seed)
      sum = sum &+ mixed(input, input.count - 16 * (round + 1), secret, 32 * round + 16, seed)
    }
    return avalanche(sum)
  }

  private static func upTo240(
    _ input: UnsafeRawBufferPointer, _ seed: UInt64, _ secret: UnsafeRawBufferPointer
  ) -> UInt64 {
    var sum = UInt64(input.count) &* primes64[0]
    for round in 0..<8 { sum = sum &+ mixed(input, 16 * round, secret, 16 * round, seed) }
    sum = avalanche(sum)
    for round in 8..<(input.count / 16) { sum = sum &+ mixed(input, 16 * round, secret, 16 * (round - 8) + 3, seed) }
    return avalanche(sum &+ mixed(input, input.count - 16, secret, 119, seed))
  }

  // MARK: More

  private static func long(
    _ input: UnsafeRawBufferPointer, _ seed: UInt64, _ secret: UnsafeRawBufferPointer
  ) -> UInt64 {
    // The secret's words, the seed added to the even ones and taken from the odd ones.
    var derived: [UInt8] = []
    for index in 0..<24 {
      let value = index % 2 == 0 ? word(secret, 8 * index) &+ seed : word(secret, 8 * index) &- seed
      withUnsafeBytes(of: value.littleEndian) { derived.append(contentsOf: $0) }
    }
    return derived.withUnsafeBytes { secret in
      var lanes: [UInt64] = [
        primes32[2], primes64[0], primes64[1], primes64[2], primes64[3], primes32[1], primes64[4], primes32[0],
      ]
      let stripes = (input.count - 1) / 64
      for stripe in 0..<stripes {
        accumulate(&lanes, input, 64 * stripe, secret, 8 * (stripe % 16))
        guard stripe % 16 == 15 else { continue }
        for lane in 0..<8 {
          lanes[lane] = (lanes[lane] ^ lanes[lane] >> 47 ^ word(secret, 128 + 8 * lane)) &* primes32[0]
        }
      }
      accumulate(&lanes, input, input.count - 64, secret, 121)
      var sum = UInt64(input.count) &* primes64[0]
      for pair in 0..<4 {
        sum =
          sum
          &+ folded(
            lanes[2 * pair] ^ word(secret, 11 + 16 * pair), lanes[2 * pair + 1] ^ word(secret, 19 + 16 * pair))
      }
      return avalanche(sum)
    }
  }

  private static func accumulate(
    _ lanes: inout [UInt64], _ input: UnsafeRawBufferPointer, _ offset: Int, _ secret: UnsafeRawBufferPointer,
    _ secretOffset: Int
  ) {
    for lane in 0..<8 {
      let value = word(input, offset + 8 * lane)
      let keyed = value ^ word(secret, secretOffset + 8 * lane)
      lanes[lane ^ 1] = lanes[lane ^ 1] &+ value
      lanes[lane] = lanes[lane] &+ (keyed & 0xffff_ffff) &* (keyed >> 32)
    }
  }

  // MARK: Arithmetic

  private static func mixed(
    _ input: UnsafeRawBufferPointer, _ offset: Int, _ secret: UnsafeRawBufferPointer, _ secretOffset: Int,
    _ seed: UInt64
  ) -> UInt64 {
    folded(
      word(input, offset) ^ (word(secret, secretOffset) &+ seed),
      word(input, offset + 8) ^ (word(secret, secretOffset + 8) &- seed))
  }

  private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.low ^ product.high
  }

  private static func avalanche(_ value: UInt64) -> UInt64 {
    let mixed = (value ^ value >> 37) &* 0x1656_6791_9e37_79f9
    return mixed ^ mixed >> 32
  }

  private static func avalancheOfXXH64(_ value: UInt64) -> UInt64 {
    var mixed = (value ^ value >> 33) &* primes64[1]
    mixed = (mixed ^ mixed >> 29) &* primes64[2]
    return mixed ^ mixed >> 32
  }

  private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 - count) }

  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  private static func half(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }
}
