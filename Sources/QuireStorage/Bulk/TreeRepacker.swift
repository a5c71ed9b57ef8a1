// Packing leaves that random inserts and deletes have left half empty: neighbours are written anew, full.

/// Rewrites runs of under-filled neighbour leaves below one branch after the other.
///
/// A run is read into memory, packed, and written over its first pages; what is left over is given up. The branch above
/// gets fewer children; a branch that falls below a half is merged with a neighbour. Shape changes, entries do not.
package final class TreeRepacker {
  /// Which leaves are looked at.
  package enum Scope {
    /// Those that the running transaction has made and that are in memory: no I/O.
    case own
    /// All.
    case all
  }

  private let editor: TreeEditor
  private let pageSize: Int
  private let scope: Scope
  private let runs: LeafRunWriter
  private var ends: [Int] = []
  /// The frames that the running transaction has made, as far as `notedCount` of `born` tells: most children of a
  /// branch are of earlier commits, and a look into each of those would wait for memory.
  private var ownFrames: PageBits = []
  private var notedCount = 0

  /// A repacker for the running transaction of `editor`.
  package init(_ editor: TreeEditor, _ scope: Scope) {
    self.editor = editor
    self.scope = scope
    pageSize = editor.pageSize
    runs = LeafRunWriter(editor, copiesAll: true)
  }

  /// Packs leaves from the one that `key` belongs to on, in key order, until at least `leafLimit` of them have been
  /// looked at, and then to the end of their branch.
  ///
  /// - Parameter key: where to begin; nil for the first leaf. Integer keys are given as eight bytes, in their ordered
  ///   form and big-endian.
  /// - Returns: the key to go on with, which is above `key`, or nil at the end of the tree.
  /// - Throws: what reading and editing pages throws; the tree is then half changed.
  package func repack(
    _ root: inout TreeRoot, from key: [UInt8]?, leafLimit: Int
  ) throws(StorageError) -> [UInt8]? {
    editor.forgetRightmostLeaf()
    // Room may have been made since the last call, which shortens the list.
    if editor.pages.born.count < notedCount { (ownFrames, notedCount) = ([], 0) }
    var key = key
    var looked = 0
    while root.level > 0, try seekBranch(key, in: root) {
      looked += editor.path[editor.path.depth - 1].page.count
      key = try editor.keyBehindPath(key, in: root)
      try repackBranch(&root)
      if key == nil || looked >= leafLimit { return key }
    }
    return nil
  }

  // MARK: Finding branches

  /// Fills the editor's path down to the first branch above leaves, at or behind `key`, that may have leaves of the
  /// scope; false if there is none.
  private func seekBranch(_ key: [UInt8]?, in root: TreeRoot) throws(StorageError) -> Bool {
    guard scope == .all || isOwn(root.reference) else { return false }
    var page = try editor.reader.page(root.reference, checksum: root.checksum, level: root.level)
    editor.path.depth = 0
    editor.path.append(
      PathStep(page: page, reference: root.reference, index: editor.childIndex(key, in: page, root.keyKind)))
    // Whether the way down is still the way to the key.
    var isOnKey = true
    while true {
      let step = editor.path[editor.path.depth - 1]
      if step.page.level == 1 { return true }
      var index = step.index
      while index < step.page.count, scope == .own, !isOwn(PageReference(rawValue: step.page.references[index])) {
        index += 1
        isOnKey = false
      }
      guard index < step.page.count else {
        editor.path.depth -= 1
        guard editor.path.depth > 0 else { return false }
        editor.path[editor.path.depth - 1].index += 1
        isOnKey = false
        continue
      }
      editor.path[editor.path.depth - 1].index = index
      let reference = PageReference(rawValue: step.page.references[index])
      page = try editor.reader.page(reference, checksum: step.page.checksums[index], level: step.page.level - 1)
      let child = isOnKey ? editor.childIndex(key, in: page, root.keyKind) : 0
      editor.path.append(PathStep(page: page, reference: reference, index: child))
    }
  }

  // MARK: Packing

  /// Packs the children of the branch at the end of the path.
  private func repackBranch(_ root: inout TreeRoot) throws(StorageError) {
    let level = editor.path.depth - 1
    var index = 0
    var isChanged = false
    while index < editor.path[level].page.count {
      let run = try measure(from: index, of: editor.path[level].page)
      if run.pays, let packed = try pack(index..<(index + run.count), level, &root) {
        isChanged = true
        if packed.isSplit { return }
        // The last page of a run has room: it is the first one of the next run.
        index += run.count == runs.runLimit && packed.count > 1 ? packed.count - 1 : packed.count
      } else {
        index += max(1, run.count)
      }
    }
    guard isChanged, level > 0 else {
      if isChanged { try editor.tidy(level: 0, in: &root) }
      return
    }
    if editor.path[level].page.usedByteCount(pageSize: pageSize) * 2 < pageSize,
      try editor.merge(level: level, in: root)
    {
      try editor.tidy(level: level - 1, in: &root)
    }
  }

  /// How many leaves from `index` on are in the scope, and whether packing them saves a tenth of them.
  private func measure(from index: Int, of branch: PageBytes) throws(StorageError) -> (count: Int, pays: Bool) {
    var count = 0
    var used = 0
    while index + count < branch.count, count < runs.runLimit {
      let reference = PageReference(rawValue: branch.references[index + count])
      if scope == .own, !isOwn(reference) { break }
      let leaf = try editor.reader.page(reference, checksum: branch.checksums[index + count], level: 0)
      used += leaf.usedByteCount(pageSize: pageSize) - PageLayout.headerByteCount
      count += 1
    }
    let room = pageSize - PageLayout.headerByteCount
    let needed = (used + room - 1) / room
    return (count, count > 1 && needed + max(1, count / 10) <= count)
  }

  /// Whether a page is in memory and of the running transaction's making.
  private func isOwn(_ reference: PageReference) -> Bool {
    guard reference.isDirty else { return false }
    if notedCount < editor.pages.born.count { noteFrames() }
    guard ownFrames[UInt64(reference.frame.rawValue)] else { return false }
    let location = editor.store.frames.location(reference.frame)
    return !location.isPageNumber && PageBytes(location.slot).birth == editor.pages.csn
  }

  private func noteFrames() {
    for frame in editor.pages.born.from(notedCount) { ownFrames[UInt64(frame.rawValue)] = true }
    notedCount = editor.pages.born.count
  }

  /// Packs the leaves `run` of the branch `path[level]`.
  ///
  /// - Returns: how many there are now, and whether the branch has been split, as new separators may be longer than the
  ///   old ones: the path then leads astray. Nil if packing would save nothing; then nothing has changed.
  private func pack(
    _ run: Range<Int>, _ level: Int, _ root: inout TreeRoot
  ) throws(StorageError) -> (count: Int, isSplit: Bool)? {
    let packer = editor.packer(root.keyKind)
    assert(run.count <= runs.runLimit, "a run has no more leaves than its limit")
    runs.begin()
    for index in run {
      let copy = runs.copy(try leaf(index, level, root))
      packer.append(copy, 0..<copy.count)
    }
    packer.cuts(limit: pageSize, fills: true, into: &ends)
    guard ends.count < run.count else { return nil }
    try editor.makePathPrivate(&root, levels: level + 1)
    let branch = editor.path[level].page
    for index in run {
      let reference = PageReference(rawValue: branch.references[index])
      let leaf = try editor.reader.page(reference, checksum: branch.checksums[index], level: 0)
      runs.take(leaf, reference, isPrivate: editor.pages.isPrivate(reference, leaf))
    }
    assert(ends.count < run.count, "packing saves a leaf at least")
    try runs.write(packer, cutAt: ends[...], in: root)
    try runs.finish(in: root)
    let isSplit = try editor.replaceLeaves(run, of: level, by: runs.children, in: &root)
    return (runs.children.count, isSplit)
  }

  /// Reads a leaf of the branch `path[level]` and looks whether it is fit to be taken apart.
  private func leaf(_ index: Int, _ level: Int, _ root: TreeRoot) throws(StorageError) -> PageBytes {
    let branch = editor.path[level].page
    let reference = PageReference(rawValue: branch.references[index])
    let leaf = try editor.reader.page(reference, checksum: branch.checksums[index], level: 0)
    try editor.checkFitness(ofChild: index, leaf, below: level, in: root)
    return leaf
  }
}
