// How full the leaves of a tree are, without reading all of them.

extension TreeReader {
  private static let sampleCount = 16

  /// The fill of a few leaves at equal distances, from 0 to 1; 1 for a tree that is too small to matter. Reads a leaf
  /// and the way to it for each.
  package func sampledFill(of root: TreeRoot) throws(StorageError) -> Double {
    guard root.level > 0, root.count >= 4 * Self.sampleCount else { return 1 }
    var used = 0
    for sample in 0..<Self.sampleCount {
      var rest = UInt64(root.count / Self.sampleCount * sample)
      var page = try self.page(root.reference, checksum: root.checksum, level: root.level)
      while page.level > 0 {
        var index = 0
        while index < page.count - 1, rest >= ChildCount.count(page.counts[index]) {
          rest -= ChildCount.count(page.counts[index])
          index += 1
        }
        page = try self.page(
          PageReference(rawValue: page.references[index]), checksum: page.checksums[index], level: page.level - 1)
      }
      used += page.usedByteCount(pageSize: pageSize)
    }
    return Double(used) / Double(Self.sampleCount * pageSize)
  }
}
