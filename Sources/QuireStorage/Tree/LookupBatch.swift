// Many lookups at once, level by level, so that the cache misses of one overlap with those of the others.
//
// A lookup in a large tree waits for memory most of the time: one miss after the other, each of which says where the
// next one is. Misses of different lookups do not depend on each other. Sixteen descents therefore take each step
// together, and ask for what the next step will touch (group prefetching: S. Chen, A. Ailamaki, P. Gibbons, T. Mowry,
// "Improving Hash Join Performance through Prefetching", 2004, applied to a tree).

/// Up to sixteen lookups that descend side by side, and what they found.
///
/// One allocation for a batch that is used again and again; none for a key.
///
/// Invariants:
/// 1. `count` is at most `capacity`; the first `count` lanes have keys.
/// 2. A byte-string key lies in the lane's part of `keyBytes`, cut to one byte more than any key of a tree has.
@usableFromInline package struct LookupBatch: ~Copyable {
  /// One lookup on its way down.
  fileprivate struct Lane {
    var key: SearchKey
    /// The page that the lookup is at, and the child, or the entry, that the search led to; -1 for none.
    var page: PageBytes
    var index = 0
    var reference = PageReference.none
    var value: BorrowedValue?

    init(_ key: SearchKey) {
      self.key = key
      page = PageBytes(UnsafeMutableRawPointer(mutating: key.base))
    }
  }

  /// As many misses as the processors at hand keep in flight, and no more keys than their first caches hold.
  @usableFromInline package static var capacity: Int { 16 }

  private static let keyCapacity = (Limits.keyByteCount + 1 + 15) & ~15

  private let lanes: UnsafeMutablePointer<Lane>
  private let keyBytes: UnsafeMutableRawPointer?
  /// The number of keys.
  @usableFromInline package private(set) var count = 0

  /// A batch without keys, for a tree with keys of a kind.
  @usableFromInline package init(_ kind: KeyKind) {
    lanes = UnsafeMutablePointer.allocate(capacity: Self.capacity)
    keyBytes =
      kind == .int64
      ? nil : UnsafeMutableRawPointer.allocate(byteCount: Self.capacity * Self.keyCapacity, alignment: 16)
  }

  deinit {
    lanes.deallocate()
    keyBytes?.deallocate()
  }

  /// Whether there is no room for another key.
  @usableFromInline package var isFull: Bool { count == Self.capacity }

  /// Takes a copy of a key. There must be room.
  @usableFromInline package mutating func add(_ key: SearchKey) {
    assert(!isFull, "there is room for the key")
    var key = key
    if let keyBytes {
      let place = keyBytes + count &* Self.keyCapacity
      // One byte more than a key may have is enough to find none.
      let byteCount = min(key.count, Limits.keyByteCount + 1)
      if byteCount > 0 { place.copyMemory(from: key.base, byteCount: byteCount) }
      key = SearchKey(base: place, count: byteCount)
    }
    (lanes + count).initialize(to: Lane(key))
    count &+= 1
  }

  /// Forgets the keys and what was found.
  @usableFromInline package mutating func removeAll() { count = 0 }

  /// What the lookup of a key found; valid as long as addresses of its call are.
  @usableFromInline package func value(_ index: Int) -> BorrowedValue? {
    assert(index < count, "what was found is that of a key")
    return lanes[index].value
  }
}

extension LookupBatch {
  /// Replaces what was found by copies, which outlive the addresses.
  package func copyValues() {
    for lane in 0..<count { lanes[lane].value = lanes[lane].value.map(BorrowedValue.init(copying:)) }
  }

  /// Frees the copies.
  package func freeCopies() {
    for lane in 0..<count { lanes[lane].value?.deallocate() }
  }
}

extension TreeReader {
  /// Looks all keys of a batch up. Touches one page per level for each; allocates nothing.
  package func lookUp(_ batch: borrowing LookupBatch, in root: TreeRoot) throws(StorageError) {
    if root.reference.isNone { return }
    let (lanes, count) = (batch.start, batch.count)
    var page = try page(root.reference, checksum: root.checksum, level: root.level)
    var lane = 0
    while lane < count {
      lanes[lane].page = page
      lane &+= 1
    }
    var level = root.level
    while level > 0 {
      level &-= 1
      chooseChildren(lanes, count)
      lane = 0
      while lane < count {
        let (parent, index) = (lanes[lane].page, lanes[lane].index)
        page = try access.page(lanes[lane].reference, checksum: parent.checksums[index], level: level)
        if level > 0 { page.prefetchBranchSearch() } else { page.prefetchPrefix() }
        lanes[lane].page = page
        lane &+= 1
      }
    }
    finish(lanes, count)
  }

  /// Finds the child of each lookup, and asks for its first lines.
  @inline(__always)
  private func chooseChildren(_ lanes: UnsafeMutablePointer<LookupBatch.Lane>, _ count: Int) {
    var lane = 0
    while lane < count {
      let page = lanes[lane].page
      let index = page.childIndex(lanes[lane].key)
      page.prefetchReference(index)
      lanes[lane].index = index
      lane &+= 1
    }
    lane = 0
    while lane < count {
      let reference = PageReference(rawValue: lanes[lane].page.references[lanes[lane].index])
      access.prefetchPlace(of: reference)
      lanes[lane].reference = reference
      lane &+= 1
    }
    lane = 0
    while lane < count {
      access.prefetchPage(lanes[lane].reference)
      lane &+= 1
    }
  }

  /// Finds the entry of each lookup in its leaf.
  @inline(__always)
  private func finish(_ lanes: UnsafeMutablePointer<LookupBatch.Lane>, _ count: Int) {
    var lane = 0
    while lane < count {
      let page = lanes[lane].page
      let index = page.leafCandidate(lanes[lane].key)
      // Most values are short: the cell and the lines behind it that a value of two hundred bytes has.
      if index >= 0 { page.prefetchCell(index, lines: 4) }
      lanes[lane].index = index
      lane &+= 1
    }
    lane = 0
    while lane < count {
      if lanes[lane].index >= 0 {
        lanes[lane].value = lanes[lane].page.leafValue(lanes[lane].key, candidate: lanes[lane].index)
      }
      lane &+= 1
    }
  }
}

extension LookupBatch {
  fileprivate var start: UnsafeMutablePointer<Lane> { lanes }
}

extension PageBytes {
  /// The value of `key`, whose first candidate is known.
  @inline(__always) fileprivate func leafValue(_ key: SearchKey, candidate: Int) -> BorrowedValue? {
    var index = candidate
    if !hasIntegerKeys {
      let cell = leafCell(index)
      let known = isUniform ? prefixCount &+ 4 : prefixCount
      if KeyOrder.compare(key.base + known, key.count &- known, cell.key, cell.keyCount) != 0 {
        // Rarely: another key begins with the same four bytes.
        let position = leafSearch(key)
        guard position.isFound else { return nil }
        index = position.index
      }
    }
    return BorrowedValue(leafCell(index))
  }
}
