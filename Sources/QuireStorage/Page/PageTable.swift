// Which clean pages are in memory, and where.

internal import Synchronization

/// The page table: one word per page of the file.
///
/// A word is zero (not in memory), or a slot's address with five tags in the bits that its alignment leaves free:
///
/// | bit | set | clear |
/// |--:|---|---|
/// | 0 | hot: a tree page, touched since the evictor's hand passed | cool: its next turn takes it out; or a value |
/// | 1 | a value that is written and not synced: stays until then | – |
/// | 2 | the slot holds the value of an extent of one page | a page of a tree |
/// | 3 | a value that is hot | – |
/// | 4 | a value that is nowhere but in its slot and the log: to be written home | – |
///
/// A descent tests bit 0 and nothing else: what is not hot takes the slow path, and so a reference that leads to a
/// value, as one of a forged file may, ends there.
///
/// Invariants:
/// 1. A page number is given to a new page, or to a value, only while its word is zero.
/// 2. Bit 0 is never set beside bit 2, bit 4 only beside it.
struct PageTable: @unchecked Sendable {
  // Sendable: safe because the words are atomics, as is the count.
  private let words: SparseTable
  /// The checksum that the value at a number was verified against. Of no meaning where the word has no bit 2.
  private let sums: SparseTable
  private let counters: UnsafeMutablePointer<Counters>

  private struct Counters: ~Copyable {
    let pages = Atomic<UInt64>(0)
    /// How many numbers have room for a checksum.
    let sums = Atomic<UInt64>(0)
    let resident = Atomic<Int>(0)
  }

  private static let chunkShift = 16
  private static let hotBit: UInt = 1
  private static let unsyncedBit: UInt = 2
  private static let valueBit: UInt = 4
  private static let warmBit: UInt = 8
  private static let unwrittenBit: UInt = 16
  private static let tagBits: UInt = 31

  init() throws(StorageError) {
    words = try SparseTable(entryByteCount: 8, chunkShift: Self.chunkShift, maximumCount: Limits.pageCount)
    do throws(StorageError) {
      sums = try SparseTable(entryByteCount: 8, chunkShift: Self.chunkShift, maximumCount: Limits.pageCount)
    } catch {
      words.release()
      throw error
    }
    counters = UnsafeMutablePointer.allocate(capacity: 1)
    counters.initialize(to: Counters())
  }

  /// Gives all memory back.
  func release() {
    words.release()
    sums.release()
    counters.deinitialize(count: 1)
    counters.deallocate()
  }

  /// The number of pages that have a word.
  var pageCount: UInt64 { counters.pointee.pages.load(ordering: .acquiring) }

  /// About how many pages are in memory.
  var residentCount: Int { counters.pointee.resident.load(ordering: .relaxed) }

  /// Gives pages below `count` a word. One caller at a time.
  func grow(to count: UInt64) throws(StorageError) {
    assert(count <= UInt64(Limits.pageCount), "the file grows up to its limit")
    try words.grow(to: Int(count))
    counters.pointee.pages.store(count, ordering: .releasing)
  }

  @inline(__always) private func word(_ number: PageNumber) -> UnsafeMutablePointer<Atomic<UInt>> {
    words.entry(Int(number.rawValue)).assumingMemoryBound(to: Atomic<UInt>.self)
  }

  /// The page's slot if it is hot, otherwise nil: the fast half of a lookup.
  @inline(__always) func hotSlot(_ number: PageNumber) -> UnsafeMutableRawPointer? {
    let value = word(number).pointee.load(ordering: .acquiring)
    if value & Self.hotBit == 0 { return nil }
    return UnsafeMutableRawPointer(bitPattern: value & ~Self.tagBits).unsafelyUnwrapped
  }

  /// The page's slot, which is hot from now on; nil if the page is not in memory: the slow half.
  func heatedSlot(_ number: PageNumber) -> UnsafeMutableRawPointer? {
    while true {
      let value = word(number).pointee.load(ordering: .acquiring)
      if value == 0 || value & Self.valueBit != 0 { return nil }
      if value & Self.hotBit == 0 {
        let result = word(number).pointee.compareExchange(
          expected: value, desired: value | Self.hotBit, ordering: .acquiringAndReleasing)
        if !result.exchanged { continue }
      }
      return UnsafeMutableRawPointer(bitPattern: value & ~Self.tagBits)
    }
  }

  /// Whether the page, or a value in its place, is in memory.
  func isResident(_ number: PageNumber) -> Bool { word(number).pointee.load(ordering: .acquiring) != 0 }

