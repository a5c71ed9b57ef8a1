// Eight lanes of 64 bits for builds without the optimiser.

#if DEBUG
  /// Eight words, with the operators of `SIMD8<UInt64>` that XXH3 needs.
  ///
  /// Where nothing is optimised, an operator of `SIMD8` is a loop over lanes with checks, and checksums were a third of
  /// what tests of the engine cost, and as much of what apps wait for in their debug builds.
  struct PlainLanes: BitwiseCopyable {
    private var a, b, c, d, e, f, g, h: UInt64

    @_transparent
    init(
      _ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, _ e: UInt64, _ f: UInt64, _ g: UInt64, _ h: UInt64
    ) {
      (self.a, self.b, self.c, self.d) = (a, b, c, d)
      (self.e, self.f, self.g, self.h) = (e, f, g, h)
    }

    @_transparent
    init(repeating word: UInt64) { self.init(word, word, word, word, word, word, word, word) }

    @_transparent
    init() { self.init(repeating: 0) }

    /// The word of a lane from 0 to 7.
    subscript(lane: Int) -> UInt64 {
      switch lane {
      case 0: a
      case 1: b
      case 2: c
      case 3: d
      case 4: e
      case 5: f
      case 6: g
      default: h
      }
    }

    /// Adds the words of a stripe to `sums`, and what they are under the secret, the halves of each multiplied, to
    /// `products`: in place, as each vector in between would be copied from memory to memory.
    @_transparent
    static func add(
      _ stripe: PlainLanes, _ secret: PlainLanes, to sums: inout PlainLanes, _ products: inout PlainLanes
    ) {
      add(stripe.a, secret.a, to: &sums.a, &products.a)
      add(stripe.b, secret.b, to: &sums.b, &products.b)
      add(stripe.c, secret.c, to: &sums.c, &products.c)
      add(stripe.d, secret.d, to: &sums.d, &products.d)
      add(stripe.e, secret.e, to: &sums.e, &products.e)
      add(stripe.f, secret.f, to: &sums.f, &products.f)
      add(stripe.g, secret.g, to: &sums.g, &products.g)
      add(stripe.h, secret.h, to: &sums.h, &products.h)
    }

    @_transparent
    private static func add(_ word: UInt64, _ secret: UInt64, to sum: inout UInt64, _ product: inout UInt64) {
      let keyed = word ^ secret
      sum = sum &+ word
      product = product &+ (keyed & 0xffff_ffff) &* (keyed &>> 32)
    }

    @_transparent
    static func ^ (left: PlainLanes, right: PlainLanes) -> PlainLanes {
      PlainLanes(
        left.a ^ right.a, left.b ^ right.b, left.c ^ right.c, left.d ^ right.d,
        left.e ^ right.e, left.f ^ right.f, left.g ^ right.g, left.h ^ right.h)
    }

    @_transparent
    static func &+ (left: PlainLanes, right: PlainLanes) -> PlainLanes {
      PlainLanes(
        left.a &+ right.a, left.b &+ right.b, left.c &+ right.c, left.d &+ right.d,
        left.e &+ right.e, left.f &+ right.f, left.g &+ right.g, left.h &+ right.h)
    }

    @_transparent
    static func &* (left: PlainLanes, right: PlainLanes) -> PlainLanes {
      PlainLanes(
        left.a &* right.a, left.b &* right.b, left.c &* right.c, left.d &* right.d,
        left.e &* right.e, left.f &* right.f, left.g &* right.g, left.h &* right.h)
    }

    @_transparent
    static func &>> (left: PlainLanes, bits: UInt64) -> PlainLanes {
      PlainLanes(
        left.a &>> bits, left.b &>> bits, left.c &>> bits, left.d &>> bits,
        left.e &>> bits, left.f &>> bits, left.g &>> bits, left.h &>> bits)
    }
  }
#endif
