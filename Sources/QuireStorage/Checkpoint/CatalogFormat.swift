// What the catalog, the tree of trees, stores under a tree's id.
//
//   0       kind of keys
//   1       level of the root
//   2..<10  root page, 0 for an empty tree
//   10..<18 checksum of the root
//   18..<26 number of entries; with bit 63 leaves of the tree may hold extents, as in a branch
//   26...   name

/// The entries of the catalog: an ordinary tree with integer keys, written by checkpoints only.
package enum CatalogFormat {
  package static let headerByteCount = 26

  /// The bytes for a tree whose root is clean.
  package static func encode(_ root: TreeRoot, name: String) -> [UInt8] {
    var writer = ByteWriter(byteCount: headerByteCount)
    writer.put(root.keyKind.rawValue, at: 0)
    writer.put(UInt8(root.level), at: 1)
    writer.put(root.reference.rawValue, at: 2)
    writer.put(root.checksum, at: 10)
    writer.put(ChildCount.word(root.count, mayHaveExtents: root.mayHaveExtents), at: 18)
    return writer.bytes + Array(name.utf8)
  }

  /// The tree that the bytes describe; nil if they break the format.
  package static func decode(_ bytes: [UInt8], id: TreeID, pageCount: UInt64) -> (root: TreeRoot, name: String)? {
    guard bytes.count > headerByteCount, let keyKind = KeyKind(rawValue: bytes[0]) else { return nil }
    let reader = ByteReader(bytes)
    let number = reader.word(at: 2)
    let level = Int(bytes[1])
    let count = ChildCount.count(reader.word(at: 18))
    guard number == 0 || (number >= 2 && number < pageCount), level < Limits.treeLevels,
      count <= Limits.entryCount, (number == 0) == (count == 0),
      let name = String(validating: bytes[headerByteCount...], as: UTF8.self)
    else { return nil }
    let root = TreeRoot(
      id: id, keyKind: keyKind, reference: PageReference(PageNumber(number)), checksum: reader.word(at: 10),
      level: level, count: Int(count), mayHaveExtents: ChildCount.mayHaveExtents(reader.word(at: 18)))
    return (root, name)
  }
}
