// Searching inside one page, and reading its keys. The searches stay inside the dense heads and touch a full key only
// where heads are equal.

/// Searches over arrays of heads.
enum HeadSearch {
  /// The first index whose head is not below `head`. Compiles to conditional moves: no branch to mispredict.
  @inline(__always) static func lowerBound<Head: FixedWidthInteger>(
    _ heads: UnsafePointer<Head>, _ count: Int, _ head: Head
  ) -> Int {
    var base = 0
    var length = count
    while length > 1 {
      let half = length &>> 1
      base = heads[base &+ half &- 1] < head ? base &+ half : base
      length &-= half
    }
    return length == 1 && heads[base] < head ? base &+ 1 : base
  }

  /// The first index whose head is above `head`.
  @inline(__always) static func upperBound<Head: FixedWidthInteger>(
    _ heads: UnsafePointer<Head>, _ count: Int, _ head: Head
  ) -> Int {
    var base = 0
    var length = count
    while length > 1 {
      let half = length &>> 1
      base = heads[base &+ half &- 1] <= head ? base &+ half : base
      length &-= half
    }
    return length == 1 && heads[base] <= head ? base &+ 1 : base
  }
}

/// Where a key is in a leaf, or where it would be.
struct LeafPosition {
  /// The entry with the key, or the first one above it.
  let index: Int
  let isFound: Bool
}

extension PageBytes {
  /// How `key` stands to the page's prefix: 0 if it starts with it, else before (-1) or after (1) all entries.
  @inline(__always) func comparePrefix(with key: SearchKey) -> Int {
    let count = prefixCount
    if count == 0 { return 0 }
    let order = KeyOrder.comparePrefix(key.base, prefix, key.count < count ? key.count : count)
    if order != 0 { return order }
    return key.count < count ? -1 : 0
  }

  /// Looks `key` up among the entries from `start` on, one after the other: for keys that come in their order.
  @inline(__always) func leafSearch(_ key: SearchKey, from start: Int) -> LeafPosition {
    let count = self.count
    var index = start
    if hasIntegerKeys {
      let heads = heads64
      while index < count, heads[index] < key.integer { index &+= 1 }
      return LeafPosition(index: index, isFound: index < count && heads[index] == key.integer)
    }
    let order = comparePrefix(with: key)
    if order != 0 { return LeafPosition(index: order < 0 ? start : count, isFound: false) }
    let rest = key.base + prefixCount
    let restCount = key.count &- prefixCount
    let head = KeyOrder.head(rest, restCount)
    let heads = heads32
    let known = headOnlyCount
    while index < count, heads[index] < head { index &+= 1 }
    while index < count, heads[index] == head {
      let cell = leafCell(index)
      let order = KeyOrder.compare(rest + known, restCount &- known, cell.key, cell.keyCount)
      if order == 0 { return LeafPosition(index: index, isFound: true) }
      if order < 0 { break }
      index &+= 1
    }
    return LeafPosition(index: index, isFound: false)
  }

  /// The first entry whose head is that of `key`, or -1: a search that stays inside heads and prefix.
  @inline(__always) func leafCandidate(_ key: SearchKey) -> Int {
    let count = self.count
    if hasIntegerKeys {
      let index = HeadSearch.lowerBound(heads64, count, key.integer)
      return index < count && heads64[index] == key.integer ? index : -1
    }
    if comparePrefix(with: key) != 0 { return -1 }
    let head = KeyOrder.head(key.base + prefixCount, key.count &- prefixCount)
    let index = HeadSearch.lowerBound(heads32, count, head)
    return index < count && heads32[index] == head ? index : -1
  }

  /// Looks `key` up in a leaf.
  @inline(__always) func leafSearch(_ key: SearchKey) -> LeafPosition {
    let count = self.count
    if hasIntegerKeys {
      let index = HeadSearch.lowerBound(heads64, count, key.integer)
      return LeafPosition(index: index, isFound: index < count && heads64[index] == key.integer)
    }
    let order = comparePrefix(with: key)
    if order != 0 { return LeafPosition(index: order < 0 ? 0 : count, isFound: false) }
    let rest = key.base + prefixCount
    let restCount = key.count &- prefixCount
    let head = KeyOrder.head(rest, restCount)
    let heads = heads32
    var index = HeadSearch.lowerBound(heads, count, head)
    let known = isUniform ? 4 : 0
    // Mostly one round: the entry itself. Equal heads in numbers are searched by halving.
    var end = index
    while end < count, heads[end] == head {
      if end &- index >= 4 {
        end = index &+ HeadSearch.upperBound(heads + index, count &- index, head)
        break
      }
      end &+= 1
    }
    while index < end {
      let middle = index &+ (end &- index) &>> 1
      let cell = leafCell(middle)
      // A key that is shorter than a head and equal to one comes before: all keys of a uniform leaf are longer.
      let order = KeyOrder.compare(rest + known, restCount &- known, cell.key, cell.keyCount)
      if order == 0 { return LeafPosition(index: middle, isFound: true) }
      if order < 0 { end = middle } else { index = middle &+ 1 }
    }
    return LeafPosition(index: index, isFound: false)
  }

