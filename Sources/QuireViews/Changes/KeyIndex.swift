// Finding rows by key in a change set.

import QuireDatabase

/// A few things by row key: chains of numbers, so that one key may have several, without an array for each.
struct KeyIndex {
  /// A key that is compared by its bytes as a whole. Asking `RowKey` itself goes byte by byte, many times slower.
  private struct Bytes: Hashable {
    let key: RowKey

    static func == (left: Self, right: Self) -> Bool {
      left.key.key.hasSameBytes(as: right.key.key) && left.key.collection.hasSameBytes(as: right.key.collection)
    }

    func hash(into hasher: inout Hasher) {
      // Texts of the same bytes are equal, so they have one hash; those of one hash are told apart above.
      hasher.combine(key.key)
    }
  }

  private var heads: [Bytes: Int32] = [:]
  /// For each entry the next of the same key, or −1.
  private var next: [Int32] = []

  init(minimumCapacity: Int) {
    heads.reserveCapacity(minimumCapacity)
    next.reserveCapacity(minimumCapacity)
  }

  /// The number of entries; an entry's number is how many were added before it.
  var count: Int { next.count }

  /// Adds an entry.
  mutating func add(_ key: RowKey) {
    assert(next.count < Int(Int32.max), "there are more entries than numbers for them")
    let entry = Int32(next.count)
    let head = heads.updateValue(entry, forKey: Bytes(key: key))
    next.append(head ?? -1)
  }

  /// The first entry of a key that a condition accepts, the last added first.
  func first(_ key: RowKey, where isWanted: (Int) -> Bool) -> Int? {
    guard var entry = heads[Bytes(key: key)] else { return nil }
    while entry >= 0 {
      if isWanted(Int(entry)) { return Int(entry) }
      assert(next[Int(entry)] < entry, "a chain of entries does not end")
      entry = next[Int(entry)]
    }
    return nil
  }
}
