// Where pages live in memory, clean or dirty: slots of one page each, cut from large slabs and recycled for ever.

internal import Synchronization

/// The memory of all pages of one engine.
///
/// Slots are recycled rather than freed: a first touch of fresh memory costs ten times the copy of a page. Slabs are
/// aligned to huge pages, so that a descent misses the TLB at most once per level. Only what comes back from more than
/// `slackByteCount` beyond the budget has its memory given to the system; such a slot is bare until it is lent again.
///
/// Invariants:
/// 1. Every slot is either free (in `free` or in `bare`, exactly once) or lent to exactly one owner: a frame, or a page
///    table entry.
/// 2. `lent + free.count + bare.count` is the number of slots of all slabs.
/// 3. What the sum of `charges` is beyond the allowance, but at most half of the slots, is missing in `budget`.
///
/// The budget is a number of lent slots: the cache, less what other structures take beyond an allowance. The pool
/// counts, and says when it is used up; making room, and deciding when to go beyond it, is the page store's business.
package final class SlotPool: Sendable {
  private struct State: ~Copyable {
    var slabs: [VirtualMemory] = []
    /// Slabs that have memory and are not cut into slots yet, and whom to tell when one is taken.
    var prepared: [VirtualMemory] = []
    var didTake: (@Sendable () -> Void)?
    var free: [UnsafeMutableRawPointer] = []
    /// Free as well, and without memory until they are written to.
    var bare: [UnsafeMutableRawPointer] = []
    /// The slabs, by their addresses, that are one huge page each: none of their slots was ever bare.
    var hugeSlabs: Set<UInt> = []
    var lent = 0
    /// The bytes that each consumer takes.
    var charges = [Int](repeating: 0, count: Consumer.allCases.count)
  }

  /// Who takes memory in proportion to the database or to a transaction, beside pages.
  package enum Consumer: Int, CaseIterable {
    /// What waits to be freed.
    case reclaimer
    /// The lists of the running transaction.
    case transaction
    /// The buffers of a bulk load.
    case load
    /// What puts that wait in runs on disk are merged with.
    case runs
  }

  package let pageSize: Int
  /// How many slots the cache has room for.
  package let slotLimit: Int
  /// How many slots may be lent as long as nothing else takes more memory than its allowance: the memory budget.
  package var budget: Int { budgetWord.load(ordering: .relaxed) }
  private let budgetWord: Atomic<Int>
  /// Whether slots may wait for readers to move on, in `RetiredSlots`, which says so.
  let hasRetired = Atomic<Bool>(false)
  /// The same, for every transaction to ask. What another thread is retiring at this moment, the next one finds.
  @inline(__always) var mayHaveRetired: Bool { hasRetired.load(ordering: .relaxed) }
  /// How many slots beyond the budget have memory before those that come back are made bare.
  private let slackCount: Int
  private let slabByteCount: Int
  // Sendable is unchecked by the compiler for raw pointers; here they are data, only followed by their owners.
  private let state: Latch<State>

  private static let hugePageByteCount = 2 << 20
  private static let firstSlabPageCount = 64
  /// What may be lent beyond the budget before anybody waits for readers, and what has memory beyond it.
  static let slackByteCount = 4 << 20
  /// What structures beside pages take before they count.
  private static let allowanceByteCount = 1 << 20

  /// - Parameter cacheSize: the engine's memory budget; small budgets get small slabs.
  package init(pageSize: Int, cacheSize: Int) {
    self.pageSize = pageSize
    slotLimit = max(1, cacheSize / pageSize)
    budgetWord = Atomic(slotLimit)
    slackCount = Self.slackByteCount / pageSize
    assert(pageSize > 0 && pageSize & (pageSize - 1) == 0, "pages have a power of two bytes")
    slabByteCount = cacheSize >= 16 << 20 ? Self.hugePageByteCount : max(64 * pageSize, 64 << 10)
    state = Latch(State())
  }

  deinit {
    state.withLock { state in
      for slab in state.slabs + state.prepared { slab.release() }
    }
  }

  /// Lends a slot within the budget; its content is whatever its last owner left. O(1), a system call once per slab.
  ///
  /// - Returns: the slot, or nil if the budget is used up; and how many more the budget has.
  func take() throws(StorageError) -> (slot: UnsafeMutableRawPointer?, room: Int) {
    let result: Result<(UInt, Int), StorageError> = state.withLock { state in
      let budget = budget
      guard state.lent < budget else { return .success((0, budget - state.lent)) }
      do throws(StorageError) {
        if state.free.isEmpty { try replenish(&state) }
      } catch {
        return .failure(error)
      }
      state.lent += 1
      return .success((UInt(bitPattern: state.free.removeLast()), budget - state.lent))
    }
    let (address, room) = try result.get()
    return (UnsafeMutableRawPointer(bitPattern: address), room)
  }

  /// Lends `count` slots and hands their addresses to `add`, if the budget then has at least `reserve` more, or none at
  /// all; returns whether it did.
  func take(_ count: Int, leaving reserve: Int, _ add: (UInt) -> Void) throws(StorageError) -> Bool {
    assert(count > 0 && reserve >= 0, "no slots are taken")
    let outcome: Result<Bool, StorageError> = state.withLock { state in
      guard state.lent + count + reserve <= budget else { return .success(false) }
      do throws(StorageError) {
        while state.free.count < count { try replenish(&state) }
      } catch {
        return .failure(error)
      }
      state.lent += count
      for index in (state.free.count - count)..<state.free.count { add(UInt(bitPattern: state.free[index])) }
      state.free.removeLast(count)
      return .success(true)
    }
    return try outcome.get()
  }

  /// How many slots the budget still has; negative when it is exceeded.
  var room: Int { state.withLock { budget - $0.lent } }

  /// Says how much memory `consumer` takes now. Beyond an allowance it is taken from the budget for pages, at most half
  /// of which goes that way; or what a load has asked for, if that is more, as far as a quarter is left.
  func charge(_ byteCount: Int, to consumer: Consumer) {
    state.withLock { state in
      guard state.charges[consumer.rawValue] != byteCount else { return }
      assert(byteCount >= 0, "memory is charged that was given back twice")
      state.charges[consumer.rawValue] = byteCount
      let beyond = max(0, state.charges.reduce(0, +) - Self.allowanceByteCount)
      let load = min(slotLimit / 4 * 3, state.charges[Consumer.load.rawValue] / pageSize)
      budgetWord.store(slotLimit - min(max(slotLimit / 2, load), beyond / pageSize), ordering: .relaxed)
      while state.lent + state.free.count > budget + slackCount, let slot = state.free.last, makeBare(slot, &state) {
        state.free.removeLast()
      }
    }
  }

  /// Lends a slot, whatever the budget says; its content is whatever its last owner left. O(1), a system call once per
  /// slab.
  package func allocate() throws(StorageError) -> UnsafeMutableRawPointer {
    // The closure of withLock cannot be given a typed throw together with a result of pointer type across versions of
    // the compiler, so the failure travels as a value.
    let result: Result<UInt, StorageError> = state.withLock { state in
      do throws(StorageError) {
        if state.free.isEmpty { try replenish(&state) }
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

  /// Takes a slot back. Nobody may hold its address.
  package func release(_ slot: UnsafeMutableRawPointer) {
    let address = UInt(bitPattern: slot)
    state.withLock { state in
      if let slot = UnsafeMutableRawPointer(bitPattern: address) { takeBack(slot, &state) }
    }
  }

  /// Takes many slots back at once.
  package func release(_ slots: [UnsafeMutableRawPointer]) {
    release(addresses: slots.map { UInt(bitPattern: $0) })
  }

  /// The same by their addresses.
  func release(addresses: some Collection<UInt>) {
    state.withLock { state in
      for address in addresses {
        if let slot = UnsafeMutableRawPointer(bitPattern: address) { takeBack(slot, &state) }
      }
    }
  }

  @inline(__always) private func takeBack(_ slot: UnsafeMutableRawPointer, _ state: inout State) {
    assert(state.lent > 0, "a slot comes back that was not lent")
    assert(UInt(bitPattern: slot) % UInt(min(pageSize, 4096)) == 0, "what comes back is not a slot")
    // All slots with memory, this one included.
    let backedCount = state.lent + state.free.count
    state.lent -= 1
    if backedCount > budget + slackCount, makeBare(slot, &state) { return }
    state.free.append(slot)
  }

  /// Gives the memory of a slot that has no owner to the system; false if that cannot be.
  private func makeBare(_ slot: UnsafeMutableRawPointer, _ state: inout State) -> Bool {
    let base = UInt(bitPattern: slot) & ~UInt(Self.hugePageByteCount - 1)
    // The system would make a huge page of the slab again, with memory for every hole in it.
    if state.hugeSlabs.remove(base) != nil {
      VirtualMemory(base: slot - Int(UInt(bitPattern: slot) - base), byteCount: slabByteCount).refuseHugePages()
    }
    guard VirtualMemory.discard(slot, byteCount: pageSize) else { return false }
    state.bare.append(slot)
    return true
  }

  /// Puts a slot, or more, into `free`: bare ones before new ones.
  private func replenish(_ state: inout State) throws(StorageError) {
    if let slot = state.bare.popLast() { state.free.append(slot) } else { try grow(&state) }
  }

  private func grow(_ state: inout State) throws(StorageError) {
    state.didTake?()
    // The first one is small: at its first touch a huge page is filled with zeros, which takes as long as the rest of
    // an opening, and many a database never needs as much.
    let byteCount = state.slabs.isEmpty ? min(slabByteCount, Self.firstSlabPageCount * pageSize) : slabByteCount
    let slab: VirtualMemory
    if let prepared = state.prepared.popLast() { slab = prepared } else { slab = try reserveSlab(byteCount) }
    assert(slab.byteCount >= pageSize, "a slab has room for a page at least")
    if slab.byteCount == Self.hugePageByteCount { state.hugeSlabs.insert(UInt(bitPattern: slab.base)) }
    state.slabs.append(slab)
    // Backwards, so that slots are lent in ascending order: neighbours in a tree become neighbours in memory.
    var offset = slab.byteCount / pageSize * pageSize
    while offset > 0 {
      offset -= pageSize
      state.free.append(slab.base + offset)
    }
  }

  private func reserveSlab(_ byteCount: Int) throws(StorageError) -> VirtualMemory {
    let isHuge = byteCount >= Self.hugePageByteCount
    let slab = try VirtualMemory.reserve(byteCount: byteCount, alignment: isHuge ? Self.hugePageByteCount : 4096)
    if isHuge { slab.adviseHugePages() }
    return slab
  }

  // MARK: Preparing

  /// From now on `didTake` is called whenever a slab is cut into slots, with the pool's lock held; nil: no more.
  func noteTaken(_ didTake: (@Sendable () -> Void)?) { state.withLock { $0.didTake = didTake } }

  /// Makes a slab and touches its memory, outside the lock. False if it would be more than the cache has room for, or
  /// if there is no memory.
  func prepareSlab() -> Bool {
    let count = state.withLock { $0.slabs.count + $0.prepared.count }
    guard (count + 1) * (slabByteCount / pageSize) <= slotLimit else { return false }
    do throws(StorageError) {
      let slab = try reserveSlab(slabByteCount)
      slab.touch()
      let address = UInt(bitPattern: slab.base)
      state.withLock { state in
        guard let base = UnsafeMutableRawPointer(bitPattern: address) else { return }
        state.prepared.append(VirtualMemory(base: base, byteCount: slabByteCount))
      }
      return true
    } catch {
      return false
    }
  }

  /// Gives back the slabs that were prepared and not taken.
  func releasePrepared() {
    state.withLock { state in
      for slab in state.prepared { slab.release() }
      state.prepared = []
    }
  }

  /// The number of slots that have an owner.
  package var lentCount: Int { state.withLock { $0.lent } }

  /// The bytes of all slabs, but for those of bare slots.
  package var byteCount: Int { state.withLock { $0.slabs.reduce(0) { $0 + $1.byteCount } - $0.bare.count * pageSize } }

  /// Checks the invariants; returns what is broken.
  package func checkInvariants() -> String? {
    state.withLock { state in
      let free = state.free + state.bare
      if Set(free).count != free.count { return "a slot is free twice" }
      let total = state.slabs.reduce(0) { $0 + $1.byteCount / pageSize }
      if state.lent + free.count != total { return "slots have been lost: \(total) in all" }
      return (slotLimit - slotLimit / 4 * 3)...slotLimit ~= budget
        ? nil : "the budget is \(budget) of \(slotLimit) slots"
    }
  }
}
