// What was read of the trees of extensions, and what a commit has changed in them.

/// The keys from `lower` up to `upper`, which is not among them; nil means to the last. Compared by their bytes.
struct ByteInterval: Hashable, Sendable {
  let lower: [UInt8]
  let upper: [UInt8]?

  /// The one key.
  init(_ key: [UInt8]) { self.init(lower: key, upper: key + [0]) }

  init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// Whether it can have no key.
  var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }

  /// Whether some key may be in both, of which none is empty.
  func overlaps(_ other: ByteInterval) -> Bool {
    if let upper, !other.lower.lexicographicallyPrecedes(upper) { return false }
    if let end = other.upper, !lower.lexicographicallyPrecedes(end) { return false }
    return true
  }
}

/// Parts of one tree.
///
/// Invariant: there are at most `limit` intervals, and none if all keys are meant.
struct TreeParts: Sendable {
  /// Whether all keys are meant.
  private(set) var isWhole = false
  private(set) var intervals: Set<ByteInterval> = []

  /// Adds a part; with more than `limit` of them all keys are meant.
  mutating func insert(_ interval: ByteInterval, limit: Int) {
    if isWhole || interval.isEmpty { return }
    intervals.insert(interval)
    if intervals.count > limit || (interval.lower.isEmpty && interval.upper == nil) { takeWhole() }
    assert(isWhole ? intervals.isEmpty : intervals.count <= limit, "more is kept of a tree than may be")
  }

  /// Means all keys.
  mutating func takeWhole() {
    isWhole = true
    intervals = []
  }

  /// Whether a key is in both. O((m + n) log(m + n)).
  func overlaps(_ other: TreeParts) -> Bool {
    if isWhole || other.isWhole {
      return (isWhole || !intervals.isEmpty) && (other.isWhole || !other.intervals.isEmpty)
    }
    // One after the other in the order of their beginnings: one that overlaps another of the other side does so with
    // the one of that side that reaches farthest so far.
    let all = intervals.map { ($0, true) } + other.intervals.map { ($0, false) }
    var farthest: (own: ByteInterval?, other: ByteInterval?)
    for (interval, isOwn) in all.sorted(by: { $0.0.lower.lexicographicallyPrecedes($1.0.lower) }) {
      if isOwn {
        if farthest.other?.overlaps(interval) == true { return true }
        farthest.own = Self.farther(farthest.own, interval)
      } else {
        if farthest.own?.overlaps(interval) == true { return true }
        farthest.other = Self.farther(farthest.other, interval)
      }
    }
    return false
  }

  private static func farther(_ one: ByteInterval?, _ other: ByteInterval) -> ByteInterval {
    guard let one, let end = one.upper else { return one ?? other }
    guard let otherEnd = other.upper else { return other }
    return end.lexicographicallyPrecedes(otherEnd) ? other : one
  }
}

/// Parts of the trees and values of one extension.
struct ExtensionParts: Sendable {
  /// Whether everything is meant.
  var isWhole = false
  /// By the names of trees; values count as a tree whose name no tree has.
  private(set) var trees: [ByteString: TreeParts] = [:]

  /// The name that values stand under: no tree's, as names have no more than
  /// `Limits.extensionTreeNameByteCount` bytes.
  static let values = String(repeating: "v", count: Limits.extensionTreeNameByteCount + 1)

  mutating func insert(_ interval: ByteInterval, inTree name: String, limit: Int) {
    if !isWhole { trees[ByteString(name), default: TreeParts()].insert(interval, limit: limit) }
  }

  /// Whether something is in both.
  func overlaps(_ other: ExtensionParts) -> Bool {
    if isWhole { return other.isWhole || !other.trees.isEmpty }
    if other.isWhole { return !trees.isEmpty }
    return trees.contains { name, parts in other.trees[name].map(parts.overlaps) ?? false }
  }
}
