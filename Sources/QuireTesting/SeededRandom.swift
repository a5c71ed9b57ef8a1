// Repeatable randomness: the same seed gives the same numbers on every machine and in every version.

/// A small, fast random number generator (SplitMix64, Steele, Lea and Flood, 2014) whose whole state is its seed.
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Starts from `seed`; equal seeds give equal sequences.
  public init(seed: UInt64) { state = seed }

  /// The next 64 random bits. O(1).
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// A number below `bound`, which must be positive. Not perfectly uniform for huge bounds, and always one draw.
  public mutating func below(_ bound: Int) -> Int {
    precondition(bound > 0)
    return Int(next() % UInt64(bound))
  }

  /// True once in `count` draws on average.
  public mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

  /// Fills `target` with random bytes.
  mutating func fill(_ target: UnsafeMutableRawBufferPointer) {
    var offset = 0
    while offset < target.count {
      var word = next()
      for index in offset..<min(offset + 8, target.count) {
        target[index] = UInt8(truncatingIfNeeded: word)
        word >>= 8
      }
      offset += 8
    }
  }

  /// One of the elements, of which there must be some.
  package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  /// A generator of its own, seeded from this one, so that what one part draws does not shift what another sees.
  public mutating func fork() -> SeededRandom { SeededRandom(seed: next()) }
}
