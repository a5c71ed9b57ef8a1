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
  private let context: WriteContext
  private let sorter = OperationSorter()
  private let applier: BatchApplier
  /// By index of the tree in the context; that does not change before the batch ends.
  private var operations: [[SortableOperation]] = []
  /// Which of the lists are not empty, in the order in which they came to be.
  private var used: [Int] = []
  private var count = 0
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

  /// Takes the next operation of the log, whose bytes stay where they are until the batch ends.
  ///
  /// - Throws: `damagedLog` for what no transaction could have logged; what reading pages throws.
  mutating func add(_ operation: LogOperation) throws(StorageError) {
    switch operation {
    case .put(let id, let key, let value):
      let index = try index(of: id)
      let key = try context.replayKey(key, index)
      try context.checkReplayed(key, valueByteCount: value.count)
      append(
        key.count == 0 && context.trees[index].keyKind == .int64
          ? SortableOperation(key: key.integer, value: value)
          : SortableOperation(key: UnsafeRawBufferPointer(start: key.base, count: key.count), value: value), index)
    case .delete(let id, let key):
      let index = try index(of: id)
      let key = try context.replayKey(key, index)
      append(
        context.trees[index].keyKind == .int64
          ? SortableOperation(key: key.integer, value: nil)
          : SortableOperation(key: UnsafeRawBufferPointer(start: key.base, count: key.count), value: nil), index)
    case .nextRowID, .createTree:
      try context.replay(operation)
    default:
      try flush()
      try context.replay(operation)
    }
    if count >= Self.operationLimit { try flush() }
  }

  private mutating func append(_ operation: SortableOperation, _ index: Int) {
    if operations[index].isEmpty { used.append(index) }
    operations[index].append(operation)
    count += 1
  }

  private mutating func index(of id: TreeID) throws(StorageError) -> Int {
    if id == lastID, lastIndex >= 0 { return lastIndex }
    let index = try context.replayIndex(id)
    if operations.count <= index {
      let isFirst = operations.isEmpty
      operations.append(contentsOf: repeatElement([], count: index + 1 - operations.count))
      // Addresses, as a rule: memory that is reserved and not used costs nothing.
      if isFirst { operations[index].reserveCapacity(min(expectedCount, Self.operationLimit)) }
    }
    (lastID, lastIndex) = (id, index)
    return index
  }

  /// Applies what has been collected.
  mutating func flush() throws(StorageError) {
    lastIndex = -1
    guard count > 0 else { return }
    count = 0
    note?(.decoded)
    defer { used.removeAll(keepingCapacity: true) }
    for index in used {
      let kind = context.trees[index].keyKind
      let outcome: Result<Void, StorageError> = operations[index].withUnsafeMutableBufferPointer { buffer in
        let count = sorter.sort(buffer, kind)
        note?(.sorted)
        let sorted = UnsafeMutableBufferPointer(rebasing: buffer[..<count])
        do throws(StorageError) {
          // Only now: a value that a later one replaces needs no extent.
          let references = try context.placeLongValues(of: sorted, kind)
          defer { references?.deallocate() }
          try context.apply(UnsafeBufferPointer(sorted), toTreeAt: index, applier)
          note?(.applied)
          return .success(())
        } catch {
          return .failure(error)
        }
      }
      try outcome.get()
      operations[index].removeAll(keepingCapacity: operations.count == 1)
    }
  }
}

extension WriteContext {
  /// Gives places to values that do not fit beside their keys, and puts references in their stead; nothing is written
  /// yet. Returns the memory of keys and references, or nil if there is no such value.
  func placeLongValues(
    of operations: UnsafeMutableBufferPointer<SortableOperation>, _ kind: KeyKind
  ) throws(StorageError) -> UnsafeMutableRawPointer? {
    let limit = entryLimit
    var byteCount = 0
    for operation in operations where operation.isLong(entryLimit: limit) {
      byteCount += Int(operation.keyCount) + ExtentReference.byteCount
    }
    guard byteCount > 0 else { return nil }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    var place = memory
    do throws(StorageError) {
      for index in operations.indices where operations[index].isLong(entryLimit: limit) {
        let old = operations[index]
        let keyCount = Int(old.keyCount)
        if keyCount > 0 { place.copyMemory(from: old.key, byteCount: keyCount) }
        try writeExtent(old.valueBytes, .deferred).withBytes { (bytes) throws(StorageError) in
          UnsafeMutableRawBufferPointer(start: place + keyCount, count: bytes.count).copyMemory(from: bytes)
        }
        let reference = UnsafeRawBufferPointer(start: place + keyCount, count: ExtentReference.byteCount)
        operations[index] =
          kind == .int64
          ? SortableOperation(key: old.head, value: reference, content: .extent)
          : SortableOperation(
            key: UnsafeRawBufferPointer(start: place, count: keyCount), value: reference, content: .extent)
        place += keyCount + ExtentReference.byteCount
      }
    } catch {
      memory.deallocate()
      throw error
    }
    return memory
  }
}
