// Puts that wait to be applied together.
//
// A put into a large tree waits for memory: its descent misses the cache at each level, and its leaf is touched for one
// entry. A transaction that puts thousands of entries without a question in between does not need them in the trees
// yet. They are collected, sorted, and merged leaf by leaf, as replay does. Where that would write most of a tree that
// memory does not hold, again and again, they wait in runs on disk: see `PendingPuts+Runs.swift`.

/// Puts of the running transaction that its trees do not have yet, and the memory for their bytes.
///
/// The bytes lie in slots of the pool, so that they count in the memory budget, and are followed in the same memory by
/// the pages that the puts make.
///
/// Invariants:
/// 1. Every operation points into one of `slots`, or, if it has no bytes, nowhere.
/// 2. `room` is what is left of the last slot, from `place` on.
/// 3. What is in `operations` came after what is in `runs`.
final class PendingPuts {
  let store: PageStore
  let editor: TreeEditor
  // Unchecked as in `TreeEditor`.
  @exclusivity(unchecked) private var keptApplier: BatchApplier?
  /// By index of the tree in the context; no tree is removed while there is any operation.
  let operations = OperationCollector()
  /// What has been put before and has gone to disk, if anything has.
  @exclusivity(unchecked) private(set) var runs: PendingRuns?
  @exclusivity(unchecked) private var slots: [UnsafeMutableRawPointer] = []
  @exclusivity(unchecked) private var place = UnsafeMutableRawPointer(bitPattern: 8).unsafelyUnwrapped
  @exclusivity(unchecked) private var room = 0
  private let byteLimit: Int

  /// The share of the memory budget, and the most that is worth waiting for.
  private static let budgetShare = 8
  private static let largestByteLimit = 128 << 20
  /// What the lists may keep from one transaction to the next.
  private static let keptByteCount = 1 << 20

  /// Nothing yet, and no memory; `editor` must outlive it.
  init(_ editor: TreeEditor) {
    store = editor.store
    self.editor = editor
    let share = store.pool.slotLimit / Self.budgetShare * store.pageSize
    byteLimit = min(max(share, 2 * store.pageSize), Self.largestByteLimit)
  }

  /// Whether nothing waits.
  @inline(__always) var isEmpty: Bool { operations.count == 0 && runs == nil }

  /// How many puts wait, several for one key included.
  var count: Int { operations.count + (runs?.count ?? 0) }

  /// Whether what has been collected should be applied.
  @inline(__always) var isFull: Bool {
    slots.count &* store.pageSize &+ operations.count &* OperationCollector.byteCountPerOperation > byteLimit
  }

  /// What the puts take beside slots, as of when they were last applied.
  private(set) var byteCount = 0
  /// How many runs have gone to disk since the engine was opened.
  var writtenRunCount = 0

  /// Whether there is anything for a tree.
  @inline(__always) func has(treeAt index: Int) -> Bool {
    operations.has(treeAt: index) || (runs != nil && hasRun(treeAt: index))
  }

  /// Whether there is a run on disk for a tree.
  @inline(never) func hasRun(treeAt index: Int) -> Bool { runs?.has(treeAt: index) ?? false }

  /// Copies a put, whose value fits beside its key. `renewEpoch` is called before more memory is asked for, which may
  /// wait for readers: the caller holds no address then.
  @inline(__always) func append(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, _ kind: KeyKind, treeAt index: Int, renewEpoch: () -> Void
  ) throws(StorageError) {
    let size = key.count &+ value.count
    assert(size <= store.pageSize, "a put that waits has a value of pages of its own")
    if size > room {
      renewEpoch()
      try addSlot()
    }
    assert(size <= room, "a put is copied without room")
    operations.append(SortableOperation(key, value, .value, kind, copiedTo: place), treeAt: index)
    place += size
    room &-= size
  }

  @inline(never) private func addSlot() throws(StorageError) {
    let slot = try store.allocateSlot()
    slots.append(slot)
    place = slot
    room = store.pageSize
  }

  /// Sorts what is in memory and hands each tree's puts to `apply`, of equal keys the last one; then nothing is left
  /// there, whatever `apply` throws.
  func drain(
    kind: (Int) -> KeyKind, _ apply: (UnsafeBufferPointer<SortableOperation>, Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    defer { empty() }
    // Noted now: it may be asked for while these are applied.
    byteCount = operations.byteCount
    try operations.forEachSorted(kind: kind) { (sorted, index) throws(StorageError) in
      try apply(UnsafeBufferPointer(sorted), index)
    }
  }

  /// Forgets the puts in memory and gives that of their bytes back to the pool.
  private func empty() {
    operations.removeAll()
    room = 0
    store.pool.release(slots)
    slots.removeAll(keepingCapacity: true)
  }

  /// What merges puts into trees; kept from one time to the next.
  var applier: BatchApplier {
    if let keptApplier { return keptApplier }
    let made = BatchApplier(editor)
    keptApplier = made
    return made
  }

  /// Makes room on disk for runs, if there is none yet.
  func makeRuns(_ makeFile: (Int) throws(StorageError) -> RunFile) throws(StorageError) -> PendingRuns {
    if let runs { return runs }
    let made = try PendingRuns(store.pool, makeFile)
    runs = made
    return made
  }

  /// Forgets the runs; the file goes with them.
  func dropRuns() {
    guard runs != nil else { return }
    runs = nil
    store.charge(0, to: .runs)
  }

  /// The same at the end of a transaction, whose puts may have been applied or not. Lists that have become long are
  /// given up; the others wait for the next transaction.
  func reset() {
    dropRuns()
    if operations.count > 0 || !slots.isEmpty {
      byteCount = operations.byteCount
      empty()
    }
    // Nearly every transaction.
    if byteCount <= Self.keptByteCount { return }
    operations.giveBack()
    byteCount = 0
    keptApplier = nil
    slots = []
  }

  /// Checks the invariants; returns what is broken.
  func checkInvariants() -> String? {
    if let broken = operations.checkInvariants() ?? runs?.checkInvariants() { return broken }
    let pageSize = store.pageSize
    for operation in operations.all where Int(operation.keyCount) + Int(operation.valueCount) > 0 {
      let isInside = slots.contains { operation.key >= UnsafeRawPointer($0) && operation.key < $0 + pageSize }
      if !isInside { return "a put that waits lies in no slot" }
    }
    if slots.isEmpty { return room == 0 ? nil : "there is room without a slot" }
    return place + room == (slots.last.map { $0 + pageSize }) ? nil : "the room of the last slot is miscounted"
  }
}
