// What a bulk load does with the entries that it was given.

/// One bulk load of the running transaction.
final class BulkLoad {
  private let context: WriteContext
  let tree: Tree
  private let options: BulkLoadOptions
  private let sorter: EntrySorter
  // Unchecked as in `TreeEditor`: every entry goes through here.
  @exclusivity(unchecked) private var written = 0
  /// What the caller's progress threw.
  private var stopped: (any Error)?
  /// The bytes in the buffer at which the budget for pages is told of them again.
  @exclusivity(unchecked) private var nextCharge = BulkLoad.chargeStep

  /// Loads that take no more bytes than this are put one by one, sorted: cheaper than to commit by checkpoint.
  private static let loggedByteCount = 1 << 20
  /// The least memory that a load takes if nobody says how much.
  private static let leastByteLimit = 64 << 20
  /// Merging into a tree that has entries takes so much at a time.
  private static let batchByteCount = 8 << 20
  /// How many bytes the buffer grows by before the budget for pages is told.
  private static let chargeStep = 1 << 20
  /// After so many entries room is made, and progress reported.
  private static let stepCount = 1 << 14
  /// After so many entries of a tree that is built it is looked at whether there are enough pages for the disk.
  private static let writeStepCount = 1 << 7

  /// - Throws: `noSuchTree`, `transactionFailed`.
  init(_ context: WriteContext, into tree: Tree, _ options: BulkLoadOptions) throws(StorageError) {
    try context.checkCommittable()
    _ = try context.index(of: tree)
    self.context = context
    self.tree = tree
    self.options = options
    let store = context.editor.store
    let byteLimit = options.bufferByteCount ?? max(Self.leastByteLimit, store.pool.budget * store.pageSize / 8 * 5)
    sorter = try EntrySorter(tree.keys, byteLimit: byteLimit, pageSize: store.pageSize) {
      () throws(StorageError) in try context.makeRunFile()
    }
  }

  /// A load of what was sorted before the transaction.
  ///
  /// - Throws: `noSuchTree`, `transactionFailed`; `treeMismatch` if the keys are not of the tree's kind.
  init(
    _ context: WriteContext, into tree: Tree, _ sorter: EntrySorter, leafFill: Double
  ) throws(StorageError) {
    try context.checkCommittable()
    _ = try context.index(of: tree)
    guard sorter.kind == tree.keys else {
      throw StorageError(.treeMismatch, "What was sorted has keys of another kind than the tree.")
    }
    self.context = context
    self.tree = tree
    self.sorter = sorter
    options = BulkLoadOptions(leafFill: leafFill)
  }

  deinit { context.chargeLoad(0) }

  /// The number of entries.
  var count: Int { sorter.count }

  func append(_ key: SearchKey, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    try sorter.append(key, value)
    if sorter.usedByteCount >= nextCharge {
      nextCharge = sorter.usedByteCount + Self.chargeStep
      context.chargeLoad(nextCharge)
    }
  }

  /// Brings the entries into the tree; returns how many it has gained. An error that the body has gone over is thrown
  /// here, before anything has changed; any other leaves the transaction unfit to be committed.
  func finish(_ progress: ((StorageProgress) throws -> Void)?) throws -> Int {
    if let failure = sorter.failure { throw failure }
    assert(written == 0, "a load ends twice")
    let index = try context.settledIndex(of: tree)
    let before = context.trees[index].count
    guard count > 0 else { return 0 }
    if sorter.hasRuns {
      try write(SortedSource(try mergedRuns()), progress)
    } else if sorter.usedByteCount <= Self.loggedByteCount {
      try sorter.withBuffered { (sorted) throws(StorageError) in try put(sorted) }
    } else {
      try sorter.withBuffered { try write(SortedSource(UnsafeBufferPointer($0)), progress) }
    }
    return context.trees[try context.index(of: tree)].count - before
  }

