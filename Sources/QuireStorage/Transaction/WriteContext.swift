// The state of the one write transaction that runs.

internal import Synchronization

/// Everything that a write transaction changes before it commits. One per engine, used again and again under the writer
/// lock.
///
/// Invariants:
/// 1. `trees` is in ascending order of id, and `names` names exactly these trees.
/// 2. The record in `log`, behind its parts, applied to the base snapshot gives `trees` with what is in `pending`,
///    unless it was given up. There is nothing in `pending` while `putScore` is 0.
/// 3. `rowIDCounter` and `treeIDCounter` are never lowered, not even by a rollback: an id is never given twice. Only a
///    replay that is taken back lowers them: it has given none, and the next one repeats what the log says.
package final class WriteContext {
  let editor: TreeEditor
  package let log = LogBuffer()
  let reader: TreeReader
  private let store: PageStore
  let reclaimer: Reclaimer
  let slots: ReaderSlots
  /// The slot through which the writer announces that it holds addresses; it protects no snapshot.
  let slot: ReaderSlot
  /// The trees as of each savepoint that may still be returned to, outermost first: their pages spill too.
  @exclusivity(unchecked) var savepointTrees: [[TreeRoot]] = []
  @exclusivity(unchecked) var savepointMarks: [OwnPages.Mark] = []
  /// How many frames the transaction had made when it last looked for dead ones.
  @exclusivity(unchecked) var examinedCount = 0
  /// Subtrees of a tree that is being built, while room is made.
  var looseReferences: [PageReference] = []
  /// How many of the frames made by the transaction were made before the last spill.
  @exclusivity(unchecked) var spilledCount = 0
  /// Whether pages have been written home for this transaction.
  @exclusivity(unchecked) package internal(set) var hasSpilled = false
  /// The engine; nil for a context on its own, whose pages all stay in memory and whose records have no parts.
  package unowned var host: (any WriteHost)?
  // Unchecked as in `TreeEditor`: one thread at a time, and nothing calls back.
  @exclusivity(unchecked) package internal(set) var trees: [TreeRoot] = []
  @exclusivity(unchecked) package internal(set) var names = TreeNames([:])
  @exclusivity(unchecked) package private(set) var csn = CSN(0)
  @exclusivity(unchecked) package var rowIDCounter: Int64
  @exclusivity(unchecked) package internal(set) var treeIDCounter: UInt64
  /// The next row id as the newest commit recorded it.
  @exclusivity(unchecked) private var loggedRowID: Int64
  /// Counts changes, so that a cursor can tell that its tree moved under it.
  @exclusivity(unchecked) var mutations = 0
  /// Set when an operation failed half-way: the transaction can only be rolled back.
  @exclusivity(unchecked) package private(set) var failure: StorageError?
  /// Whether something was put, replaced or made, and whether something was removed.
  @exclusivity(unchecked) var hasGrown = false
  @exclusivity(unchecked) var hasRemoved = false
  let pending: PendingPuts
  /// Grows with puts in a row; from `deferralScore` on they may wait, from `fullDeferralScore` on they do. See
  /// `WriteContext+Pending.swift`.
  @exclusivity(unchecked) var putScore = 0
  @exclusivity(unchecked) var deferralScore = Int.max
  @exclusivity(unchecked) var fullDeferralScore = Int.max
  let limits: EntryLimits
  /// How many operations have looked for their place in each tree: counted in debug builds, once a test has set it.
  package var walkCounts: [TreeID: Int]?

  /// A context between transactions; counters go on from `base`.
  package init(
    store: PageStore, allocator: PageAllocator, reclaimer: Reclaimer, slots: ReaderSlots, slot: ReaderSlot,
    base: SnapshotRecord
  ) {
    self.store = store
    self.reclaimer = reclaimer
    self.slots = slots
    self.slot = slot
    editor = TreeEditor(store, allocator: allocator)
    reader = TreeReader(store)
    pending = PendingPuts(editor)
    rowIDCounter = base.nextRowID
    loggedRowID = base.nextRowID
    treeIDCounter = base.nextTreeID
    limits = EntryLimits(pageSize: store.pageSize)
    log.loanCount = slot.loanCount
    log.stream { [unowned self] in host?.appendPart() ?? false }
  }

  /// Throws if writing has stopped for good: asked before anything is written ahead of a commit.
  func checkWritable() throws(StorageError) { try host?.checkCanWrite() }

  /// Starts a transaction on `base`, the newest appended commit.
  package func begin(on base: SnapshotRecord) {
    assert(pending.isEmpty, "puts of the transaction before wait")
    csn = CSN(base.csn.rawValue + 1)
    editor.begin(csn: csn.rawValue)
    takeTrees(of: base)
    // Assigns only what changed: each assignment costs a reference count, and most transactions leave nothing behind.
    if !base.hasNames(names) { names = base.names }
    log.reset()
    if failure != nil { failure = nil }
    if !savepointMarks.isEmpty { forgetSavepoints() }
    spilledCount = 0
    hasSpilled = false
    examinedCount = 0
    hasGrown = false
    hasRemoved = false
    mutations &+= 1
  }

  private func takeTrees(of base: SnapshotRecord) {
    let count = base.treeCount
    if trees.count > count { trees.removeLast(trees.count - count) }
    for index in trees.indices { trees[index] = base.trees[index] }
    for index in trees.count..<count { trees.append(base.trees[index]) }
    assert(trees.count == count, "a transaction begins with the trees of its base")
    for index in 0..<count { editor.pages.translate(&trees[index]) }
  }

  /// Enters what a snapshot of this state holds: trees, names and counters. The record has room for the trees.
  func enter(into record: SnapshotRecord) {
    // Recycled records nearly always have the names: counting references to an object that all share is for nothing.
    assert(record.treeCount == trees.count, "a snapshot has another number of trees")
    if !record.hasNames(names) { record.setNames(names) }
    for index in trees.indices { record.trees[index] = trees[index] }
    record.nextTreeID = treeIDCounter
    record.nextRowID = rowIDCounter
  }

  private func forgetSavepoints() {
    savepointTrees = []
    savepointMarks = []
  }

  /// Whether the transaction only takes away: it removed something and put nothing, not even in the place of something
  /// longer, as nobody measured that. Such a transaction may use the space that is kept back for it.
  package var isShrinking: Bool { hasRemoved && !hasGrown }

  /// Whether there is anything to commit.
  package var hasChanges: Bool { !log.isEmpty || rowIDCounter != loggedRowID }

  /// Completes the record's body before it is sealed.
  package func finishRecord() {
    if rowIDCounter != loggedRowID { log.nextRowID(rowIDCounter) }
  }

  /// Notes that the commit is on its way: its row ids need not be recorded again.
  package func didCommit() {
    assert(rowIDCounter >= loggedRowID, "row ids are given twice")
    assert(pending.isEmpty, "a transaction is committed whose puts wait")
    loggedRowID = rowIDCounter
    forgetPending()
    editor.pages.trimFreeFrames()
  }

  /// Undoes everything.
  package func rollback() {
    forgetPending()
    reclaimer.giveUpPlaces(of: editor.pages.born)
    forgetSavepoints()
    editor.rollback()
    log.reset()
    mutations &+= 1
  }

  /// Pages that the transaction replaced, and frames that it made.
  package var superseded: ChunkedList<SupersededPage> { editor.pages.superseded }
  /// Frames that the transaction made and still owns, in order.
  package var born: ChunkedList<FrameIndex> { editor.pages.born }

  // MARK: Savepoints

  /// A point to return to.
  package struct Savepoint {
    fileprivate let mark: OwnPages.Mark
    fileprivate let trees: [TreeRoot]
    fileprivate let names: TreeNames
    fileprivate let logPosition: Int
  }

  /// Remembers the state; frames made so far are no longer edited in place (hazard B3).
  package func makeSavepoint() -> Savepoint {
    assert(savepointTrees.count == savepointMarks.count, "a savepoint has trees and a mark")
    assert(pending.isEmpty, "a savepoint is made while puts wait")
    let mark = editor.mark()
    savepointTrees.append(trees)
    savepointMarks.append(mark)
    return Savepoint(mark: mark, trees: trees, names: names, logPosition: log.position)
  }

  /// Notes that the newest savepoint will not be returned to.
  package func releaseSavepoint() {
    assert(!savepointMarks.isEmpty, "a savepoint is released that was not made")
    savepointTrees.removeLast()
    savepointMarks.removeLast()
    // What the savepoint would have returned to can go, before the next one comes to stand in between. Not looked for
    // at each of many small ones.
    if spilledCount > 0, editor.pages.born.count - examinedCount > store.pool.slotLimit / 8 { releaseDead() }
  }

  /// Undoes what came after `savepoint`, the newest one; all but the id counters is as it was.
  package func restore(_ savepoint: Savepoint) {
    // What waits has come after the savepoint: before it was made, all was applied.
    forgetPending()
    assert(!savepointMarks.isEmpty, "there is no savepoint to return to")
    assert(savepoint.logPosition <= log.position || log.isGivenUp, "a savepoint lies behind the record")
    savepointTrees.removeLast()
    savepointMarks.removeLast()
    reclaimer.giveUpPlaces(of: editor.pages.born(since: savepoint.mark))
    editor.restore(savepoint.mark)
    spilledCount = min(spilledCount, editor.pages.born.count)
    examinedCount = min(examinedCount, editor.pages.born.count)
    trees = savepoint.trees
    names = savepoint.names
    log.truncate(to: savepoint.logPosition)
    failure = nil
    mutations &+= 1
  }

  // MARK: Memory

  /// Called at the start of each change: writes pages home if too many are dirty, and announces that addresses will be
  /// taken. Bytes that the caller has on loan from the transaction stay where they are meanwhile.
  @inline(__always) func enter() throws(StorageError) {
    if editor.pages.isOverDirtyLimit { try host?.makeRoom() }
    _ = slots.enterEpoch(slot)
  }

  /// Whether there is an entry. The caller may have borrowed the key: nothing that is lent is taken away.
  func hasEntry(_ key: SearchKey, at index: Int) throws(StorageError) -> Bool {
    _ = slots.enterEpoch(slot)
    return try reader.value(key, in: trees[index]) != nil
  }

  // MARK: Trees

  /// Where a tree is in `trees`.
  @inline(__always) func index(of tree: Tree) throws(StorageError) -> Int {
    #if DEBUG
      walkCounts?[tree.id, default: 0] += 1
    #endif
    if tree.hint < trees.count, trees[tree.hint].id == tree.id { return tree.hint }
    guard let index = search(tree.id) else { throw tree.missing() }
    return index
  }

  @inline(__always) func checkUsable() throws(StorageError) {
    if let failure { throw unusable(failure) }
  }

  /// Brings all that was put into the trees; throws if the transaction cannot be committed.
  package func checkCommittable() throws(StorageError) {
    try checkUsable()
    try settle()
  }

  /// Notes that an operation failed half-way, and passes its error on.
  func fail(_ error: StorageError) -> StorageError {
    failure = error
    return error
  }

  // MARK: Entries

  /// Stores an entry and says what became of it. A value that does not fit into a page goes to the file at once.
  package func put(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, mode: PutMode, in tree: Tree
  ) throws(StorageError) -> PutOutcome {
    try settle()
    return try putNow(key, value, mode: mode, in: tree)
  }

  /// The same while nothing waits to be put into this tree.
  func putNow(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, mode: PutMode, in tree: Tree
  ) throws(StorageError) -> PutOutcome {
    try checkUsable()
    let index = try index(of: tree)
    try limits.check(key, value)
    do throws(StorageError) { try enter() } catch { throw fail(error) }
    if limits.isLong(key, value) { return try putLong(key, value, mode: mode, in: tree, at: index) }
    let before = log.position
    let copy = log.put(tree.id, tree.keys, key, value)
    mutations &+= 1
    do throws(StorageError) {
      let outcome = try editor.put(copy.key, copy.value, mode: mode, in: &trees[index])
      if outcome == .kept { log.truncate(to: before) } else { hasGrown = true }
      return outcome
    } catch {
      throw fail(error)
    }
  }

  /// Ends the use of cursors; announces that no address is held from before.
  @inline(__always) func noteMutation() { mutations &+= 1 }
  @inline(__always) func renewEpoch() { _ = slots.enterEpoch(slot) }

  /// Puts the root of a tree that was built in its place.
  func setRoot(_ root: TreeRoot, at index: Int) {
    trees[index] = root
    mutations &+= 1
  }

  /// Removes an entry.
  package func delete(_ key: SearchKey, in tree: Tree) throws(StorageError) -> Bool {
    try checkUsable()
    let index = try settledIndex(of: tree)
    if key.count > limits.keyByteCount { return false }
    do throws(StorageError) { try enter() } catch { throw fail(error) }
    let before = log.position
    let copy = log.delete(tree.id, tree.keys, key)
    mutations &+= 1
    do throws(StorageError) {
      let isDeleted = try editor.delete(copy, in: &trees[index])
      if isDeleted { hasRemoved = true } else { log.truncate(to: before) }
      return isDeleted
    } catch {
      throw fail(error)
    }
  }

  /// Lets `work` copy and pack pages of the tree at `index` in `trees`. What the tree holds must stay the same, so that
  /// the record needs no word of it.
  package func rearrange<Result>(
    treeAt index: Int, _ work: (TreeEditor, inout TreeRoot) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try checkUsable()
    do throws(StorageError) {
      try enter()
      mutations &+= 1
      var root = trees[index]
      let result = try work(editor, &root)
      trees[index] = root
      return result
    } catch {
      throw fail(error)
    }
  }

  /// Takes a replay back, so that the log can be replayed once more from `base`.
  func rollbackReplay(to base: SnapshotRecord) {
    assert(rowIDCounter >= base.nextRowID && treeIDCounter >= base.nextTreeID, "a replay has lowered a counter")
    rollback()
    (rowIDCounter, loggedRowID, treeIDCounter) = (base.nextRowID, base.nextRowID, base.nextTreeID)
  }

  /// Takes the next row id of a log that is replayed: it need not be recorded again.
  func takeRowIDCounter(_ next: Int64) {
    rowIDCounter = next
    loggedRowID = next
  }
}