  /// Whether all keys of a leaf that has entries are below `key`.
  @inline(__always) func isBelow(_ key: SearchKey) -> Bool {
    let last = count &- 1
    if last < 0 { return false }
    if hasIntegerKeys { return heads64[last] < key.integer }
    let order = comparePrefix(with: key)
    if order != 0 { return order > 0 }
    let cell = leafCell(last)
    let prefixCount = prefixCount
    if isUniform {
      let head = KeyOrder.head(key.base + prefixCount, key.count &- prefixCount)
      if head != heads32[last] { return head > heads32[last] }
    }
    let known = prefixCount &+ headOnlyCount
    return KeyOrder.compare(key.base + known, key.count &- known, cell.key, cell.keyCount) > 0
  }
  /// The child of a branch whose range `key` falls into: the last one whose separator is not above it.
  @inline(__always) func childIndex(_ key: SearchKey) -> Int {
    let separators = count &- 1
    if hasIntegerKeys { return HeadSearch.upperBound(heads64 + 1, separators, key.integer) }
    let order = comparePrefix(with: key)
    if order != 0 { return order < 0 ? 0 : separators }
    let rest = key.base + prefixCount
    let restCount = key.count &- prefixCount
    let head = KeyOrder.head(rest, restCount)
    let heads = heads32 + 1
    var index = HeadSearch.lowerBound(heads, separators, head)
    if index == separators || heads[index] != head { return index }
    var end = index &+ HeadSearch.upperBound(heads + index, separators &- index, head)
    while index < end {
      let middle = index &+ (end &- index) &>> 1
      let bytes = separator(middle &+ 1)
      let base = bytes.baseAddress.unsafelyUnwrapped
      if KeyOrder.compare(rest, restCount, base, bytes.count) < 0 { end = middle } else { index = middle &+ 1 }
    }
    return index
  }

  /// The number of entries below the children in front of `index`.
  @inline(__always) func countBelow(childrenBefore index: Int) -> Int {
    let counts = self.counts
    var sum: UInt64 = 0
    for child in 0..<index { sum &+= ChildCount.count(counts[child]) }
    return Int(truncatingIfNeeded: sum)
  }

  /// The number of entries below this page.
  func entryCount() -> Int {
    kind == PageKind.leaf.rawValue ? count : countBelow(childrenBefore: count)
  }
}

extension PageBytes {
  /// The key of entry `index` of a leaf.
  package func leafKeyBytes(_ index: Int) -> [UInt8] { leafKey(index).bytes }

  /// The key of entry `index` of a leaf, borrowed from the page.
  func leafKey(_ index: Int) -> SplitKey {
    if hasIntegerKeys { return SplitKey(integer: heads64[index]) }
    let cell = leafCell(index)
    return SplitKey(
      front: UnsafeRawBufferPointer(start: prefix, count: prefixCount), head: heads32[index],
      headCount: headOnlyCount, back: UnsafeRawBufferPointer(start: cell.key, count: cell.keyCount))
  }

  /// Copies the key of entry `index` of a leaf with byte-string keys, whose prefix stands at `target` already; returns
  /// its length.
  @inline(__always) func copyLeafKey(_ index: Int, behindPrefixAt target: UnsafeMutableRawPointer) -> Int {
    let cell = leafCell(index)
    var count = prefixCount
    if isUniform {
      (target + count).storeBytes(of: heads32[index].bigEndian, as: UInt32.self)
      count &+= 4
    }
    if cell.keyCount > 0 { (target + count).copyMemory(from: cell.key, byteCount: cell.keyCount) }
    return count &+ cell.keyCount
  }

  /// The separator in front of child `index`, which is at least 1.
  func branchKey(_ index: Int) -> SplitKey {
    if hasIntegerKeys { return SplitKey(integer: heads64[index]) }
    return SplitKey(front: UnsafeRawBufferPointer(start: prefix, count: prefixCount), back: separator(index))
  }
}
