// Writing and reading the free map. Its pages are copied on write as those of trees are.

/// Where the pages of the free map stand, and how they are replaced.
///
/// Invariant: `levels[0]` has one reference per piece, `levels[k]` one per page of level k; the last level has one.
package final class FreeMapFile {
  fileprivate struct Reference {
    var number: UInt64 = 0
    var checksum: UInt64 = 0
  }

  private let store: PageStore
  private let pageSize: Int
  private var levels: [[Reference]] = []

  /// An empty map; `load` fills it from the file.
  package init(store: PageStore) {
    self.store = store
    pageSize = store.pageSize
  }

  private var fanOut: Int { FreeMapFormat.fanOut(pageSize: pageSize) }
  private var bitsPerPiece: Int { FreeMapFormat.bitsPerPiece(pageSize: pageSize) }

  // MARK: Reading

  /// Reads the map below `root`; returns the free page numbers. Memory and time: linear in the map, 64 pages at a time.
  package func load(_ root: PageRoot, pageCount: UInt64) throws(StorageError) -> PageBits {
    try checkLength(pageCount)
    guard root.number != .none else { return [] }
    let pieces = Int((pageCount + UInt64(bitsPerPiece) - 1) / UInt64(bitsPerPiece))
    guard root.level <= FreeMapFormat.rootLevel(pieces: max(pieces, 1), pageSize: pageSize) + 1 else {
      throw store.damaged(PageReference(root.number), "the free map is deeper than the file is long")
    }
    levels = Array(repeating: [], count: root.level + 1)
    levels[root.level] = [Reference(number: root.number.rawValue, checksum: root.checksum)]
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: pageSize, alignment: 16)
    defer { buffer.deallocate() }
    var level = root.level
    while level > 0 {
      for reference in levels[level] {
        try readBranch(reference, level: level, limit: pieces, buffer)
      }
      level -= 1
    }
    var free = PageBits()
    for (index, reference) in levels[0].enumerated() where reference.number != 0 {
      try readPiece(reference, index: index, pageCount: pageCount, buffer, &free)
    }
    return free
  }

  /// Throws if the map would take more memory than the file can justify. The length of a file with holes costs
  /// nothing, and a file system may take one of 2⁶³ bytes; what the disk holds of it has to be there. Files of up to
  /// 2 TiB pass in any case, longer ones if the disk holds a five-hundredth of them, as if they compress well.
  private func checkLength(_ pageCount: UInt64) throws(StorageError) {
    let mapByteCount = Int(pageCount / 8)
    guard mapByteCount > Self.unquestionedByteCount else { return }
    let status: FileStatus
    do throws(SystemError) { status = try store.file.status() } catch {
      throw StorageError(
        .inputOutput, "The file cannot be examined. Try again.", path: store.file.path, systemError: error)
    }
    guard mapByteCount > Self.unquestionedByteCount + status.allocatedByteCount / 64 else { return }
    throw StorageError(
      .damagedPage,
      """
      The file says it is \(pageCount) pages long, of which the disk holds \(status.allocatedByteCount) bytes: it is \
      no database of this length. \(StorageError.restoring)
      """, path: store.file.path)
  }

  /// How large the map of a file may be whatever the disk holds of it: that of 2²⁹ pages.
  private static let unquestionedByteCount = 64 << 20

  private func readBranch(
    _ reference: Reference, level: Int, limit: Int, _ buffer: UnsafeMutableRawPointer
  ) throws(StorageError) {
    // Never more references than a file of this length can need: the rest of a last branch is zeros.
    if reference.number == 0 {
      levels[level - 1].append(contentsOf: repeatElement(Reference(), count: fanOut))
    } else {
      try read(reference, kind: .freeMapBranch, level: level, buffer)
      for index in 0..<fanOut {
        let offset = PageLayout.headerByteCount + index * FreeMapFormat.childByteCount
        levels[level - 1].append(
          Reference(
            number: buffer.load(fromByteOffset: offset, as: UInt64.self),
            checksum: buffer.load(fromByteOffset: offset + 8, as: UInt64.self)))
      }
    }
    var width = limit
    for _ in 0..<(level - 1) { width = (width + fanOut - 1) / fanOut }
    if levels[level - 1].count > max(width, 1) {
      levels[level - 1].removeSubrange(max(width, 1)...)
    }
  }

  private func readPiece(
    _ reference: Reference, index: Int, pageCount: UInt64, _ buffer: UnsafeMutableRawPointer, _ free: inout PageBits
  ) throws(StorageError) {
    try read(reference, kind: .freeMapLeaf, level: 0, buffer)
    let wordCount = bitsPerPiece / 64
    for word in 0..<wordCount {
      let bits = buffer.load(fromByteOffset: PageLayout.headerByteCount + word * 8, as: UInt64.self)
      if bits == 0 { continue }
      let place = index * wordCount + word
      let lowest = UInt64(place * 64 + bits.trailingZeroBitCount)
      let highest = UInt64(place * 64 + 63 - bits.leadingZeroBitCount)
      guard lowest >= 2, highest < pageCount else {
        throw store.damaged(
          PageReference(PageNumber(reference.number)),
          "it calls page \(lowest < 2 ? lowest : highest) free, which the file does not have")
      }
      free.insert(bits, at: place)
    }
  }

  private func read(
    _ reference: Reference, kind: PageKind, level: Int, _ buffer: UnsafeMutableRawPointer
  ) throws(StorageError) {
    let number = PageNumber(reference.number)
    try store.read(number, into: buffer, checksum: reference.checksum)
    let page = PageBytes(buffer)
    guard page.kind == kind.rawValue, page.level == level else {
      throw store.damaged(PageReference(number), "it is no page of the free map")
    }
  }

  /// Calls `body` with every page of the map.
  package func forEachPage(_ body: (PageNumber) -> Void) {
    for level in levels {
      for reference in level where reference.number != 0 { body(PageNumber(reference.number)) }
    }
  }

  // MARK: Writing

  /// What a checkpoint is about to write: the pages of the map that change, and their new places.
  package struct Plan {
    /// By level and index.
    fileprivate var places: [[Int: PageNumber]] = []
    /// The references before, to return to if the checkpoint fails.
    fileprivate var old: [[Reference]] = []
  }

  /// Takes places for all pages of the map that change. Taking a place changes the map too, so this goes on until
  /// nothing new becomes dirty; only then are the bits what they will be on disk.
  ///
  /// If a place cannot be taken, everything is as before.
  ///
  /// - Parameter limit: pages of the map at this place or above are replaced as well, changed or not.
  package func plan(_ allocator: PageAllocator, vacating limit: UInt64 = .max) throws(StorageError) -> Plan {
    var plan = Plan(places: [], old: levels)
    do throws(StorageError) { try takePlaces(&plan, allocator, vacating: limit) } catch {
      undo(plan, allocator)
      throw error
    }
    return plan
  }

  private func takePlaces(
    _ plan: inout Plan, _ allocator: PageAllocator, vacating limit: UInt64
  ) throws(StorageError) {
    assert(plan.places.isEmpty, "a map is planned twice")
    shrink(toPageCount: allocator.pageCount, allocator)
    touchPages(from: limit, allocator)
    while true {
      var isChanging = false
      let pageCount = allocator.pageCount
      extend(toPageCount: pageCount)
      while plan.places.count < levels.count { plan.places.append([:]) }
      var dirty = allocator.dirtyPieces
      for level in 0..<levels.count {
        // In order: places follow the pieces, and a seed gives the same file every time.
        for index in dirty.sorted() where plan.places[level][index] == nil {
          let old = levels[level][index].number
          if old != 0 { allocator.free(PageNumber(old)) }
          levels[level][index] = Reference()
          let number = allocator.allocate()
          plan.places[level][index] = number
          try store.grow(toPageCount: number.rawValue + 1)
          isChanging = true
        }
        dirty = Set(dirty.map { $0 / fanOut })
      }
      if isChanging { continue }
      if allocator.freezeMap(planned: Set(plan.places[0].keys), pageCount: pageCount) { return }
    }
  }

  /// Gives up the pages that a file of this length does not need.
  private func shrink(toPageCount pageCount: UInt64, _ allocator: PageAllocator) {
    var width = max(1, Int((pageCount + UInt64(bitsPerPiece) - 1) / UInt64(bitsPerPiece)))
    var level = 0
    while level < levels.count {
      let kept = level > 0 && levels[level - 1].count == 1 ? 0 : width
      for reference in levels[level].dropFirst(kept) where reference.number != 0 {
        allocator.free(PageNumber(reference.number))
      }
      levels[level] = Array(levels[level].prefix(kept))
      width = (width + fanOut - 1) / fanOut
      level += 1
    }
    levels.removeAll(where: \.isEmpty)
  }

  /// Marks every page of the map at `limit` or above, through a piece below it, to be written anew.
  private func touchPages(from limit: UInt64, _ allocator: PageAllocator) {
    var pieces = 1
    for level in levels {
      for (index, reference) in level.enumerated() where reference.number >= limit {
        allocator.touchPiece(min(index * pieces, levels[0].count - 1))
      }
      pieces *= fanOut
    }
  }

  /// Makes references for a file of this length.
  private func extend(toPageCount pageCount: UInt64) {
    var width = max(1, Int((pageCount + UInt64(bitsPerPiece) - 1) / UInt64(bitsPerPiece)))
    var level = 0
    while true {
      if level == levels.count { levels.append([]) }
      if levels[level].count < width {
        levels[level].append(contentsOf: repeatElement(Reference(), count: width - levels[level].count))
      }
      if width == 1 { break }
      width = (width + fanOut - 1) / fanOut
      level += 1
    }
  }

  /// Writes the planned pages, pieces first; returns the new root.
  package func write(_ plan: Plan, _ allocator: PageAllocator, birth: UInt64) throws(StorageError) -> PageRoot {
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: pageSize, alignment: 16)
    defer { buffer.deallocate() }
    for level in 0..<plan.places.count {
      for (index, number) in plan.places[level].sorted(by: { $0.value < $1.value }) {
        buffer.initializeMemory(as: UInt8.self, repeating: 0, count: pageSize)
        let page = PageBytes(buffer)
        page.kind = (level == 0 ? PageKind.freeMapLeaf : .freeMapBranch).rawValue
        page.level = level
        page.birth = birth
        page.pageNumber = number.rawValue
        if level == 0 { fillPiece(page, index, allocator) } else { fillBranch(page, level, index) }
        page.checksum = PageChecksum.compute(page, pageSize: pageSize, seed: store.checksumSeed)
        try store.file.writeFully(
          UnsafeRawBufferPointer(start: buffer, count: pageSize), at: Int(number.rawValue) * pageSize)
        levels[level][index] = Reference(number: number.rawValue, checksum: page.checksum)
      }
    }
    guard let root = levels.last?.first else { return PageRoot() }
    return root.number == 0
      ? PageRoot() : PageRoot(number: PageNumber(root.number), checksum: root.checksum, level: levels.count - 1)
  }

  private func fillPiece(_ page: PageBytes, _ index: Int, _ allocator: PageAllocator) {
    let bytes = allocator.piece(index)
    bytes.withUnsafeBytes { source in
      if let base = source.baseAddress {
        (page.base + PageLayout.headerByteCount).copyMemory(from: base, byteCount: source.count)
      }
    }
  }

  private func fillBranch(_ page: PageBytes, _ level: Int, _ index: Int) {
    assert(level > 0 && level < levels.count, "pieces have no children")
    let below = levels[level - 1]
    for child in 0..<fanOut where index * fanOut + child < below.count {
      let offset = PageLayout.headerByteCount + child * FreeMapFormat.childByteCount
      let reference = below[index * fanOut + child]
      page.base.storeBytes(of: reference.number, toByteOffset: offset, as: UInt64.self)
      page.base.storeBytes(of: reference.checksum, toByteOffset: offset + 8, as: UInt64.self)
    }
  }

  /// Returns to the map before `plan`, after a checkpoint that failed: its places are free again, the old pages stand.
  package func undo(_ plan: Plan, _ allocator: PageAllocator) {
    for places in plan.places {
      for number in places.values { allocator.discard(number) }
    }
    allocator.keep(plan.old.joined().lazy.filter { $0.number != 0 }.map { PageNumber($0.number) })
    levels = plan.old
    allocator.abandonMap()
  }
}
