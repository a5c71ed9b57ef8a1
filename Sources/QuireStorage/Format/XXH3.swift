// XXH3-64, the checksum of pages, log records and overflow extents: the dispatch by length, and the forms up to 240
// bytes. Longer input is in XXH3+Long.swift.
//
// The function is the seeded 64-bit variant of XXH3 by Yann Collet, stable since xxHash 0.8.0; the result equals that
// of `XXH3_64bits_withSeed` for every input. It finds accidents, not forgers: anyone can make bytes that fit a sum.
//
// The loads are those of a little-endian processor, which every platform of Swift has; on another the known answers
// of the tests would differ.

/// The 64-bit XXH3 hash function over raw memory.
///
/// Never allocates, never counts a reference, and reads each byte of its input and none beside it. The input need not
/// be aligned. May be called from any thread.
package enum XXH3 {
  /// Returns the hash of the `count` bytes at `bytes`; equal input under another seed gives an unrelated hash.
  ///
  /// A few nanoseconds up to 64 bytes, O(`count`) beyond: a 4 KiB page takes about 170 ns (SSE2, Xeon of 2.3 GHz). The
  /// memory must stay readable and unchanged during the call; `bytes` is not read when `count` is 0.
  ///
  /// - Precondition: `count` is not negative.
  package static func hash(_ bytes: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
    secret.withUnsafeBytes { secret in
      // The table is not empty, so it has an address.
      let secret = secret.baseAddress.unsafelyUnwrapped
      if count <= 16 { return hashUpTo16(bytes, count, seed, secret) }
      if count <= 128 { return hashUpTo128(bytes, count, seed, secret) }
      if count <= 240 { return hashUpTo240(bytes, count, seed, secret) }
      return hashLong(bytes, count, seed, secret)
    }
  }

  /// The 192 bytes that the definition of XXH3 mixes into every input, as 24 little-endian words.
  ///
  /// An array of literals becomes constant data in release builds, so that its address costs one instruction. A tuple
  /// would be copied to the stack on each use, and SIMD vectors would be initialised lazily, behind a `swift_once`.
  private static let secret: [UInt64] = [
    0xbe4b_a423_396c_feb8, 0x1cad_21f7_2c81_017c, 0xdb97_9083_e96d_d4de, 0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb, 0x2172_ffcc_7dd0_5a82, 0x8e24_43f7_7446_08b8, 0x4c26_3a81_e690_35e0,
    0xcb00_c391_bb52_283c, 0xa32e_531b_8b65_d088, 0x4ef9_0da2_9748_6471, 0xd8ac_dea9_46ef_1938,
    0x3f34_9ce3_3f76_faa8, 0x1d4f_0bc7_c7bb_dcf9, 0x3159_b4cd_4be0_518a, 0x6473_78d9_c97e_9fc8,
    0xc3eb_d334_83ac_c5ea, 0xeb63_13fa_ffa0_81c5, 0x49da_f0b7_51dd_0d17, 0x9e68_d429_2655_16d3,
    0xfca1_477d_58be_162b, 0xce31_d07a_d1b8_f88f, 0x2804_1695_8f3a_cb45, 0x7e40_4bbb_cafb_d7af,
  ]
}

/// The constants of the definition: primes, and multipliers found by search.
enum XXH3Constant {
  static let prime32A: UInt64 = 0x9e37_79b1
  static let prime32B: UInt64 = 0x85eb_ca77
  static let prime32C: UInt64 = 0xc2b2_ae3d
  static let prime64A: UInt64 = 0x9e37_79b1_85eb_ca87
  static let prime64B: UInt64 = 0xc2b2_ae3d_27d4_eb4f
  static let prime64C: UInt64 = 0x1656_67b1_9e37_79f9
  static let prime64D: UInt64 = 0x85eb_ca77_c2b2_ae63
  static let prime64E: UInt64 = 0x27d4_eb2f_1656_67c5
  static let mixerA: UInt64 = 0x1656_6791_9e37_79f9
  static let mixerB: UInt64 = 0x9fb2_1c65_1e98_df25
}

// MARK: - Short input

