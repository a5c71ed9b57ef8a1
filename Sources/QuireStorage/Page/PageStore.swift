// From references to addresses: the one place where pages come into memory.

internal import Synchronization

/// The pages of one data file, in memory and on disk.
///
/// Invariants:
/// 1. `table[n]` is zero or the address of a slot that holds page n as it stands on disk, verified, but for the first
///    16 bytes, which nobody reads in memory but the writer (`PageBytes.step`).
/// 2. A page number is given to a new page only while its table entry is zero.
/// 3. A page in the table refers only to clean pages.
package final class PageStore: @unchecked Sendable {
  // Sendable: safe because the table's entries are atomics, `pageCount` is an atomic, and the rest is immutable.
  package let file: any File
  package let pageSize: Int
  package let pool: SlotPool
  package let frames: FrameTable
  /// Seeds every page checksum, so that a page of another database never verifies.
  package let checksumSeed: UInt64
  private let table: SparseTable
  private let knownPageCount: Atomic<UInt64>
  private let pagesRead = Atomic<Int>(0)
  private let horizon = Atomic<UInt64>(0)
  private let growth = Latch(())

  private static let chunkShift = 16

  /// Serves the pages of an open file, none of which is read yet. The store does not close the file.
  package init(
    file: any File, pageSize: Int, cacheSize: Int, checksumSeed: UInt64, pageCount: UInt64
  ) throws(StorageError) {
    self.file = file
    self.pageSize = pageSize
    self.checksumSeed = checksumSeed
    pool = SlotPool(pageSize: pageSize, cacheSize: cacheSize)
    frames = try FrameTable()
    table = try SparseTable(entryByteCount: 8, chunkShift: Self.chunkShift, maximumCount: Limits.pageCount)
    knownPageCount = Atomic(0)
    try grow(toPageCount: pageCount)
  }

  deinit { table.release() }

  /// The number of pages that references may name: those of the file, and those being written behind its end.
  package var pageCount: UInt64 { knownPageCount.load(ordering: .acquiring) }

  /// How many pages were read from the file since opening.
  package var pagesReadCount: Int { pagesRead.load(ordering: .relaxed) }

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
    let failure: StorageError? = growth.withLock { _ in
      do throws(StorageError) {
        if count > knownPageCount.load(ordering: .relaxed) {
          try table.grow(to: Int(count))
          knownPageCount.store(count, ordering: .releasing)
        }
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  @inline(__always) private func word(_ number: PageNumber) -> UnsafeMutablePointer<Atomic<UInt>> {
    table.entry(Int(number.rawValue)).assumingMemoryBound(to: Atomic<UInt>.self)
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
      .damagedPage, "A page is damaged: \(defect). Restore the database from a backup.", path: file.path, page: number,
      offset: Int(number.rawValue) * pageSize)
  }

  /// Reads, verifies and publishes a page.
  @inline(never) func load(
    _ number: PageNumber, checksum: UInt64, level: Int
  ) throws(StorageError) -> PageBytes {
    let slot = try pool.allocate()
    do throws(StorageError) {
      try read(number, into: slot, checksum: checksum)
      let page = PageBytes(slot)
      if let defect = PageValidation.defect(in: page, pageSize: pageSize, pageCount: pageCount) {
        throw damaged(PageReference(number), defect)
      }
      if page.level != level {
        throw damaged(PageReference(number), "its level is \(page.level) where \(level) was expected")
      }
      // A page number left here would be taken for the step of a frame.
      page.step = 0
    } catch {
      pool.release(slot)
      throw error
    }
    let (exchanged, current) = word(number).pointee.compareExchange(
      expected: 0, desired: UInt(bitPattern: slot), ordering: .acquiringAndReleasing)
    if exchanged { return PageBytes(slot) }
    // Another reader was faster.
    pool.release(slot)
    return PageBytes(UnsafeMutableRawPointer(bitPattern: current).unsafelyUnwrapped)
  }

  /// Reads a page of any kind into `buffer` and verifies checksum and page number, but not its content.
  ///
  /// - Parameter checksum: what the page's parent says.
  package func read(
    _ number: PageNumber, into buffer: UnsafeMutableRawPointer, checksum: UInt64
  ) throws(StorageError) {
    guard number.rawValue >= 2, number.rawValue < pageCount else {
      throw StorageError(
        .damagedPage, "A reference names \(number), which the file does not have. Restore a backup.",
        path: file.path, page: number)
    }
    try file.readFully(
      into: UnsafeMutableRawBufferPointer(start: buffer, count: pageSize), at: Int(number.rawValue) * pageSize)
    try verify(PageBytes(buffer), number, checksum: checksum)
  }

  /// Verifies checksum and page number of a page as it was read from the file, but not its content.
  package func verify(_ page: PageBytes, _ number: PageNumber, checksum: UInt64) throws(StorageError) {
    pagesRead.wrappingAdd(1, ordering: .relaxed)
    let actual = PageChecksum.compute(page, pageSize: pageSize, seed: checksumSeed)
    guard actual == page.checksum else { throw damaged(PageReference(number), "its checksum does not match") }
    guard page.pageNumber == number.rawValue else {
      throw damaged(PageReference(number), "it belongs at page \(page.pageNumber)")
    }
    guard actual == checksum else {
      throw damaged(PageReference(number), "it is not the version that its parent refers to")
    }
  }

  /// Hands a slot with the final image of page `number` to the page table.
  package func install(_ slot: UnsafeMutableRawPointer, at number: PageNumber) {
    let old = word(number).pointee.exchange(UInt(bitPattern: slot), ordering: .acquiringAndReleasing)
    precondition(old == 0, "a page number was given out while its page was still in memory")
  }

  /// Empties the table's entry and recycles its slot. No snapshot may be able to reach the page.
  package func forget(_ number: PageNumber) {
    let old = word(number).pointee.exchange(0, ordering: .acquiringAndReleasing)
    if let slot = UnsafeMutableRawPointer(bitPattern: old) { pool.release(slot) }
  }

  /// Whether page `number` is in memory.
  package func isResident(_ number: PageNumber) -> Bool { word(number).pointee.load(ordering: .acquiring) != 0 }

  /// Frees a frame that never left memory: its slot and its index.
  package func releaseFrame(_ index: FrameIndex) {
    let location = frames.location(index)
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
