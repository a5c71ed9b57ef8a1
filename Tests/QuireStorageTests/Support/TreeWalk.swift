// An independent look at every page of a tree: what the format promises, checked without the code that made it.

import QuireStorage
import QuireTesting

/// What a walk over a tree found.
struct TreeWalk {
  private(set) var leaves = 0
  /// Leaves whose header has the lengths of all their entries.
  private(set) var uniformLeaves = 0
  private(set) var branches = 0
  /// By how many bytes the prefix of a uniform leaf that has one could be longer, at the most. A leaf that began with a
  /// single entry has none until it is full.
  private(set) var longestMissingPrefix = 0
  private(set) var entries = 0
  private(set) var extents = 0
  /// Bytes in use in all leaves, headers included.
  private(set) var leafByteCount = 0
  /// Every page reached, clean or dirty.
  private(set) var references: Set<UInt64> = []
  /// Every page of the file reached.
  private(set) var pages: Set<UInt64> = []
  private let store: PageStore
  private let treeID: UInt64
  private let keyKind: KeyKind

  /// The share of the leaves' space that is in use.
  var fill: Double { leaves == 0 ? 1 : Double(leafByteCount) / Double(leaves * store.pageSize) }

  /// Walks over a tree; throws what is wrong with it.
  init(_ root: TreeRoot, in store: PageStore) throws {
    self.store = store
    treeID = root.id.rawValue
    keyKind = root.keyKind
    guard !root.reference.isNone else {
      try require(root.count == 0 && root.level == 0, "an empty tree of count \(root.count)")
      return
    }
    let count = try visit(
      root.reference, checksum: root.checksum, level: root.level, lower: [], upper: nil, isParentClean: false)
    try require(count == root.count, "the root counts \(root.count) entries, its pages have \(count)")
    if root.level > 0 {
      let page = try TreeReader(store).page(root.reference, checksum: root.checksum, level: root.level)
      try require(page.count > 1, "a root with one child")
    }
  }

  /// Walks below a reference; returns the number of entries.
  private mutating func visit(
    _ reference: PageReference, checksum: UInt64, level: Int, lower: [UInt8], upper: [UInt8]?, isParentClean: Bool
  ) throws -> Int {
    try require(references.insert(reference.rawValue).inserted, "page \(reference) is reached twice")
    try require(!(isParentClean && reference.isDirty), "a clean page refers to a frame")
    let page = try TreeReader(store).page(reference, checksum: checksum, level: level)
    try checkIdentity(page, reference, checksum: checksum, level: level)
    let keys = try checkCells(page)
    for key in keys {
      try require(!precedes(key, lower), "\(key) is below its page's lower bound \(lower)")
      if let upper { try require(precedes(key, upper), "\(key) is not below \(upper)") }
    }
    for (left, right) in zip(keys, keys.dropFirst()) {
      try require(precedes(left, right), "\(left) is not below \(right)")
    }
    guard level > 0 else {
      leaves += 1
      if page.isUniform {
        uniformLeaves += 1
        notePrefix(page, keys)
      }
      entries += keys.count
      try visitExtents(page)
      return keys.count
    }
    branches += 1
    var total = 0
    for index in 0..<page.count {
      let before = extents
      let count = try visit(
        PageReference(rawValue: page.references[index]), checksum: page.checksums[index], level: level - 1,
        lower: index == 0 ? lower : keys[index - 1], upper: index < keys.count ? keys[index] : upper,
        isParentClean: !reference.isDirty)
      let counted = ChildCount.count(page.counts[index])
      try require(count == counted, "child \(index) counts \(counted), has \(count)")
      let isNoted = ChildCount.mayHaveExtents(page.counts[index])
      try require(extents == before || isNoted, "child \(index) has extents nobody knows of")
      total += count
    }
    return total
  }

  /// Notes how much of what all keys of a leaf begin with is not in its prefix, and could be: four bytes of each key
  /// are the head's.
  private mutating func notePrefix(_ page: PageBytes, _ keys: [[UInt8]]) {
    guard page.prefixCount > 0, keys.count > 1, let first = keys.first, let last = keys.last else { return }
    let common = zip(first, last).prefix { $0 == $1 }.count
    longestMissingPrefix = max(longestMissingPrefix, min(common, first.count - 4) - page.prefixCount)
  }

  /// Reads every value of a leaf that stands in an extent, and notes its pages.
  private mutating func visitExtents(_ page: PageBytes) throws {
    for index in 0..<page.count where page.leafCell(index).isExtent {
      let extent = page.leafCell(index).extent
      extents += 1
      let defect = extent.defect(pageSize: store.pageSize, pageCount: store.pageCount)
      try require(defect == nil, "extent \(index): \(defect ?? "")")
      let count = extent.layout(pageSize: store.pageSize).pageCount
      for number in extent.first.rawValue..<(extent.first.rawValue + UInt64(count)) {
        try require(pages.insert(number).inserted, "page \(number) is reached twice")
      }
      var damage: [StorageError] = []
      store.verifyExtent(extent) { damage.append($0) }
      try require(damage.isEmpty, "\(damage)")
    }
  }

