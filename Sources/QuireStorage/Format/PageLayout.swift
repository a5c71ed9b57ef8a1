// Pages on disk and in memory. All integers are little-endian.
//
//   bytes   header of every page but the meta pages
//   0..<8   checksum: XXH3-64 of bytes 8..<page size, seeded by the database's identity. Guards against rot.
//   8..<16  page number. Guards against a write or read that went to the wrong place. In memory: the writer's step at
//           which a frame was made, zero in a page that was read.
//   16..<24 birth: CSN of the commit that made this version. Guards against an older version of the page.
//   24..<32 tree id; 0 for the free map. Lets salvage tell whose page this is when its parent is gone.
//   32      kind (PageKind)
//   33      level: 0 in a leaf, one more in each page above
//   34      kind of keys (KeyKind)
//   35      0, or in a uniform leaf one more than the bytes that the cells have of each key
//   36..<38 number of entries
//   38..<40 length of the key prefix that all entries share
//   40..<42 offset of that prefix
//   42..<44 offset of the lowest cell: cells grow down from the end of the page
//   44..<46 bytes of dead cells above that offset
//   46..<48 in a uniform leaf the bytes of each value, else zero
//
// Leaf, n entries, head width w (4 for byte strings, 8 for integers):
//   48             w * n  heads: byte strings: the first four bytes after the prefix, as a big-endian number padded
//                         with zeros; integers: the whole key with its sign bit flipped. A search stays inside them.
//   48 + w*n       2 * n  offsets of the cells
//   cell           u16 key bytes after the prefix (0 for integers), u16 value bytes, key bytes, value bytes; with
//                  bit 15 of the value bytes the value is a reference to an overflow extent (ExtentFormat)
//
// A leaf is uniform if all its keys have one length, all its values another, and no value stands in an extent. The
// header tells the lengths, and the cells hold nothing twice:
//   cell           key bytes after prefix and head (none for integers), value bytes
//
// Ids, hashes, and what indexes and views are made of have one length; so do many objects. Of byte strings a uniform
// leaf takes eight bytes less for each entry, of integers four.
//
// Branch, n children; the separator of child 0 is "below every key" and is not stored:
//   48             w * n  heads of the separators, as above, padded to 8 bytes; head 0 is zero
//   then           8 * n  references of the children
//   then           8 * n  checksums of the children (meaningless for a dirty reference)
//   then           8 * n  numbers of entries below the children; with bit 63 leaves there may hold extents
//   then           2 * n  byte strings only: offsets of the cells; 0 for child 0
//   cell           u16 separator bytes after the prefix, those bytes
//
// Heads and references, which every search touches, are dense; checksums and counts stand apart.

internal import CQuirePlatform

#if _endian(big)
  #error("The format is little-endian, and so is every machine the engine has been tested on.")
#endif

/// What a page holds.
package enum PageKind: UInt8, Sendable {
  case leaf = 1
  case branch = 2
  /// A piece of the free map's bits.
  case freeMapLeaf = 3
  /// References to pieces of the free map.
  case freeMapBranch = 4
}

/// Offsets and sizes of the page format.
package enum PageLayout {
  package static let headerByteCount = 48
  package static let checksumOffset = 0
  package static let pageNumberOffset = 8
  package static let birthOffset = 16
  package static let treeIDOffset = 24
  package static let kindOffset = 32
  package static let levelOffset = 33
  package static let keyKindOffset = 34
  package static let uniformKeyOffset = 35
  package static let countOffset = 36
  package static let prefixCountOffset = 38
  package static let prefixOffsetOffset = 40
  package static let cellStartOffset = 42
  package static let garbageOffset = 44
  package static let uniformValueOffset = 46
  /// Bytes in front of the separator in a branch cell.
  package static let branchCellHeader = 2
}

