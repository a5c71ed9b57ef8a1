// Where readers say which snapshot they see. Announcing is one store into a slot of one's own and one look back.

internal import Synchronization

/// One reader's announcement: 64 bytes, a cache line that nobody else writes.
///
/// Word 0 is the snapshot's CSN plus one, or zero for a free slot: it protects page versions from reuse for as long as
/// it stands; its highest bit says that the announcement is the engine's own, not a reader's. Word 1 is the access
/// epoch: it protects addresses, for one engine call or cursor step (hazard C3). Word 2 counts the loans of bytes in
/// pages, which keep the epoch where it is; only the reader's own thread looks at it. Word 3 is that thread.
package struct ReaderSlot: Equatable, @unchecked Sendable {
  // Sendable: safe because its words are atomics, but for the loans, which the reader's own thread alone touches.
  let base: UnsafeMutableRawPointer

  @inline(__always) fileprivate var announced: UnsafeMutablePointer<Atomic<UInt64>> {
    base.assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  @inline(__always) fileprivate var epoch: UnsafeMutablePointer<Atomic<UInt64>> {
    (base + 8).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  /// How many loans there are.
  package var loanCount: UnsafePointer<Int> { UnsafePointer(loans) }

  @inline(__always) fileprivate var holder: UnsafeMutablePointer<Atomic<UInt64>> {
    (base + 24).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  @inline(__always) fileprivate var loans: UnsafeMutablePointer<Int> { (base + 16).assumingMemoryBound(to: Int.self) }
}

/// All readers' slots of one engine, in blocks that are added when more readers come at once.
///
/// The proof that nothing is freed under a reader: the writer publishes a snapshot and then looks at the slots; a
/// reader announces and then looks at what is published. Both sides' store comes before their load in one total order,
/// so either the writer sees the announcement or the reader sees the newer snapshot and announces again.
package final class ReaderSlots: AccessEpochs, @unchecked Sendable {
  // Sendable: safe because blocks are added under a mutex, published by an atomic count, and never move.
  package static let slotsPerBlock = 64
  private static let slotByteCount = 64
  /// Ahead of a block's slots: a word with one bit for each, set for good when the slot is first taken. A search
  /// for announcements visits these slots alone, and not a cache line for each reader that there might be.
  private static let blockHeaderByteCount = 64
  /// How many blocks of readers there may be, as a rule.
  package static let usualBlockCount = 1024
  /// Blocks behind those, for the engine alone: its own announcements never want for a slot because of readers. There
  /// are a few at one time, but for those of `announceOwnIfPossible`.
  private static let ownBlockCount = 1
  private static let ownBit: UInt64 = 1 << 63

  private let blocks: UnsafeMutablePointer<UInt>
  private let usedBlocks = Atomic<Int>(0)
  private let growth = Latch(())
  private let published: Atomic<UInt>
  private let globalEpoch = Atomic<UInt64>(1)
  private let readerBlockCount: Int
  private let path: String?

  /// - Parameters:
  ///   - snapshot: the first published snapshot.
  ///   - path: the database, for messages.
  ///   - blockCount: how many blocks of readers there may be.
  package init(_ snapshot: SnapshotRecord, path: String? = nil, blockCount: Int = usualBlockCount) {
    published = Atomic(snapshot.address)
    readerBlockCount = blockCount
    self.path = path
    blocks = UnsafeMutablePointer.allocate(capacity: blockCount + Self.ownBlockCount)
    blocks.initialize(repeating: 0, count: blockCount + Self.ownBlockCount)
    addBlock(after: 0)
  }

  deinit {
    for index in 0..<usedBlocks.load(ordering: .relaxed) {
      UnsafeMutableRawPointer(bitPattern: blocks[index])?.deallocate()
    }
    blocks.deallocate()
  }

  private func addBlock(after count: Int) {
    growth.withLock { _ in
      // Somebody else may have added one while we waited.
      guard usedBlocks.load(ordering: .relaxed) == count else { return }
      let byteCount = Self.blockHeaderByteCount + Self.slotsPerBlock * Self.slotByteCount
      let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: Self.slotByteCount)
      // All words start as zero bits, the plain ones too.
      let words = block.bindMemory(to: Atomic<UInt64>.self, capacity: byteCount / 8)
      for index in 0..<(byteCount / 8) { (words + index).initialize(to: Atomic(0)) }
      blocks[count] = UInt(bitPattern: block)
      usedBlocks.store(count + 1, ordering: .sequentiallyConsistent)
    }
  }

  @inline(__always) private func slot(_ block: Int, _ index: Int) -> ReaderSlot {
    assert(index >= 0 && index < Self.slotsPerBlock, "a block has fewer slots")
    let base = UnsafeMutableRawPointer(bitPattern: blocks[block]).unsafelyUnwrapped
    return ReaderSlot(base: base + (Self.blockHeaderByteCount &+ index &* Self.slotByteCount))
  }

  /// Which slots of a block have ever been taken, one bit each.
  @inline(__always) private func taken(_ block: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    UnsafeMutableRawPointer(bitPattern: blocks[block]).unsafelyUnwrapped.assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// Marks a slot as taken, between the announcement and the reader's second look. A thread that searches and misses
  /// the bit has published before that look: the reader then announces the newer snapshot, and is not searched for.
  @inline(__always) private func noteTaken(_ block: Int, _ index: Int) {
    let (word, bit) = (taken(block), UInt64(1) << UInt64(index))
    if word.pointee.load(ordering: .sequentiallyConsistent) & bit != 0 { return }
    word.pointee.bitwiseOr(bit, ordering: .sequentiallyConsistent)
  }

  // MARK: Readers

  /// The newest published snapshot. Only the holder of an announcement may look inside.
  package var newest: SnapshotRecord { SnapshotRecord(base: newestBase) }
  private var newestBase: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(bitPattern: published.load(ordering: .sequentiallyConsistent)).unsafelyUnwrapped
  }

  /// Announces the newest snapshot; returns the slot and the snapshot, which stays until `end`.
  ///
  /// - Throws: `limitReached` if there are as many readers as there can be.
  package func begin() throws(StorageError) -> (slot: ReaderSlot, snapshot: SnapshotRecord) {
    var record = newest
    var csn = record.csn.rawValue
    guard let slot = claim(csn &+ 1, readerBlockCount) else { throw fullError() }
    enter(slot)
    while true {
      let again = newest
      if again == record, again.csn.rawValue == csn { return (slot, record) }
      record = again
      csn = record.csn.rawValue
      slot.announced.pointee.store(csn &+ 1, ordering: .sequentiallyConsistent)
    }
  }

  /// Announces a snapshot that is protected already, by another announcement or by the writer lock.
  ///
  /// - Throws: `limitReached` if there are as many readers as there can be.
  package func announce(_ csn: CSN) throws(StorageError) -> ReaderSlot {
    guard let slot = claim(csn.rawValue &+ 1, readerBlockCount) else { throw fullError() }
    enter(slot)
    return slot
  }

  /// The same on behalf of the engine, which is no reader that anybody has begun. For what happens once at a time:
  /// there is always a slot for that.
  package func announceOwn(_ csn: CSN) -> ReaderSlot {
    guard let slot = claim(csn.rawValue &+ 1 | Self.ownBit, readerBlockCount + Self.ownBlockCount) else {
      preconditionFailure("the engine has given none of its own slots back")
    }
    enter(slot)
    return slot
  }

  /// The same for what may happen any number of times: nil if readers have left no slot.
  package func announceOwnIfPossible(_ csn: CSN) -> ReaderSlot? {
    guard let slot = claim(csn.rawValue &+ 1 | Self.ownBit, readerBlockCount) else { return nil }
    enter(slot)
    return slot
  }

  private func fullError() -> StorageError {
    StorageError(
      .limitReached,
      """
      There are \(activeCount) reads and pinned snapshots at one time, which is as many as \
      there can be. End some of them, and try again.
      """, path: path)
  }

  /// Gives the slot up.
  @inline(__always) package func end(_ slot: ReaderSlot) {
    assert(slot.announced.pointee.load(ordering: .relaxed) != 0, "a slot is given back twice")
    assert(slot.loans.pointee == 0, "a reader ends whose loans have not")
    slot.epoch.pointee.store(0, ordering: .releasing)
    slot.announced.pointee.store(0, ordering: .releasing)
  }

  /// Says that the caller holds no address from before. Returns whether the epoch has moved: kept addresses must then
  /// be looked up again. A late view of the store only delays reuse. While bytes are on loan nothing moves.
  @inline(__always) package func enterEpoch(_ slot: ReaderSlot) -> Bool {
    let now = globalEpoch.load(ordering: .acquiring)
    if slot.epoch.pointee.load(ordering: .relaxed) == now || slot.loans.pointee > 0 { return false }
    enter(slot)
    return true
  }

  /// Announces the epoch as of now, and looks again: had the epoch ended before the announcement could be seen, what
  /// was taken out of the tables meanwhile might be reused although this reader has found it there before.
  @inline(__always) private func enter(_ slot: ReaderSlot) {
    assert(slot.announced.pointee.load(ordering: .relaxed) != 0, "an epoch is entered through a slot that is free")
    slot.holder.pointee.store(UInt64(ThreadIdentity.current), ordering: .relaxed)
    while true {
      let now = globalEpoch.load(ordering: .sequentiallyConsistent)
      slot.epoch.pointee.store(now, ordering: .sequentiallyConsistent)
      if globalEpoch.load(ordering: .sequentiallyConsistent) == now { return }
    }
  }

  /// Bytes in a page are on loan from now on: the epoch stays where it is, through nested calls as well.
  @inline(__always) package func beginLoan(_ slot: ReaderSlot) { slot.loans.pointee &+= 1 }

  /// A loan is over.
  @inline(__always) package func endLoan(_ slot: ReaderSlot) {
    assert(slot.loans.pointee > 0, "a loan ends twice")
    slot.loans.pointee &-= 1
  }

  /// Whether the slot's reader is in `epoch`: then an address that it has looked up there is good.
  @inline(__always) package func isAt(_ epoch: UInt64, _ slot: ReaderSlot) -> Bool {
    slot.epoch.pointee.load(ordering: .relaxed) == epoch
  }

  /// The access epoch as of now.
  @inline(__always) package var currentEpoch: UInt64 { globalEpoch.load(ordering: .acquiring) }

  /// Says that the caller holds no address and will take none before `refresh`: what a pin at rest does. While bytes
  /// are on loan nothing moves: a writer that makes room in the midst of a change may have been handed them.
  @inline(__always) package func exitEpoch(_ slot: ReaderSlot) {
    if slot.loans.pointee == 0 { slot.epoch.pointee.store(0, ordering: .releasing) }
  }

  /// Takes a free slot in one of the first `limit` blocks; nil if there is none.
  private func claim(_ word: UInt64, _ limit: Int) -> ReaderSlot? {
    // Threads start at different slots, so that they rarely meet.
    let thread = ThreadIdentity.current
    let start = Int((thread >> 12 ^ thread >> 20) % UInt(Self.slotsPerBlock))
    while true {
      let count = usedBlocks.load(ordering: .acquiring)
      for block in 0..<min(count, limit) {
        for index in 0..<Self.slotsPerBlock {
          let place = (start &+ index) % Self.slotsPerBlock
          let slot = slot(block, place)
          guard slot.announced.pointee.load(ordering: .relaxed) == 0 else { continue }
          let result = slot.announced.pointee.compareExchange(
            expected: 0, desired: word, ordering: .sequentiallyConsistent)
          if result.exchanged {
            noteTaken(block, place)
            return slot
          }
        }
      }
      if count >= limit { return nil }
      addBlock(after: count)
    }
  }

  // MARK: The writer's side

  /// Makes `snapshot` the newest.
  package func publish(_ snapshot: SnapshotRecord) {
    published.store(snapshot.address, ordering: .sequentiallyConsistent)
  }

  /// The announced CSNs in ascending order, with duplicates removed. O(slots that were ever in use at one time).
  package func announcedCSNs() -> [UInt64] {
    var found: [UInt64] = []
    findAnnounced(below: .max, into: &found)
    return found
  }

  /// Replaces `found` by those below `limit`: with the published CSN as the limit, the ones that keep anything. Nearly
  /// always there are none, and then nothing is allocated.
  func findAnnounced(below limit: UInt64, into found: inout [UInt64]) {
    if !found.isEmpty { found.removeAll(keepingCapacity: true) }
    forEachSlot { slot in
      let word = slot.announced.pointee.load(ordering: .sequentiallyConsistent)
      let csn = (word & ~Self.ownBit) &- 1
      if word != 0, csn < limit { found.append(csn) }
    }
    guard found.count > 1 else { return }
    found.sort()
    var kept = 1
    for index in 1..<found.count where found[index] != found[kept - 1] {
      found[kept] = found[index]
      kept += 1
    }
    found.removeLast(found.count - kept)
  }

  /// The oldest CSN that a reader has announced, the engine's own slots left out; nil if there is no reader.
  package var oldestReader: CSN? {
    var oldest: UInt64?
    forEachSlot { slot in
      let word = slot.announced.pointee.load(ordering: .relaxed)
      if word != 0, word & Self.ownBit == 0 { oldest = min(oldest ?? .max, word &- 1) }
    }
    return oldest.map { CSN($0) }
  }

  /// How many slots are taken by readers.
  package var activeCount: Int {
    var count = 0
    forEachSlot { slot in
      let word = slot.announced.pointee.load(ordering: .relaxed)
      if word != 0, word & Self.ownBit == 0 { count += 1 }
    }
    return count
  }

  /// Moves the access epoch; what was retired before may be reused when every reader has moved on.
  ///
  /// - Returns: the epoch that has ended.
  package func advanceEpoch() -> UInt64 {
    globalEpoch.add(1, ordering: .sequentiallyConsistent).oldValue
  }

  /// The oldest epoch that any reader still holds addresses of; `.max` if none does.
  package func oldestEpoch() -> UInt64 {
    var oldest = UInt64.max
    forEachSlot { slot in
      let epoch = slot.epoch.pointee.load(ordering: .sequentiallyConsistent)
      if epoch != 0 { oldest = min(oldest, epoch) }
    }
    return oldest
  }

  /// The oldest epoch that any reader still holds addresses of, and whether it is the calling thread that does.
  package func oldestHolder() -> (epoch: UInt64, isCaller: Bool) {
    let thread = UInt64(ThreadIdentity.current)
    var oldest = (epoch: UInt64.max, isCaller: false)
    forEachSlot { slot in
      let epoch = slot.epoch.pointee.load(ordering: .relaxed)
      guard epoch != 0, epoch <= oldest.epoch else { return }
      let isCaller = slot.holder.pointee.load(ordering: .relaxed) == thread
      oldest = (epoch, isCaller || (epoch == oldest.epoch && oldest.isCaller))
    }
    return oldest
  }

  /// Calls `body` with every slot that was ever taken. A reader that takes another one meanwhile sees what the caller
  /// has published or ended before the call.
  @inline(__always) private func forEachSlot(_ body: (ReaderSlot) -> Void) {
    for block in 0..<usedBlocks.load(ordering: .sequentiallyConsistent) {
      var rest = taken(block).pointee.load(ordering: .sequentiallyConsistent)
      while rest != 0 {
        body(slot(block, rest.trailingZeroBitCount))
        rest &= rest &- 1
      }
    }
  }
}