extension XXH3 {
  /// Hashes 0 to 16 bytes: every byte is in at least one of two overlapping loads.
  ///
  /// A handful of instructions.
  @inline(__always)
  private static func hashUpTo16(
    _ bytes: UnsafeRawPointer,
    _ count: Int,
    _ seed: UInt64,
    _ secret: UnsafeRawPointer
  ) -> UInt64 {
    let length = UInt64(truncatingIfNeeded: count)
    if count > 8 {
      let low = load64(bytes, 0) ^ ((load64(secret, 24) ^ load64(secret, 32)) &+ seed)
      let high = load64(bytes, count &- 8) ^ ((load64(secret, 40) ^ load64(secret, 48)) &- seed)
      return avalanche(length &+ low.byteSwapped &+ high &+ foldedProduct(low, high))
    }
    if count > 3 {
      let swappedSeed = UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) &<< 32
      let mask = (load64(secret, 8) ^ load64(secret, 16)) &- (seed ^ swappedSeed)
      let first = UInt64(load32(bytes, 0))
      let last = UInt64(load32(bytes, count &- 4))
      return strongAvalanche((last &+ (first &<< 32)) ^ mask, length)
    }
    if count > 0 {
      let first = UInt64(load8(bytes, 0))
      let middle = UInt64(load8(bytes, count &>> 1))
      let last = UInt64(load8(bytes, count &- 1))
      let combined = (first &<< 16) | (middle &<< 24) | last | (length &<< 8)
      return classicAvalanche(combined ^ (UInt64(load32(secret, 0) ^ load32(secret, 4)) &+ seed))
    }
    precondition(count == 0, "the count of bytes to hash is negative")
    return classicAvalanche(seed ^ load64(secret, 56) ^ load64(secret, 64))
  }

  /// Hashes 17 to 128 bytes: pairs of 16 bytes, one from the front and one from the back, outwards from the middle.
  ///
  /// One 64 x 64 bit multiplication per 16 bytes.
  @inline(__always)
  private static func hashUpTo128(
    _ bytes: UnsafeRawPointer,
    _ count: Int,
    _ seed: UInt64,
    _ secret: UnsafeRawPointer
  ) -> UInt64 {
    var sum = UInt64(truncatingIfNeeded: count) &* XXH3Constant.prime64A
    if count > 32 {
      if count > 64 {
        if count > 96 {
          sum = sum &+ mix16(bytes, 48, secret, 96, seed)
          sum = sum &+ mix16(bytes, count &- 64, secret, 112, seed)
        }
        sum = sum &+ mix16(bytes, 32, secret, 64, seed)
        sum = sum &+ mix16(bytes, count &- 48, secret, 80, seed)
      }
      sum = sum &+ mix16(bytes, 16, secret, 32, seed)
      sum = sum &+ mix16(bytes, count &- 32, secret, 48, seed)
    }
    sum = sum &+ mix16(bytes, 0, secret, 0, seed)
    sum = sum &+ mix16(bytes, count &- 16, secret, 16, seed)
    return avalanche(sum)
  }

  /// Hashes 129 to 240 bytes: 16 at a time, stirred once after the first 128, and the last 16 once more.
  ///
  /// One 64 x 64 bit multiplication per 16 bytes.
  @inline(never)
  private static func hashUpTo240(
    _ bytes: UnsafeRawPointer,
    _ count: Int,
    _ seed: UInt64,
    _ secret: UnsafeRawPointer
  ) -> UInt64 {
    var sum = UInt64(truncatingIfNeeded: count) &* XXH3Constant.prime64A
    let end = count & ~15
    var offset = 0
    var secretOffset = 0
    // One loop, not two: the compiler would unroll the first one and then gather its words into vectors, only to take
    // them out again for the multiplications, which costs a third more.
    while offset < end {
      sum = sum &+ mix16(bytes, offset, secret, secretOffset, seed)
      offset &+= 16
      secretOffset &+= 16
      if offset == 128 {
        sum = avalanche(sum)
        secretOffset = 3
      }
    }
    sum = sum &+ mix16(bytes, count &- 16, secret, 119, seed)
    return avalanche(sum)
  }
}

// MARK: - Arithmetic

extension XXH3 {
  /// Mixes the 16 bytes at `offset` with the 16 of the secret at `secretOffset`.
  @inline(__always)
  private static func mix16(
    _ bytes: UnsafeRawPointer,
    _ offset: Int,
    _ secret: UnsafeRawPointer,
    _ secretOffset: Int,
    _ seed: UInt64
  ) -> UInt64 {
    let low = load64(bytes, offset) ^ (load64(secret, secretOffset) &+ seed)
    let high = load64(bytes, offset &+ 8) ^ (load64(secret, secretOffset &+ 8) &- seed)
    return foldedProduct(low, high)
  }

  /// The two halves of the 128-bit product, folded into each other.
  @inline(__always)
  static func foldedProduct(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.low ^ product.high
  }

  /// Spreads every bit over the whole word; for sums of products, which are half mixed already.
  @inline(__always)
  static func avalanche(_ value: UInt64) -> UInt64 {
    let mixed = (value ^ (value &>> 37)) &* XXH3Constant.mixerA
    return mixed ^ (mixed &>> 32)
  }

  /// Spreads every bit over the whole word, as XXH64 does; for 0 to 3 bytes, which went through no product.
  @inline(__always)
  private static func classicAvalanche(_ value: UInt64) -> UInt64 {
    var mixed = (value ^ (value &>> 33)) &* XXH3Constant.prime64B
    mixed = (mixed ^ (mixed &>> 29)) &* XXH3Constant.prime64C
    return mixed ^ (mixed &>> 32)
  }

  /// Spreads every bit over the whole word and mixes the length in; for 4 to 8 bytes.
  @inline(__always)
  private static func strongAvalanche(_ value: UInt64, _ length: UInt64) -> UInt64 {
    let rotated49 = (value &<< 49) | (value &>> 15)
    let rotated24 = (value &<< 24) | (value &>> 40)
    var mixed = (value ^ rotated49 ^ rotated24) &* XXH3Constant.mixerB
    mixed = (mixed ^ ((mixed &>> 35) &+ length)) &* XXH3Constant.mixerB
    return mixed ^ (mixed &>> 28)
  }

  /// The byte at `offset`.
  @inline(__always)
  private static func load8(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt8 {
    bytes.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// The four bytes at `offset`, at any alignment.
  @inline(__always)
  private static func load32(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt32 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }

  /// The eight bytes at `offset`, at any alignment.
  @inline(__always)
  static func load64(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}
