// Copying a tree of one file into another: read in key order, built anew from the bottom up.

/// Reads trees of a snapshot past the cache and builds them anew in the running transaction of another engine.
///
/// What is read is checked as `TreeVerifier` checks it, as far as the copy rests on it: order, heads, limits, the
/// separators above. The walk keeps one page for each level, never recurses, and ends if it has seen more pages than
/// there are: a damaged source ends in an error, whatever the damage is.
package final class TreeCopier {
  private struct Visit {
    let page: PageBytes
    let bounds: KeyBounds
    var child = 0
  }

  private let source: PageStore
  private let pages: WalkPages
  private let editor: TreeEditor
  private let pageLimit: Int
  private let checkWritable: () throws(StorageError) -> Void
  private let key: UnsafeMutableRawPointer
  /// Pages of the source seen so far, those of extents included.
  package private(set) var pageCount = 0
  /// Entries copied so far.
  package private(set) var entryCount = 0

  /// - Parameters:
  ///   - source: whose trees these are; its pages have the size of the target's.
  ///   - pages: where they are taken from. The snapshot must be announced as long as this object copies.
  ///   - pageLimit: how many pages the snapshot can have at the most.
  ///   - editor: the running transaction's, in the target.
  ///   - checkWritable: throws if the target can be written no more.
  package init(
    _ source: PageStore, _ pages: WalkPages, pageLimit: Int, into editor: TreeEditor,
    checkWritable: @escaping () throws(StorageError) -> Void
  ) {
    self.source = source
    self.pages = pages
    self.pageLimit = pageLimit
    self.editor = editor
    self.checkWritable = checkWritable
    key = UnsafeMutableRawPointer.allocate(byteCount: 2 * Limits.keyByteCount, alignment: 16)
  }

  deinit { key.deallocate() }

  /// Copies the tree at `root`, which keeps its id; returns the root of the copy.
  ///
  /// - Parameter step: called behind each leaf, when no address of a page is held; the builder has what is complete.
  /// - Throws: `damagedPage`, `truncatedFile`, `inputOutput` from the source, `diskFull`, `inputOutput` and
  ///   `limitReached` from the target, and what `step` throws.
  package func copy(_ root: TreeRoot, step: (TreeBuilder) throws -> Void) throws -> TreeRoot {
    let builder = TreeBuilder(editor, for: root)
    guard !root.reference.isNone else { return try builder.finish() }
    var visits = [try visit(root.reference, root.checksum, level: root.level, KeyBounds(), root)]
    while let last = visits.last {
      if last.page.level == 0 {
        try copyEntries(of: last.page, builder)
        visits.removeLast()
        try step(builder)
      } else if last.child < last.page.count {
        visits[visits.count - 1].child += 1
        visits.append(
          try visit(
            PageReference(rawValue: last.page.references[last.child]), last.page.checksums[last.child],
            level: last.page.level - 1, last.bounds.child(last.child, of: last.page), root))
      } else {
        visits.removeLast()
      }
    }
    guard builder.count == root.count else {
      throw source.damaged(root.reference, "its tree has \(builder.count) entries and not \(root.count)")
    }
    return try builder.finish()
  }

  private func visit(
    _ reference: PageReference, _ checksum: UInt64, level: Int, _ bounds: KeyBounds, _ root: TreeRoot
  ) throws(StorageError) -> Visit {
    let page = try pages.page(reference, checksum: checksum, level: level)
    if let defect = PageOrder.defect(in: page, of: root, within: bounds, pageSize: source.pageSize) {
      throw source.damaged(reference, defect)
    }
    guard page.level == level else {
      throw source.damaged(reference, "its level is \(page.level) where \(level) was expected")
    }
    try count(1, reference)
    return Visit(page: page, bounds: bounds)
  }

  private func count(_ pages: Int, _ reference: PageReference) throws(StorageError) {
    pageCount += pages
    guard pageCount <= pageLimit else { throw source.damaged(reference, "more than one reference leads to it") }
  }

  private func copyEntries(of page: PageBytes, _ builder: TreeBuilder) throws(StorageError) {
    let prefixCount = page.prefixCount
    if prefixCount > 0 { key.copyMemory(from: page.prefix, byteCount: prefixCount) }
    for index in 0..<page.count {
      let cell = page.leafCell(index)
      var search = SearchKey(ordered: 0)
      if page.hasIntegerKeys {
        search = SearchKey(ordered: page.orderedKey(index))
      } else {
        search = SearchKey(base: UnsafeRawPointer(key), count: page.copyLeafKey(index, behindPrefixAt: key))
      }
      if cell.isExtent {
        let extent = cell.extent
        try count(extent.layout(pageSize: source.pageSize).pageCount, PageReference(extent.first))
        let copy = try editor.pages.copyExtent(extent, of: source, checkWritable: checkWritable)
        try copy.withBytes { (bytes) throws(StorageError) in
          try builder.append(search, CellValue(bytes, isExtent: true))
        }
      } else {
        try builder.append(search, CellValue(UnsafeRawBufferPointer(start: cell.value, count: cell.valueCount)))
      }
    }
    entryCount += page.count
  }
}
