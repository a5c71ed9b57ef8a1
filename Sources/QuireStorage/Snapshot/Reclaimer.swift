// Giving back what no snapshot needs: a version made by commit b and replaced by commit d is needed by the snapshots
// from b to d - 1 and by nobody else, however old the oldest reader is.

internal import Synchronization

/// Frees frames and places when the last snapshot that can reach them is gone.
///
/// The rule (hazard B2): free when d is at most the published CSN and no announced snapshot s has b <= s < d. New
/// readers start at the published CSN or later, hence at d or later, so the rule stays true once it is true.
///
/// Frames that a checkpoint has written live on as table entries until a later one has written every branch page made
/// before its end, because those may still refer to them; see `finishCheckpoint`.
///
/// Invariants:
/// 1. Every retired item is in `waiting` or `entries`, both in the order of d (above the published CSN when it was last
///    looked at), or in exactly one list of `held`, under a snapshot that was announced then and is in [b, d).
/// 2. While a checkpoint runs, `flipped` holds the frames that it has written and that are not replaced yet.
/// 3. `spilled` holds frames in use of commits that spills have written since the last checkpoint ended, and
///    `spilledByRunning` those of the running transaction, whose rollback would free their entries.
/// 4. `intact` ascends and is below `collected`; of what its snapshots see, nothing has been freed.
package final class Reclaimer: Sendable {
  /// What there is to free.
  enum Kind: UInt8 {
    /// A page version that has a frame: slot and entry, or the place it was written to and the entry.
    case frame
    /// A page version that stands in the file.
    case place
    /// An extent that stands in the file.
    case extent
    /// The entry alone of a frame whose page lives on under its page number.
    case entry
  }

  struct Item {
    let kind: Kind
    /// The number of pages of an extent.
    var pageCount: UInt32 = 1
    let value: UInt64
    let birth: UInt64
    let death: UInt64
  }

  /// A frame that the commit `csn` has replaced while a checkpoint ran that may have been writing it.
  struct RacedFrame {
    let frame: UInt32
    let csn: UInt64
  }

  struct State {
    var held: [UInt64: ChunkedList<Item>] = [:]
    var snapshots: [SnapshotRecord] = []
    /// What readers had announced below the published CSN when the running collection began.
    var announced: [UInt64] = []
    /// The CSN that the newest collection went up to: what it has freed, no snapshot from there on has seen.
    var collected: UInt64 = 0
    /// Of the snapshots below `collected`, those that readers had announced at every collection since they were
    /// replaced: all that they see is still there.
    var intact: [UInt64] = []
    /// What a collection has found to be free; given back in one go.
    var freeSlots: [UInt] = []
    var freeFrames: [FrameIndex] = []
    var freePlaces: [PageNumber] = []
    /// Slots of pages that were given up unread; they are retired at the end of the collection.
    var doubtfulSlots: [UInt] = []
    /// How many items the commits since the last collection have added.
    var newCount = 0
    var isCheckpointing = false
    /// By frame index.
    var flipped = PageBits()
    /// By frame index.
    var spilled = PageBits()
    /// By frame index.
    var spilledByRunning = PageBits()
    /// By frame index: those of `spilled` that the running transaction has spilled, and those of `spilledByRunning`
    /// once it is a commit.
    var spilledByCommit = PageBits()
    /// Whether pages that the running transaction will reach may refer to frames that it has spilled.
    var isSpillPartial = false
    /// The bytes that the pool was last told of.
    var chargedByteCount = 0
    /// Frames written by checkpoints that have ended, with the horizon of each: their entries go after a checkpoint of
    /// everything up to there.
    var written: [(horizon: UInt64, frames: ChunkedList<UInt32>)] = []
  }

  /// How many pages are freed in one batch; until then their slots count as lent.
  private static let releaseCount = 1 << 10
  /// How many snapshots that nobody needs are let wait to be recycled together.
  private static let waitingSnapshotCount = 16
  /// How many items are settled at a time: others want the latch too, a commit among them. About a millisecond.
  static let sliceCount = 1 << 13
  /// How many bytes more or less the pool is told of.
  private static let chargeStep = 256 << 10

  let store: PageStore
  let allocator: PageAllocator
  let slots: ReaderSlots
  private let pool: SnapshotPool
  // All three are touched under `state` only. They stand beside it because each commit looks at them, and a list that
  // is read out of what a latch lends is counted as a reference.
  /// What waits for the commit that replaced it to be published.
  let waiting = ChunkedList<Item>()
  /// Entries of frames, which die later than what commits replace meanwhile: in a queue of their own, so that neither
  /// queue's first item keeps one behind it that is due.
  let entries = ChunkedList<Item>()
  /// What was replaced while a checkpoint runs.
  let raced = ChunkedList<RacedFrame>()
  let state = Latch(State())

  /// Frees into `store`, `allocator` and `pool` what the readers in `slots` do not need.
  package init(store: PageStore, allocator: PageAllocator, slots: ReaderSlots, pool: SnapshotPool) {
    self.store = store
    self.allocator = allocator
    self.slots = slots
    self.pool = pool
  }

  // MARK: The writer

  /// Takes what the commit `csn` replaced, in the order of the commits.
  package func retire(_ pages: some Sequence<SupersededPage>, csn: UInt64, _ permit: borrowing WriterPermit) {
    state.withLock { state in
      let count = waiting.count
      assert(count == 0 || waiting[count - 1].death <= csn, "commits retire in their order")
      for page in pages {
        if page.extentPageCount > 0 {
          // As below.
          if allocator.supersede(page.reference.pageNumber, count: Int(page.extentPageCount), csn: csn) {
            waiting.append(
              Item(
                kind: .extent, pageCount: page.extentPageCount, value: page.reference.rawValue, birth: page.birth,
                death: csn))
          }
          continue
        }
        guard page.reference.isDirty else {
          // A place that is given up again, by a reference of a forged file, may be another page's already.
          if allocator.supersedePage(page.reference.pageNumber, csn: csn) {
            waiting.append(
              Item(kind: .place, value: page.reference.pageNumber.rawValue, birth: page.birth, death: csn))
          }
          continue
        }
        let frame = page.reference.frame
        if page.birth == csn {
          // Made and replaced by the same transaction: nobody has ever seen it, nor the place it may have spilled to.
          giveUpPlace(frame, &state)
          store.releaseFrame(frame)
          continue
        }
        let location = store.frames.location(frame)
        if location.isPageNumber, !(state.isCheckpointing && state.flipped[UInt64(frame.rawValue)]) {
          // Written by an earlier checkpoint, with which the entry goes, or spilled.
          if allocator.supersedePage(location.pageNumber, csn: csn) {
            waiting.append(
              Item(kind: .place, value: location.pageNumber.rawValue, birth: page.birth, death: csn))
          }
          continue
        }
        if state.isCheckpointing { raced.append(RacedFrame(frame: frame.rawValue, csn: csn)) }
        waiting.append(Item(kind: .frame, value: UInt64(frame.rawValue), birth: page.birth, death: csn))
      }
      state.newCount += waiting.count - count
      // After a huge transaction, before the checkpoint that may follow.
      if waiting.byteCount >= Self.chargeStep { charge(&state) }
      guard !state.spilledByRunning.isEmpty else { return }
      state.spilled.formUnion(state.spilledByRunning)
      state.spilledByCommit.formUnion(state.spilledByRunning)
      state.spilledByRunning = PageBits()
    }
  }

  /// Takes back what `retire` was told of a commit that has failed. Frames that it had made itself must not have been
  /// among the pages.
  package func unretire(csn: UInt64, _ permit: borrowing WriterPermit) {
    state.withLock { state in
      // Above the published CSN, so nothing of it has left the queue.
      let places = waiting.lazy.filter { $0.death == csn && ($0.kind == .place || $0.kind == .extent) }
      allocator.restore(csn, places.map { (PageNumber($0.value), Int($0.pageCount)) })
      assert(csn > slots.newest.csn.rawValue, "a published commit is not taken back")
      waiting.removeAll { $0.death == csn }
    }
  }

  /// Takes a snapshot that is no longer the newest.
  package func retire(_ snapshot: SnapshotRecord) { state.withLock { $0.snapshots.append(snapshot) } }

  /// Frees what can be freed. Cost: the items that have become due, and those of snapshots that were given up; in
  /// slices, between which others may come to the latch.
  package func collect() { while collectSlice(into: nil) {} }

  /// Frees a slice of that before a transaction begins, and as much as has come since the last one, so that the queue
  /// does not grow from one transaction to the next; `freeFrames`, the writer's, get what it will want. What a
  /// checkpoint or a long reader has held is more than one transaction should wait for.
  func collect(into freeFrames: FreeFrames, _ permit: borrowing WriterPermit) { _ = collectSlice(into: freeFrames) }

  /// True if there may be more.
  private func collectSlice(into freeFrames: FreeFrames?) -> Bool {
    var left = Self.sliceCount
    state.withLock { state in
      // The published CSN is read before the slots: a reader that comes later sees it or a newer one. Nothing that is
      // due is needed by who has announced that one. And it is read under the latch: then it never falls from one
      // collection to the next, so that every snapshot that `held` has things for is below it, and is among those found
      // if anybody is there. A number from before the latch, waited for on another thread, would miss readers that
      // collections in between have found; and the record that it stands in may be another's by then.
      let published = slots.newest.csn.rawValue
      slots.findAnnounced(below: published, into: &state.announced)
      assert(state.announced.allSatisfy { $0 < published }, "a reader has announced what is not published")
      assert(published >= state.collected, "the published CSN has fallen")
      noteIntact(&state, published)
      left += state.newCount
      state.newCount = 0
      left -= waiting.removeFirst(left, while: { $0.death <= published }) { settle($0, &state, freeFrames) }
      left -= entries.removeFirst(left, while: { $0.death <= published }) { settle($0, &state, freeFrames) }
      if !state.held.isEmpty { settleHeld(&left, &state, freeFrames) }
      // Announced ones stay; there is no point in looking before there are others, and little at each commit.
      if state.snapshots.count > state.announced.count + Self.waitingSnapshotCount {
        collectSnapshots(published, &state)
      }
      collectSlots(&state)
      release(&state)
      charge(&state)
      assert(state.freeSlots.isEmpty && state.freeFrames.isEmpty && state.freePlaces.isEmpty, "free memory is kept")
    }
    assert(left >= 0, "more is settled than a slice")
    return left == 0
  }

  /// Before a collection up to `published`: a snapshot whose readers are found now, and not by a collection in between,
  /// may have lost what it sees. Such a reader has loaded the number before that, and looks again before it uses it.
  @inline(__always) private func noteIntact(_ state: inout State, _ published: UInt64) {
    if !state.announced.isEmpty || !state.intact.isEmpty { keepIntact(&state) }
    state.collected = published
  }

  /// Costs a step for each announced snapshot, and no allocation but the first: both lists ascend.
  @inline(never) private func keepIntact(_ state: inout State) {
    var (place, kept) = (0, 0)
    for csn in state.announced where csn < state.collected {
      while place < state.intact.count, state.intact[place] < csn { place += 1 }
      guard place < state.intact.count else { break }
      if state.intact[place] > csn { continue }
      state.intact[kept] = csn
      kept += 1
    }
    state.intact.removeLast(state.intact.count - kept)
    for csn in state.announced where csn >= state.collected { state.intact.append(csn) }
  }

  /// Settles what was held for snapshots that nobody announces any more, `left` items at the most.
  private func settleHeld(_ left: inout Int, _ state: inout State, _ freeFrames: FreeFrames?) {
    for snapshot in state.held.keys where !state.announced.contains(snapshot) {
      guard left > 0, let items = state.held[snapshot] else { continue }
      left -= items.removeFirst(left) { settle($0, &state, freeFrames) }
      if items.isEmpty { state.held[snapshot] = nil }
    }
  }

  /// Charges what is kept for readers to the pool's budget: as much as they hold, however old they are.
  private func charge(_ state: inout State) {
    var byteCount = waiting.byteCount + entries.byteCount
    if !state.held.isEmpty { byteCount = state.held.values.reduce(byteCount) { $0 + $1.byteCount } }
    guard abs(byteCount - state.chargedByteCount) >= Self.chargeStep else { return }
    state.chargedByteCount = byteCount
    store.charge(byteCount, to: .reclaimer)
  }

  private func settle(_ item: Item, _ state: inout State, _ freeFrames: FreeFrames?) {
    // The newest announced snapshot below the death is the one that needs it longest, if any does.
    var index = state.announced.count - 1
    while index >= 0, state.announced[index] >= item.death { index -= 1 }
    if index >= 0, state.announced[index] >= item.birth {
      hold(item, for: state.announced[index], &state)
      return
    }
    switch item.kind {
    case .frame:
      let frame = FrameIndex(UInt32(item.value))
      let location = store.frames.location(frame)
      if location.isPageNumber {
        releasePlace(location.pageNumber, &state, freeFrames)
      } else {
        // Nobody can find it: a frame with a slot, as the next transaction would ask for.
        if let freeFrames, freeFrames.keep(frame, location.slot) { return }
        // Of a frame in memory, the raw value is the slot's address.
        state.freeSlots.append(location.rawValue)
      }
      state.freeFrames.append(frame)
    case .place where item.birth == 0:
      releaseUnread(PageNumber(item.value), &state)
    case .place:
      releasePlace(PageNumber(item.value), &state, freeFrames)
    case .extent: releaseUnread(PageNumber(item.value), count: Int(item.pageCount), &state)
    case .entry:
      state.freeFrames.append(FrameIndex(UInt32(item.value)))
    }
    if max(state.freeFrames.count, state.freePlaces.count, state.freeSlots.count) >= Self.releaseCount {
      release(&state)
    }
  }

  private func hold(_ item: Item, for snapshot: UInt64, _ state: inout State) {
    assert(item.birth <= snapshot && snapshot < item.death, "a snapshot holds what it does not see")
    if let list = state.held[snapshot] { return list.append(item) }
    let list = ChunkedList<Item>()
    list.append(item)
    state.held[snapshot] = list
  }

  /// Gives back what was found to be free: one lock for many.
  private func release(_ state: inout State) {
    if !state.freeFrames.isEmpty {
      store.frames.release(state.freeFrames)
      state.freeFrames.removeAll(keepingCapacity: true)
    }
    if !state.freeSlots.isEmpty {
      store.pool.release(addresses: state.freeSlots)
      state.freeSlots.removeAll(keepingCapacity: true)
    }
    if !state.freePlaces.isEmpty {
      allocator.release(state.freePlaces)
      state.freePlaces.removeAll(keepingCapacity: true)
    }
  }

  private func releasePlace(_ number: PageNumber, _ state: inout State, _ freeFrames: FreeFrames?) {
    // Forgotten before it can be given out: a page number is reused only when its table entry is empty (hazard C2).
    if let slot = store.take(number), freeFrames?.keep(slot) != true { state.freeSlots.append(UInt(bitPattern: slot)) }
    state.freePlaces.append(number)
  }

  /// Frees the place of a page that was given up without a look at it. Only in a forged file can a reference have led
  /// there that is not the page's own; a reader of another tree may then be inside the slot, so it waits for the epoch.
  /// The same for an extent, whose value has a slot only if it takes one page.
  private func releaseUnread(_ number: PageNumber, count: Int = 1, _ state: inout State) {
    if count == 1, let slot = store.take(number) { state.doubtfulSlots.append(UInt(bitPattern: slot)) }
    allocator.release(number, count: count)
  }

  @inline(never) private func collectSnapshots(_ published: UInt64, _ state: inout State) {
    let announced = state.announced
    pool.recycle(from: &state.snapshots) { csn in csn.rawValue < published && !announced.contains(csn.rawValue) }
  }

  private func collectSlots(_ state: inout State) {
    if !state.doubtfulSlots.isEmpty {
      store.retire(state.doubtfulSlots)
      state.doubtfulSlots = []
    }
    if store.pool.mayHaveRetired { store.collectRetired() }
  }

  /// The number of items that wait for a reader or a commit.
  package var waitingCount: Int {
    state.withLock { state in
      waiting.count + entries.count + state.held.values.reduce(0) { $0 + $1.count }
    }
  }
}
