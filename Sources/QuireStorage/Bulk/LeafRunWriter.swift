// Writing leaves in the place of a run of neighbours: as full as suits what comes next, one behind the other.

/// Takes merged entries, writes them to leaves, and remembers what the branch above will say of these.
///
/// Invariants:
/// 1. `children` are the leaves written since `begin`, in the order of their keys.
/// 2. The bytes of all entries since then stay where they are until the run has ended: pages that may be written over
///    are copied to `copies` before, and separators are borrowed from the entries.
/// 3. `spares` are pages of the run that the transaction may edit in place, copied and not written over yet.
/// 4. `copyCount <= runLimit`.
final class LeafRunWriter {
  /// The most leaves in one run.
  let runLimit: Int
  private let editor: TreeEditor
  private let pageSize: Int
  // Unchecked as in `TreeEditor`.
  @exclusivity(unchecked) private(set) var children: [BranchEntry] = []
  @exclusivity(unchecked) private var spares: [(page: PageBytes, reference: PageReference)] = []
  /// Room for copies of a whole run, once there is anything to copy.
  @exclusivity(unchecked) private var copies: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private var copyCount = 0
  /// How many leaves of the run are not the transaction's own.
  @exclusivity(unchecked) private var sharedCount = 0
  @exclusivity(unchecked) private var last: PackedEntry?
  @exclusivity(unchecked) private var ends: [Int] = []

  private static let longestRun = 64
  private static let copiesByteCount = 512 << 10
  /// What a run keeps from being evicted is no more than this share of the budget.
  private static let budgetShare = 16
  /// An eighth of each leaf is left for single puts: about as many of them then split a leaf as where leaves have grown
  /// by themselves.
  private static let roomShare = 8
  /// Where fewer entries than this fill a page, that would be too much for one and too little for the next.
  private static let fewestEntries = 8

  /// A writer for the transactions of `editor`, which must outlive it.
  ///
  /// - Parameter copiesAll: whether the bytes of all leaves of a run are copied, so that it keeps none from being
  ///   evicted.
  init(_ editor: TreeEditor, copiesAll: Bool = false) {
    self.editor = editor
    pageSize = editor.pageSize
    let limit = min(Self.longestRun, Self.copiesByteCount / editor.pageSize)
    runLimit = copiesAll ? limit : min(limit, editor.store.pool.slotLimit / Self.budgetShare)
  }

  deinit { copies?.deallocate() }

  /// Starts a run.
  func begin() {
    children.removeAll(keepingCapacity: true)
    spares.removeAll(keepingCapacity: true)
    (copyCount, sharedCount, last) = (0, 0, nil)
  }

  /// Copies a leaf of the run to where its entries stay.
  func copy(_ leaf: PageBytes) -> PageBytes {
    assert(copyCount < runLimit, "a run has no more leaves than its limit")
    let room = copies ?? UnsafeMutableRawPointer.allocate(byteCount: runLimit * pageSize, alignment: 16)
    copies = room
    let copy = PageBytes(room + copyCount * pageSize)
    copyCount += 1
    copy.base.copyMemory(from: leaf.base, byteCount: pageSize)
    return copy
  }

  /// Takes a leaf of the run, which the tree will no longer reach; it may be written over if it `isPrivate`, and has
  /// been copied then.
  func take(_ leaf: PageBytes, _ reference: PageReference, isPrivate: Bool) {
    assert(spares.count + sharedCount < runLimit, "a run has no more leaves than its limit")
    if isPrivate {
      spares.append((leaf, reference))
    } else {
      sharedCount += 1
      editor.pages.supersede(reference, leaf)
    }
  }

  /// Writes the entries of `packer` that fill leaves, or all of them; the others stay there. The leaves have room for
  /// what comes next.
  func write(_ packer: LeafPacker, all: Bool, in root: TreeRoot) throws(StorageError) {
    guard packer.count > 0 else { return }
    var limit = leafLimit(packer)
    if all, packer.leafByteCount(0..<packer.count) <= pageSize { limit = pageSize }
    packer.cuts(limit: limit, fills: !all, into: &ends)
    // The last leaf has room for what comes next.
    try write(packer, cutAt: all ? ends[...] : ends.dropLast(), in: root)
  }

  /// Writes entries of `packer` to leaves that end at `cuts`, as full as they are then; the others stay there.
  func write(_ packer: LeafPacker, cutAt cuts: ArraySlice<Int>, in root: TreeRoot) throws(StorageError) {
    var start = 0
    for end in cuts {
      try writeLeaf(packer, start..<end, in: root)
      start = end
    }
    if start == packer.count { packer.removeAll() } else { packer.removeFirst(start) }
  }

  /// How many bytes of a leaf are used. What the transaction has made alone has no room left, as in a tree that is
  /// built: it may well be the only one of its size.
  private func leafLimit(_ packer: LeafPacker) -> Int {
    if sharedCount == 0 || packer.byteCount * Self.fewestEntries > packer.count * pageSize { return pageSize }
    return pageSize - pageSize / Self.roomShare
  }

  private func writeLeaf(_ packer: LeafPacker, _ range: Range<Int>, in root: TreeRoot) throws(StorageError) {
    let reference = try writeNext(packer, range, in: root)
    let first = packer.entries[range.lowerBound]
    var separator = SplitKey(integer: first.integer)
    if let last, root.keyKind == .bytes {
      separator = first.keyPrefix(min(last.commonPrefixCount(with: first) + 1, first.keyCount))
    }
    last = packer.entries[range.upperBound - 1]
    children.append(
      BranchEntry(
        separator: separator, reference: reference.rawValue, count: packer.childCount(range)))
  }

  /// Writes the entries `range` over a page of the run, or to a new one.
  private func writeNext(
    _ packer: LeafPacker, _ range: Range<Int>, in root: TreeRoot
  ) throws(StorageError) -> PageReference {
    guard let spare = spares.popLast() else { return try editor.rewriter.make(packer, range, of: root).reference }
    editor.rewriter.write(packer, range, over: spare.page, of: root)
    return spare.reference
  }

  /// Ends the run: gives up pages that nothing was written to. There is one leaf at least, if only an empty one.
  func finish(in root: TreeRoot) throws(StorageError) {
    if children.isEmpty {
      let reference = try writeNext(editor.packer(root.keyKind), 0..<0, in: root)
      children.append(BranchEntry(reference: reference.rawValue, count: ChildCount.word(0, mayHaveExtents: false)))
    }
    assert(!children.isEmpty, "a run leaves a leaf at least")
    for spare in spares { editor.pages.supersede(spare.reference, spare.page) }
    spares.removeAll(keepingCapacity: true)
  }
}
