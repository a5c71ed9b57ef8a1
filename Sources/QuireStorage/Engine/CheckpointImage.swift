// What another process needs to open a database at one checkpoint, besides the data file.

/// A checkpoint as it is told to whoever opens the data file beside the engine that has it open.
///
/// The meta page, and what the catalog says of each tree. Catalog and free map themselves are not among the pages that
/// a snapshot holds: each checkpoint replaces them, and no reader of the engine's ever looks at them on the disk. So
/// they are told, and never read.
package struct CheckpointImage: Sendable, Equatable {
  /// One tree: its id, and the entry of the catalog in the catalog's format.
  package struct Entry: Sendable, Equatable {
    package let id: UInt64
    package let bytes: [UInt8]

    /// An entry; nothing is checked before an engine opens it.
    package init(id: UInt64, bytes: [UInt8]) {
      self.id = id
      self.bytes = bytes
    }
  }

  /// The first bytes of the meta page, as in slot 0.
  package let meta: [UInt8]
  /// Which file it is.
  package let identity: FileIdentity
  /// The trees, in the order of their ids.
  package let entries: [Entry]

  /// Puts the parts together; nothing is checked before an engine opens it.
  package init(meta: [UInt8], identity: FileIdentity, entries: [Entry]) {
    self.meta = meta
    self.identity = identity
    self.entries = entries
  }

  /// The meta page; nil if the bytes are none.
  package var metaPage: MetaPage? {
    guard case .valid(let page) = MetaPage.decode(meta, slot: 0) else { return nil }
    return page
  }

  /// The trees; nil if an entry breaks the format, or does not fit a file of `pageCount` pages.
  func trees(pageCount: UInt64) -> (trees: [TreeRoot], names: TreeNames)? {
    var trees: [TreeRoot] = []
    var names: [TreeID: String] = [:]
    var ids: [String: TreeID] = [:]
    for entry in entries {
      guard entry.id > (trees.last?.id.rawValue ?? 0), entry.id < Limits.treeID,
        let (root, name) = CatalogFormat.decode(entry.bytes, id: TreeID(entry.id), pageCount: pageCount),
        ids.updateValue(root.id, forKey: name) == nil
      else { return nil }
      trees.append(root)
      names[root.id] = name
    }
    return (trees, TreeNames(names))
  }
}
