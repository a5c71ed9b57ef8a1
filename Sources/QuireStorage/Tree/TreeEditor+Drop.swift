// Giving up whole trees.

extension TreeEditor {
  /// Notes every page of a tree as replaced. Touches each once, in key order; the depth of the walk is bounded by the
  /// tree's levels.
  package func supersedeAll(of root: TreeRoot) throws(StorageError) {
    if root.reference.isNone { return }
    let page = try reader.page(root.reference, checksum: root.checksum, level: root.level)
    try supersedeAll(below: page, root.reference, level: root.level)
  }

  private func supersedeAll(
    below page: PageBytes, _ reference: PageReference, level: Int
  ) throws(StorageError) {
    if level > 0 {
      for index in 0..<page.count {
        let child = PageReference(rawValue: page.references[index])
        let childPage = try reader.page(child, checksum: page.checksums[index], level: level - 1)
        try supersedeAll(below: childPage, child, level: level - 1)
      }
    }
    supersede(reference, page)
  }
}