  /// Enters a page that was read; false if somebody else was faster. It starts cool.
  func publish(_ slot: UnsafeMutableRawPointer, at number: PageNumber) -> Bool {
    assert(UInt(bitPattern: slot) & Self.tagBits == 0, "a slot's address leaves room for the tags")
    let result = word(number).pointee.compareExchange(
      expected: 0, desired: UInt(bitPattern: slot), ordering: .acquiringAndReleasing)
    if result.exchanged { counters.pointee.resident.wrappingAdd(1, ordering: .relaxed) }
    return result.exchanged
  }

  /// Enters a page that has just been written, under a number that is new. It starts hot.
  ///
  /// - Returns: the slot of a page that was there before; see `PageStore.install`.
  func install(_ slot: UnsafeMutableRawPointer, at number: PageNumber) -> UnsafeMutableRawPointer? {
    assert(UInt(bitPattern: slot) & Self.tagBits == 0, "a slot's address leaves room for the tags")
    let old = word(number).pointee.exchange(UInt(bitPattern: slot) | Self.hotBit, ordering: .acquiringAndReleasing)
    if old == 0 { counters.pointee.resident.wrappingAdd(1, ordering: .relaxed) }
    return UnsafeMutableRawPointer(bitPattern: old & ~Self.tagBits)
  }

  /// The page's slot, hot or not, for a glance that does not count: nil if the page is not in memory.
  @inline(__always) func anySlot(_ number: PageNumber) -> UnsafeMutableRawPointer? {
    let value = word(number).pointee.load(ordering: .acquiring)
    if value & Self.valueBit != 0 { return nil }
    return UnsafeMutableRawPointer(bitPattern: value & ~Self.tagBits)
  }

  /// Where the page's word is, to be prefetched.
  @inline(__always) func address(of number: PageNumber) -> UnsafeMutableRawPointer {
    words.entry(Int(number.rawValue))
  }

  /// Says that the page, if it is in memory, is durable in the file as well.
  func noteSynced(_ number: PageNumber) {
    while true {
      let value = word(number).pointee.load(ordering: .relaxed)
      if value & Self.unsyncedBit == 0 { return }
      let result = word(number).pointee.compareExchange(
        expected: value, desired: value & ~Self.unsyncedBit, ordering: .relaxed)
      if result.exchanged { return }
    }
  }

  /// Checks the second invariant; returns what is broken.
  func checkInvariants() -> String? {
    for number in 2..<max(2, pageCount) {
      let value = word(PageNumber(number)).pointee.load(ordering: .acquiring)
      let isValue = value & Self.valueBit != 0
      if isValue, value & Self.hotBit != 0 { return "the value at \(number) would be taken for a page" }
      if !isValue, value & (Self.warmBit | Self.unwrittenBit) != 0 { return "the page at \(number) has a value's tags" }
      if value != 0, value & ~Self.tagBits == 0 { return "the word of \(number) has tags and no slot" }
    }
    return nil
  }

  /// Takes a page out; returns its slot if it was in memory.
  func remove(_ number: PageNumber) -> UnsafeMutableRawPointer? {
    let old = word(number).pointee.exchange(0, ordering: .acquiringAndReleasing)
    guard old != 0 else { return nil }
    counters.pointee.resident.wrappingSubtract(1, ordering: .relaxed)
    return UnsafeMutableRawPointer(bitPattern: old & ~Self.tagBits)
  }

  /// Moves the evictor's hand on: cools what is hot, and takes out what is cool, until `slots` has `count` slots or so
  /// many steps were made.
  func coolOrTake(_ count: Int, _ hand: inout UInt64, steps: UInt64, into slots: inout [UInt]) {
    let pageCount = pageCount
    guard pageCount > 0 else { return }
    var rest = steps
    while slots.count < count, rest > 0 {
      if hand >= pageCount { hand = 0 }
      // One chunk at a time: most words are zero where much of a file is not in memory, and cost a load.
      let chunkEnd = ((hand >> UInt64(Self.chunkShift)) + 1) << UInt64(Self.chunkShift)
      let end = min(pageCount, chunkEnd, hand + rest)
      let first = word(PageNumber(hand))
      var index = 0
      let stepCount = Int(end - hand)
      while index < stepCount, slots.count < count {
        let value = first[index].load(ordering: .relaxed)
        if value != 0, let slot = coolOrTake(first + index, value) { slots.append(slot) }
        index &+= 1
      }
      hand += UInt64(index)
      rest -= UInt64(index)
    }
  }

  /// One step of the evictor's hand: cools a hot page; takes a cool one out and returns its slot.
  @inline(__always)
  private func coolOrTake(_ word: UnsafeMutablePointer<Atomic<UInt>>, _ value: UInt) -> UInt? {
    if value & (Self.unsyncedBit | Self.unwrittenBit) != 0 { return nil }
    if value & (Self.hotBit | Self.warmBit) != 0 {
      // Another thread may have heated it or taken it out meanwhile; either way the hand moves on.
      _ = word.pointee.compareExchange(
        expected: value, desired: value & ~(Self.hotBit | Self.warmBit), ordering: .relaxed)
      return nil
    }
    let result = word.pointee.compareExchange(expected: value, desired: 0, ordering: .sequentiallyConsistent)
    guard result.exchanged else { return nil }
    counters.pointee.resident.wrappingSubtract(1, ordering: .relaxed)
    return value & ~Self.tagBits
  }
}

