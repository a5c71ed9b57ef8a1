// Sets of values as ranges of their bytes.

internal import QuireDatabase

/// The bytes from `lower` up to `upper`, which is not among them; nil means no bound.
///
/// As no value's bytes begin another value's, a value is in a range exactly if everything that begins with its bytes
/// is: ranges of values are ranges of keys.
struct ByteRange: Sendable {
  let lower: [UInt8]
  let upper: [UInt8]?
  /// Whether it is known to hold one value and no other: all that begins with the value's bytes.
  let isPoint: Bool

  /// Everything.
  static let all = ByteRange(lower: [], upper: nil)

  /// All values whose bytes begin with `prefix`.
  init(prefix: [UInt8]) { self.init(lower: prefix, upper: prefix.endOfPrefix) }

  /// The one value of these bytes.
  init(value: [UInt8]) { self.init(lower: value, upper: value.endOfPrefix, isPoint: !value.isEmpty) }

  init(lower: [UInt8], upper: [UInt8]?, isPoint: Bool = false) {
    assert(!isPoint || !lower.isEmpty && upper == lower.endOfPrefix, "a point holds more than one value")
    self.lower = lower
    self.upper = upper
    self.isPoint = isPoint
  }

  var isEmpty: Bool { upper.map { !lower.precedes($0) } ?? false }

}

extension ByteRange: Hashable {
  // The bounds say what is in it.
  static func == (left: Self, right: Self) -> Bool { left.lower == right.lower && left.upper == right.upper }

  func hash(into hasher: inout Hasher) {
    hasher.combine(lower)
    hasher.combine(upper)
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

/// A set of values as a test of many: if it is one range, the first eight bytes of a value decide nearly always.
struct RangeTest {
  private let ranges: ByteRanges
  /// Whether what follows is of any use.
  private let isOneRange: Bool
  private let lower: UInt64
  private let upper: UInt64
  private let hasUpper: Bool
  /// Whether the bounds have no more bytes than these.
  private let isLowerWhole: Bool
  private let isUpperWhole: Bool

  init(_ ranges: ByteRanges) {
    self.ranges = ranges
    isOneRange = ranges.count == 1
    let first = isOneRange ? ranges.list.first : nil
    let (low, high) = (first?.lower ?? [], first?.upper)
    (lower, isLowerWhole) = (Self.front(low), low.count <= 8)
    (upper, isUpperWhole) = (Self.front(high ?? []), (high?.count ?? 0) <= 8)
    hasUpper = high != nil
  }

  /// The first eight bytes, with zeros behind fewer, as a number of their order.
  private static func front(_ bytes: [UInt8]) -> UInt64 {
    var word: UInt64 = 0
    for index in 0..<8 { word = word << 8 | UInt64(index < bytes.count ? bytes[index] : 0) }
    return word
  }

  /// Whether the value of some bytes is in the set.
  @inline(__always) func contains(_ bytes: RawSpan) -> Bool {
    guard isOneRange, bytes.byteCount >= 8 else { return containsSlowly(bytes) }
    let front = UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(as: UInt64.self))
    if front < lower { return false }
    if front == lower, !isLowerWhole { return containsSlowly(bytes) }
    // What begins with all bytes of a bound is not below it.
    if !hasUpper || front < upper { return true }
    return front == upper && !isUpperWhole && containsSlowly(bytes)
  }

  @inline(never) private func containsSlowly(_ bytes: RawSpan) -> Bool {
    unsafe bytes.withUnsafeBytes { unsafe ranges.contains($0) }
  }
}

/// A set of values: ranges in order.
///
/// Invariants:
/// 1. No range is empty.
/// 2. A range that is a point holds all that begins with the bytes of one value, and no more.
/// 3. Each begins above the end of the one before, so that two never touch; only the last may have no end.
/// 4. More ranges than `mostListed`, and no fewer, are `many`.
struct ByteRanges: Hashable, Sendable {
  private enum Storage: Hashable {
    case few([ByteRange])
    indirect case many(ByteSpans)
  }

