// Sorting operations by key: two passes of a stable radix sort over the bits that tell keys apart, once more for large
// groups, then small groups by comparing.

/// Sorts operations by key and keeps the last one of each key. Its memory is kept from one sort to the next.
///
/// A least-significant-digit radix sort over the highest 22 bits in which the heads differ puts random keys into nearly
/// their final order for about ten nanoseconds each. A large group with those bits in common is sorted so once more: by
/// the bits below, or, where its keys begin alike (the keys of one collection do), by the eight bytes behind the
/// beginning that they share, which stand as heads meanwhile. What is left is sorted by insertion, or merged bottom-up;
/// so the worst case is O(n log n), and nothing recurses. Radix and merge sort are those of Knuth, The Art of Computer
/// Programming, volume 3, sections 5.2.5 and 5.2.4.
package final class OperationSorter {
  private var scratch: UnsafeMutablePointer<SortableOperation>
  private var capacity = 0
  private let buckets: UnsafeMutablePointer<Int>

  private static let digitBits = 11
  private static let bucketCount = 1 << digitBits
  private static let insertionLimit = 16
  /// The smallest group that is worth two more passes, which go through all buckets.
  private static let radixLimit = 512

  /// A sorter without memory for operations yet.
  package init() {
    scratch = UnsafeMutablePointer.allocate(capacity: 1)
    buckets = UnsafeMutablePointer.allocate(capacity: Self.bucketCount)
  }

  deinit {
    scratch.deallocate()
    buckets.deallocate()
  }

  /// Sorts `operations` in place, ascending, and keeps of equal keys the last one only.
  ///
  /// - Returns: how many operations are left; they stand at the front.
  package func sort(_ operations: UnsafeMutableBufferPointer<SortableOperation>, _ kind: KeyKind) -> Int {
    guard let base = operations.baseAddress, operations.count > 1 else { return operations.count }
    let count = operations.count
    let hasIntegerKeys = kind == .int64
    if isStrictlyAscending(base, count, hasIntegerKeys) { return count }
    if count > capacity {
      scratch.deallocate()
      capacity = count
      scratch = UnsafeMutablePointer.allocate(capacity: capacity)
    }
    let shift = sortByHeads(base, count)
    forEachGroup(base, count, shift: shift) { group, groupCount in
      if groupCount >= Self.radixLimit {
        sortLargeGroup(group, groupCount, hasIntegerKeys)
      } else {
        sortByComparing(group, groupCount, hasIntegerKeys)
      }
    }
    return removeDuplicates(base, count, hasIntegerKeys)
  }

  /// Sorts by the highest 22 bits in which the heads differ.
  ///
  /// - Returns: where the lowest of these bits stands.
  private func sortByHeads(_ base: UnsafeMutablePointer<SortableOperation>, _ count: Int) -> Int {
    var lowest = base[0].head
    var highest = lowest
    for index in 1..<count {
      lowest = min(lowest, base[index].head)
      highest = max(highest, base[index].head)
    }
    let differing = 64 - (lowest ^ highest).leadingZeroBitCount
    let shift = max(0, differing - 2 * Self.digitBits)
    if differing > 0 {
      pass(from: base, to: scratch, count, shift: shift)
      pass(from: scratch, to: base, count, shift: shift + Self.digitBits)
    }
    return shift
  }

  /// Calls `body` with each run of operations whose heads agree in all bits from `shift` up.
  private func forEachGroup(
    _ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, shift: Int,
    _ body: (_ group: UnsafeMutablePointer<SortableOperation>, _ count: Int) -> Void
  ) {
    let shift = UInt64(shift)
    var start = 0
    while start < count {
      let bits = base[start].head >> shift
      var end = start + 1
      while end < count, base[end].head >> shift == bits { end += 1 }
      if end - start > 1 { body(base + start, end - start) }
      start = end
    }
  }

  /// Sorts a group by the next bits of its heads, or by what follows a beginning that all its keys share.
  private func sortLargeGroup(
    _ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, _ hasIntegerKeys: Bool
  ) {
    let head = base[0].head
    var hasOneHead = true
    for index in 1..<count where base[index].head != head { hasOneHead = false }
    // Integer keys with the same head are the same key.
    if hasOneHead, hasIntegerKeys { return }
    if hasOneHead { moveHeads(base, count, behind: commonPrefix(base, count)) }
    let shift = sortByHeads(base, count)
    forEachGroup(base, count, shift: shift) { group, groupCount in
      sortByComparing(group, groupCount, hasIntegerKeys)
    }
    if hasOneHead { for index in 0..<count { base[index].head = head } }
  }

  /// The length of the longest beginning that the keys of a group share.
  private func commonPrefix(_ base: UnsafeMutablePointer<SortableOperation>, _ count: Int) -> Int {
    let first = base[0].key
    var length = Int(base[0].keyCount)
    for index in 1..<count {
      let key = base[index].key
      length = min(length, Int(base[index].keyCount))
      var same = 0
      while same < length,
        first.load(fromByteOffset: same, as: UInt8.self) == key.load(fromByteOffset: same, as: UInt8.self)
      {
        same += 1
      }
      length = same
    }
    return length
  }

  /// Has the heads be those of what follows the first `prefix` bytes of the keys, all of which are the same.
  private func moveHeads(
    _ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, behind prefix: Int
  ) {
    for index in 0..<count {
      assert(Int(base[index].keyCount) >= prefix, "a key is shorter than what all keys of its group share")
      base[index].head = KeyOrder.longHead(base[index].key + prefix, Int(base[index].keyCount) - prefix)
    }
  }

  private func isStrictlyAscending(
    _ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, _ hasIntegerKeys: Bool
  ) -> Bool {
    for index in 1..<count where base[index - 1].order(relativeTo: base[index], hasIntegerKeys: hasIntegerKeys) >= 0 {
      return false
    }
    return true
  }

  /// One stable pass over the digit at `shift`.
  private func pass(
    from source: UnsafeMutablePointer<SortableOperation>, to target: UnsafeMutablePointer<SortableOperation>,
    _ count: Int, shift: Int
  ) {
    assert(shift >= 0 && shift < 64, "a digit lies outside the key")
    assert(count <= capacity, "there is no room to sort in")
    let mask = UInt64(Self.bucketCount - 1)
    let shift = UInt64(shift)
    buckets.update(repeating: 0, count: Self.bucketCount)
    for index in 0..<count { buckets[Int(source[index].head &>> shift & mask)] &+= 1 }
    var start = 0
    for bucket in 0..<Self.bucketCount {
      let size = buckets[bucket]
      buckets[bucket] = start
      start += size
    }
    for index in 0..<count {
      let bucket = Int(source[index].head &>> shift & mask)
      target[buckets[bucket]] = source[index]
      buckets[bucket] &+= 1
    }
  }

  /// Sorts by the order of heads and keys, stably.
  private func sortByComparing(
    _ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, _ hasIntegerKeys: Bool
  ) {
    if count > Self.insertionLimit {
      mergeSort(base, count, hasIntegerKeys)
    } else {
      insertionSort(base, count, hasIntegerKeys)
    }
  }

  private func insertionSort(
    _ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, _ hasIntegerKeys: Bool
  ) {
    for index in 1..<count {
      let operation = base[index]
      var place = index
      while place > 0, base[place - 1].order(relativeTo: operation, hasIntegerKeys: hasIntegerKeys) > 0 {
        base[place] = base[place - 1]
        place -= 1
      }
      base[place] = operation
    }
  }

  /// Merges runs of sixteen, then of twice as many, and so on.
  private func mergeSort(_ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, _ hasIntegerKeys: Bool) {
    for start in stride(from: 0, to: count, by: Self.insertionLimit) {
      insertionSort(base + start, min(Self.insertionLimit, count - start), hasIntegerKeys)
    }
    var (source, target) = (base, scratch)
    var width = Self.insertionLimit
    while width < count {
      for start in stride(from: 0, to: count, by: 2 * width) {
        let (middle, end) = (min(start + width, count), min(start + 2 * width, count))
        merge(source, start, middle, end, to: target, hasIntegerKeys)
      }
      swap(&source, &target)
      width *= 2
    }
    if source != base { base.update(from: source, count: count) }
  }

  private func merge(
    _ source: UnsafeMutablePointer<SortableOperation>, _ start: Int, _ middle: Int, _ end: Int,
    to target: UnsafeMutablePointer<SortableOperation>, _ hasIntegerKeys: Bool
  ) {
    var (left, right, place) = (start, middle, start)
    while left < middle, right < end {
      // Of equal keys the left one comes first: that keeps their order.
      let takesLeft = source[left].order(relativeTo: source[right], hasIntegerKeys: hasIntegerKeys) <= 0
      target[place] = source[takesLeft ? left : right]
      if takesLeft { left += 1 } else { right += 1 }
      place += 1
    }
    (target + place).update(from: source + left, count: middle - left)
    (target + place + middle - left).update(from: source + right, count: end - right)
  }

  private func removeDuplicates(
    _ base: UnsafeMutablePointer<SortableOperation>, _ count: Int, _ hasIntegerKeys: Bool
  ) -> Int {
    var kept = 0
    for index in 1..<count {
      if base[kept].order(relativeTo: base[index], hasIntegerKeys: hasIntegerKeys) != 0 { kept += 1 }
      base[kept] = base[index]
    }
    return kept + 1
  }
}
