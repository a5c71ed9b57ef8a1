// Writing leaves anew: the one way from packed entries to leaves of a tree.

/// Writes the entries of a packer to leaves of the running transaction.
///
/// A leaf is edited in place (`LeafWriter`), divided as it is (`LeafDivision`), or written anew: then its entries come
/// from a `LeafPacker` and go through here, one leaf, several in the place of one, or those of a run.
///
/// Invariants:
/// 1. Only pages that the transaction may edit in place are written over.
/// 2. No entry lies in a page that is written over: what `entries(of:isPrivate:)` returns stays until the leaf has been
///    written.
struct LeafRewriter {
  private let editor: TreeEditor

  /// A rewriter for the running transaction of `editor`.
  @inline(__always) init(_ editor: TreeEditor) { self.editor = editor }

  /// A leaf as it is now, for as long as it takes to write others in its place: the leaf itself, or a copy in the
  /// editor's scratch memory if the leaf is private and will be written over.
  @inline(__always) func entries(of leaf: PageBytes, isPrivate: Bool) -> PageBytes {
    assert(leaf.level == 0, "a branch is taken for a leaf")
    if !isPrivate { return leaf }
    editor.scratch.copyMemory(from: leaf.base, byteCount: editor.pageSize)
    return PageBytes(editor.scratch)
  }

  // MARK: One leaf

  /// Writes the entries `range`, which must fit, over a private leaf.
  func write(_ packer: LeafPacker, _ range: Range<Int>, over leaf: PageBytes, of root: TreeRoot) {
    assert(leaf.step >= editor.pages.step, "a leaf that others see is written over")
    assert(packer.isApart(from: leaf), "entries lie in the leaf that is written over")
    editor.pages.initializeLeaf(leaf, of: root)
    packer.encode(range, into: leaf)
  }

  /// Makes a leaf of the entries `range`, which must fit.
  func make(
    _ packer: LeafPacker, _ range: Range<Int>, of root: TreeRoot
  ) throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    let leaf = try editor.pages.makeLeaf(of: root)
    packer.encode(range, into: leaf.page)
    return leaf
  }

  /// Makes leaves of the entries from `start` on, each up to the next of `ends`, for the parent of the one before.
  func make(
    _ packer: LeafPacker, from start: Int, ends: ArraySlice<Int>, of root: TreeRoot
  ) throws(StorageError) -> [SplitPage] {
    assert(start > 0 || ends.isEmpty, "a leaf that is made has one before it")
    var made: [SplitPage] = []
    var start = start
    for end in ends {
      let leaf = try make(packer, start..<end, of: root)
      let separator = Separator.between(
        packer.entries[start - 1].splitKey, packer.entries[start].splitKey, keyKind: root.keyKind)
      made.append(SplitPage(separator: separator, reference: leaf.reference, count: packer.childCount(start..<end)))
      start = end
    }
    return made
  }

  // MARK: The leaf at the end of the path

  /// The empty page in the place of the leaf at the end of the path, whose parent is private: that page itself if it is
  /// private, otherwise a new one, and the old one is given up.
  @inline(__always) func vacate(isPrivate: Bool, in root: inout TreeRoot) throws(StorageError) -> PageBytes {
    let level = editor.path.depth - 1
    let (leaf, reference) = (editor.path[level].page, editor.path[level].reference)
    assert(isPrivate == editor.pages.isPrivate(reference, leaf), "whose leaf it is")
    if isPrivate {
      editor.pages.initializeLeaf(leaf, of: root)
      return leaf
    }
    let made = try editor.pages.makeLeaf(of: root)
    editor.pages.supersede(reference, leaf)
    editor.replaceReference(at: level, by: made, in: &root)
    return made.page
  }

  /// Writes all entries in the place of the leaf at the end of the path, whose parent is private, over as many leaves
  /// as they take, and corrects the counts above; the root's own count stays as it is. Without entries an empty leaf
  /// is left.
  ///
  /// - Parameter fills: whether leaves are filled to the brim, for ascending keys.
  /// - Returns: whether there is one leaf still; otherwise the path leads astray.
  @discardableResult
  func rewrite(
    _ packer: LeafPacker, isPrivate: Bool, fills: Bool, in root: inout TreeRoot
  ) throws(StorageError) -> Bool {
    let level = editor.path.depth - 1
    packer.cuts(limit: editor.pageSize, fills: fills, into: &editor.leafEnds)
    let end = editor.leafEnds.first ?? 0
    assert((editor.leafEnds.last ?? 0) == packer.count, "the last leaf ends with the last entry")
    let leaf = try vacate(isPrivate: isPrivate, in: &root)
    assert(packer.isApart(from: leaf), "entries lie in the leaf that is written over")
    packer.encode(0..<end, into: leaf)
    let added = try make(packer, from: end, ends: editor.leafEnds.dropFirst(), of: root)
    try editor.addToParent(of: level, firstCount: packer.childCount(0..<end), added, in: &root)
    return added.isEmpty
  }
}

extension TreeEditor {
  /// Writes leaves anew.
  @inline(__always) var rewriter: LeafRewriter { LeafRewriter(self) }
}
