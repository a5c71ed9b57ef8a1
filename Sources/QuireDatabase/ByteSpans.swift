// Many spans of bytes in little memory.

/// Spans of bytes in order and apart: of values, or of the keys of a tree. However many there are, their bounds lie one
/// behind the other in one piece of memory.
///
/// Invariants:
/// 1. No span is empty, and none is a point without bytes.
/// 2. None begins below the end of the one before; only the last may have no end.
public struct ByteSpans: Sendable {
  /// Where the bounds of a span lie: the upper one behind the lower one.
  private struct Place {
    let start: Int
    let lowerCount: Int32
    /// The bytes of the upper bound; or one of the two below, and there are none.
    let upperCount: Int32
  }

  /// Of a span without an upper bound.
  private static let unbounded: Int32 = -1
  /// Of a span of all that begins with its lower bound.
  private static let point: Int32 = -2

  private var bytes: [UInt8] = []
  private var places: [Place] = []
  /// Whether each span is all that begins with its lower bound, and was added as such.
  public private(set) var arePoints = true

  /// None, with room for some.
  public init(capacity: Int = 0, byteCount: Int = 0) {
    bytes.reserveCapacity(byteCount)
    places.reserveCapacity(capacity)
  }

  /// The number of spans.
  public var count: Int { places.count }
  /// The number of bytes of all bounds.
  public var byteCount: Int { bytes.count }

  // MARK: Adding

  /// Adds the span of all that begins with some bytes, above all others.
  public mutating func append(point: RawSpan) {
    places.append(Place(start: bytes.count, lowerCount: Int32(point.byteCount), upperCount: Self.point))
    unsafe point.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    checkLast()
  }

  /// Adds a span above all others.
  public mutating func append(lower: [UInt8], upper: [UInt8]?) {
    arePoints = false
    places.append(
      Place(
        start: bytes.count, lowerCount: Int32(lower.count), upperCount: upper.map { Int32($0.count) } ?? Self.unbounded)
    )
    bytes += lower
    if let upper { bytes += upper }
    checkLast()
  }

  /// Gives the last span another end, which is not below the one that it has.
  public mutating func extendLast(to upper: [UInt8]?) {
    guard let last = places.popLast() else { preconditionFailure("no span is there to be longer") }
    let lower = Array(bytes[last.start..<last.start + Int(last.lowerCount)])
    bytes.removeSubrange(last.start...)
    append(lower: lower, upper: upper)
  }

  private func checkLast() {
    assert(isSound(count - 1), "spans are empty or out of order")
  }

  /// Whether the invariants hold for a span and the one before.
  private func isSound(_ index: Int) -> Bool {
    let (lower, upper) = (lower(index), upper(index))
    if isPoint(index) ? lower.isEmpty : upper.map({ !lower.lexicographicallyPrecedes($0) }) ?? false { return false }
    guard index > 0 else { return true }
    return self.upper(index - 1).map { !lower.lexicographicallyPrecedes($0) } ?? false
  }

  // MARK: One span

  /// Whether a span was added as a point.
  public func isPoint(_ index: Int) -> Bool { places[index].upperCount == Self.point }

  /// The number of bytes of a span's lower bound.
  public func lowerByteCount(_ index: Int) -> Int { Int(places[index].lowerCount) }

  /// The number of bytes of a span's upper bound, or no fewer; 0 if there is none.
  public func upperByteCount(_ index: Int) -> Int {
    let place = places[index]
    return Int(place.upperCount == Self.point ? place.lowerCount : max(0, place.upperCount))
  }

  /// The lower bound of a span.
  public func lower(_ index: Int) -> [UInt8] { unsafe withLowerBytes(index) { unsafe Array($0) } }

  /// The upper bound of a span, which is not in it; nil if there is none.
  public func upper(_ index: Int) -> [UInt8]? {
    var upper: [UInt8] = []
    return copyUpper(index, to: &upper) ? upper : nil
  }

  /// Puts the upper bound of a span in the place of other bytes; false if there is none.
  func copyUpper(_ index: Int, to upper: inout [UInt8]) -> Bool {
    upper.removeAll(keepingCapacity: true)
    let place = places[index]
    let end = place.start + Int(place.lowerCount)
    if place.upperCount >= 0 {
      upper.append(contentsOf: bytes[end..<end + Int(place.upperCount)])
      return true
    }
    if place.upperCount == Self.unbounded { return false }
    // The least bytes above all that begins with the lower bound.
    upper.append(contentsOf: bytes[place.start..<end])
    while let last = upper.last {
      if last < 0xff {
        upper[upper.count - 1] = last + 1
        return true
      }
      upper.removeLast()
    }
    return false
  }

  /// Calls `body` with the lower bound of a span where it lies.
  public func withLower<Result>(_ index: Int, _ body: (RawSpan) throws -> Result) rethrows -> Result {
    try unsafe withLowerBytes(index) { try unsafe body($0.bytes) }
  }

  /// The same as a pointer.
  @inline(__always)
  func withLowerBytes<Result>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    let place = places[index]
    return try unsafe bytes.withUnsafeBytes { bytes in
      try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[place.start..<place.start + Int(place.lowerCount)]))
    }
  }

  // MARK: Finding

  /// Whether bytes are in a span, or above it.
  func begins(_ index: Int, atOrBelow key: UnsafeRawBufferPointer) -> Bool {
    unsafe withLowerBytes(index) { unsafe key.order(beside: $0) >= 0 }
  }

  /// Whether bytes are in a span, or below it.
  func ends(_ index: Int, above key: UnsafeRawBufferPointer) -> Bool {
    let place = places[index]
    if place.upperCount == Self.unbounded { return true }
    return unsafe bytes.withUnsafeBytes { bytes in
      let lowerEnd = place.start + Int(place.lowerCount)
      if place.upperCount >= 0 {
        let upper = unsafe UnsafeRawBufferPointer(rebasing: bytes[lowerEnd..<lowerEnd + Int(place.upperCount)])
        return unsafe key.order(beside: upper) < 0
      }
      // What begins with a point is in it.
      let lower = unsafe UnsafeRawBufferPointer(rebasing: bytes[place.start..<lowerEnd])
      return unsafe UnsafeRawBufferPointer(rebasing: key.prefix(lower.count)).order(beside: lower) <= 0
    }
  }

  /// The first span from `start` on that ends above some bytes; `count` if there is none. Quick where that is near.
  func firstIndex(endingAbove key: UnsafeRawBufferPointer, from start: Int = 0) -> Int {
    var (low, high, step) = (start, start, 1)
    while high < count, unsafe !ends(high, above: key) {
      low = high + 1
      high += step
      step *= 2
    }
    high = min(high, count)
    while low < high {
      let middle = (low + high) / 2
      if unsafe ends(middle, above: key) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Whether bytes are in one of the spans. O(log n).
  public func contains(_ key: RawSpan) -> Bool {
    unsafe key.withUnsafeBytes { key in
      var (low, high) = (0, count)
      while low < high {
        let middle = (low + high) / 2
        if unsafe ends(middle, above: key) { high = middle } else { low = middle + 1 }
      }
      return unsafe low < count && begins(low, atOrBelow: key)
    }
  }
}

extension ByteSpans: Hashable {
  // The bounds say what is in it.
  public static func == (left: Self, right: Self) -> Bool {
    left.count == right.count
      && (0..<left.count).allSatisfy { index in
        left.lower(index) == right.lower(index)
          && (left.isPoint(index) && right.isPoint(index) || left.upper(index) == right.upper(index))
      }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for index in 0..<min(count, 16) { hasher.combine(lower(index)) }
  }
}
