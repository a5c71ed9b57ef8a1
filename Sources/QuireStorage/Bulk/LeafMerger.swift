// One leaf and the operations of its range, merged into one ascending list.

/// A separator that operations are compared with, or the end of a tree.
struct OperationBound {
  private let key: SplitKey?
  private let head: UInt64
  private let hasIntegerKeys: Bool

  /// The bound at `key`, whose bytes stay where they are; nil is above all keys.
  init(_ key: SplitKey?, _ kind: KeyKind) {
    self.key = key
    hasIntegerKeys = kind == .int64
    var head: UInt64 = 0
    if let key, hasIntegerKeys { head = key.integer }
    if let key, !hasIntegerKeys {
      for index in 0..<min(8, key.count) { head |= UInt64(key[index]) << UInt64(56 - 8 * index) }
    }
    self.head = head
  }

  /// Whether an operation's key is below the bound.
  @inline(__always) func isAbove(_ operation: SortableOperation) -> Bool {
    guard let key else { return true }
    if operation.head != head { return operation.head < head }
    if hasIntegerKeys { return false }
    return SplitKey(SearchKey(base: operation.key, count: Int(operation.keyCount))).order(relativeTo: key, .bytes) < 0
  }
}

/// Merges the entries of a leaf with sorted operations.
struct LeafMerger {
  /// What a merge did.
  struct Outcome {
    /// The first operation that is not part of it.
    let next: Int
    /// By how much the number of entries changes.
    let change: Int
    let hasDeletes: Bool
    /// Whether the last entry is a new one.
    let appends: Bool
    let isChanged: Bool
    /// Whether an operation has put a value that stands in an extent.
    let addsExtents: Bool
  }

  private var leaf: PageBytes
  private let bound: OperationBound
  private let byteLimit: Int
  /// Keys and values lie in the order in which they came: each is a cache miss, asked for so many operations ahead.
  private static let prefetchDistance = 12
  private let hasIntegerKeys: Bool

  /// - Parameters:
  ///   - leaf: stays as it is while what has been merged is used.
  ///   - bound: where the leaf's range ends.
  ///   - byteLimit: the merge ends when the packer has so many bytes.
  init(_ leaf: PageBytes, bound: OperationBound, byteLimit: Int) {
    self.leaf = leaf
    self.byteLimit = byteLimit
    self.bound = bound
    hasIntegerKeys = leaf.hasIntegerKeys
  }

  /// The same for a copy of the leaf.
  func over(_ copy: PageBytes) -> LeafMerger {
    var merger = self
    merger.leaf = copy
    return merger
  }

  /// How many of the operations from `start` on, the first of which falls into the leaf, do so; `limit` at most.
  func count(_ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, limit: Int) -> Int {
    var count = 1
    while count < limit, start + count < operations.count, bound.isAbove(operations[start + count]) { count += 1 }
    return count
  }

  /// Adds to `packer` what the leaf holds after the operations from `start` on; calls `giveUp` with every extent of an
  /// entry that they replace or remove.
  ///
  /// - Parameter isLed: whether the first operation is what led to the leaf: it is then part of it in any case.
  func merge(
    _ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, isLed: Bool = true,
    into packer: LeafPacker, giveUp: (ExtentReference) -> Void
  ) -> Outcome {
    assert(start >= 0 && start <= operations.count, "operations that are not there are merged")
    assert(packer.hasIntegerKeys == hasIntegerKeys, "keys of another kind are merged")
    let led = isLed ? start : -1
    let count = leaf.count
    var (entry, next, change) = (0, start, 0)
    var (hasDeletes, isChanged, appends, addsExtents) = (false, false, false, false)
    // An operation more than the one that led here is taken as long as there is room.
    while next < operations.count, next == led || packer.byteCount < byteLimit {
      let operation = operations[next]
      if next &+ Self.prefetchDistance < operations.count { operations[next &+ Self.prefetchDistance].prefetch() }
      guard next == led || bound.isAbove(operation) else { break }
      let position = leaf.leafSearch(operation.searchKey(hasIntegerKeys ? .int64 : .bytes), from: entry)
      assert(position.index >= entry, "operations are merged in the order of their keys")
      packer.append(leaf, entry..<position.index)
      entry = position.index
      if position.isFound {
        let cell = leaf.leafCell(position.index)
        if cell.isExtent { giveUp(cell.extent) }
        entry += 1
      }
      if operation.isDelete {
        if position.isFound {
          hasDeletes = true
          change -= 1
          isChanged = true
        }
      } else {
        packer.append(operation)
        if !position.isFound { change += 1 }
        isChanged = true
        appends = entry == count
        if operation.content == .extent { addsExtents = true }
      }
      next += 1
    }
    assert(entry <= count && next >= start, "more was merged than there is")
    packer.append(leaf, entry..<count)
    return Outcome(
      next: next, change: change, hasDeletes: hasDeletes, appends: appends, isChanged: isChanged,
      addsExtents: addsExtents)
  }
}

extension LeafPacker {
  /// Adds what a put stores.
  @inline(__always) func append(_ operation: SortableOperation) {
    append(
      PackedEntry(
        key: SearchKey(base: operation.key, count: Int(operation.keyCount)),
        integer: hasIntegerKeys ? operation.head : 0, payload: operation.value,
        valueField: operation.cellValue.lengthField))
  }
}