  /// Puts the entries one by one, logged.
  private func put(_ sorted: UnsafeMutableBufferPointer<SortableOperation>) throws(StorageError) {
    for operation in sorted {
      // A put that finds no room leaves the transaction as it was, but half of a load is no load.
      do throws(StorageError) {
        _ = try context.put(operation.searchKey(tree.keys), operation.valueBytes, mode: .insertOrReplace, in: tree)
      } catch {
        throw context.fail(error)
      }
    }
  }

  /// The entries of all runs, merged.
  private func mergedRuns() throws(StorageError) -> RunMerger {
    context.chargeLoad(sorter.mergeByteCount + Self.batchByteCount)
    do throws(StorageError) { return try sorter.mergedRuns() } catch { throw context.fail(error) }
  }

  /// Writes sorted entries to the tree, unlogged. Any failure leaves the transaction unfit to be committed.
  private func write(_ source: SortedSource, _ progress: ((StorageProgress) throws -> Void)?) throws {
    context.beginUnlogged()
    do throws(StorageError) {
      if context.trees[try context.index(of: tree)].reference.isNone {
        try build(source, progress)
      } else {
        try merge(source, progress)
      }
      try report(progress)
    } catch {
      let failure = context.fail(error)
      throw stopped ?? failure
    }
  }

  private func report(_ progress: ((StorageProgress) throws -> Void)?) throws(StorageError) {
    guard let progress else { return }
    do { try StorageProgress(phase: .building, done: written, total: count).report(to: progress) } catch {
      stopped = error
      throw StorageError(.transactionFailed, "A bulk load was stopped half-way: \(error)")
    }
  }

  /// Builds the tree, which is empty.
  private func build(
    _ source: SortedSource, _ progress: ((StorageProgress) throws -> Void)?
  ) throws(StorageError) {
    var source = source
    let index = try context.index(of: tree)
    let builder = TreeBuilder(context.editor, for: context.trees[index], leafFill: options.leafFill)
    let kind = tree.keys
    while let operation = try source.next() {
      if fitsLeaf(operation) {
        // Without a closure, whose captures would be retained and released for each entry.
        if source.isStable {
          try builder.append(borrowing: operation.searchKey(kind), operation.cellValue)
        } else {
          try builder.append(operation.searchKey(kind), operation.cellValue)
        }
      } else {
        try withExtent(of: operation) { (value) throws(StorageError) in
          try builder.append(operation.searchKey(kind), value)
        }
      }
      written += 1
      try context.makeRoom(builder.completedReferences)
      if written % Self.writeStepCount == 0 { try context.writeAhead(builder.completedReferences) }
      if written % Self.stepCount == 0 { try report(progress) }
    }
    context.setRoot(try builder.finish(), at: index)
  }

  /// Merges into the tree, a buffer at a time.
  private func merge(
    _ source: SortedSource, _ progress: ((StorageProgress) throws -> Void)?
  ) throws(StorageError) {
    var source = source
    let index = try context.index(of: tree)
    let applier = BatchApplier(context.editor)
    let batch = try EntryBuffer(byteLimit: Self.batchByteCount, pageSize: context.editor.pageSize)
    while let operation = try source.next() {
      let key = operation.searchKey(tree.keys)
      func add(_ value: CellValue) throws(StorageError) {
        let content: SortableOperation.Content = value.isExtent ? .extent : .value
        if batch.append(key, value.bytes, content, tree.keys) { return }
        try apply(batch, at: index, applier)
        try report(progress)
        _ = batch.append(key, value.bytes, content, tree.keys)
      }
      if fitsLeaf(operation) { try add(operation.cellValue) } else { try withExtent(of: operation, add) }
    }
    try apply(batch, at: index, applier)
  }

  /// Whether the entry's value stands beside its key.
  @inline(__always) private func fitsLeaf(_ operation: SortableOperation) -> Bool {
    operation.content != .spilled && !operation.isLong(entryLimit: context.limits.entryByteCount)
  }

