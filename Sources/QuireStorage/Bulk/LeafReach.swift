// How many leaves a sorted batch falls into, found out without touching any of them.

/// About what it takes to merge sorted operations into a tree.
struct LeafReach {
  /// How many of the tree's leaves they fall into.
  private(set) var leafCount = 0
  /// How many pages of those leaves, and of new ones, would become dirty.
  private(set) var dirtiedCount = 0
  /// The bytes of the operations' keys and values.
  let byteCount: Int

  /// How many pairs of neighbours are looked at.
  private static let sampleCount = 256

  /// Looks at some operations and the ones before them: where these fall into different leaves, one more leaf is
  /// touched. Takes two descents for each to the branch above the leaves; no leaf is read. The standard error is a
  /// thirtieth of the operations' number at the most.
  ///
  /// - Parameters:
  ///   - byteCount: the bytes of the operations' keys and values.
  ///   - renewEpoch: called between two descents, where no address is held.
  /// - Throws: what reading branches throws.
  init(
    of operations: UnsafeBufferPointer<SortableOperation>, _ byteCount: Int, in root: TreeRoot, _ editor: TreeEditor,
    renewEpoch: () -> Void
  ) throws(StorageError) {
    self.byteCount = byteCount
    guard !operations.isEmpty, !root.reference.isNone else {
      dirtiedCount = byteCount / editor.pageSize + 1
      return
    }
    let stride = max(1, operations.count / Self.sampleCount)
    // The first operation has none before it, and falls into one leaf.
    var (sampled, entered, dirtied) = (0, 0, 0)
    var index = stride
    while index < operations.count {
      renewEpoch()
      let before = try editor.reader.leafReference(of: operations[index - 1].searchKey(root.keyKind), in: root)
      let leaf = try editor.reader.leafReference(of: operations[index].searchKey(root.keyKind), in: root)
      sampled += 1
      if leaf != before {
        entered += 1
        if !editor.isPrivate(leaf) { dirtied += 1 }
      }
      index += stride
    }
    assert(dirtied <= entered && entered <= sampled, "more leaves are dirtied than entered")
    let pairs = operations.count - 1
    leafCount = 1 + pairs * entered / max(1, sampled)
    dirtiedCount = 1 + pairs * dirtied / max(1, sampled) + byteCount / editor.pageSize
  }

  /// The bytes of the operations' keys and values; of a number as key, those that a run has of it.
  static func byteCount(of operations: UnsafeBufferPointer<SortableOperation>, _ kind: KeyKind) -> Int {
    let bytes = operations.reduce(0) { $0 + Int($1.keyCount) + Int($1.valueCount) }
    return kind == .int64 ? bytes + operations.count * MemoryLayout<Int64>.size : bytes
  }
}

extension TreeReader {
  /// The leaf that a key belongs to. Touches the branches on the way, and not the leaf.
  func leafReference(of key: SearchKey, in root: TreeRoot) throws(StorageError) -> PageReference {
    assert(!root.reference.isNone, "an empty tree has no leaf")
    var (level, reference, checksum) = (root.level, root.reference, root.checksum)
    while level > 0 {
      let page = try page(reference, checksum: checksum, level: level)
      let index = page.childIndex(key)
      level &-= 1
      (reference, checksum) = (PageReference(rawValue: page.references[index]), page.checksums[index])
    }
    return reference
  }
}

extension TreeEditor {
  /// Whether a page is in memory and may be edited in place.
  fileprivate func isPrivate(_ reference: PageReference) -> Bool {
    guard reference.isDirty else { return false }
    let location = store.frames.location(reference.frame)
    return !location.isPageNumber && pages.isPrivate(reference, PageBytes(location.slot))
  }
}
