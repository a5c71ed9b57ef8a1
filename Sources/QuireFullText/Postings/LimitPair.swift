// What the best score in a block can be made of.

/// Upper limits for some rows: each has at most this frequency and at least this length.
struct LimitPair: Hashable, Sendable {
  /// A frequency that stands for any.
  static let anyFrequency: UInt8 = 255

  /// The sum over all fields; 255 stands for any.
  var frequency: UInt8
  /// The tokens of the row, rounded down.
  var lengthCode: UInt8

  init(frequency: UInt8, lengthCode: UInt8) {
    (self.frequency, self.lengthCode) = (frequency, lengthCode)
  }

  init(frequency: Int, length: Int) {
    assert(frequency > 0 && length >= 0, "a posting has no frequency")
    self.init(frequency: UInt8(min(frequency, 255)), lengthCode: LengthCode.code(of: length))
  }

  /// The length that the code stands for.
  var length: Int { LengthCode.length(of: lengthCode) }

  /// Whether a row with `other`'s values, or with none that are better, is within these limits.
  func dominates(_ other: LimitPair) -> Bool {
    frequency >= other.frequency && lengthCode <= other.lengthCode
  }

  /// The saturated frequency in a text of 128 tokens on average: by it limits are compared that neither dominates.
  fileprivate var weight: Float {
    let frequency = frequency == Self.anyFrequency ? Float.infinity : Float(frequency)
    return frequency.isInfinite ? 1 : frequency / (frequency + 0.3 + 0.9 * Float(length) / 128)
  }
}

/// Lengths of texts as one byte: exact below 40, then with three bits behind the highest one; rounded down. The order
/// of codes is that of lengths.
enum LengthCode {
  /// So many codes stand for lengths as they are, in front of those that are made as floating-point numbers.
  private static let exactCount = 24

  static func code(of length: Int) -> UInt8 {
    guard length > 0 else { return 0 }
    guard length > exactCount else { return UInt8(length) }
    let rest = length - exactCount
    guard rest >= 8 else { return UInt8(exactCount + rest) }
    let shift = Int.bitWidth - rest.leadingZeroBitCount - 4
    return UInt8(min(255, exactCount + ((rest >> shift) & 7 | (shift + 1) << 3)))
  }

  static func length(of code: UInt8) -> Int {
    guard code > exactCount else { return Int(code) }
    let rest = Int(code) - exactCount
    guard rest >= 8 else { return exactCount + rest }
    return exactCount + (rest & 7 | 8) << (rest >> 3 - 1)
  }
}

/// One to four pairs of limits: each row of a block, or of a term, is within one of them.
struct LimitPairs: Hashable, Sendable {
  static let maximumCount = 4

  private(set) var count: Int
  /// Sixteen bits each, the first pair lowest: frequency, then length code.
  private var word: UInt64

  init(_ pair: LimitPair) { (count, word) = (1, Self.bits(pair)) }

  /// Nothing is known of the rows.
  static let any = LimitPairs(LimitPair(frequency: LimitPair.anyFrequency, lengthCode: 0))

  subscript(index: Int) -> LimitPair {
    let bits = word >> UInt64(truncatingIfNeeded: index &* 16)
    return LimitPair(
      frequency: UInt8(truncatingIfNeeded: bits), lengthCode: UInt8(truncatingIfNeeded: bits >> 8))
  }

  private static func bits(_ pair: LimitPair) -> UInt64 { UInt64(pair.frequency) | UInt64(pair.lengthCode) << 8 }

  /// Pairs as `append` has written them; nil if there are none, too many, or one without a frequency.
  init?(_ reader: inout ByteReader, count: Int) {
    guard (1...Self.maximumCount).contains(count) else { return nil }
    (self.count, word) = (count, 0)
    for index in 0..<count {
      guard let frequency = reader.byte(), let lengthCode = reader.byte(), frequency > 0 else { return nil }
      word |= Self.bits(LimitPair(frequency: frequency, lengthCode: lengthCode)) << UInt64(index * 16)
    }
  }

  /// Appends two bytes for each pair.
  func append(to bytes: inout [UInt8]) {
    for index in 0..<count {
      bytes.append(self[index].frequency)
      bytes.append(self[index].lengthCode)
    }
  }

  /// Appends the same.
  func append(to bytes: ByteBuilder) {
    for index in 0..<count {
      bytes.append(self[index].frequency)
      bytes.append(self[index].lengthCode)
    }
  }

  /// Whether a row with these values is within the limits.
  func dominates(_ pair: LimitPair) -> Bool { (0..<count).contains { self[$0].dominates(pair) } }
}

/// Gathers the values of rows, and makes limits of them.
struct LimitCollector {
  /// Stands for no length code.
  private static let none: UInt16 = 256
  /// The least length code of each frequency.
  private var leastCodes = [UInt16](repeating: none, count: 256)
  private var greatest = 0
  /// Two pairs become one where that raises what the best score is made of by less than this.
  private static let triflingLoss: Float = 0.015

  mutating func add(_ pair: LimitPair) {
    let index = Int(pair.frequency)
    greatest = max(greatest, index)
    leastCodes[index] = min(leastCodes[index], UInt16(pair.lengthCode))
  }

  mutating func add(_ pairs: LimitPairs) {
    for index in 0..<pairs.count { add(pairs[index]) }
  }

  /// The limits of what was added, which is forgotten; nil if that was nothing.
  mutating func take() -> LimitPairs? {
    var pairs = takeFrontier()
    guard !pairs.isEmpty else { return nil }
    while pairs.count > 1 {
      // Of two neighbours the first has the greater frequency, and the second the smaller length.
      var (best, leastLoss) = (0, Float.infinity)
      for index in 1..<pairs.count {
        let joined = LimitPair(frequency: pairs[index - 1].frequency, lengthCode: pairs[index].lengthCode)
        let loss = joined.weight - max(pairs[index - 1].weight, pairs[index].weight)
        if loss < leastLoss { (best, leastLoss) = (index, loss) }
      }
      if pairs.count <= LimitPairs.maximumCount && leastLoss > Self.triflingLoss { break }
      pairs[best].frequency = pairs[best - 1].frequency
      pairs.remove(at: best - 1)
    }
    return LimitPairs(pairs)
  }

  /// The pairs that no other one dominates, from the greatest frequency down.
  private mutating func takeFrontier() -> [LimitPair] {
    var pairs: [LimitPair] = []
    var least = Self.none
    for frequency in stride(from: greatest, to: 0, by: -1) {
      let code = leastCodes[frequency]
      if code < least {
        pairs.append(LimitPair(frequency: UInt8(frequency), lengthCode: UInt8(code)))
        least = code
      }
      leastCodes[frequency] = Self.none
    }
    greatest = 0
    return pairs
  }
}

extension LimitPairs {
  fileprivate init(_ pairs: [LimitPair]) {
    assert((1...Self.maximumCount).contains(pairs.count), "there are too many limits, or none")
    (count, word) = (pairs.count, 0)
    for (index, pair) in pairs.enumerated() { word |= Self.bits(pair) << UInt64(index * 16) }
  }
}
