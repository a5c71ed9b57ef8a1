// What a snapshot knows of a tree.

/// One tree in one snapshot: where its root is and how much it holds.
package struct TreeRoot {
  package let id: TreeID
  package let keyKind: KeyKind
  /// Whether leaves of the tree may hold references to extents.
  package var mayHaveExtents: Bool
  /// The root page, or `.none` for an empty tree.
  package var reference: PageReference
  /// The root's checksum, if the reference is clean.
  package var checksum: UInt64
  /// The root's level: 0 if it is a leaf.
  package var level: Int
  /// The number of entries.
  package var count: Int

  /// A root; without a reference that of an empty tree.
  package init(
    id: TreeID, keyKind: KeyKind, reference: PageReference = .none, checksum: UInt64 = 0, level: Int = 0,
    count: Int = 0, mayHaveExtents: Bool = false
  ) {
    self.id = id
    self.keyKind = keyKind
    self.reference = reference
    self.checksum = checksum
    self.level = level
    self.count = count
    self.mayHaveExtents = mayHaveExtents
  }

  /// Replaces a root that has been written home by the page number that it got. The caller protects the entry.
  package mutating func translate(_ frames: FrameTable) {
    guard reference.isDirty else { return }
    let location = frames.location(reference.frame)
    guard location.isPageNumber else { return }
    checksum = frames.checksum(reference.frame)
    reference = PageReference(location.pageNumber)
  }
}
