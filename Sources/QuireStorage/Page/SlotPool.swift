// Where pages live in memory, clean or dirty: slots of one page each, cut from large slabs and recycled for ever.

/// The memory of all pages of one engine.
///
/// Slots are recycled rather than freed: a first touch of fresh memory costs ten times the copy of a page. Slabs are
/// aligned to huge pages, so that a descent misses the TLB at most once per level.
///
/// Invariants:
/// 1. Every slot is either free (in `free` exactly once) or lent to exactly one owner: a frame, or a page table entry.
/// 2. `lent + free.count` is the number of slots of all slabs.
///
/// The budget is a number of lent slots. The pool counts, and says when it is used up; making room, and deciding when
/// to go beyond it, is the page store's business.
package final class SlotPool: Sendable {
  private struct State: ~Copyable {
    var slabs: [VirtualMemory] = []
    var free: [UnsafeMutableRawPointer] = []
    var lent = 0
  }

  package let pageSize: Int
  /// How many slots may be lent: the memory budget.
  package let slotLimit: Int
  private let slabByteCount: Int
  // Sendable is unchecked by the compiler for raw pointers; here they are data, only followed by their owners.
  private let state: Latch<State>

  private static let hugePageByteCount = 2 << 20

  /// - Parameter cacheSize: the engine's memory budget; small budgets get small slabs.
  package init(pageSize: Int, cacheSize: Int) {
    self.pageSize = pageSize
    slotLimit = max(1, cacheSize / pageSize)
    slabByteCount = cacheSize >= 16 << 20 ? Self.hugePageByteCount : max(64 * pageSize, 64 << 10)
    state = Latch(State())
  }

  deinit {
    state.withLock { state in
      for slab in state.slabs { slab.release() }
    }
  }

  /// Lends a slot within the budget; its content is whatever its last owner left. O(1), a system call once per slab.
  ///
  /// - Returns: the slot, or nil if the budget is used up; and how many more the budget has.
  func take() throws(StorageError) -> (slot: UnsafeMutableRawPointer?, room: Int) {
    let result: Result<(UInt, Int), StorageError> = state.withLock { state in
      guard state.lent < slotLimit else { return .success((0, slotLimit - state.lent)) }
      do throws(StorageError) {
        if state.free.isEmpty { try grow(&state) }
      } catch {
        return .failure(error)
      }
      state.lent += 1
      return .success((UInt(bitPattern: state.free.removeLast()), slotLimit - state.lent))
    }
    let (address, room) = try result.get()
    return (UnsafeMutableRawPointer(bitPattern: address), room)
  }

  /// Lends `count` slots if the budget then has at least `reserve` more, or none at all; returns whether it did.
  func take(
    _ count: Int, leaving reserve: Int, into slots: inout [UnsafeMutableRawPointer]
  ) throws(StorageError) -> Bool {
    var addresses: [UInt] = []
    let failure: StorageError? = state.withLock { state in
      guard state.lent + count + reserve <= slotLimit else { return nil }
      do throws(StorageError) {
        while state.free.count < count { try grow(&state) }
      } catch {
        return error
      }
      state.lent += count
      addresses = state.free.suffix(count).map { UInt(bitPattern: $0) }
      state.free.removeLast(count)
      return nil
    }
    if let failure { throw failure }
    for address in addresses {
      if let slot = UnsafeMutableRawPointer(bitPattern: address) { slots.append(slot) }
    }
    return !addresses.isEmpty
  }

  /// How many slots the budget still has; negative when it is exceeded.
  var room: Int { state.withLock { slotLimit - $0.lent } }

  /// Lends a slot, whatever the budget says; its content is whatever its last owner left. O(1), a system call once per
  /// slab.
  package func allocate() throws(StorageError) -> UnsafeMutableRawPointer {
    // The closure of withLock cannot be given a typed throw together with a result of pointer type across versions of
    // the compiler, so the failure travels as a value.
    let result: Result<UInt, StorageError> = state.withLock { state in
      do throws(StorageError) {
        if state.free.isEmpty { try grow(&state) }
      } catch {
        return .failure(error)
      }
      state.lent += 1
      return .success(UInt(bitPattern: state.free.removeLast()))
    }
    let address = try result.get()
    guard let slot = UnsafeMutableRawPointer(bitPattern: address) else {
      preconditionFailure("a slot is never at address zero")
    }
    return slot
  }

  /// Takes a slot back. Nobody may hold its address any more.
  package func release(_ slot: UnsafeMutableRawPointer) {
    let address = UInt(bitPattern: slot)
    state.withLock { state in
      state.lent -= 1
      if let slot = UnsafeMutableRawPointer(bitPattern: address) { state.free.append(slot) }
    }
  }

  /// Takes many slots back at once.
  package func release(_ slots: [UnsafeMutableRawPointer]) {
    let addresses = slots.map { UInt(bitPattern: $0) }
    state.withLock { state in
      state.lent -= addresses.count
      for address in addresses {
        if let slot = UnsafeMutableRawPointer(bitPattern: address) { state.free.append(slot) }
      }
    }
  }

  private func grow(_ state: inout State) throws(StorageError) {
    let isHuge = slabByteCount >= Self.hugePageByteCount
    let slab = try VirtualMemory.reserve(
      byteCount: slabByteCount, alignment: isHuge ? Self.hugePageByteCount : 4096)
    if isHuge { slab.adviseHugePages() }
    state.slabs.append(slab)
    // Backwards, so that slots are lent in ascending order: neighbours in a tree become neighbours in memory.
    var offset = slabByteCount / pageSize * pageSize
    while offset > 0 {
      offset -= pageSize
      state.free.append(slab.base + offset)
    }
  }

  /// The number of slots that have an owner.
  package var lentCount: Int { state.withLock { $0.lent } }

  /// The bytes of all slabs.
  package var byteCount: Int { state.withLock { $0.slabs.count } * slabByteCount }

  /// Checks the invariants; returns what is broken.
  package func checkInvariants() -> String? {
    state.withLock { state in
      if Set(state.free).count != state.free.count { return "a slot is free twice" }
      let total = state.slabs.count * (slabByteCount / pageSize)
      return state.lent + state.free.count == total ? nil : "slots have been lost: \(total) in all"
    }
  }
}
