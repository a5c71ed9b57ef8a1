// Replay in bulk: puts and deletes are collected, sorted by tree and key and merged into the leaves; everything else
// keeps its place among them.

/// The operations of a log on their way into the trees.
///
/// Operations on single keys commute unless they name the same key, and of those the last one counts; so they may be
/// applied in the order of the keys. A tree that is made commutes with all of them: no operation before names it, and
/// it goes behind the others. Whatever else an operation does, it must find the state that those before it have left:
/// it ends the batch (hazard D6).
///
/// Memory: 48 bytes for each operation collected. Keys and values are borrowed from the log until the batch ends.
struct ReplayBatch {
  let context: WriteContext
  private let applier: BatchApplier
  /// By index of the tree in the context; that does not change before the batch ends.
  private let operations = OperationCollector()
  private var hasReserved = false
  private var lastID = TreeID(0)
  private var lastIndex = -1

  /// The most operations in one batch: 24 MiB, and as much again to sort them.
  private static let operationLimit = 1 << 20

  private let expectedCount: Int
  private let note: ((RecoveryStage) -> Void)?

  /// What an operation takes in the log, at the least as a rule.
  private static let usualByteCount = 64

  /// Replays into the running transaction of `context`; `note` is told of what has been done.
  ///
  /// - Parameter logByteCount: how long the log is.
  init(_ context: WriteContext, logByteCount: Int, note: ((RecoveryStage) -> Void)?) {
    expectedCount = logByteCount / Self.usualByteCount
    self.context = context
    self.note = note
    applier = BatchApplier(context.editor)
  }

  /// Whether all operations that it took have been applied.
  var isEmpty: Bool { operations.count == 0 }

  /// Takes the next operation of the log, whose bytes stay where they are until the batch ends.
  ///
  /// - Throws: `damagedLog` for what no transaction could have logged; what reading pages throws.
  mutating func add(_ operation: LogOperation) throws(StorageError) {
    switch operation {
    case .put(let id, let key, let value):
      let index = try index(of: id)
      let key = try checkedKey(key, index)
      try checkLengths(key, value)
      append(key, value, index)
    case .delete(let id, let key):
      let index = try index(of: id)
      append(try checkedKey(key, index), nil, index)
    case .nextRowID(let next):
      guard next >= context.rowIDCounter else { throw unreplayable("lowers the next row id") }
      context.takeRowIDCounter(next)
    case .createTree(let id, let kind, let name):
      try createTree(id, kind, name)
    case .deleteRange(let id, let lower, let upper):
      try flush()
      try deleteRange(id, lower, upper)
    case .dropTree(let id):
      try flush()
      try context.enter()
      try context.removeTree(at: try existingIndex(of: id))
    }
    if operations.count >= Self.operationLimit { try flush() }
  }

  private func append(_ key: SearchKey, _ value: UnsafeRawBufferPointer?, _ index: Int) {
    operations.append(
      context.trees[index].keyKind == .int64
        ? SortableOperation(key: key.integer, value: value)
        : SortableOperation(key: UnsafeRawBufferPointer(start: key.base, count: key.count), value: value),
      treeAt: index)
  }

  private mutating func index(of id: TreeID) throws(StorageError) -> Int {
    if id == lastID, lastIndex >= 0 { return lastIndex }
    let index = try existingIndex(of: id)
    assert(index < context.trees.count, "an operation is for a tree that is not there")
    if !hasReserved {
      operations.reserve(min(expectedCount, Self.operationLimit), treeAt: index)
      hasReserved = true
    }
    (lastID, lastIndex) = (id, index)
    return index
  }

  /// Applies what has been collected.
  mutating func flush() throws(StorageError) {
    lastIndex = -1
    guard operations.count > 0 else { return }
    note?(.decoded)
    defer { forget() }
    let (context, applier, note) = (context, applier, note)
    let kind = { context.trees[$0].keyKind }
    try operations.forEachSorted(kind: kind) { (sorted, index) throws(StorageError) in
      note?(.sorted)
      // Only now: a value that a later one replaces needs no extent.
      let references = try Self.placeLongValues(of: sorted, kind(index), in: context)
      defer { references?.deallocate() }
      try context.apply(UnsafeBufferPointer(sorted), toTreeAt: index, applier)
      note?(.applied)
    }
  }

  /// Forgets what has been applied, and keeps the memory of no more than a few lists for what comes.
  private func forget() {
    operations.removeAll()
    let keptByteCount = 2 * Self.operationLimit * OperationCollector.byteCountPerOperation
    if operations.byteCount > keptByteCount { operations.giveBack() }
  }
}
