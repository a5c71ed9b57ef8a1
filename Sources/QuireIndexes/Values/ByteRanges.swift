// Sets of values as ranges of their bytes.

/// The bytes from `lower` up to `upper`, which is not among them; nil means no bound.
///
/// As no value's bytes begin another value's, a value is in a range exactly if everything that begins with its bytes
/// is: ranges of values are ranges of keys.
struct ByteRange: Hashable, Sendable {
  var lower: [UInt8]
  var upper: [UInt8]?

  /// Everything.
  static let all = ByteRange(lower: [], upper: nil)

  /// All that begins with `prefix`; one value, if these are its bytes.
  init(prefix: [UInt8]) {
    lower = prefix
    upper = prefix.endOfPrefix
  }

  init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }

  /// Whether the range holds one value at most: all that begins with its lower bound.
  var isPoint: Bool { !lower.isEmpty && upper == lower.endOfPrefix }

  func contains(_ bytes: [UInt8]) -> Bool {
    if bytes.lexicographicallyPrecedes(lower) { return false }
    return upper.map { bytes.lexicographicallyPrecedes($0) } ?? true
  }
}

extension [UInt8] {
  /// The least bytes that are above all that begins with these; nil if there are none.
  var endOfPrefix: [UInt8]? {
    var end = self
    while let last = end.last {
      if last < 0xff {
        end[end.count - 1] = last + 1
        return end
      }
      end.removeLast()
    }
    return nil
  }
}

/// A set of values: ranges in order.
///
/// Invariants:
/// 1. No range is empty.
/// 2. Each begins above the end of the one before, so that two never touch; only the last may have no end.
struct ByteRanges: Hashable, Sendable {
  private(set) var list: [ByteRange]

  /// No value.
  static let none = ByteRanges(sorted: [])
  /// Every value.
  static let all = ByteRanges(sorted: [.all])

  private init(sorted: [ByteRange]) { list = sorted }

  /// The values of one range.
  init(_ range: ByteRange) { list = range.isEmpty ? [] : [range] }

  /// The values of several ranges, in any order.
  init(_ ranges: some Sequence<ByteRange>) {
    list = []
    for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.lower.lexicographicallyPrecedes($1.lower) }) {
      guard let last = list.last else {
        list.append(range)
        continue
      }
      guard let end = last.upper else { break }
      if end.lexicographicallyPrecedes(range.lower) {
        list.append(range)
      } else if let upper = range.upper {
        if end.lexicographicallyPrecedes(upper) { list[list.count - 1].upper = upper }
      } else {
        list[list.count - 1].upper = nil
      }
    }
    assert(isSound, "ranges are out of order")
  }

  var isEmpty: Bool { list.isEmpty }
  /// Whether every value is in it.
  var isAll: Bool { list == [.all] }
  /// Whether each range holds one value at most.
  var arePoints: Bool { list.allSatisfy(\.isPoint) }

  /// O(log ranges).
  func contains(_ bytes: [UInt8]) -> Bool {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if bytes.lexicographicallyPrecedes(list[middle].lower) { high = middle } else { low = middle + 1 }
    }
    return low > 0 && list[low - 1].contains(bytes)
  }

  func union(_ other: ByteRanges) -> ByteRanges { ByteRanges(list + other.list) }

  func intersection(_ other: ByteRanges) -> ByteRanges {
    var common: [ByteRange] = []
    var (left, right) = (0, 0)
    while left < list.count, right < other.list.count {
      let (one, two) = (list[left], other.list[right])
      let lower = one.lower.lexicographicallyPrecedes(two.lower) ? two.lower : one.lower
      let range = ByteRange(lower: lower, upper: Self.least(one.upper, two.upper))
      if !range.isEmpty { common.append(range) }
      // The one that ends first has nothing more in common.
      if range.upper == one.upper { left += 1 } else { right += 1 }
    }
    return ByteRanges(common)
  }

  /// All values that are not in it.
  var complement: ByteRanges {
    var gaps: [ByteRange] = []
    var lower: [UInt8]? = []
    for range in list {
      if let lower { gaps.append(ByteRange(lower: lower, upper: range.lower)) }
      lower = range.upper
    }
    if let lower { gaps.append(ByteRange(lower: lower, upper: nil)) }
    return ByteRanges(gaps)
  }

  /// Whether every value of it is in `other`.
  func isSubset(of other: ByteRanges) -> Bool { intersection(other) == self }

  /// The same values with `prefix` in front of their bytes.
  func behind(_ prefix: [UInt8]) -> ByteRanges {
    ByteRanges(
      list.map { ByteRange(lower: prefix + $0.lower, upper: $0.upper.map { prefix + $0 } ?? prefix.endOfPrefix) })
  }

  private static func least(_ one: [UInt8]?, _ two: [UInt8]?) -> [UInt8]? {
    guard let one else { return two }
    guard let two else { return one }
    return one.lexicographicallyPrecedes(two) ? one : two
  }

  /// Whether the invariants hold.
  var isSound: Bool {
    list.allSatisfy { !$0.isEmpty }
      && zip(list, list.dropFirst()).allSatisfy { one, two in one.upper?.lexicographicallyPrecedes(two.lower) ?? false }
  }
}
