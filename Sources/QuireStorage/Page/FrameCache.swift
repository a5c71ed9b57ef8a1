// Slots and frame indexes taken in advance, so that a writer takes two locks for many pages instead of for each.

/// A few slots and frame indexes that one editor has taken and not used yet.
///
/// The batches grow with the transaction: a commit of one row takes no more than it needs, one of thousands of pages
/// takes 64 at a time. What is left goes back at the end of the transaction, but for a few that stay: they are
/// joined by the frames that small commits have replaced, so that the next ones take no lock at all, and write to
/// memory that the processor's cache still has.
///
/// Invariants:
/// 1. Every slot and index here is lent by the pool and in use in the frame table, and nobody else knows it.
/// 2. Between transactions there are at most `freeFrames.keptCount` of each. A checkpoint begins with none.
struct FrameCache {
  private let store: PageStore
  private let frames: FrameTable
  let freeFrames: FreeFrames
  private var batch = FrameCache.smallestBatch

  private static let smallestBatch = 4
  private let largestBatch: Int
  /// How many dirty pages and values there may be before somebody must write some home.
  var dirtyLimit = Int.max
  /// Whether there are more.
  var isOverLimit = false

  /// Nothing yet; `deallocate` ends it.
  init(_ store: PageStore) {
    self.store = store
    largestBatch = max(Self.smallestBatch, min(FreeFrames.capacity, store.pool.slotLimit / 32))
    freeFrames = FreeFrames(slotLimit: store.pool.slotLimit)
    frames = store.frames
  }

  /// Frees the memory; what is here stays taken.
  func deallocate() { freeFrames.deallocate() }

  /// A slot and the frame around it, born with commit `birth`. The slot's content is what its last owner left.
  @inline(__always) mutating func take(
    birth: UInt64
  ) throws(StorageError) -> (slot: UnsafeMutableRawPointer, frame: FrameIndex) {
    if freeFrames.slotCount == 0 || freeFrames.frameCount == 0 { try refill() }
    let (slot, frame) = freeFrames.take()
    frames.assign(frame, slot: slot, birth: birth)
    return (slot, frame)
  }

  /// A slot alone, for a value. Its content is what its last owner left.
  mutating func takeSlot() throws(StorageError) -> UnsafeMutableRawPointer {
    if freeFrames.slotCount == 0 {
      try store.allocateSlots(batch) { [freeFrames] address in freeFrames.add(address) }
      noteRefill()
    }
    return freeFrames.takeSlot()
  }

  @inline(never) private mutating func refill() throws(StorageError) {
    if freeFrames.slotCount == 0 { try store.allocateSlots(batch) { [freeFrames] address in freeFrames.add(address) } }
    if freeFrames.frameCount == 0 {
      assert(batch <= FreeFrames.capacity, "more frames are taken in advance than there is room for")
      try frames.reserve(batch, into: freeFrames.frames)
      freeFrames.frameCount = batch
    }
    noteRefill()
  }

  private mutating func noteRefill() {
    batch = min(batch * 2, largestBatch)
    if store.dirtyCount > dirtyLimit { isOverLimit = true }
  }

  /// At the end of a transaction that has committed: gives back what is left, unless that is little.
  @inline(__always) mutating func trim() {
    batch = Self.smallestBatch
    if freeFrames.slotCount > freeFrames.keptCount || freeFrames.frameCount > freeFrames.keptCount { giveBack() }
  }

  /// Gives back what is left.
  mutating func giveBack() {
    batch = Self.smallestBatch
    if freeFrames.slotCount > 0 {
      store.pool.release(addresses: UnsafeBufferPointer(start: freeFrames.slots, count: freeFrames.slotCount))
      freeFrames.slotCount = 0
    }
    if freeFrames.frameCount > 0 {
      frames.unreserve(UnsafeBufferPointer(start: freeFrames.frames, count: freeFrames.frameCount))
      freeFrames.frameCount = 0
    }
  }
}

/// The free frames and page slots of one editor: a plain value, so that no reference is counted when it is lent to the
/// reclaimer.
struct FreeFrames {
  /// The most that is taken at a time.
  static let capacity = 64
  private static let mostKept = 16

  private let counts: UnsafeMutablePointer<Int>
  let slots: UnsafeMutablePointer<UInt>
  let frames: UnsafeMutablePointer<FrameIndex>
  /// How many may stay here between transactions: none where memory is so short that they would be missed.
  let keptCount: Int

  fileprivate init(slotLimit: Int) {
    counts = UnsafeMutablePointer.allocate(capacity: 2)
    counts.initialize(repeating: 0, count: 2)
    slots = UnsafeMutablePointer.allocate(capacity: Self.capacity)
    frames = UnsafeMutablePointer.allocate(capacity: Self.capacity)
    keptCount = min(Self.mostKept, slotLimit / 64)
  }

  fileprivate func deallocate() {
    counts.deallocate()
    slots.deallocate()
    frames.deallocate()
  }

  var slotCount: Int {
    @inline(__always) get { counts[0] }
    nonmutating set { counts[0] = newValue }
  }
  var frameCount: Int {
    @inline(__always) get { counts[1] }
    nonmutating set { counts[1] = newValue }
  }

  /// Takes the last of each; there are some.
  @inline(__always) fileprivate func take() -> (slot: UnsafeMutableRawPointer, frame: FrameIndex) {
    assert(slotCount > 0 && frameCount > 0, "a frame is taken that is not there")
    slotCount &-= 1
    frameCount &-= 1
    // Of a slot, so not zero.
    return (UnsafeMutableRawPointer(bitPattern: slots[slotCount]).unsafelyUnwrapped, frames[frameCount])
  }

  /// Takes the last slot; there are some.
  fileprivate func takeSlot() -> UnsafeMutableRawPointer {
    assert(slotCount > 0, "a slot is taken that is not there")
    slotCount &-= 1
    return UnsafeMutableRawPointer(bitPattern: slots[slotCount]).unsafelyUnwrapped
  }

  /// Adds a slot; there is room.
  @inline(__always) func add(_ slot: UInt) {
    assert(slotCount < Self.capacity, "there is no room for another slot")
    assert(slot != 0, "a slot has an address")
    slots[slotCount] = slot
    slotCount &+= 1
  }

  /// Takes a frame in memory that nobody can reach, with its slot; false if there are enough.
  @inline(__always) func keep(_ frame: FrameIndex, _ slot: UnsafeMutableRawPointer) -> Bool {
    guard slotCount < keptCount, frameCount < keptCount else { return false }
    add(UInt(bitPattern: slot))
    assert(frameCount < Self.capacity, "there is no room for another frame")
    frames[frameCount] = frame
    frameCount &+= 1
    return true
  }

  /// Takes a slot that has lost its owner; false if there are enough.
  @inline(__always) func keep(_ slot: UnsafeMutableRawPointer) -> Bool {
    guard slotCount < keptCount else { return false }
    add(UInt(bitPattern: slot))
    return true
  }
}