// MARK: - Values

extension PageTable {
  @inline(__always) private func sum(_ number: PageNumber) -> UnsafeMutablePointer<Atomic<UInt64>> {
    sums.entry(Int(number.rawValue)).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// Whether a value, and no page, is in memory under this number.
  func hasValue(_ number: PageNumber) -> Bool {
    word(number).pointee.load(ordering: .acquiring) & Self.valueBit != 0
  }

  /// The slot of the value at `number` if it is in memory and was verified against `checksum`; it counts as touched.
  @inline(__always) func valueSlot(_ number: PageNumber, checksum: UInt64) -> UnsafeMutableRawPointer? {
    let value = word(number).pointee.load(ordering: .acquiring)
    guard value & Self.valueBit != 0, sum(number).pointee.load(ordering: .acquiring) == checksum else { return nil }
    if value & Self.warmBit == 0 {
      _ = word(number).pointee.compareExchange(
        expected: value, desired: value | Self.warmBit, ordering: .relaxed)
    }
    // The checksum was that of this slot only if the slot is still there.
    guard (word(number).pointee.load(ordering: .acquiring) ^ value) & ~Self.tagBits == 0 else { return nil }
    return UnsafeMutableRawPointer(bitPattern: value & ~Self.tagBits)
  }

  /// Whether there is room for the checksum of a value at `number`.
  func hasRoomForSum(_ number: PageNumber) -> Bool {
    number.rawValue < counters.pointee.sums.load(ordering: .acquiring)
  }

  /// Makes room for checksums of all numbers that have a word, and of those that share a chunk with them. One caller at
  /// a time.
  func growSums() throws(StorageError) {
    let chunk: UInt64 = 1 << UInt64(Self.chunkShift)
    let count = min(Limits.pageCount, (pageCount + chunk - 1) & ~(chunk - 1))
    try sums.grow(to: Int(count))
    assert(counters.pointee.sums.load(ordering: .relaxed) <= UInt64(count), "room for checksums does not shrink")
    counters.pointee.sums.store(count, ordering: .releasing)
  }

  /// Enters a value that was read and verified, or that `isUnwritten` yet, and for whose checksum there is room; false
  /// if something else was faster. It starts cool.
  ///
  /// In a forged file two references with checksums of their own may lead here at once. Which of them the entry then
  /// answers to is not defined.
  func publishValue(
    _ slot: UnsafeMutableRawPointer, at number: PageNumber, checksum: UInt64, isUnwritten: Bool = false
  ) -> Bool {
    assert(hasRoomForSum(number), "a value comes after the room for its checksum")
    assert(UInt(bitPattern: slot) & Self.tagBits == 0, "a slot's address leaves room for the tags")
    guard !isResident(number) else { return false }
    sum(number).pointee.store(checksum, ordering: .releasing)
    let tags = isUnwritten ? Self.valueBit | Self.unwrittenBit : Self.valueBit
    let result = word(number).pointee.compareExchange(
      expected: 0, desired: UInt(bitPattern: slot) | tags, ordering: .acquiringAndReleasing)
    if result.exchanged { counters.pointee.resident.wrappingAdd(1, ordering: .relaxed) }
    return result.exchanged
  }

  /// Whether the value at `number` has yet to be written home.
  func isUnwritten(_ number: PageNumber) -> Bool {
    word(number).pointee.load(ordering: .acquiring) & Self.unwrittenBit != 0
  }

  /// The slot of the value at `number` that has yet to be written home; with a checksum, only if it has this one.
  func unwrittenSlot(_ number: PageNumber, checksum: UInt64? = nil) -> UnsafeMutableRawPointer? {
    let value = word(number).pointee.load(ordering: .acquiring)
    guard value & Self.unwrittenBit != 0 else { return nil }
    if let checksum, sum(number).pointee.load(ordering: .acquiring) != checksum { return nil }
    return UnsafeMutableRawPointer(bitPattern: value & ~Self.tagBits)
  }

  /// Says that the value at `number` has been written. It is not taken out before `noteSynced`.
  func noteWritten(_ number: PageNumber) {
    while true {
      let value = word(number).pointee.load(ordering: .relaxed)
      if value & Self.unwrittenBit == 0 { return }
      let result = word(number).pointee.compareExchange(
        expected: value, desired: value & ~Self.unwrittenBit | Self.unsyncedBit, ordering: .acquiringAndReleasing)
      if result.exchanged { return }
    }
  }
}
