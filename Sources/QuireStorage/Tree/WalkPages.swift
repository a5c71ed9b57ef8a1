// Pages for a walk over whole trees, which must neither fill the cache nor believe it.

/// Hands out the pages of a walk: at most one of each level at a time.
///
/// What is in memory is looked at there, if wanted; everything else is read into a buffer of this object, so that a
/// walk over a file larger than memory takes one page for each level.
package final class WalkPages {
  private let store: PageStore
  private let reader: TreeReader
  private let memory: MemoryAccess?
  private var buffers: [UnsafeMutableRawPointer] = []
  /// How many pages were read from the file.
  package private(set) var readCount = 0

  /// How a walk announces that it looks at addresses.
  package struct MemoryAccess {
    let enter: () -> Void
    let leave: () -> Void

    /// `enter` is called before an address is looked up, `leave` when it is no longer needed.
    package init(enter: @escaping () -> Void, leave: @escaping () -> Void) {
      self.enter = enter
      self.leave = leave
    }
  }

  /// - Parameters:
  ///   - store: where the pages are; it must outlive this object.
  ///   - memory: nil to read every page from the file. Otherwise pages in memory are copied from there, and the caller
  ///     must be protected by an announced snapshot or hold the writer lock.
  package init(_ store: PageStore, memory: MemoryAccess? = nil) {
    self.store = store
    self.memory = memory
    reader = TreeReader(store)
  }

  deinit { for buffer in buffers { buffer.deallocate() } }

  /// The page that `reference` names, verified; good until the next call for the same level.
  ///
  /// - Throws: `damagedPage`, `truncatedFile`, `inputOutput`.
  package func page(_ reference: PageReference, checksum: UInt64, level: Int) throws(StorageError) -> PageBytes {
    let copy = PageBytes(try buffer(level))
    memory?.enter()
    defer { memory?.leave() }
    var number = reference.pageNumber
    var checksum = checksum
    if reference.isDirty {
      let location = store.frames.location(reference.frame)
      if !location.isPageNumber {
        copy.base.copyMemory(from: location.slot, byteCount: store.pageSize)
        return copy
      }
      number = location.pageNumber
      checksum = store.frames.checksum(reference.frame)
    }
    if memory != nil, number.rawValue < store.pageCount, store.isResident(number) {
      let page = try reader.page(PageReference(number), checksum: checksum, level: level)
      copy.base.copyMemory(from: page.base, byteCount: store.pageSize)
      return copy
    }
    return try read(number, into: copy, checksum: checksum, level: level)
  }

  private func read(
    _ number: PageNumber, into page: PageBytes, checksum: UInt64, level: Int
  ) throws(StorageError) -> PageBytes {
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
        .damagedPage, "A tree has a page of level \(level). \(StorageError.restoring)", path: store.file.path)
    }
    while buffers.count <= level {
      buffers.append(UnsafeMutableRawPointer.allocate(byteCount: store.pageSize, alignment: 16))
    }
    return buffers[level]
  }
}
