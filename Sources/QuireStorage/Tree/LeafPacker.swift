// Packing entries into leaves: the one place where bulk work measures and writes them.

/// A list of entries in ascending order, and the leaves that they fill.
///
/// Invariants:
/// 1. `byteCount` is what the entries take in a leaf without a prefix that is not uniform, header not counted.
/// 2. `isUniform` says whether all entries may stand in one uniform leaf, but for room.
final class LeafPacker {
  let pageSize: Int
  let hasIntegerKeys: Bool
  // Unchecked as in `TreeEditor`: every entry of a batch goes through here.
  @exclusivity(unchecked) private(set) var entries: UnsafeMutablePointer<PackedEntry>
  @exclusivity(unchecked) private var capacity = 64
  @exclusivity(unchecked) private(set) var count = 0
  @exclusivity(unchecked) private(set) var byteCount = 0
  @exclusivity(unchecked) private var isUniform = false

  init(pageSize: Int, keyKind: KeyKind) {
    self.pageSize = pageSize
    hasIntegerKeys = keyKind == .int64
    entries = UnsafeMutablePointer.allocate(capacity: capacity)
  }

  deinit { entries.deallocate() }

  /// What an entry takes beside key and value.
  @inline(__always) private var overhead: Int { PageLayout.plainOverhead(hasIntegerKeys: hasIntegerKeys) }

  /// What an entry takes less in a uniform leaf.
  @inline(__always) private var uniformSaving: Int { PageLayout.uniformSaving(hasIntegerKeys: hasIntegerKeys) }

  /// What an entry takes in a leaf without a prefix that is not uniform.
  @inline(__always) private func cellByteCount(of entry: PackedEntry) -> Int {
    overhead &+ entry.keyCount &+ entry.payloadCount
  }

  func removeAll() {
    count = 0
    byteCount = 0
  }

  /// Takes the first `number` entries off.
  func removeFirst(_ number: Int) {
    assert(number >= 0 && number <= count, "more entries are taken off than there are")
    for index in 0..<number { byteCount &-= cellByteCount(of: entries[index]) }
    count &-= number
    entries.update(from: entries + number, count: count)
    if !isUniform, count > 0 {
      isUniform = suitUniformLeaf(0) && (1..<count).allSatisfy { entries[$0].hasLengths(of: entries[0]) }
    }
  }

  /// Adds an entry behind the others.
  @inline(__always) func append(_ entry: PackedEntry) {
    if count == capacity { grow(by: 1) }
    assert(count < capacity, "an entry is packed without room")
    (entries + count).initialize(to: entry)
    note(count)
    count &+= 1
    byteCount &+= cellByteCount(of: entry)
  }

  /// Makes `isUniform` cover the entry behind the others too.
  @inline(__always) private func note(_ index: Int) {
    if index == 0 {
      isUniform = suitUniformLeaf(0)
    } else if isUniform, !entries[index].hasLengths(of: entries[0]) {
      isUniform = false
    }
  }

  /// Whether an entry may stand in a uniform leaf.
  @inline(__always) private func suitUniformLeaf(_ index: Int) -> Bool {
    entries[index].suitsUniformLeaf(hasIntegerKeys: hasIntegerKeys)
  }

  @inline(never) private func grow(by number: Int) {
    assert(number > 0, "a packer grows for nothing")
    let newCapacity = max(2 * capacity, count + number)
    let larger = UnsafeMutablePointer<PackedEntry>.allocate(capacity: newCapacity)
    larger.update(from: entries, count: count)
    entries.deallocate()
    (entries, capacity) = (larger, newCapacity)
  }

