// Slots and frame indexes taken in advance, so that a writer takes two locks for many pages instead of for each.

/// A few slots and frame indexes in the hand of one editor.
///
/// The batches grow with the transaction: a commit of one row takes no more than it needs, one of thousands of pages
/// takes 64 at a time. What is left goes back at the end of the transaction.
///
/// Invariant: every slot and index in hand is lent by the pool and in use in the frame table, and nobody else knows it.
struct FrameSupply {
  private let store: PageStore
  private let frames: FrameTable
  private var slots: [UInt] = []
  private var indexes: [FrameIndex] = []
  private var batch = FrameSupply.smallestBatch

  private static let smallestBatch = 4
  private let largestBatch: Int
  /// How many dirty pages and values there may be before somebody must write some home.
  var dirtyLimit = Int.max
  /// Whether there are more.
  var isOverLimit = false

  init(_ store: PageStore) {
    self.store = store
    largestBatch = max(Self.smallestBatch, min(64, store.pool.slotLimit / 32))
    frames = store.frames
  }

  /// A slot and the frame around it, born with commit `birth`. The slot's content is what its last owner left.
  @inline(__always) mutating func take(
    birth: UInt64
  ) throws(StorageError) -> (slot: UnsafeMutableRawPointer, frame: FrameIndex) {
    if slots.isEmpty || indexes.isEmpty { try refill() }
    // Of a slot, so not zero.
    let slot = UnsafeMutableRawPointer(bitPattern: slots.removeLast()).unsafelyUnwrapped
    let frame = indexes.removeLast()
    frames.assign(frame, slot: slot, birth: birth)
    return (slot, frame)
  }

  /// A slot alone, for a value. Its content is what its last owner left.
  mutating func takeSlot() throws(StorageError) -> UnsafeMutableRawPointer {
    if slots.isEmpty {
      try store.allocateSlots(batch, into: &slots)
      noteRefill()
    }
    return UnsafeMutableRawPointer(bitPattern: slots.removeLast()).unsafelyUnwrapped
  }

  @inline(never) private mutating func refill() throws(StorageError) {
    if slots.isEmpty { try store.allocateSlots(batch, into: &slots) }
    if indexes.isEmpty { try frames.reserve(batch, into: &indexes) }
    noteRefill()
  }

  private mutating func noteRefill() {
    batch = min(batch * 2, largestBatch)
    if store.dirtyCount > dirtyLimit { isOverLimit = true }
  }

  /// Gives back what is left.
  mutating func giveBack() {
    batch = Self.smallestBatch
    if !slots.isEmpty { store.pool.release(addresses: slots) }
    if !indexes.isEmpty { frames.unreserve(indexes) }
    slots.removeAll(keepingCapacity: true)
    indexes.removeAll(keepingCapacity: true)
  }
}
