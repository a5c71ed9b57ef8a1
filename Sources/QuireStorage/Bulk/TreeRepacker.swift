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
  private let sources: UnsafeMutableRawPointer
  private var ends: [Int] = []

  /// The most leaves in one run.
  private static let runLength = 64

  /// A repacker for the running transaction of `editor`.
  package init(_ editor: TreeEditor, _ scope: Scope) {
    self.editor = editor
    self.scope = scope
    pageSize = editor.pageSize
    sources = UnsafeMutableRawPointer.allocate(byteCount: Self.runLength * editor.pageSize, alignment: 16)
  }

  deinit { sources.deallocate() }

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
    var key = key
    var looked = 0
    while root.level > 0, try seekBranch(key, in: root) {
      looked += editor.path[editor.depth - 1].page.count
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
    editor.path[0] = PathStep(
      page: page, reference: root.reference, index: editor.childIndex(key, in: page, root.keyKind))
    editor.depth = 1
    // Whether the way down is still the way to the key.
    var isOnKey = true
    while true {
      let step = editor.path[editor.depth - 1]
      if step.page.level == 1 { return true }
      var index = step.index
      while index < step.page.count, scope == .own, !isOwn(PageReference(rawValue: step.page.references[index])) {
        index += 1
        isOnKey = false
      }
      guard index < step.page.count else {
        editor.depth -= 1
        guard editor.depth > 0 else { return false }
        editor.path[editor.depth - 1].index += 1
        isOnKey = false
        continue
      }
      editor.path[editor.depth - 1].index = index
      let reference = PageReference(rawValue: step.page.references[index])
      page = try editor.reader.page(reference, checksum: step.page.checksums[index], level: step.page.level - 1)
      let child = isOnKey ? editor.childIndex(key, in: page, root.keyKind) : 0
      editor.path[editor.depth] = PathStep(page: page, reference: reference, index: child)
      editor.depth += 1
    }
  }

  // MARK: Packing

  /// Packs the children of the branch at the end of the path.
  private func repackBranch(_ root: inout TreeRoot) throws(StorageError) {
    let level = editor.depth - 1
    var index = 0
    var isChanged = false
    while index < editor.path[level].page.count {
      let run = try measure(from: index, of: editor.path[level].page)
      if run.pays, let packed = try pack(index..<(index + run.count), level, &root) {
        isChanged = true
        // The last page of a run has room: it is the first one of the next run.
        index += run.count == Self.runLength && packed > 1 ? packed - 1 : packed
      } else {
        index += max(1, run.count)
      }
    }
    guard isChanged, level > 0 else {
      if isChanged { try editor.tidy(level: 0, in: &root) }
      return
    }
    if editor.usedByteCount(editor.path[level].page) * 2 < pageSize, try editor.merge(level: level, in: root) {
      try editor.tidy(level: level - 1, in: &root)
    }
  }

  /// How many leaves from `index` on are in the scope, and whether packing them saves a tenth of them.
  private func measure(from index: Int, of branch: PageBytes) throws(StorageError) -> (count: Int, pays: Bool) {
    var count = 0
    var used = 0
    while index + count < branch.count, count < Self.runLength {
      let reference = PageReference(rawValue: branch.references[index + count])
      if scope == .own, !isOwn(reference) { break }
      let leaf = try editor.reader.page(reference, checksum: branch.checksums[index + count], level: 0)
      used += editor.usedByteCount(leaf) - PageLayout.headerByteCount
      count += 1
    }
    let room = pageSize - PageLayout.headerByteCount
    let needed = (used + room - 1) / room
    return (count, count > 1 && needed + max(1, count / 10) <= count)
  }

  /// Whether a page is in memory and of the running transaction's making.
  private func isOwn(_ reference: PageReference) -> Bool {
    guard reference.isDirty else { return false }
    let location = editor.store.frames.location(reference.frame)
    return !location.isPageNumber && PageBytes(location.slot).birth == editor.csn
  }

  /// Packs the leaves `run` of the branch `path[level]`; returns how many there are now, or nil if nothing was changed
  /// because it would save nothing.
  private func pack(_ run: Range<Int>, _ level: Int, _ root: inout TreeRoot) throws(StorageError) -> Int? {
    let packer = editor.packer(root.keyKind)
    packer.removeAll()
    for index in run {
      let branch = editor.path[level].page
      let reference = PageReference(rawValue: branch.references[index])
      let leaf = try editor.reader.page(reference, checksum: branch.checksums[index], level: 0)
      if !reference.isDirty, leaf.checksum != branch.checksums[index] { throw editor.notTheVersion(reference) }
      if leaf.isFromDisk {
        let bounds = editor.bounds(ofChildAt: level).child(index, of: branch)
        let count = ChildCount.count(branch.counts[index])
        try editor.check(leaf, reference, count: count, within: bounds, in: root)
      }
      let copy = PageBytes(sources + (index - run.lowerBound) * pageSize)
      copy.base.copyMemory(from: leaf.base, byteCount: pageSize)
      packer.append(copy, 0..<copy.count)
    }
    packer.cuts(limit: pageSize, fills: true, into: &ends)
    guard ends.count < run.count else { return nil }
    let separators = separators(packer, root.keyKind)
    // New separators may be longer than the old ones; a branch that they overfill stays as it is.
    guard fits(run, separators, level, root) else { return nil }
    try editor.makePathPrivate(&root, levels: level + 1)
    try write(packer, run, separators, level, root)
    return ends.count
  }

  /// The separators in front of all new leaves but the first.
  private func separators(_ packer: LeafPacker, _ kind: KeyKind) -> [OwnedKey] {
    ends.dropLast().map { end in
      Separator.between(packer.entries[end - 1].splitKey, packer.entries[end].splitKey, keyKind: kind)
    }
  }

  /// Whether the branch `path[level]` has room for the separators in the place of those of `run`.
  private func fits(_ run: Range<Int>, _ separators: [OwnedKey], _ level: Int, _ root: TreeRoot) -> Bool {
    let branch = editor.path[level].page
    let count = branch.count - run.count + separators.count + 1
    let arrays = PageBytes.branchArraysEnd(count: count, hasIntegerKeys: branch.hasIntegerKeys)
    guard root.keyKind == .bytes, count > 1 else { return arrays <= pageSize }
    let kept = (1..<max(1, branch.count)).filter { $0 <= run.lowerBound || $0 >= run.upperBound }
    var total = 0
    for index in kept { total += branch.branchKey(index).count }
    for separator in separators { total += separator.bytes.count }
    // The prefix is what the first and the last separator share; the run's lie between those on its sides.
    let firstKept = kept.first.flatMap { $0 <= run.lowerBound || separators.isEmpty ? branch.branchKey($0).bytes : nil }
    let lastKept = kept.last.flatMap { $0 >= run.upperBound || separators.isEmpty ? branch.branchKey($0).bytes : nil }
    let first = firstKept ?? separators.first?.bytes ?? []
    let last = lastKept ?? separators.last?.bytes ?? []
    let prefix = count > 2 ? zip(first, last).prefix { $0 == $1 }.count : 0
    return arrays + prefix + total + (count - 1) * (PageLayout.branchCellHeader - prefix) <= pageSize
  }

  /// Writes the packed leaves and the branch above them.
  private func write(
    _ packer: LeafPacker, _ run: Range<Int>, _ separators: [OwnedKey], _ level: Int, _ root: TreeRoot
  ) throws(StorageError) {
    let branch = editor.path[level].page
    var made: [BranchEntry] = []
    var start = 0
    for (place, end) in ends.enumerated() {
      let target = try page(for: run.lowerBound + place, of: branch, root)
      packer.encode(start..<end, into: target.page)
      made.append(
        BranchEntry(
          separator: SplitKey(integer: 0), reference: target.reference.rawValue, checksum: 0,
          count: packer.childCount(start..<end)))
      start = end
    }
    for index in (run.lowerBound + ends.count)..<run.upperBound {
      let reference = PageReference(rawValue: branch.references[index])
      editor.supersede(reference, PageBytes(sources + (index - run.lowerBound) * pageSize))
    }
    let bytes = separators.flatMap(\.bytes)
    bytes.withUnsafeBytes { bytes in
      var offset = 0
      for (index, separator) in separators.enumerated() {
        let back = UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + separator.bytes.count)])
        made[index + 1].separator = SplitKey(front: UnsafeRawBufferPointer(start: nil, count: 0), back: back)
        made[index + 1].separator.integer = separator.integer
        offset += separator.bytes.count
      }
      editor.replaceChildren(run, of: level, by: made, in: root)
    }
  }

  /// The page that a new leaf is written to: that of an old one, if it may be edited in place.
  private func page(
    for index: Int, of branch: PageBytes, _ root: TreeRoot
  ) throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    let reference = PageReference(rawValue: branch.references[index])
    if reference.isDirty {
      let location = editor.store.frames.location(reference.frame)
      if !location.isPageNumber, editor.isPrivate(reference, PageBytes(location.slot)) {
        let page = PageBytes(location.slot)
        editor.initialize(page, kind: .leaf, level: 0, keyKind: root.keyKind, treeID: root.id.rawValue)
        return (page, reference)
      }
    }
    let old = try editor.reader.page(reference, checksum: branch.checksums[index], level: 0)
    let new = try editor.makePage(kind: .leaf, level: 0, keyKind: root.keyKind, treeID: root.id.rawValue)
    editor.supersede(reference, old)
    return new
  }
}

extension TreeEditor {
  /// Writes the private branch `path[level]` anew with other children in the place of `range`. The first of them keeps
  /// the separator of the first one replaced.
  func replaceChildren(_ range: Range<Int>, of level: Int, by new: [BranchEntry], in root: TreeRoot) {
    let branch = path[level].page
    takeApart(branch, replacing: range, by: new)
    initialize(branch, kind: .branch, level: root.level - level, keyKind: root.keyKind, treeID: root.id.rawValue)
    PageEncoder.encodeBranch(branchEntries[...], into: branch, pageSize: pageSize)
  }
}