  /// Adds the entries `range` of a leaf, which must stay as it is while they are used.
  @inline(__always) func append(_ leaf: PageBytes, _ range: Range<Int>) {
    if range.isEmpty { return }
    if count &+ range.count > capacity { grow(by: range.count) }
    assert(range.upperBound <= leaf.count, "a leaf has fewer entries")
    assert(leaf.hasIntegerKeys == hasIntegerKeys, "keys of another kind are packed")
    let (reader, start) = (LeafReader(leaf), count)
    var target = entries + start
    for index in range {
      target.initialize(to: PackedEntry(reader, index))
      target += 1
    }
    count &+= range.count
    if leaf.isUniform {
      note(start)
      byteCount &+= range.count &* cellByteCount(of: entries[start])
    } else {
      for index in start..<count {
        note(index)
        byteCount &+= cellByteCount(of: entries[index])
      }
    }
  }

  /// Adds a new entry.
  func append(_ key: SearchKey, _ value: CellValue) {
    append(
      PackedEntry(
        key: key, integer: key.integer, payload: value.bytes.baseAddress ?? key.base, valueField: value.lengthField))
  }

  /// What the parent of a leaf of the entries `range` counts for it: a word of `ChildCount`.
  func childCount(_ range: Range<Int>) -> UInt64 {
    ChildCount.word(range.count, mayHaveExtents: range.contains { entries[$0].isExtent })
  }

  // MARK: Measuring

  /// Whether a leaf of the entries `range` is uniform. An entry that is alone becomes like the one before it: keys in
  /// ascending order make leaves of one entry, and what comes next is likely to have the same lengths.
  func areUniform(_ range: Range<Int>) -> Bool {
    let start = range.count > 1 ? range.lowerBound : range.lowerBound &- 1
    guard start >= 0 else { return false }
    if isUniform { return true }
    let first = entries[start]
    guard suitUniformLeaf(start) else { return false }
    for index in (start + 1)..<range.upperBound where !entries[index].hasLengths(of: first) { return false }
    return true
  }

  /// The prefix that two entries give a leaf. A uniform one leaves four bytes of each key for the head.
  @inline(__always) private func prefixCount(_ first: Int, _ last: Int, isUniform: Bool) -> Int {
    let common = entries[first].commonPrefixCount(with: entries[last])
    return isUniform ? min(common, entries[first].keyCount &- PageLayout.headByteCount) : common
  }

  /// The prefix that a leaf of the entries `range` has. A single entry keeps its key whole: as a prefix it would make
  /// the next insert rebuild the page.
  func prefixCount(_ range: Range<Int>, isUniform: Bool) -> Int {
    guard !hasIntegerKeys, range.count > 1 else { return 0 }
    return prefixCount(range.lowerBound, range.upperBound - 1, isUniform: isUniform)
  }

  /// The bytes that a leaf of the entries `range` needs, header included.
  func leafByteCount(_ range: Range<Int>) -> Int {
    assert(range.lowerBound >= 0 && range.upperBound <= count, "what is measured was not packed")
    let isUniform = areUniform(range)
    let prefix = prefixCount(range, isUniform: isUniform)
    var sum = byteCount
    if range.count != count {
      sum = 0
      for index in range { sum += cellByteCount(of: entries[index]) }
    }
    return PageLayout.headerByteCount + sum - range.count * (prefix + (isUniform ? uniformSaving : 0)) + prefix
  }

  /// Whether a leaf of `limit` bytes has room for all entries, of which there are some, and one more.
  @inline(__always) func hasRoom(for entry: PackedEntry, limit: Int) -> Bool {
    let isUniform = isUniform && entry.hasLengths(of: entries[0])
    let saving = isUniform ? (count &+ 1) &* uniformSaving : 0
    let needed = PageLayout.headerByteCount &+ byteCount &+ cellByteCount(of: entry) &- saving
    if needed <= limit { return true }
    if hasIntegerKeys { return false }
    // Only now: to compare keys costs more than all the rest.
    let common = entries[0].commonPrefixCount(with: entry)
    let prefix = isUniform ? min(common, entry.keyCount &- PageLayout.headByteCount) : common
    return needed &- count &* prefix <= limit
  }