  /// Calls `body` with what the leaf will hold of a value that does not fit there: it is written to an extent before.
  /// Only now, so that one which another entry of the load replaces never is.
  private func withExtent(
    of operation: SortableOperation, _ body: (CellValue) throws(StorageError) -> Void
  ) throws(StorageError) {
    let extent: ExtentReference
    if operation.content == .spilled {
      let value = try sorter.read(SpilledValue(at: operation.value))
      defer { value.deallocate() }
      extent = try context.writeExtent(UnsafeRawBufferPointer(value))
    } else {
      extent = try context.writeExtent(operation.valueBytes)
    }
    try extent.withBytes { (bytes) throws(StorageError) in try body(CellValue(bytes, isExtent: true)) }
  }

  private func apply(_ batch: EntryBuffer, at index: Int, _ applier: BatchApplier) throws(StorageError) {
    try batch.withSorted(tree.keys) { (sorted) throws(StorageError) in
      try context.apply(UnsafeBufferPointer(sorted), of: count, toTreeAt: index, applier)
    }
    written += batch.count
    batch.removeAll()
    try context.makeRoom()
  }
}

extension WriteContext {
  /// Makes a temporary file for sorted runs, with blocks of so many pages.
  func makeRunFile(blockPages: Int = 16) throws(StorageError) -> RunFile {
    guard let fileSystem = host?.fileSystem else {
      throw StorageError(.invalidOption, "This transaction has no file system for temporary files.")
    }
    return try RunFile(
      fileSystem, databasePath: editor.store.file.path, pageSize: editor.pageSize, blockPages: blockPages,
      salt: editor.store.checksumSeed ^ csn.rawValue)
  }

  /// From here on the transaction's record is not kept: it commits by checkpoint as a whole (hazard D8).
  func beginUnlogged() {
    hasGrown = true
    log.giveUp()
    editor.forgetRightmostLeaf()
  }

  /// A place, between two pages, where dirty pages of this transaction may be written home early: those below `trees`
  /// and below `completed`, the subtrees of a tree that is being built. No address of a page is held here.
  @inline(__always) func makeRoom(_ completed: @autoclosure () -> [PageReference] = []) throws(StorageError) {
    guard editor.pages.isOverDirtyLimit else { return }
    looseReferences = completed()
    defer { looseReferences = [] }
    try enter()
  }

  /// A place as above: once there are enough pages for a long write, those that are complete are handed to the system,
  /// so that the disk works while more are made. No sync, and nothing that the checkpoint would not have to write.
  func writeAhead(_ completed: @autoclosure () -> [PageReference]) throws(StorageError) {
    let store = editor.store
    guard unspilledCount * store.pageSize >= min(Self.writtenAheadByteCount, store.pool.budget * store.pageSize / 16)
    else { return }
    looseReferences = completed()
    defer { looseReferences = [] }
    try host?.writePagesAhead()
  }

  private static var writtenAheadByteCount: Int { 8 << 20 }

  /// Packs the leaves that a large transaction has made, before its commit is sealed.
  ///
  /// What is mostly new is packed, and what deletes alone have left: half as many pages are then written home. Where
  /// old leaves were copied and have grown, the next transaction of the kind would split full ones again.
  func packOwnLeaves() throws(StorageError) {
    let isMostlyNew = born.count - superseded.count >= Self.packedFrameCount && superseded.count * 4 <= born.count
    guard isMostlyNew || (isShrinking && born.count >= Self.thinnedFrameCount) else { return }
    try enter()
    let repacker = TreeRepacker(editor, .own)
    for index in trees.indices where trees[index].level > 0 {
      var key: [UInt8]?
      repeat {
        do throws(StorageError) {
          var root = trees[index]
          key = try repacker.repack(&root, from: key, leafLimit: Self.packedFrameCount)
          setRoot(root, at: index)
        } catch {
          throw fail(error)
        }
        try makeRoom()
      } while key != nil
    }
  }

  /// Transactions that make fewer pages are not worth packing.
  private static var packedFrameCount: Int { 256 }
  /// The same where deletes have thinned leaves out: sooner, as they stay half empty until somebody packs them.
  private static var thinnedFrameCount: Int { 32 }
}
