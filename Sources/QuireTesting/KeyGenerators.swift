// Keys and values for simulated workloads, from seeds: few keys so that commits collide, many so that trees grow, and
// the lengths and orders that break things.

/// A fixed set of keys from which a workload picks.
package struct KeyUniverse: Sendable {
  /// What the keys look like.
  package enum Shape: Sendable, CaseIterable {
    /// Random bytes of one length.
    case scattered
    /// A long common prefix, so that only the ends of the keys differ.
    case sharedPrefix
    /// Every length from the empty key to the longest, and keys that continue other keys.
    case mixedLengths
    /// 64-bit integers in order-preserving form, the extremes among them.
    case integers
    /// Consecutive numbers in order-preserving form.
    case consecutive
  }

  /// The sizes that the tests use: all collide, some collide, hardly any does.
  package static let usualCounts = [4, 64, 10_000]

  /// The keys, distinct and ascending in the order of their bytes.
  package let keys: [[UInt8]]
  /// What they look like.
  package let shape: Shape

  /// Draws `count` keys of at most `maximumLength` bytes (8 for integers). There must be that many such keys.
  package init(count: Int, shape: Shape, maximumLength: Int = 64, seed: UInt64) {
    precondition(count > 0 && maximumLength >= 4)
    self.shape = shape
    var random = SeededRandom(seed: seed)
    let prefix = (0..<maximumLength - 4).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    var known: Set<[UInt8]> = []
    var number = Int64(bitPattern: random.next() >> 8)
    for key in Self.extremes(shape, maximumLength, prefix) where known.count < count { known.insert(key) }
    while known.count < count {
      switch shape {
      case .scattered: known.insert(Self.noise(min(16, maximumLength), &random))
      case .sharedPrefix: known.insert(prefix + Self.noise(1 + random.below(4), &random))
      case .mixedLengths:
        let base = known.isEmpty || random.oneIn(2) ? [] : prefix.prefix(random.below(prefix.count + 1))
        known.insert(base + Self.noise(random.below(maximumLength - base.count + 1), &random))
      case .integers: known.insert(Self.key(Int64(bitPattern: random.next()) >> Int64(random.below(64))))
      case .consecutive:
        known.insert(Self.key(number))
        number += 1
      }
    }
    keys = known.sorted(by: ModelTree.precedes)
  }

  /// Draws shape and keys.
  package init(count: Int, maximumLength: Int = 64, seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let shape = Shape.allCases[random.below(Shape.allCases.count)]
    self.init(count: count, shape: shape, maximumLength: maximumLength, seed: random.next())
  }

  /// An integer as eight bytes whose order is that of the integers.
  package static func key(_ number: Int64) -> [UInt8] {
    let bits = UInt64(bitPattern: number) ^ (1 << 63)
    return (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
  }

  /// The integer of an eight-byte key; nil for other lengths.
  package static func number(_ key: [UInt8]) -> Int64? {
    if key.count != 8 { return nil }
    return Int64(bitPattern: key.reduce(0) { $0 << 8 | UInt64($1) } ^ (1 << 63))
  }

  /// The keys that a shape must have before any other.
  private static func extremes(_ shape: Shape, _ maximumLength: Int, _ prefix: [UInt8]) -> [[UInt8]] {
    switch shape {
    case .scattered, .consecutive: []
    case .sharedPrefix: [prefix, prefix + [0], prefix + [0, 0], prefix + [255]]
    case .mixedLengths:
      [
        [], [UInt8](repeating: 255, count: maximumLength), [0], [UInt8](repeating: 0, count: maximumLength), [0, 0],
        prefix, prefix + [0],
      ]
    case .integers: [.min, .max, 0, -1, 1, .min + 1, .max - 1].map(key)
    }
  }

  private static func noise(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) }
  }
}

