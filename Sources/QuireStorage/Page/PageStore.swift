// From references to addresses: the one place where pages come into memory.

internal import Synchronization

/// The pages of one data file, in memory and on disk.
///
/// Invariants:
/// 1. The table's slot for n holds page n as it stands on disk, verified, but for bytes 8..<16, which nobody reads in
///    memory but the writer (`PageBytes.step`); or the value of the extent of one page there, verified likewise, or
///    about to be written there.
/// 2. A page number is given to a new page or value only while its table entry is zero.
/// 3. A page in the table refers only to clean pages.
/// 4. `unwritten` has exactly the numbers whose words in the table say that their values have yet to be written home.
package final class PageStore: @unchecked Sendable {
  // Sendable: safe because the table's entries are atomics, `pageCount` is an atomic, and the rest is immutable.
  package let file: any File
  package let pageSize: Int
  package let pool: SlotPool
  package let frames: FrameTable
  /// Seeds every page checksum, so that a page of another database never verifies.
  package let checksumSeed: UInt64
  let table: PageTable
  /// Takes clean pages out of memory; nil before readers can be told of.
  private(set) var evictor: Evictor?
  private let lendsCopiesWord = Atomic<Bool>(false)
  private let pagesRead = Atomic<Int>(0)
  private let misses = Atomic<Int>(0)
  private let bytesWritten = Atomic<Int>(0)
  private let horizon = Atomic<UInt64>(0)
  private let failedSync = Atomic<Bool>(false)
  let growth = Latch(())
  /// Pages installed, and values written home, since the last sync.
  let unsynced = UnsyncedPages()
  /// Where values have yet to be written home; see `PageStore+UnwrittenValues.swift`.
  let unwritten = Latch(PageBits())
  let unwrittenValues = Atomic<Int>(0)

  /// Serves the pages of an open file, none of which is read yet. The store does not close the file.
  package init(
    file: any File, pageSize: Int, cacheSize: Int, checksumSeed: UInt64, pageCount: UInt64
  ) throws(StorageError) {
    self.file = file
    self.pageSize = pageSize
    self.checksumSeed = checksumSeed
    pool = SlotPool(pageSize: pageSize, cacheSize: cacheSize)
    frames = try FrameTable()
    table = try PageTable()
    try grow(toPageCount: pageCount)
  }

  deinit { table.release() }

  /// Evicts from now on, once readers in `epochs` have moved on. Called once, before the first reader.
  package func evict(_ epochs: any AccessEpochs) { evictor = Evictor(pool: pool, epochs: epochs) }

  /// Whether readers must not keep addresses between their calls, as memory is short: they are lent copies instead. Set
  /// when an eighth of the budget is left, long before anything is evicted, so that nobody who began to read without
  /// copies stands in the way then; taken back when a quarter is left again. A transaction goes by what it found when
  /// it began.
  package var lendsCopies: Bool { lendsCopiesWord.load(ordering: .relaxed) }

  func noteShortage() {
    if evictor != nil, !lendsCopies { lendsCopiesWord.store(true, ordering: .relaxed) }
  }

  /// Looks whether memory is plentiful again, as after a burst of changes whose old pages nobody reads. Called
  /// when a transaction has committed and when a checkpoint has ended; one load if memory was not short.
  package func notePlenty() {
    guard lendsCopies, pool.room > pool.slotLimit / 4 else { return }
    lendsCopiesWord.store(false, ordering: .relaxed)
  }

  /// How many clean pages have been taken out of memory since opening.
  package var evictedCount: Int { evictor?.evictedCount ?? 0 }

  /// How many slots wait for readers to move on.
  package var retiredCount: Int { evictor?.retired.count ?? 0 }

  /// Recycles slots that nobody can find, when every reader has moved on from the access epoch that ends here.
  package func retire(_ slots: [UInt]) {
    guard !slots.isEmpty else { return }
    if let evictor { return evictor.retired.retire(slots) }
    // Nobody reads yet.
    assert(!slots.contains(0), "a slot has an address")
    pool.release(slots.compactMap { UnsafeMutableRawPointer(bitPattern: $0) })
  }

  /// Gives slots back that no reader can be inside.
  func collectRetired() { evictor?.retired.collect() }

  /// The number of pages that references may name: those of the file, and those being written behind its end.
  package var pageCount: UInt64 { table.pageCount }

  /// How many pages were read from the file since opening.
  package var pagesReadCount: Int { pagesRead.load(ordering: .relaxed) }

  /// How often a page was asked for that was not in memory, since opening.
  package var missCount: Int { misses.load(ordering: .relaxed) }

  /// How many bytes of pages and long values were written to the file since opening.
  package var bytesWrittenCount: Int { bytesWritten.load(ordering: .relaxed) }

  /// Counts bytes that were written to the file.
  package func noteWritten(_ byteCount: Int) { bytesWritten.wrappingAdd(byteCount, ordering: .relaxed) }

  /// Frames born up to this commit may refer to frames that have been flipped since; copies of them are translated.
  /// Raised at the end of each checkpoint.
  package var translationHorizon: UInt64 {
    get { horizon.load(ordering: .sequentiallyConsistent) }
    set { horizon.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// Makes page numbers below `count` usable.
  package func grow(toPageCount count: UInt64) throws(StorageError) {
    guard count <= Limits.pageCount else {
      throw StorageError(
        .limitReached, "The file would have \(count) pages; the engine addresses \(Limits.pageCount).",
        path: file.path)
    }
    if count <= table.pageCount { return }
    let failure: StorageError? = growth.withLock { _ in
      do throws(StorageError) {
        if count > table.pageCount { try table.grow(to: count) }
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  /// Fast access to the pages, for readers and the writer.
  package var access: PageAccess { PageAccess(self, table: table, frameEntries: frames.entries) }

  /// The error for a page that breaks the format.
  @inline(never) package func damaged(_ reference: PageReference, _ defect: String) -> StorageError {
    let number: PageNumber
    if reference.isDirty {
      let location = frames.location(reference.frame)
      number = location.isPageNumber ? location.pageNumber : .none
    } else {
      number = reference.pageNumber
    }
    return StorageError(
      .damagedPage, "A page is damaged: \(defect). \(StorageError.restoring)", path: file.path, page: number,
      offset: Int(number.rawValue) * pageSize)
  }

  /// The page, heated; read, verified and published if it is not in memory.
  @inline(never) func load(
    _ number: PageNumber, checksum: UInt64, level: Int
  ) throws(StorageError) -> PageBytes {
    while true {
      if let slot = table.heatedSlot(number) { return PageBytes(slot) }
      if table.hasValue(number) { throw damaged(PageReference(number), "a value stands in its place") }
      noteMiss()
      let slot = try allocateSlot()
      do throws(StorageError) {
        try read(number, into: slot, checksum: checksum)
        try check(PageBytes(slot), number, level: level)
      } catch {
        pool.release(slot)
        throw error
      }
      if table.publish(slot, at: number) { return PageBytes(slot) }
      // Another reader was faster; its page may be gone again already.
      pool.release(slot)
    }
  }

  /// Checks what a search relies on in a page that was just read, and makes it ready to be published.
  func check(_ page: PageBytes, _ number: PageNumber, level: Int) throws(StorageError) {
    if let defect = PageValidation.defect(in: page, pageSize: pageSize, pageCount: pageCount) {
      throw damaged(PageReference(number), defect)
    }
    if page.level != level {
      throw damaged(PageReference(number), "its level is \(page.level) where \(level) was expected")
    }
    // A page number left here would be taken for the step of a frame.
    page.step = 0
  }

  /// Notes that a sync of the file has failed: what was written since the last good one may never reach the disk, and
  /// be gone from the system's cache as well.
  package func noteFailedSync() { failedSync.store(true, ordering: .releasing) }

  /// Whether one has.
  var hasFailedSync: Bool { failedSync.load(ordering: .acquiring) }

  /// What to throw instead of `error`, which came from reading: after a failed sync nothing that does not verify is
  /// known to be damaged, and neither is what no sync has vouched for yet, which the disk may have lost on its own.
  /// What was durable is in the log, if not where it was looked for.
  ///
  /// - Parameter pages: which ones were read, if they are pages of trees: an error may name none.
  func judged(_ error: StorageError, reading pages: ClosedRange<UInt64>? = nil) -> StorageError {
    guard error.code == .damagedPage || error.code == .truncatedFile else { return error }
    let isUnsynced = error.page.map(unsynced.contains) ?? pages?.contains { unsynced.contains(PageNumber($0)) }
    guard hasFailedSync || isUnsynced == true else { return error }
    return StorageError(
      .failStop,
      "After a failure of the disk, what was written before it cannot be read back. Open the database again.",
      path: error.path, page: error.page, offset: error.offset)
  }

  /// Reads a page of any kind into `buffer` and verifies checksum and page number, but not its content.
  ///
  /// - Parameter checksum: what the page's parent says.
  package func read(
    _ number: PageNumber, into buffer: UnsafeMutableRawPointer, checksum: UInt64
  ) throws(StorageError) {
    do throws(StorageError) { try readAndVerify(number, into: buffer, checksum: checksum) } catch {
      throw judged(error, reading: number.rawValue...number.rawValue)
    }
  }

  private func readAndVerify(
    _ number: PageNumber, into buffer: UnsafeMutableRawPointer, checksum: UInt64
  ) throws(StorageError) {
    guard number.rawValue >= 2, number.rawValue < pageCount else {
      throw StorageError(
        .damagedPage, "A reference names \(number), which the file does not have. Restore a backup.",
        path: file.path, page: number)
    }
    try file.readFully(
      into: UnsafeMutableRawBufferPointer(start: buffer, count: pageSize), at: Int(number.rawValue) * pageSize)
    noteRead(1)
    try verify(PageBytes(buffer), number, checksum: checksum)
  }

  /// Counts a page that was asked for and was not in memory.
  func noteMiss() { misses.wrappingAdd(1, ordering: .relaxed) }

  /// Counts pages that were read from the file.
  func noteRead(_ count: Int) { pagesRead.wrappingAdd(count, ordering: .relaxed) }

  /// Checks that a page is the one at `number`, as it was written, in the version that its parent refers to.
  func verify(_ page: PageBytes, _ number: PageNumber, checksum: UInt64) throws(StorageError) {
    let actual = PageChecksum.compute(page, pageSize: pageSize, seed: checksumSeed)
    let defect: String
    if actual != page.checksum {
      defect = "its checksum does not match"
    } else if page.pageNumber != number.rawValue {
      defect = "it belongs at page \(page.pageNumber)"
    } else if actual != checksum {
      defect = "it is not the version that its parent refers to"
    } else {
      return
    }
    throw judged(damaged(PageReference(number), defect))
  }

  /// Hands the slot at `address` with the final image of page `number`, whose checksum is entered, to the page table.
  ///
  /// In a forged file, a reference to the place may have outlived its page, and a reader may have followed it since the
  /// place was found to be empty: he may still be inside the slot that the table had for the number, which is therefore
  /// recycled when the access epoch has passed.
  ///
  /// It may leave memory before the file is synced: the log has what it holds, or nobody needs it once the database is
  /// opened again, and no meta page names it before a sync.
  package func install(_ address: UInt, at number: PageNumber, checksum: UInt64) {
    guard let slot = UnsafeMutableRawPointer(bitPattern: address) else { return }
    assert(number.rawValue >= 2 && number.rawValue < pageCount, "a page is written where the file has none")
    PageBytes(slot).checksum = checksum
    unsynced.note(number)
    if let old = table.install(slot, at: number) { retire([UInt(bitPattern: old)]) }
  }

  /// Empties the table's entry and leaves its slot, if there is one, to the caller.
  package func take(_ number: PageNumber) -> UnsafeMutableRawPointer? { takeOut(number) }

  /// Syncs the file; what was written before can then be taken out of memory. One thread at a time.
  ///
  /// - Throws: `failStop` if the sync failed. Which pages the disk has is then unknown: nothing may be written any
  ///   more, and what has been written since the last sync may be lost; the log has it.
  package func synchronize() throws(StorageError) {
    let numbers = try unsynced.end { () throws(StorageError) in
      do throws(SystemError) { try file.synchronize() } catch {
        throw StorageError(synchronizing: error, path: file.path)
      }
    }
    for number in numbers { table.noteSynced(number) }
  }

  /// Empties the table's entry and recycles its slot. No snapshot may be able to reach the page.
  package func forget(_ number: PageNumber) {
    if let slot = takeOut(number) { pool.release(slot) }
  }

  /// Whether page `number` is in memory.
  package func isResident(_ number: PageNumber) -> Bool { table.isResident(number) }

  /// The number of clean pages in memory.
  package var residentCount: Int { table.residentCount }

  /// Frees a frame that never left memory: its slot and its index.
  package func releaseFrame(_ index: FrameIndex) {
    let location = frames.location(index)
    assert(!location.isPageNumber || location.pageNumber == .none, "a frame that is released has a place")
    if !location.isPageNumber { pool.release(location.slot) }
    frames.release(index)
  }
}

/// The checksum of a page.
package enum PageChecksum {
  /// XXH3-64 over everything behind the checksum field.
  package static func compute(_ page: PageBytes, pageSize: Int, seed: UInt64) -> UInt64 {
    XXH3.hash(UnsafeRawPointer(page.base) + 8, count: pageSize - 8, seed: seed)
  }
}

extension DatabaseID {
  /// What seeds the checksums of the database's pages.
  package var checksumSeed: UInt64 { high ^ (low &* 0x9e37_79b9_7f4a_7c15) }
}