  private mutating func checkIdentity(
    _ page: PageBytes, _ reference: PageReference, checksum: UInt64, level: Int
  ) throws {
    try require(page.treeID == treeID && page.keyKind == keyKind.rawValue, "a page of tree \(page.treeID)")
    try require(page.level == level, "level \(page.level), expected \(level)")
    try require(page.count > 0, "an empty page")
    var number = reference.pageNumber
    var expected = checksum
    if reference.isDirty {
      let birth = store.frames.birth(reference.frame)
      try require(page.birth == birth, "a frame born at \(birth) holds a page born at \(page.birth)")
      let location = store.frames.location(reference.frame)
      guard location.isPageNumber else { return }
      number = location.pageNumber
      expected = store.frames.checksum(reference.frame)
    }
    try require(pages.insert(number.rawValue).inserted, "\(number) is reached twice")
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: store.pageSize, alignment: 16)
    defer { buffer.deallocate() }
    // From the disk: what is in memory would tell nothing of what was written.
    try store.read(number, into: buffer, checksum: expected)
    let defect = PageValidation.defect(
      in: PageBytes(buffer), pageSize: store.pageSize, pageCount: store.pageCount)
    try require(defect == nil, "\(number): \(defect ?? "")")
  }

  /// Checks the arrays and cells of a page; returns its keys or separators.
  private mutating func checkCells(_ page: PageBytes) throws -> [[UInt8]] {
    let isLeaf = page.level == 0
    let arraysEnd = isLeaf ? page.leafArraysEnd : page.branchArraysEnd
    try require(arraysEnd <= page.cellStart, "arrays and cells overlap")
    var ranges: [Range<Int>] = []
    if page.prefixCount > 0 { ranges.append(page.prefixOffset..<page.prefixOffset + page.prefixCount) }
    var keys: [[UInt8]] = []
    let prefix = Array(UnsafeRawBufferPointer(start: page.prefix, count: page.prefixCount))
    for index in isLeaf ? 0..<page.count : 1..<page.count {
      let offset = isLeaf ? Int(page.leafSlots[index]) : keyKind == .int64 ? 0 : Int(page.branchSlots[index])
      if isLeaf {
        ranges.append(offset..<offset + page.leafCell(index).byteCount)
      } else if keyKind == .bytes {
        ranges.append(offset..<offset + PageLayout.branchCellHeader + page.separator(index).count)
      }
      if keyKind == .int64 {
        keys.append(orderedKey(Int64(bitPattern: page.heads64[index] ^ (1 << 63))))
        continue
      }
      if isLeaf, page.isUniform {
        keys.append(page.leafKeyBytes(index))
        continue
      }
      let cell = isLeaf ? page.leafCell(index) : nil
      let rest = cell.map { UnsafeRawBufferPointer(start: $0.key, count: $0.keyCount) } ?? page.separator(index)
      var head: UInt32 = 0
      for byte in 0..<4 { head = head << 8 | UInt32(byte < rest.count ? rest[byte] : 0) }
      try require(page.heads32[index] == head, "head \(index) does not match its key")
      keys.append(prefix + Array(rest))
    }
    // Cells of a uniform leaf may be empty: all that there is of each key stands in its head.
    ranges.removeAll { $0.isEmpty }
    ranges.sort { $0.lowerBound < $1.lowerBound }
    for (left, right) in zip(ranges, ranges.dropFirst()) {
      try require(left.upperBound <= right.lowerBound, "cells overlap at \(left) and \(right)")
    }
    let used = ranges.reduce(0) { $0 + $1.count }
    let room = store.pageSize - page.cellStart
    try require(used + page.garbage == room, "\(used) bytes of cells and \(page.garbage) of garbage in \(room)")
    try require(
      ranges.allSatisfy { $0.lowerBound >= page.cellStart && $0.upperBound <= store.pageSize }, "cell outside")
    if isLeaf { leafByteCount += arraysEnd + used }
    return keys
  }
}

extension StorageEngine {
  /// Looks at every page of every tree, and, right after a checkpoint, at who owns each page of the file.
  func walkEverything(isCheckpointed: Bool = false) throws {
    var pages: Set<UInt64> = []
    for index in 0..<core.head.treeCount {
      let walk = try TreeWalk(core.head.trees[index], in: core.store)
      try require(pages.isDisjoint(with: walk.pages), "two trees share a page")
      pages.formUnion(walk.pages)
    }
    for problem in [
      core.store.pool.checkInvariants(), core.store.frames.checkInvariants(), core.allocator.checkInvariants(),
      core.store.checkUnwritten(),
    ] {
      try require(problem == nil, problem ?? "")
    }
    // Inside a transaction there is more than that says; `transactionDefects` is for there.
    if !core.writerLock.isHeldByThisThread {
      let problem = try core.checkInvariantsBesideCheckpoint()
      try require(problem == nil, problem ?? "")
    }
    guard isCheckpointed else { return }
    let catalog = try TreeWalk(core.catalog.root, in: core.store)
    try require(pages.isDisjoint(with: catalog.pages), "the catalog shares a page with a tree")
    pages.formUnion(catalog.pages)
    var shared: PageNumber?
    core.freeMap.forEachPage { if !pages.insert($0.rawValue).inserted { shared = $0 } }
    try require(shared == nil, "the free map and a tree share a page")
    let free = Set(core.allocator.freeNumbers())
    try require(free.isDisjoint(with: pages), "pages in use are free: \(free.intersection(pages).sorted())")
    let lost = Set(2..<core.allocator.pageCount).subtracting(free).subtracting(pages)
    try require(lost.isEmpty, "pages have been lost: \(lost.sorted())")
  }
}
