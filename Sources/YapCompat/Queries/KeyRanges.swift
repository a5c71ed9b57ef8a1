// Sets of values as ranges of the bytes of their keys.

/// The bytes from `lower` up to `upper`, which is not among them; nil means no bound.
struct KeyRange: Hashable, Sendable {
  var lower: [UInt8]
  var upper: [UInt8]?

  /// Everything.
  static let all = KeyRange(lower: [], upper: nil)

  init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// All that begins with `prefix`: one value, if these are its bytes.
  init(prefix: [UInt8]) { self.init(lower: prefix, upper: prefix.endOfPrefix) }

  var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }
}

extension [UInt8] {
  /// The least bytes that are above all that begins with these; nil if there are none.
  var endOfPrefix: [UInt8]? {
    guard let last = lastIndex(where: { $0 < 0xff }) else { return nil }
    return self[..<last] + [self[last] + 1]
  }
}

/// A set of values: ranges in order.
///
/// Invariants:
/// 1. No range is empty.
/// 2. Each begins above the end of the one before; only the last may have no end.
struct KeyRanges: Hashable, Sendable {
  private(set) var list: [KeyRange]

  static let none = KeyRanges([])
  static let all = KeyRanges([.all])

  /// The values of several ranges, in any order.
  init(_ ranges: some Sequence<KeyRange>) {
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

  func intersection(_ other: KeyRanges) -> KeyRanges {
    var common: [KeyRange] = []
    var (left, right) = (0, 0)
    while left < list.count, right < other.list.count {
      let (one, two) = (list[left], other.list[right])
      let lower = one.lower.lexicographicallyPrecedes(two.lower) ? two.lower : one.lower
      let endsFirst = Self.ends(one.upper, before: two.upper)
      common.append(KeyRange(lower: lower, upper: endsFirst ? one.upper : two.upper))
      // The one that ends first has nothing more in common.
      if endsFirst { left += 1 } else { right += 1 }
    }
    return KeyRanges(common)
  }

  private static func ends(_ one: [UInt8]?, before two: [UInt8]?) -> Bool {
    guard let one else { return false }
    return two.map { one.lexicographicallyPrecedes($0) } ?? true
  }

  /// All values that are not in it.
  var complement: KeyRanges {
    var gaps: [KeyRange] = []
    var lower: [UInt8]? = []
    for range in list {
      if let lower { gaps.append(KeyRange(lower: lower, upper: range.lower)) }
      lower = range.upper
    }
    if let lower { gaps.append(KeyRange(lower: lower, upper: nil)) }
    let complement = KeyRanges(gaps)
    assert(complement.intersection(self).list.isEmpty, "a value is both in a set and not")
    return complement
  }

  /// The same ranges for keys that have no more than `count` bytes of a value, and whether these hold no other values.
  func cut(to count: Int) -> (ranges: KeyRanges, isExact: Bool) {
    guard list.contains(where: { $0.lower.count > count || ($0.upper?.count ?? 0) > count }) else {
      return (self, true)
    }
    let cut = list.map { range in
      // What begins with a bound that was cut may lie on either side of it.
      let upper = range.upper.flatMap { $0.count > count ? Array($0.prefix(count)).endOfPrefix : $0 }
      return KeyRange(lower: Array(range.lower.prefix(count)), upper: upper)
    }
    let ranges = KeyRanges(cut)
    assert(ranges.list.allSatisfy { $0.lower.count <= count && ($0.upper?.count ?? 0) <= count }, "a bound was not cut")
    return (ranges, false)
  }

  /// Whether the invariants hold.
  private var isSound: Bool {
    list.allSatisfy { !$0.isEmpty }
      && zip(list, list.dropFirst()).allSatisfy { one, two in one.upper?.lexicographicallyPrecedes(two.lower) ?? false }
  }
}
