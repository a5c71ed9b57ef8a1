// What collects operations on single keys: puts that wait, the log that is replayed, the entries of a bulk load.

/// Operations in the order in which they came, by the tree that they are for; sorted and handed on tree by tree.
///
/// Operations on different keys commute, and of those on one key the last one counts: so each tree may be given its
/// own in the order of their keys. The bytes of keys and values are the owner's, who keeps them where they are until
/// the operations are gone.
///
/// Used by one thread at a time.
///
/// Invariants:
/// 1. `count` is the number of operations in all lists.
/// 2. `used` names the lists that have operations, each once, in the order in which they came to have any.
/// 3. `restingCapacity` is the capacity of all other lists.
/// 4. While the list of the tree `open` stands in `openList`, its place in `lists` has neither operations nor memory.
final class OperationCollector {
  // Unchecked as in `TreeEditor`: every put that waits and every entry of a load goes through here.
  @exclusivity(unchecked) private var lists: [[SortableOperation]] = []
  /// The list of the tree that operations come for, apart from the others: an array in an array is looked at twice
  /// for whether it is shared.
  @exclusivity(unchecked) private var openList: [SortableOperation] = []
  /// Whose list that is; -1 if nobody's.
  @exclusivity(unchecked) private var open = -1
  @exclusivity(unchecked) private var used: [Int] = []
  @exclusivity(unchecked) private(set) var count = 0
  @exclusivity(unchecked) private var restingCapacity = 0
  /// Made when there is something to sort, and kept for the next time.
  @exclusivity(unchecked) private var sorter: OperationSorter?

  /// What an operation takes: itself, and room to sort it.
  static let byteCountPerOperation = 2 * MemoryLayout<SortableOperation>.stride

  /// Whether there is anything for the tree `index`.
  @inline(__always) func has(treeAt index: Int) -> Bool {
    if index == open { return !openList.isEmpty }
    return index < lists.count && !lists[index].isEmpty
  }

  /// The operations for all trees.
  var all: some Sequence<SortableOperation> {
    closeList()
    return lists.joined()
  }

  /// Adds an operation behind the others. Amortized O(1).
  @inline(__always) func append(_ operation: SortableOperation, treeAt index: Int) {
    if index != open || openList.isEmpty { openList(of: index) }
    openList.append(operation)
    count &+= 1
  }

  /// Takes the list of the tree `index` out, for operations to come.
  @inline(never) private func openList(of index: Int) {
    if index != open {
      closeList()
      if index >= lists.count { addLists(upTo: index) }
      swap(&openList, &lists[index])
      open = index
    }
    guard openList.isEmpty else { return }
    used.append(index)
    restingCapacity -= openList.capacity
  }

  private func addLists(upTo index: Int) {
    assert(index >= 0, "a tree has an index")
    lists.append(contentsOf: repeatElement([], count: index + 1 - lists.count))
  }

  /// Puts the list that is open back to the others.
  private func closeList() {
    guard open >= 0 else { return }
    assert(lists[open].capacity == 0, "a list stands at two places")
    swap(&openList, &lists[open])
    open = -1
  }

  /// Reserves room for `number` operations on the tree `index`, which has none yet. Addresses, as a rule: memory that
  /// is reserved and not used costs nothing.
  func reserve(_ number: Int, treeAt index: Int) {
    assert(!has(treeAt: index), "room is reserved ahead of the first operation")
    closeList()
    if index >= lists.count { addLists(upTo: index) }
    restingCapacity -= lists[index].capacity
    lists[index].reserveCapacity(number)
    restingCapacity += lists[index].capacity
  }

  /// Sorts the operations on each tree, keeps of equal keys the last one, and calls `body` with them and the tree's
  /// index, in the order in which the trees came. `body` must not add operations. All are kept.
  func forEachSorted(
    kind: (Int) -> KeyKind,
    _ body: (UnsafeMutableBufferPointer<SortableOperation>, Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    for index in used {
      try withSorted(treeAt: index, kind(index)) { (sorted) throws(StorageError) in try body(sorted, index) }
    }
  }

  /// Calls `body` with the operations on the tree `index`, sorted, of equal keys the last one.
  func withSorted<Result, Failure: Error>(
    treeAt index: Int, _ kind: KeyKind,
    _ body: (UnsafeMutableBufferPointer<SortableOperation>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let sorter = sorter ?? OperationSorter()
    self.sorter = sorter
    closeList()
    guard has(treeAt: index) else { return try body(UnsafeMutableBufferPointer(start: nil, count: 0)) }
    return try lists[index].withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
      let kept = sorter.sort(buffer, kind)
      return try body(UnsafeMutableBufferPointer(rebasing: buffer[..<kept]))
    }
  }

  /// What the lists take, and the sorter when it is used, in bytes.
  var byteCount: Int {
    closeList()
    return used.reduce(restingCapacity) { $0 + lists[$1].capacity } * Self.byteCountPerOperation
  }

  /// Forgets all operations and keeps the memory for the next ones.
  func removeAll() {
    closeList()
    for index in used {
      lists[index].removeAll(keepingCapacity: true)
      restingCapacity += lists[index].capacity
    }
    used.removeAll(keepingCapacity: true)
    count = 0
  }

  /// Forgets all operations and gives the memory back.
  func giveBack() {
    lists = []
    openList = []
    open = -1
    used = []
    (count, restingCapacity) = (0, 0)
    sorter = nil
  }

  /// Checks the invariants; returns what is broken.
  func checkInvariants() -> String? {
    if open >= 0, lists[open].capacity > 0 { return "a list stands at two places" }
    closeList()
    if lists.reduce(0, { $0 + $1.count }) != count { return "operations have been miscounted" }
    if used.sorted() != lists.indices.filter({ !lists[$0].isEmpty }) { return "a list of operations is forgotten" }
    let resting = lists.indices.filter { lists[$0].isEmpty }.reduce(0) { $0 + lists[$1].capacity }
    return resting == restingCapacity ? nil : "the lists at rest have been miscounted"
  }
}
