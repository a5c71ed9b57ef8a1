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

    @_transparent
    static func ^ (left: PlainLanes, right: PlainLanes) -> PlainLanes {
      PlainLanes(
        left.a ^ right.a, left.b ^ right.b, left.c ^ right.c, left.d ^ right.d,
        left.e ^ right.e, left.f ^ right.f, left.g ^ right.g, left.h ^ right.h)
    }

    @_transparent
    static func & (left: PlainLanes, right: PlainLanes) -> PlainLanes {
      PlainLanes(
        left.a & right.a, left.b & right.b, left.c & right.c, left.d & right.d,
        left.e & right.e, left.f & right.f, left.g & right.g, left.h & right.h)
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