/// A page in memory: an address and nothing else, so that it can be passed about without being retained.
///
/// The memory is the slot pool's. Reading is safe for pages that passed `PageValidation` or that this process built;
/// writing is allowed only in frames of the running transaction.
package struct PageBytes {
  package let base: UnsafeMutableRawPointer

  /// Wraps the address of a page of the pool, or of a buffer as large as one.
  @inline(__always) package init(_ base: UnsafeMutableRawPointer) { self.base = base }

  /// A field of the header.
  @inline(__always) func load16(_ offset: Int) -> Int {
    Int(base.load(fromByteOffset: offset, as: UInt16.self))
  }
  /// Sets a field of the header.
  @inline(__always) func store16(_ value: Int, _ offset: Int) {
    base.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: offset, as: UInt16.self)
  }

  /// The checksum field of a page as it stands on disk.
  @inline(__always) package var checksum: UInt64 {
    get { base.load(fromByteOffset: PageLayout.checksumOffset, as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: PageLayout.checksumOffset, as: UInt64.self) }
  }
  /// In memory: the writer's step, a transaction or a savepoint, at which the frame was made. It takes the place of the
  /// page number, which only the image on disk has, so that telling whether a page is private costs no cache miss.
  @inline(__always) package var step: UInt64 {
    get { base.load(fromByteOffset: PageLayout.pageNumberOffset, as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: PageLayout.pageNumberOffset, as: UInt64.self) }
  }
  /// In memory: whether the page was read from disk; otherwise this process has made it. Steps count from 1.
  @inline(__always) package var isFromDisk: Bool { step == 0 }
  /// Where the page stands in the file; on disk only.
  package var pageNumber: UInt64 {
    get { base.load(fromByteOffset: PageLayout.pageNumberOffset, as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: PageLayout.pageNumberOffset, as: UInt64.self) }
  }
  /// The commit that made this version of the page.
  @inline(__always) package var birth: UInt64 {
    get { base.load(fromByteOffset: PageLayout.birthOffset, as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: PageLayout.birthOffset, as: UInt64.self) }
  }
  /// The tree that the page belongs to; 0 for the free map.
  package var treeID: UInt64 {
    get { base.load(fromByteOffset: PageLayout.treeIDOffset, as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: PageLayout.treeIDOffset, as: UInt64.self) }
  }
  /// The raw value of the page's kind.
  @inline(__always) package var kind: UInt8 {
    get { base.load(fromByteOffset: PageLayout.kindOffset, as: UInt8.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: PageLayout.kindOffset, as: UInt8.self) }
  }
  /// 0 in a leaf, one more in each page above.
  @inline(__always) package var level: Int {
    get { Int(base.load(fromByteOffset: PageLayout.levelOffset, as: UInt8.self)) }
    nonmutating set {
      base.storeBytes(of: UInt8(truncatingIfNeeded: newValue), toByteOffset: PageLayout.levelOffset, as: UInt8.self)
    }
  }
  /// Whether the keys are integers; otherwise they are byte strings.
  @inline(__always) package var hasIntegerKeys: Bool {
    base.load(fromByteOffset: PageLayout.keyKindOffset, as: UInt8.self) == KeyKind.int64.rawValue
  }
  /// The raw value of the keys' kind.
  package var keyKind: UInt8 {
    get { base.load(fromByteOffset: PageLayout.keyKindOffset, as: UInt8.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: PageLayout.keyKindOffset, as: UInt8.self) }
  }
  /// The number of entries, or of children.
  @inline(__always) package var count: Int {
    get { load16(PageLayout.countOffset) }
    nonmutating set { store16(newValue, PageLayout.countOffset) }
  }
  /// The length of the prefix that all keys of the page share and that the cells leave out.
  @inline(__always) package var prefixCount: Int {
    get { load16(PageLayout.prefixCountOffset) }
    nonmutating set { store16(newValue, PageLayout.prefixCountOffset) }
  }
  /// Where that prefix stands.
  @inline(__always) package var prefixOffset: Int {
    get { load16(PageLayout.prefixOffsetOffset) }
    nonmutating set { store16(newValue, PageLayout.prefixOffsetOffset) }
  }
  /// The offset of the lowest cell.
  @inline(__always) package var cellStart: Int {
    get { load16(PageLayout.cellStartOffset) }
    nonmutating set { store16(newValue, PageLayout.cellStartOffset) }
  }
  /// Bytes of cells that nothing refers to.
  @inline(__always) package var garbage: Int {
    get { load16(PageLayout.garbageOffset) }
    nonmutating set { store16(newValue, PageLayout.garbageOffset) }
  }

  /// The first byte behind the arrays of a tree page.
  @inline(__always) package var arraysEnd: Int { kind == PageKind.leaf.rawValue ? leafArraysEnd : branchArraysEnd }
  /// The bytes of a tree page that are in use.
  package func usedByteCount(pageSize: Int) -> Int { arraysEnd + pageSize - cellStart - garbage }

  /// Copies a tree page to memory whose gap between arrays and cells stays what it is: a third of the average page. Nor
  /// is the checksum copied, which a checkpoint may be entering at this moment.
  @inline(__always) func copyContent(to target: PageBytes, pageSize: Int) {
    let (arraysEnd, cellStart) = (arraysEnd, cellStart)
    (target.base + 8).copyMemory(from: base + 8, byteCount: arraysEnd - 8)
    (target.base + cellStart).copyMemory(from: base + cellStart, byteCount: pageSize - cellStart)
  }

  /// Copies the page as a file has it: with zeros between arrays and cells, where a page in memory may hold bytes of
  /// other pages.
  func copyImage(to target: PageBytes, pageSize: Int) {
    let (arraysEnd, cellStart) = (arraysEnd, cellStart)
    assert(arraysEnd <= cellStart && cellStart <= pageSize, "arrays and cells meet")
    target.base.copyMemory(from: base, byteCount: arraysEnd)
    (target.base + arraysEnd).initializeMemory(as: UInt8.self, repeating: 0, count: cellStart - arraysEnd)
    (target.base + cellStart).copyMemory(from: base + cellStart, byteCount: pageSize - cellStart)
  }

  /// An integer key in its ordered form.
  @inline(__always) package func orderedKey(_ index: Int) -> UInt64 { heads64[index] }

  /// Asks for the cache lines behind the first one, where a leaf keeps its heads and offsets: they arrive while the
  /// header is being looked at.
  @inline(__always) package func prefetchArrays() {
    quire_prefetch(base + 64)
    quire_prefetch(base + 128)
    quire_prefetch(base + 192)
  }

  /// The bytes of the common prefix.
  @inline(__always) package var prefix: UnsafeRawPointer { UnsafeRawPointer(base + prefixOffset) }
  /// Four-byte heads of a page with byte-string keys.
  @inline(__always) package var heads32: UnsafeMutablePointer<UInt32> {
    (base + PageLayout.headerByteCount).assumingMemoryBound(to: UInt32.self)
  }
  /// The width of a head.
  @inline(__always) package var headWidth: Int { hasIntegerKeys ? 8 : 4 }
  /// Eight-byte heads of a page with integer keys.
  @inline(__always) package var heads64: UnsafeMutablePointer<UInt64> {
    (base + PageLayout.headerByteCount).assumingMemoryBound(to: UInt64.self)
  }

  /// Clears the header for a page of `kind`.
  package func initialize(
    kind: PageKind, level: Int, keyKind: KeyKind, treeID: UInt64, birth: UInt64, pageSize: Int
  ) {
    base.initializeMemory(as: UInt8.self, repeating: 0, count: PageLayout.headerByteCount)
    self.kind = kind.rawValue
    self.level = level
    self.keyKind = keyKind.rawValue
    self.treeID = treeID
    self.birth = birth
    cellStart = pageSize
  }
}