  private let storage: Storage
  /// More ranges stand in one piece of memory.
  private static let mostListed = 16

  /// No value.
  static let none = ByteRanges(sorted: [])
  /// Every value.
  static let all = ByteRanges(sorted: [.all])

  private init(sorted: [ByteRange]) {
    if sorted.count <= Self.mostListed {
      storage = .few(sorted)
    } else {
      var spans = ByteSpans(capacity: sorted.count)
      for range in sorted { spans.append(range) }
      storage = .many(spans)
    }
    assert(isSound, "ranges are out of order")
  }

  /// Single values, in any order.
  init(_ points: PointList) {
    if points.hasEmpty {
      self = .all
    } else if points.count <= Self.mostListed {
      self.init(points.ranges)
    } else {
      self.init(points.sorted())
    }
  }

  /// Spans that do not touch.
  private init(_ spans: ByteSpans) {
    storage =
      spans.count <= Self.mostListed ? .few((0..<spans.count).map { ByteRange($0, of: spans) }) : .many(spans)
    assert(isSound, "ranges are out of order")
  }

  /// The values of one range.
  init(_ range: ByteRange) { self.init(sorted: range.isEmpty ? [] : [range]) }

  /// The values of several ranges, in any order.
  init(_ ranges: some Sequence<ByteRange>) {
    var list: [ByteRange] = []
    for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.lower.precedes($1.lower) }) {
      guard let last = list.last else {
        list.append(range)
        continue
      }
      guard let end = last.upper else { break }
      if end.precedes(range.lower) {
        list.append(range)
      } else if let upper = range.upper {
        if end.precedes(upper) {
          list[list.count - 1] = ByteRange(lower: last.lower, upper: upper)
        }
      } else {
        list[list.count - 1] = ByteRange(lower: last.lower, upper: nil)
      }
    }
    self.init(sorted: list)
  }

  /// The ranges. Makes them, if there are many.
  var list: [ByteRange] {
    switch storage {
    case .few(let list): list
    case .many(let spans): (0..<spans.count).map { ByteRange($0, of: spans) }
    }
  }

  /// The ranges in one piece of memory, if there are many.
  var spans: ByteSpans? { if case .many(let spans) = storage { spans } else { nil } }

  /// The number of ranges.
  var count: Int {
    switch storage {
    case .few(let list): list.count
    case .many(let spans): spans.count
    }
  }

  var isEmpty: Bool { count == 0 }
  /// Whether every value is in it.
  var isAll: Bool { if case .few(let list) = storage { list == [.all] } else { false } }
  /// Whether each range holds one value at most.
  var arePoints: Bool {
    switch storage {
    case .few(let list): list.allSatisfy(\.isPoint)
    case .many(let spans): spans.arePoints
    }
  }

  /// O(log ranges).
  func contains(_ bytes: [UInt8]) -> Bool { unsafe bytes.withUnsafeBytes { unsafe contains($0) } }

  /// The same for bytes where they lie.
  func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let list: [ByteRange]
    switch storage {
    case .few(let few): list = few
    case .many(let spans): return unsafe spans.contains(bytes.bytes)
    }
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if unsafe bytes.precedes(list[middle].lower) { high = middle } else { low = middle + 1 }
    }
    // The last range that begins at the value or before it.
    guard low > 0 else { return false }
    return list[low - 1].upper.map { unsafe bytes.precedes($0) } ?? true
  }

  func union(_ other: ByteRanges) -> ByteRanges { ByteRanges(list + other.list) }

  func intersection(_ other: ByteRanges) -> ByteRanges {
    let (list, others) = (list, other.list)
    var common: [ByteRange] = []
    var (left, right) = (0, 0)
    while left < list.count, right < others.count {
      let (one, two) = (list[left], others[right])
      let lower = one.lower.precedes(two.lower) ? two.lower : one.lower
      var range = ByteRange(lower: lower, upper: Self.least(one.upper, two.upper))
      if range == one, one.isPoint { range = one } else if range == two, two.isPoint { range = two }
      if !range.isEmpty { common.append(range) }
      // The one that ends first has nothing more in common.
      if range.upper == one.upper { left += 1 } else { right += 1 }
    }
    // Between two of them lies a gap of one of the two sets.
    return ByteRanges(sorted: common)
  }

  /// Those of its values whose bytes do not begin with `prefix`.
  func removing(prefix: [UInt8]) -> ByteRanges {
    guard case .few(let list) = storage, list.count == 1 else {
      return intersection(ByteRanges(ByteRange(prefix: prefix)).complement)
    }
    let (range, end) = (list[0], prefix.endOfPrefix)
    if let upper = range.upper, !prefix.precedes(upper) { return self }
    if let end, !range.lower.precedes(end) { return self }
    var rest: [ByteRange] = []
    if range.lower.precedes(prefix) { rest.append(ByteRange(lower: range.lower, upper: prefix)) }
    if let end, range.upper.map({ end.precedes($0) }) ?? true {
      rest.append(ByteRange(lower: end, upper: range.upper))
    }
    return ByteRanges(sorted: rest)
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
    // Only in front of the first range there may be nothing.
    return ByteRanges(sorted: gaps.first?.isEmpty == true ? Array(gaps.dropFirst()) : gaps)
  }

  /// Those of the values of `range` that stand in an order with the value of some bytes, from which the range was made:
  /// without what is absent or unordered, and none if the value itself is such.
  static func ordered(_ range: ByteRange, with bytes: [UInt8], absent: [UInt8]?, unordered: [UInt8]?) -> ByteRanges {
    var ranges = ByteRanges(range)
    for odd in [absent, unordered] {
      guard let odd else { continue }
      if bytes.starts(with: odd) { return .none }
      ranges = ranges.removing(prefix: odd)
    }
    return ranges
  }

  /// Whether every value of it is in `other`.
  func isSubset(of other: ByteRanges) -> Bool { intersection(other) == self }

  /// The same values with `prefix` in front of their bytes.
  func behind(_ prefix: [UInt8]) -> ByteRanges {
    if let spans {
      var moved = ByteSpans(capacity: spans.count, byteCount: spans.byteCount + spans.count * prefix.count)
      moved.append(spans, behind: prefix)
      return ByteRanges(moved)
    }
    return ByteRanges(
      list.map { range in
        ByteRange(
          lower: prefix + range.lower, upper: range.upper.map { prefix + $0 } ?? prefix.endOfPrefix,
          isPoint: range.isPoint)
      })
  }

  private static func least(_ one: [UInt8]?, _ two: [UInt8]?) -> [UInt8]? {
    guard let one else { return two }
    guard let two else { return one }
    return one.precedes(two) ? one : two
  }

  /// Whether the invariants hold.
  var isSound: Bool {
    if (spans != nil) != (count > Self.mostListed) { return false }
    let list = list
    return list.allSatisfy { !$0.isEmpty }
      && zip(list, list.dropFirst()).allSatisfy { one, two in one.upper?.precedes(two.lower) ?? false }
  }
}

extension ByteRange {
  /// One of many.
  init(_ index: Int, of spans: ByteSpans) {
    self.init(lower: spans.lower(index), upper: spans.upper(index), isPoint: spans.isPoint(index))
  }
}

extension ByteSpans {
  /// Adds a range above all others.
  mutating func append(_ range: ByteRange) {
    if range.isPoint {
      unsafe append(point: range.lower.span.bytes)
    } else {
      append(lower: range.lower, upper: range.upper)
    }
  }

  /// Adds spans with `prefix` in front of their bounds, which is above what begins the others.
  mutating func append(_ spans: ByteSpans, behind prefix: [UInt8]) {
    var lower = prefix
    for index in 0..<spans.count {
      lower.removeSubrange(prefix.count...)
      spans.withLower(index) { bytes in unsafe bytes.withUnsafeBytes { unsafe lower.append(contentsOf: $0) } }
      if spans.isPoint(index) {
        unsafe append(point: lower.span.bytes)
      } else {
        append(lower: lower, upper: spans.upper(index).map { prefix + $0 } ?? prefix.endOfPrefix)
      }
    }
  }
}
