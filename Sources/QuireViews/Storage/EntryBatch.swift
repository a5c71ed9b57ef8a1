// Entries of many rows, stored in the order of the trees.

internal import QuireDatabase

/// The entries of rows that are in no group yet: gathered while a view is built, and then put into its trees in their
/// order, so that neighbours come to the same page one after the other.
///
/// Invariants:
/// 1. Entries of one row follow one another.
/// 2. Each is a part of `keys`, from `start` to `end`.
struct EntryBatch {
  private struct Entry {
    /// The group and the first bytes of the order, which nearly always decide.
    let group: GroupID
    let word: UInt64
    let start: Int
    let end: Int
    let rowID: RowID
  }

  private var keys: [UInt8] = []
  private var entries: [Entry] = []

  /// Adds an entry of a row in a group that is sorted by keys.
  mutating func append(_ rowID: RowID, _ group: GroupID, sortKey: [UInt8]) {
    let start = begin(group)
    keys.append(contentsOf: sortKey.prefix(ViewLimits.sortKeyByteCount))
    rowID.appendOrderedBytes(to: &keys)
    end(rowID, group, start)
  }

  /// Adds an entry of a row with the order that it has elsewhere.
  mutating func append(_ rowID: RowID, _ group: GroupID, order: ArraySlice<UInt8>) {
    let start = begin(group)
    keys.append(contentsOf: order)
    end(rowID, group, start)
  }

  private mutating func begin(_ group: GroupID) -> Int {
    let start = keys.count
    group.append(to: &keys)
    return start
  }

  private mutating func end(_ rowID: RowID, _ group: GroupID, _ start: Int) {
    var word: UInt64 = 0
    for place in start + 4..<start + 12 { word = word << 8 | (place < keys.count ? UInt64(keys[place]) : 0) }
    assert(entries.last?.end ?? 0 == start, "an entry lies within another one")
    entries.append(Entry(group: group, word: word, start: start, end: keys.count, rowID: rowID))
  }

  /// Puts the entries into the trees, and forgets them.
  ///
  /// - Parameters:
  ///   - trees: the view's.
  ///   - source: what the orders are taken from: it is damaged if it has two entries in one place.
  mutating func store(in trees: ViewTrees, from source: ViewTrees) throws {
    try storeRows(in: trees)
    let keys = keys
    entries.sort { left, right in
      if left.group != right.group { return left.group.rawValue < right.group.rawValue }
      if left.word != right.word { return left.word < right.word }
      return keys[left.start..<left.end].lexicographicallyPrecedes(keys[right.start..<right.end])
    }
    for (left, right) in zip(entries, entries.dropFirst()) where left.word == right.word && left.group == right.group {
      if keys[left.start..<left.end] == keys[right.start..<right.end] { throw source.damaged() }
    }
    var (key, value): ([UInt8], [UInt8]) = ([], [])
    for entry in entries {
      key.removeAll(keepingCapacity: true)
      key += keys[entry.start..<entry.end]
      value.removeAll(keepingCapacity: true)
      entry.rowID.appendOrderedBytes(to: &value)
      try trees.entries.put(value, for: key)
    }
    self = EntryBatch()
  }

  private func storeRows(in trees: ViewTrees) throws {
    var (index, value) = (0, [UInt8]())
    while index < entries.count {
      let rowID = entries[index].rowID
      assert(index == 0 || entries[index - 1].rowID != rowID, "the entries of a row are apart")
      value.removeAll(keepingCapacity: true)
      while index < entries.count, entries[index].rowID == rowID {
        ViewTrees.append(keys[entries[index].start..<entries[index].end], to: &value)
        index += 1
      }
      try trees.rows.put(value, for: rowID)
    }
  }
}

extension RowID {
  /// Appends the bytes whose order is the order of the numbers, as `orderedBytes` has them.
  fileprivate func appendOrderedBytes(to bytes: inout [UInt8]) {
    let word = UInt64(bitPattern: rawValue) ^ 1 << 63
    for shift in stride(from: 56 as UInt64, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: word >> shift))
    }
  }
}
