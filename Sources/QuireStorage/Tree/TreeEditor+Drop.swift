// Giving up whole trees.

extension TreeEditor {
  /// Notes every page of a tree as replaced. Touches each once, in key order; the depth of the walk is bounded by the
  /// tree's levels.
  ///
  /// - Throws: `damagedPage` if two references lead to one page, or one to a page of another tree: its place would be
  ///   given out while something still refers to it. Also what reading throws.
  package func supersedeAll(of root: TreeRoot) throws(StorageError) {
    if root.reference.isNone { return }
    let page = try reader.page(root.reference, checksum: root.checksum, level: root.level)
    var seen = PageBits()
    try supersedeAll(
      below: page, root.reference, level: root.level, mayHaveExtents: root.mayHaveExtents, root, &seen)
  }

  private func supersedeAll(
    below page: PageBytes, _ reference: PageReference, level: Int, mayHaveExtents: Bool, _ root: TreeRoot,
    _ seen: inout PageBits
  ) throws(StorageError) {
    if !reference.isDirty {
      guard page.treeID == root.id.rawValue, !seen[reference.rawValue] else {
        throw store.damaged(reference, "\(root.id) refers to it, but not alone")
      }
      seen[reference.rawValue] = true
    }
    if level > 0 {
      for index in 0..<page.count {
        let child = PageReference(rawValue: page.references[index])
        let childPage = try reader.page(child, checksum: page.checksums[index], level: level - 1)
        try supersedeAll(
          below: childPage, child, level: level - 1, mayHaveExtents: ChildCount.mayHaveExtents(page.counts[index]),
          root, &seen)
      }
    } else if mayHaveExtents {
      try supersedeExtents(in: page, seen: &seen)
    }
    supersede(reference, page)
  }
}
