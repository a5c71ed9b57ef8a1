// Pages for a walk over whole trees, which must neither fill the cache nor believe it.

/// Hands out the pages of a walk: at most one of each level at a time.
///
/// What is in memory is looked at there, if wanted; everything else is read into a buffer of this object, so that a
/// walk over a file larger than memory takes one page for each level.
package final class WalkPages {
  private let store: PageStore
  private let reader: TreeReader
  private let usesMemory: Bool
  private var buffers: [UnsafeMutableRawPointer] = []
  /// How many pages were read from the file.
  package private(set) var readCount = 0

  /// - Parameters:
  ///   - store: where the pages are; it must outlive this object.
  ///   - usesMemory: false to read every page from the file. If true the caller must be protected by an announced
  ///     snapshot or hold the writer lock, for as long as it uses a page.
  package init(_ store: PageStore, usesMemory: Bool) {
    self.store = store
    self.usesMemory = usesMemory
    reader = TreeReader(store)
  }

  deinit { for buffer in buffers { buffer.deallocate() } }

  /// The page that `reference` names, verified; good until the next call for the same level.
  ///
  /// - Throws: `damagedPage`, `truncatedFile`, `inputOutput`.
  package func page(_ reference: PageReference, checksum: UInt64, level: Int) throws(StorageError) -> PageBytes {
    var number = reference.pageNumber
    var checksum = checksum
    if reference.isDirty {
      let location = store.frames.location(reference.frame)
      if !location.isPageNumber { return PageBytes(location.slot) }
      number = location.pageNumber
      checksum = store.frames.checksum(reference.frame)
    }
    if usesMemory, number.rawValue < store.pageCount, store.isResident(number) {
      return try reader.page(PageReference(number), checksum: checksum, level: level)
    }
    let page = PageBytes(try buffer(level))
    try store.read(number, into: page.base, checksum: checksum)
    readCount += 1
    if let defect = PageValidation.defect(in: page, pageSize: store.pageSize, pageCount: store.pageCount) {
      throw store.damaged(PageReference(number), defect)
    }
    guard page.level == level else {
      throw store.damaged(PageReference(number), "its level is \(page.level) where \(level) was expected")
    }
    return page
  }

  private func buffer(_ level: Int) throws(StorageError) -> UnsafeMutableRawPointer {
    guard (0..<Limits.treeLevels).contains(level) else {
      throw StorageError(
        .damagedPage, "A tree has a page of level \(level). Restore the database from a backup.", path: store.file.path)
    }
    while buffers.count <= level {
      buffers.append(UnsafeMutableRawPointer.allocate(byteCount: store.pageSize, alignment: 16))
    }
    return buffers[level]
  }
}