/// Picks keys of a universe in one of the orders that workloads have.
package struct KeyPicker: Sendable {
  /// In which order keys come.
  package enum Order: Sendable, CaseIterable {
    /// Each key as likely as any other.
    case uniform
    /// Four of five picks from the first fifth of the keys.
    case skewed
    /// Upwards, and from the start again.
    case ascending
    /// Downwards, and from the end again.
    case descending
    /// Upwards in short runs that each begin a little above the start of the one before.
    case sawtooth
  }

  /// The keys to pick from.
  package let universe: KeyUniverse
  /// The order of the picks.
  package let order: Order
  private var random: SeededRandom
  private var pickCount = 0

  /// Picks in a given order.
  package init(_ universe: KeyUniverse, order: Order, seed: UInt64) {
    self.universe = universe
    self.order = order
    random = SeededRandom(seed: seed)
  }

  /// Draws the order too.
  package init(_ universe: KeyUniverse, seed: UInt64) {
    var random = SeededRandom(seed: seed)
    self.init(universe, order: Order.allCases[random.below(Order.allCases.count)], seed: random.next())
  }

  /// The next key.
  package mutating func next() -> [UInt8] { universe.keys[nextIndex()] }

  /// The next key's index in the universe.
  package mutating func nextIndex() -> Int {
    let count = universe.keys.count
    defer { pickCount += 1 }
    switch order {
    case .uniform: return random.below(count)
    case .skewed: return random.oneIn(5) ? random.below(count) : random.below((count + 4) / 5)
    case .ascending: return pickCount % count
    case .descending: return count - 1 - pickCount % count
    case .sawtooth: return (pickCount / 16 * 4 + pickCount % 16) % count
    }
  }

  /// A range between two keys of the universe, now and then with an open end or with nothing in it.
  package mutating func nextRange() -> ModelRange {
    let keys = universe.keys
    let ends = [random.below(keys.count), random.below(keys.count)].sorted()
    return ModelRange(
      from: random.oneIn(8) ? nil : keys[ends[0]], to: random.oneIn(8) ? nil : keys[ends[1]])
  }
}

/// Makes values, each different from all others of at least eight bytes.
package struct ValueGenerator: Sendable {
  /// How long values are.
  package enum Sizes: Hashable, Sendable {
    /// All of one length, so that a record can end exactly where a stale one of the same length begins.
    case equal(Int)
    /// From nothing to three pages, most of them short, the edges of a page often; `rare` bytes once in 256.
    case mixed(pageByteCount: Int, rare: Int)
  }

  /// How long the values are.
  package let sizes: Sizes
  private var random: SeededRandom
  private var valueCount: UInt64 = 0

  /// Makes values of given sizes; 24 bytes each by default.
  package init(_ sizes: Sizes = .equal(24), seed: UInt64) {
    self.sizes = sizes
    random = SeededRandom(seed: seed)
  }

  /// Draws the sizes too: three times of four equal ones.
  package init(drawingSizesFrom seed: UInt64, pageByteCount: Int = 4096) {
    var random = SeededRandom(seed: seed)
    let lengths = [8, 16, 24, 100, 488, 512, pageByteCount / 4]
    let equal = Sizes.equal(lengths[random.below(lengths.count)])
    let sizes = random.oneIn(4) ? Sizes.mixed(pageByteCount: pageByteCount, rare: 16 * pageByteCount) : equal
    self.init(sizes, seed: random.next())
  }

  /// The next value: a number of its own, then noise.
  package mutating func next() -> [UInt8] {
    let count = nextLength()
    valueCount += 1
    var value = [UInt8](repeating: 0, count: count)
    value.withUnsafeMutableBytes { bytes in
      random.fill(bytes)
      if bytes.count >= 8 { bytes.storeBytes(of: valueCount.littleEndian, as: UInt64.self) }
    }
    return value
  }

  private mutating func nextLength() -> Int {
    switch sizes {
    case .equal(let count): return count
    case .mixed(let page, let rare):
      if random.oneIn(256) { return rare }
      if random.oneIn(8) { return [0, 1, page - 1, page, page + 1, 2 * page, 3 * page][random.below(7)] }
      return random.oneIn(4) ? random.below(3 * page + 1) : random.below(64)
    }
  }
}
