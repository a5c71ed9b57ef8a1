// One tree of the reference model: entries in the order of their keys, cheap to copy and cheap to ask.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif
package import QuireStorage

/// A key and its value in the model.
package struct ModelEntry: Hashable, Sendable {
  /// The bytes of the key.
  package let key: [UInt8]
  /// The bytes of the value.
  package let value: [UInt8]

  /// An entry as a scan of the engine finds it.
  package init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}

/// A half-open range of keys; nil leaves an end open.
package struct ModelRange: Hashable, Sendable {
  /// The first key inside, if it exists.
  package var lower: [UInt8]?
  /// The first key beyond the end, if it exists.
  package var upper: [UInt8]?

  /// A range from `lower` up to and not including `upper`.
  package init(from lower: [UInt8]? = nil, to upper: [UInt8]? = nil) {
    self.lower = lower
    self.upper = upper
  }
}

/// A digest of a set of trees and entries that does not depend on their order: add and remove in any sequence, equal
/// content gives equal digests, other content does not, but once in 2⁶⁴.
package struct StateDigest: Hashable, Sendable, CustomStringConvertible {
  private var sum: UInt64 = 0

  /// The digest of nothing.
  package init() {}

  package var description: String { hexadecimal(sum) }

  /// Adds a tree, which counts even when it is empty.
  package mutating func insert(_ tree: TreeID) { sum &+= Self.mix(tree) }

  /// Takes a tree away.
  package mutating func remove(_ tree: TreeID) { sum &-= Self.mix(tree) }

  /// Adds an entry. O(bytes).
  package mutating func insert(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in tree: TreeID) {
    sum &+= Self.mix(key, value, tree)
  }

  /// Adds an entry. O(bytes).
  package mutating func insert(_ key: [UInt8], _ value: [UInt8], in tree: TreeID) {
    key.withUnsafeBytes { key in value.withUnsafeBytes { insert(key, $0, in: tree) } }
  }

  /// Takes an entry away. O(bytes).
  package mutating func remove(_ key: [UInt8], _ value: [UInt8], in tree: TreeID) {
    sum &-= key.withUnsafeBytes { key in value.withUnsafeBytes { Self.mix(key, $0, tree) } }
  }

  /// Adds all that another digest holds.
  package mutating func insert(_ other: StateDigest) { sum &+= other.sum }

  /// Takes all away that another digest holds.
  package mutating func remove(_ other: StateDigest) { sum &-= other.sum }

  private static func mix(_ tree: TreeID) -> UInt64 {
    var hash = StableHash(seed: 0x5eed)
    hash.combine(tree.rawValue)
    return hash.value
  }

  private static func mix(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ tree: TreeID
  ) -> UInt64 {
    var hash = StableHash(seed: tree.rawValue)
    hash.combine(key)
    hash.combine(value)
    return hash.value
  }
}

/// The entries of one tree as sorted runs, each shared between copies until one of them changes it.
///
/// Invariants:
/// 1. No run is empty or longer than `runLimit`.
/// 2. Keys ascend strictly within and across runs.
/// 3. `count` and `digest` are those of the entries.
struct ModelTree: Sendable {
  private static let runLimit = 64

  let id: TreeID
  private var runs: [[ModelEntry]] = []
  private(set) var count = 0
  private(set) var digest = StateDigest()

  init(_ id: TreeID) { self.id = id }

  /// The value under `key`. O(log n).
  func value(of key: [UInt8]) -> [UInt8]? {
    let place = find(key)
    return place.isFound ? runs[place.run][place.index].value : nil
  }

  /// Sets the value under `key`. O(√n) on a copy, less otherwise.
  mutating func put(_ key: [UInt8], _ value: [UInt8]) {
    let place = find(key)
    let entry = ModelEntry(key: key, value: value)
    digest.insert(key, value, in: id)
    if place.isFound {
      digest.remove(key, runs[place.run][place.index].value, in: id)
      runs[place.run][place.index] = entry
      return
    }
    count += 1
    if runs.isEmpty {
      runs.append([entry])
      return
    }
    runs[place.run].insert(entry, at: place.index)
    if runs[place.run].count > Self.runLimit {
      let half = Self.runLimit / 2
      let tail = Array(runs[place.run][half...])
      runs[place.run].removeLast(tail.count)
      runs.insert(tail, at: place.run + 1)
    }
  }

  /// Removes `key`; false if it is not there.
  mutating func delete(_ key: [UInt8]) -> Bool {
    let place = find(key)
    if !place.isFound { return false }
    digest.remove(key, runs[place.run].remove(at: place.index).value, in: id)
    count -= 1
    if runs[place.run].isEmpty {
      runs.remove(at: place.run)
    } else if place.run + 1 < runs.count && runs[place.run].count + runs[place.run + 1].count <= Self.runLimit / 2 {
      runs[place.run].append(contentsOf: runs[place.run + 1])
      runs.remove(at: place.run + 1)
    }
    return true
  }

  /// How many keys come before `key`. O(√n).
  func rank(of key: [UInt8]) -> Int {
    let place = find(key)
    return runs[..<place.run].reduce(0) { $0 + $1.count } + place.index
  }

  /// The ranks that `range` covers.
  func ranks(of range: ModelRange) -> Range<Int> {
    let lower = range.lower.map(rank) ?? 0
    return lower..<max(lower, range.upper.map(rank) ?? count)
  }

  /// The entry of this rank.
  func entry(at rank: Int) -> ModelEntry? {
    var rest = rank
    for run in runs {
      if rest < run.count { return rest >= 0 ? run[rest] : nil }
      rest -= run.count
    }
    return nil
  }

  /// The entries of these ranks, ascending.
  func entries(_ ranks: Range<Int>) -> [ModelEntry] {
    var result: [ModelEntry] = []
    result.reserveCapacity(ranks.count)
    var first = 0
    for run in runs {
      let part = ranks.clamped(to: first..<first + run.count)
      result.append(contentsOf: run[part.lowerBound - first..<part.upperBound - first])
      first += run.count
    }
    return result
  }

  /// The first way in which the invariants are broken.
  func brokenInvariant() -> String? {
    if runs.contains(where: { $0.isEmpty || $0.count > Self.runLimit }) { return "a run is empty or too long" }
    let all = Array(runs.joined())
    if zip(all, all.dropFirst()).contains(where: { !Self.precedes($0.key, $1.key) }) { return "keys do not ascend" }
    if all.count != count { return "the count is wrong" }
    var digest = StateDigest()
    for entry in all { digest.insert(entry.key, entry.value, in: id) }
    return digest == self.digest ? nil : "the digest is wrong"
  }

  /// Whether `left` comes before `right` in the order of bytes, a prefix before what continues it.
  static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let common = min(left.count, right.count)
    let order = common == 0 ? 0 : memcmp(left, right, common)
    return order != 0 ? order < 0 : left.count < right.count
  }

  /// Where `key` is or would be; for an empty tree, in a run that does not exist yet.
  private func find(_ key: [UInt8]) -> (run: Int, index: Int, isFound: Bool) {
    if runs.isEmpty { return (0, 0, false) }
    // The last run that does not begin behind the key.
    let run = max(0, Self.firstIndex(runs.count) { Self.precedes(key, runs[$0][0].key) } - 1)
    let entries = runs[run]
    let index = Self.firstIndex(entries.count) { !Self.precedes(entries[$0].key, key) }
    return (run, index, index < entries.count && entries[index].key == key)
  }

  /// The first of `count` indices for which `holds`, which holds for all behind one for which it holds.
  private static func firstIndex(_ count: Int, _ holds: (Int) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
