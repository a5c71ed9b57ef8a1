// Building a tree from the bottom up, out of entries in key order: each page is written once, and full.

/// Builds a tree of frames of the running transaction.
///
/// Entries are staged until they fill a leaf; finished pages are known by their references only, so that completed
/// subtrees can be written home and leave memory while the building goes on.
///
/// Invariants:
/// 1. `packer` holds the entries of the leaf being filled; their bytes lie in `staging`, or where a caller has promised
///    to leave them.
/// 2. `levels[i]` holds the children, of level i, of the branch of level i + 1 being filled, and fits one page.
package final class TreeBuilder {
  /// The children of a branch that is being filled.
  private struct Level {
    var references: [UInt64] = []
    /// Words of `ChildCount`.
    var counts: [UInt64] = []
    /// The separator in front of each child; the first one is for the branch's own parent.
    var separators: [OwnedKey] = []
    /// The bytes of all separators but the first.
    var separatorByteCount = 0
  }

  private let editor: TreeEditor
  private let keyKind: KeyKind
  /// Says whose pages these are.
  private let tree: TreeRoot
  private let packer: LeafPacker
  private let leafLimit: Int
  private let branchLimit: Int
  // Unchecked as in `TreeEditor`: every entry of a load goes through here.
  @exclusivity(unchecked) private var staging: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var stagingCapacity: Int
  @exclusivity(unchecked) private var stagingCount = 0
  @exclusivity(unchecked) private var levels: [Level] = []
  /// The last key of the leaf before.
  @exclusivity(unchecked) private var lastKey: [UInt8] = []
  @exclusivity(unchecked) private var hasLeaf = false
  /// The number of entries so far.
  @exclusivity(unchecked) package private(set) var count = 0

  /// Starts an empty tree.
  ///
  /// - Parameters:
  ///   - editor: the running transaction's.
  ///   - tree: says whose pages these are; its reference is not looked at.
  ///   - leafFill: how much of each leaf is used, from a half to 1.
  ///   - branchFill: the same of each branch; what is left takes the separators of later splits.
  package init(_ editor: TreeEditor, for tree: TreeRoot, leafFill: Double = 1, branchFill: Double = 0.95) {
    self.editor = editor
    keyKind = tree.keyKind
    self.tree = tree
    packer = LeafPacker(pageSize: editor.pageSize, keyKind: tree.keyKind)
    leafLimit = Int(Double(editor.pageSize) * min(1, max(0.5, leafFill)))
    branchLimit = Int(Double(editor.pageSize) * min(1, max(0.5, branchFill)))
    stagingCapacity = 4 * editor.pageSize
    staging = UnsafeMutableRawPointer.allocate(byteCount: stagingCapacity, alignment: 16)
  }

  deinit { staging.deallocate() }

  /// The roots of the subtrees that are complete, in no particular order. They are all there is of the tree until
  /// `finish`: a spill reaches each page once through them.
  package var completedReferences: [PageReference] {
    levels.flatMap { level in level.references.map { PageReference(rawValue: $0) } }
  }

  /// Adds an entry, whose key must be above those before and whose lengths have been checked. Copies its bytes. An
  /// extent's pages must be the transaction's own, and go with the entry from now on.
  package func append(_ key: SearchKey, _ value: CellValue) throws(StorageError) {
    let byteCount = key.count + value.count
    if stagingCount + byteCount > stagingCapacity { growStaging(byteCount) }
    let place = staging + stagingCount
    if key.count > 0 { place.copyMemory(from: key.base, byteCount: key.count) }
    if value.count > 0, let base = value.bytes.baseAddress {
      (place + key.count).copyMemory(from: base, byteCount: value.count)
    }
    let entry = PackedEntry(
      key: SearchKey(base: UnsafeRawPointer(place), count: key.count), integer: key.integer,
      payload: UnsafeRawPointer(place + key.count), valueField: value.lengthField)
    if packer.count > 0, !packer.hasRoom(for: entry, limit: leafLimit) {
      try flushLeaf()
      // The entry moves to the front of the staging area; both places may overlap.
      let old = place
      staging.copyMemory(from: old, byteCount: byteCount)
      packer.append(
        PackedEntry(
          key: SearchKey(base: UnsafeRawPointer(staging), count: key.count), integer: key.integer,
          payload: UnsafeRawPointer(staging + key.count), valueField: entry.valueField))
      stagingCount = byteCount
    } else {
      packer.append(entry)
      stagingCount += byteCount
    }
    count += 1
  }

  /// Adds an entry likewise, whose bytes stay where and as they are until the tree is complete: they are not copied.
  @inline(__always) package func append(borrowing key: SearchKey, _ value: CellValue) throws(StorageError) {
    let payload = value.bytes.baseAddress ?? key.base
    let entry = PackedEntry(key: key, integer: key.integer, payload: payload, valueField: value.lengthField)
    if packer.count > 0, !packer.hasRoom(for: entry, limit: leafLimit) {
      try flushLeaf()
      stagingCount = 0
    }
    packer.append(entry)
    count += 1
  }

  /// Completes the tree.
  ///
  /// - Returns: its root; that of an empty tree if nothing was added.
  package func finish() throws(StorageError) -> TreeRoot {
    var root = TreeRoot(id: tree.id, keyKind: keyKind)
    guard count > 0 else { return root }
    assert(packer.count > 0, "the last leaf is written before the end")
    try flushLeaf()
    var level = 0
    while level < levels.count - 1 || levels[level].references.count > 1 {
      try flushBranch(level)
      level += 1
    }
    assert(levels[level].references.count == 1, "a tree has one root")
    root.reference = PageReference(rawValue: levels[level].references[0])
    root.level = level
    root.count = count
    root.mayHaveExtents = ChildCount.mayHaveExtents(levels[level].counts[0])
    levels = []
    return root
  }

  /// Makes room for an entry by moving what is staged.
  private func growStaging(_ byteCount: Int) {
    let capacity = max(2 * stagingCapacity, stagingCount + byteCount)
    assert(capacity >= stagingCount + byteCount, "the staging area has no room still")
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: staging, byteCount: stagingCount)
    packer.rebase(UnsafeRawBufferPointer(start: staging, count: stagingCount), to: UnsafeRawPointer(larger))
    staging.deallocate()
    (staging, stagingCapacity) = (larger, capacity)
  }

  /// Writes the staged leaf.
  private func flushLeaf() throws(StorageError) {
    assert(packer.count > 0, "a leaf without entries is written")
    let first = packer.entries[0].splitKey
    let separator =
      hasLeaf
      ? lastKey.withUnsafeBytes { bytes in
        var last = SplitKey(front: UnsafeRawBufferPointer(start: nil, count: 0), back: bytes)
        last.integer = 0
        return Separator.between(last, first, keyKind: keyKind)
      }
      : OwnedKey(bytes: [], integer: 0)
    let reference = try editor.rewriter.make(packer, 0..<packer.count, of: tree).reference
    if keyKind == .bytes { lastKey = packer.entries[packer.count - 1].splitKey.bytes }
    hasLeaf = true
    let word = packer.childCount(0..<packer.count)
    packer.removeAll()
    try add(reference, count: word, separator, to: 0)
  }

  /// Adds a page to the branch being filled above it, after that was written if it has no room.
  private func add(
    _ reference: PageReference, count: UInt64, _ separator: OwnedKey, to start: Int
  ) throws(StorageError) {
    guard start < Limits.treeLevels - 1 else {
      throw StorageError(.limitReached, "A tree would have more than \(Limits.treeLevels) levels.")
    }
    while levels.count <= start { levels.append(Level()) }
    if levels[start].references.count > 1, branchByteCount(levels[start], adding: separator) > branchLimit {
      try flushBranch(start)
    }
    if !levels[start].references.isEmpty { levels[start].separatorByteCount += separator.bytes.count }
    assert(levels[start].references.count == levels[start].counts.count, "each child has a count")
    levels[start].references.append(reference.rawValue)
    levels[start].counts.append(count)
    levels[start].separators.append(separator)
  }

  /// The bytes that a branch with one more child needs.
  private func branchByteCount(_ level: Level, adding separator: OwnedKey) -> Int {
    let count = level.references.count + 1
    let prefix = zip(level.separators[1].bytes, separator.bytes).prefix { $0 == $1 }.count
    return PageBytes.branchByteCount(
      count: count, hasIntegerKeys: keyKind == .int64, prefixCount: prefix,
      separatorByteCount: level.separatorByteCount + separator.bytes.count)
  }

  /// Writes the branch above the children in `levels[start]` and adds it to the level above.
  private func flushBranch(_ start: Int) throws(StorageError) {
    let level = levels[start]
    let (page, reference) = try editor.pages.make(kind: .branch, level: start + 1, of: tree)
    let bytes = level.separators.flatMap(\.bytes)
    bytes.withUnsafeBytes { bytes in
      var packer = BranchPacker(pageSize: editor.pageSize)
      packer.entries.reserveCapacity(level.references.count)
      var offset = 0
      for (index, separator) in level.separators.enumerated() {
        var key = SplitKey(
          front: UnsafeRawBufferPointer(start: nil, count: 0),
          back: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + separator.bytes.count)]))
        key.integer = separator.integer
        offset += separator.bytes.count
        packer.entries.append(
          BranchEntry(separator: key, reference: level.references[index], count: level.counts[index]))
      }
      packer.encode(into: page)
    }
    // Children may have been written home since they were completed.
    editor.pages.translateFlippedChildren(page)
    levels[start] = Level()
    try add(reference, count: ChildCount.sum(level.counts), level.separators[0], to: start + 1)
  }
}

extension LeafPacker {
  /// Follows the bytes of those entries that lie in `area` to another place.
  func rebase(_ area: UnsafeRawBufferPointer, to new: UnsafeRawPointer) {
    guard let old = area.baseAddress else { return }
    for index in 0..<count where entries[index].front >= old && entries[index].front < old + area.count {
      entries[index].front = new + (entries[index].front - old)
      entries[index].back = new + (entries[index].back - old)
      entries[index].payload = new + (entries[index].payload - old)
    }
  }
}