// Branch layout.
extension PageBytes {
  /// Bytes of a branch's heads, padded.
  @inline(__always) private var branchHeadsByteCount: Int { (headWidth &* count &+ 7) & ~7 }

  /// The references of a branch's children.
  @inline(__always) package var references: UnsafeMutablePointer<UInt64> {
    (base + PageLayout.headerByteCount + branchHeadsByteCount).assumingMemoryBound(to: UInt64.self)
  }
  /// The checksums of a branch's children.
  @inline(__always) package var checksums: UnsafeMutablePointer<UInt64> { references + count }
  /// The numbers of entries below a branch's children, as words of `ChildCount`.
  @inline(__always) package var counts: UnsafeMutablePointer<UInt64> { references + 2 &* count }
  /// The offsets of a branch's cells; byte-string keys only.
  @inline(__always) package var branchSlots: UnsafeMutablePointer<UInt16> {
    UnsafeMutableRawPointer(references + 3 &* count).assumingMemoryBound(to: UInt16.self)
  }
  /// The first byte behind a branch's arrays.
  @inline(__always) package var branchArraysEnd: Int {
    PageBytes.branchArraysEnd(count: count, hasIntegerKeys: hasIntegerKeys)
  }
  /// The first byte behind the arrays of a branch with `count` children.
  @inline(__always) package static func branchArraysEnd(count: Int, hasIntegerKeys: Bool) -> Int {
    let heads = hasIntegerKeys ? 8 &* count : (4 &* count &+ 7) & ~7
    return PageLayout.headerByteCount &+ heads &+ 24 &* count &+ (hasIntegerKeys ? 0 : 2 &* count)
  }
  /// What a branch with `count` children takes. Their separators, of which the first child has none, have
  /// `separatorByteCount` bytes together, and share the first `prefixCount`.
  static func branchByteCount(
    count: Int, hasIntegerKeys: Bool, prefixCount: Int, separatorByteCount: Int
  ) -> Int {
    let arrays = branchArraysEnd(count: count, hasIntegerKeys: hasIntegerKeys)
    if hasIntegerKeys { return arrays }
    return arrays + prefixCount + separatorByteCount + (count - 1) * (PageLayout.branchCellHeader - prefixCount)
  }
  /// What remains of separator `index` after the page's prefix; `index` is at least 1, keys are byte strings.
  @inline(__always) package func separator(_ index: Int) -> UnsafeRawBufferPointer {
    let cell = UnsafeRawPointer(base + Int(branchSlots[index]))
    return UnsafeRawBufferPointer(
      start: cell + PageLayout.branchCellHeader, count: Int(cell.loadUnaligned(as: UInt16.self)))
  }

  /// Asks for what a search of a branch touches beyond what `prefetchArrays` brings: the rest of the heads and the
  /// prefix. The header must be in the cache.
  @inline(__always) package func prefetchBranchSearch() {
    let end = PageLayout.headerByteCount &+ headWidth &* count
    var offset = 256
    while offset < end {
      quire_prefetch(base + offset)
      offset &+= 64
    }
    prefetchPrefix()
  }

  /// Asks for the prefix, which every search compares first.
  @inline(__always) package func prefetchPrefix() {
    if prefixCount > 0 { quire_prefetch(base + prefixOffset) }
  }

  /// Asks for the reference of a child.
  @inline(__always) package func prefetchReference(_ index: Int) { quire_prefetch(references + index) }

  /// Asks for the count of a child, which an edit below it changes.
  @inline(__always) package func prefetchCount(_ index: Int) { quire_prefetch(counts + index) }
}
