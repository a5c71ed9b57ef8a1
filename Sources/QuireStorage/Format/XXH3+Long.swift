// XXH3-64 of more than 240 bytes: eight lanes of 64 bits that take in a stripe of 64 bytes at a time.
//
// Layout of the input:
//
//     block 0 (1024 bytes)  block 1  ...  last block (1 to 1024 bytes)
//     stripe 0 ... 15                     whole stripes, then the last 64 bytes of the input, which may overlap
//
// Stripe n of a block is taken in under the 64 bytes of the secret at 8 n; after a whole block the lanes are scrambled
// under the last 64 bytes of the secret. The secret is the constant one with the seed added to its even words and
// subtracted from its odd words.

#if DEBUG
  private typealias Lanes = PlainLanes
#else
  /// Eight lanes of 64 bits: four SSE2 or NEON registers.
  private typealias Lanes = SIMD8<UInt64>
#endif

extension XXH3 {
  private static let secretByteCount = 192
  private static let stripeByteCount = 64
  private static let stripesPerBlock = 16

  /// Hashes more than 240 bytes.
  ///
  /// O(`count`). Deriving the secret anew on each call takes 5 to 7 ns, 4 % of a page of 4 KiB. That is why there is no
  /// cached form, whose memory would need an owner.
  @inline(never)
  static func hashLong(
    _ bytes: UnsafeRawPointer,
    _ count: Int,
    _ seed: UInt64,
    _ constantSecret: UnsafeRawPointer
  ) -> UInt64 {
    // On the stack: the size is a constant.
    withUnsafeTemporaryAllocation(byteCount: secretByteCount, alignment: 16) { buffer in
      // 192 bytes are not empty, so they have an address.
      let secret = buffer.baseAddress.unsafelyUnwrapped
      let minus = 0 &- seed
      let difference = Lanes(seed, minus, seed, minus, seed, minus, seed, minus)
      var offset = 0
      while offset < secretByteCount {
        let derived = loadLanes(constantSecret, offset) &+ difference
        secret.storeBytes(of: derived, toByteOffset: offset, as: Lanes.self)
        offset &+= MemoryLayout<Lanes>.size
      }
      return hashStripes(bytes, count, UnsafeRawPointer(secret))
    }
  }

  /// Takes in all stripes under the derived `secret`.
  @inline(__always)
  private static func hashStripes(
    _ bytes: UnsafeRawPointer,
    _ count: Int,
    _ secret: UnsafeRawPointer
  ) -> UInt64 {
    var accumulator = Accumulator()
    let stripeCount = (count &- 1) / stripeByteCount
    var block = bytes
    var stripesLeft = stripeCount
    while stripesLeft >= stripesPerBlock {
      accumulator.add(stripes: stripesPerBlock, at: block, secret)
      accumulator.scramble(loadLanes(secret, secretByteCount &- stripeByteCount))
      block += stripesPerBlock &* stripeByteCount
      stripesLeft &-= stripesPerBlock
    }
    accumulator.add(stripes: stripesLeft, at: block, secret)
    // The definition takes the last stripe under an odd part of the secret, so that an overlap cancels nothing.
    let lastStripe = loadLanes(bytes, count &- stripeByteCount)
    accumulator.add(lastStripe, loadLanes(secret, secretByteCount &- stripeByteCount &- 7))
    return accumulator.finish(count, secret)
  }

  /// The 64 bytes at `offset`, at any alignment.
  @inline(__always)
  private static func loadLanes(_ bytes: UnsafeRawPointer, _ offset: Int) -> Lanes {
    bytes.loadUnaligned(fromByteOffset: offset, as: Lanes.self)
  }

  /// The state of a long hash; lives in registers.
  ///
  /// The definition adds each word of input to the neighbour of its lane. Here the words are summed by themselves, and
  /// the sums change places once per block: addition does not mind the order, and 15 of 16 shuffles are saved.
  private struct Accumulator {
    /// Starting values, plus the product of every stripe.
    private var products = Lanes(
      XXH3Constant.prime32C,
      XXH3Constant.prime64A,
      XXH3Constant.prime64B,
      XXH3Constant.prime64C,
      XXH3Constant.prime64D,
      XXH3Constant.prime32B,
      XXH3Constant.prime64E,
      XXH3Constant.prime32A
    )
    /// Sums of the input that are still to be added to the lanes beside their own.
    private var words = Lanes()

    /// Takes in one stripe.
    ///
    /// The halves of each word are multiplied as 32 x 32 bits, which is one instruction for two
    /// lanes: the compiler sees that the upper halves of both factors are zero.
    @inline(__always)
    mutating func add(_ stripe: Lanes, _ secret: Lanes) {
      #if DEBUG
        Lanes.add(stripe, secret, to: &words, &products)
      #else
        let keyed = stripe ^ secret
        words = words &+ stripe
        products = products &+ (keyed & Lanes(repeating: 0xffff_ffff)) &* (keyed &>> 32)
      #endif
    }

    /// Takes in `count` stripes from `bytes` on.
    @inline(__always)
    mutating func add(stripes count: Int, at bytes: UnsafeRawPointer, _ secret: UnsafeRawPointer) {
      var index = 0
      while index < count {
        add(loadLanes(bytes, index &* stripeByteCount), loadLanes(secret, index &* 8))
        index &+= 1
      }
    }

    /// Stirs the lanes at the end of a block.
    @inline(__always)
    mutating func scramble(_ secret: Lanes) {
      let sums = joined()
      products = (sums ^ (sums &>> 47) ^ secret) &* Lanes(repeating: XXH3Constant.prime32A)
      words = Lanes()
    }

    /// The lanes of the definition: products plus the sums of the neighbours.
    @inline(__always)
    private func joined() -> Lanes {
      products &+ Lanes(words[1], words[0], words[3], words[2], words[5], words[4], words[7], words[6])
    }

    /// Merges the lanes into the hash of an input of `count` bytes.
    @inline(__always)
    func finish(_ count: Int, _ secret: UnsafeRawPointer) -> UInt64 {
      let sums = joined()
      var result = UInt64(truncatingIfNeeded: count) &* XXH3Constant.prime64A
      result = result &+ foldedProduct(sums[0] ^ mergeWord(0, secret), sums[1] ^ mergeWord(1, secret))
      result = result &+ foldedProduct(sums[2] ^ mergeWord(2, secret), sums[3] ^ mergeWord(3, secret))
      result = result &+ foldedProduct(sums[4] ^ mergeWord(4, secret), sums[5] ^ mergeWord(5, secret))
      result = result &+ foldedProduct(sums[6] ^ mergeWord(6, secret), sums[7] ^ mergeWord(7, secret))
      return avalanche(result)
    }

    /// The word of the secret at 11 + 8 `index`, pieced together from aligned words: a load across two stores made
    /// moments ago would have to wait until both are in the cache.
    @inline(__always)
    private func mergeWord(_ index: Int, _ secret: UnsafeRawPointer) -> UInt64 {
      (load64(secret, 8 &+ 8 &* index) &>> 24) | (load64(secret, 16 &+ 8 &* index) &<< 40)
    }
  }
}