  /// Whether `leaf` has room for an entry behind its last one if it is written anew, with a longer prefix and without
  /// garbage. The packer holds its first, its last, and the new one.
  func hasRoom(inPlaceOf leaf: PageBytes) -> Bool {
    assert(count == 3, "the first entry, the last and the new one tell")
    let (keyCount, valueCount) = (entries[2].keyCount, entries[2].payloadCount)
    var prefix = 0
    if !hasIntegerKeys {
      prefix = min(entries[0].commonPrefixCount(with: entries[2]), leaf.prefixLimit(keyCount: keyCount))
    }
    // The prefix of the new key as well, in front of each entry once less.
    let room = leaf.leafRoom + (leaf.count - 1) * (prefix - leaf.prefixCount)
    return leaf.leafEntryByteCount(keyCount: keyCount - prefix, valueCount: valueCount) <= room
  }

  /// Where to cut the entries into leaves: the end of each leaf, in order.
  ///
  /// - Parameters:
  ///   - limit: the most bytes that a leaf may take, if it has more than one entry.
  ///   - fills: whether leaves are filled to the limit, for ascending keys; otherwise all get about as much.
  func cuts(limit: Int, fills: Bool, into ends: inout [Int]) {
    ends.removeAll(keepingCapacity: true)
    guard count > 0 else { return }
    if leafByteCount(0..<count) <= limit {
      ends.append(count)
      return
    }
    let shared = prefixCount(0..<count, isUniform: isUniform)
    let total = byteCount - count * shared - sharedSaving
    let room = limit - PageLayout.headerByteCount - shared
    // Room for one entry is kept aside: leaves are never cut inside one.
    let pieces = (total + room - 1) / max(1, room - total / count)
    let target = fills ? Int.max : (total + pieces - 1) / max(1, pieces)
    var (start, done) = (0, 0)
    while start < count {
      // Where all leaves get as much, what this one takes of the whole.
      let share = fills ? Int.max : target * (ends.count + 1) - done
      let (end, byteCount) = cut(from: start, limit: limit, share: share, shared: shared)
      assert(end > start, "a leaf has an entry at least")
      done += byteCount
      ends.append(end)
      start = end
    }
  }

  /// What the entries take less in uniform leaves if those with the lengths of a neighbour stand in such.
  private var sharedSaving: Int {
    if isUniform { return count * uniformSaving }
    var number = 0
    for index in 1..<max(count, 1) where entries[index].hasLengths(of: entries[index - 1]) && suitUniformLeaf(index) {
      number += 1
    }
    return number * uniformSaving
  }

  /// The end of a leaf that begins with the entry `start`, and what its entries take beside the prefix `shared`: as
  /// many as fit, or as make up `share`. It is measured as uniform as long as its entries are.
  @inline(__always)
  private func cut(from start: Int, limit: Int, share: Int, shared: Int) -> (end: Int, byteCount: Int) {
    assert(start < count, "a leaf begins behind the last entry")
    let (entries, first) = (entries, entries[start])
    var isUniform = suitUniformLeaf(start)
    var saving = isUniform ? uniformSaving : 0
    var end = start + 1
    var sum = cellByteCount(of: first) - saving
    while end < count, sum - (end - start) * shared < share {
      let entry = entries[end]
      let staysUniform = isUniform && entry.hasLengths(of: first)
      // All of them take more from the first one on that is not like them.
      let lost = isUniform && !staysUniform ? saving : 0
      let next = cellByteCount(of: entry) - saving + lost
      let newSum = sum + (end - start) * lost + next
      if PageLayout.headerByteCount + newSum > limit {
        // Only now: to compare keys costs more than all the rest.
        let prefix = hasIntegerKeys ? 0 : prefixCount(start, end, isUniform: staysUniform)
        if PageLayout.headerByteCount + newSum - (end - start) * prefix > limit { break }
      }
      sum = newSum
      saving -= lost
      isUniform = staysUniform
      end += 1
    }
    return (end, sum - (end - start) * shared)
  }
}
