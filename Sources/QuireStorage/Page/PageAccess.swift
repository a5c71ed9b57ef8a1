// The hot path into the page table.

internal import CQuirePlatform
internal import Synchronization

/// The way from references to addresses that every descent takes: two loads, no lock, no reference count.
///
/// A plain value. A strong reference would be retained and released around every call, and two threads on one shared
/// object pay for that with a contended cache line. The owner of the value keeps the store alive.
package struct PageAccess {
  let table: PageTable
  let frameEntries: SparseTable
  let store: Unmanaged<PageStore>
  /// Where the last cache line of a page begins: the one with the prefix, which a search compares first.
  let lastLine: Int
  private var pageSize: Int { lastLine &+ 64 }

  init(_ store: PageStore, table: PageTable, frameEntries: SparseTable) {
    lastLine = store.pageSize - 64
    self.store = Unmanaged.passUnretained(store)
    self.table = table
    self.frameEntries = frameEntries
  }

  /// The page that `reference` names, from memory or from disk.
  ///
  /// The caller must be protected: by an announced snapshot or, for the writer, by holding the writer lock; the address
  /// is good until the caller's access epoch moves on.
  ///
  /// - Parameters:
  ///   - checksum: what the parent says; used only when a clean page has to be read.
  ///   - level: the level that the page must have.
  /// - Throws: `damagedPage`, `truncatedFile`, `inputOutput`.
  @inline(__always) package func page(
    _ reference: PageReference, checksum: @autoclosure () -> UInt64, level: Int
  ) throws(StorageError) -> PageBytes {
    var number = reference.pageNumber
    if reference.isDirty {
      let entry = frameEntries.entry(Int(reference.frame.rawValue))
      let location = FrameLocation(
        rawValue: entry.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .acquiring))
      if !location.isPageNumber {
        let page = PageBytes(location.slot)
        page.prefetchArrays()
        quire_prefetch(page.base + lastLine)
        return page
      }
      number = location.pageNumber
    }
    guard let slot = table.hotSlot(number) else {
      return try load(reference, number, checksum: checksum(), level: level)
    }
    let page = PageBytes(slot)
    page.prefetchArrays()
    quire_prefetch(page.base + lastLine)
    // Checked on hits too: only so can a descent through a damaged tree not run in a circle (hazard C8).
    if page.level != level { throw wrongLevel(reference, page.level, level) }
    return page
  }

  @inline(never) private func load(
    _ reference: PageReference, _ number: PageNumber, checksum: UInt64, level: Int
  ) throws(StorageError) -> PageBytes {
    let store = store.takeUnretainedValue()
    let page = try store.load(
      number, checksum: reference.isDirty ? store.frames.checksum(reference.frame) : checksum, level: level)
    if page.level != level { throw wrongLevel(reference, page.level, level) }
    return page
  }

  /// More leaves than this no tree of the file can have.
  var leafLimit: Int { store._withUnsafeGuaranteedRef { Int(clamping: $0.pageCount) + $0.frames.usedCount } }

  /// Whether readers are lent copies, as memory is short.
  @inline(__always) var lendsCopies: Bool { store._withUnsafeGuaranteedRef { $0.lendsCopies } }

  /// Where the value of an extent of one page lies; see `PageStore.valueAddress`.
  @inline(__always) func valueAddress(_ extent: ExtentReference) throws(StorageError) -> UnsafeRawPointer? {
    if extent.valueByteCount > pageSize { return nil }
    if let slot = table.valueSlot(extent.first, checksum: extent.checksum) { return UnsafeRawPointer(slot) }
    return try loadValue(extent)
  }

  @inline(never) private func loadValue(_ extent: ExtentReference) throws(StorageError) -> UnsafeRawPointer? {
    try store.takeUnretainedValue().loadValue(extent)
  }

  /// Reads a part of an extent's value: from its slot if it has one page, otherwise from the file; see
  /// `PageStore.readExtent`.
  @inline(never) func readExtent(
    _ extent: ExtentReference, _ range: Range<Int>, into target: UnsafeMutableRawPointer
  ) throws(StorageError) {
    if !range.isEmpty, let base = try valueAddress(extent) {
      return target.copyMemory(from: base + range.lowerBound, byteCount: range.count)
    }
    try store.takeUnretainedValue().readExtent(extent, range, into: target)
  }

  @inline(never) private func wrongLevel(_ reference: PageReference, _ actual: Int, _ expected: Int) -> StorageError {
    store.takeUnretainedValue().damaged(reference, "its level is \(actual) where \(expected) was expected")
  }
}
