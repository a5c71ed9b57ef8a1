// Moving through a tree of an extension.

internal import QuireStorage

/// A position in a tree of an extension, moved in key order in both directions.
///
/// A new cursor is on no entry; `next` and `previous` on a new one start at the first and the last entry. For the
/// thread and the life of its transaction. Any change of the transaction to a stored tree ends it: its next step throws
/// `mutatedDuringIteration`; one over a tree in memory goes on in the tree as it was.
public final class ExtensionCursor<Key: ExtensionTreeKey> {
  private let state: TransactionState
  private var stored: Cursor?
  private let memory: MemoryTree
  /// Where a cursor over a tree in memory is: the rank of its entry, and the leaf that it is in.
  private var rank = -1
  private var leaf: (node: MemoryTree.Node, index: Int)?
  private var isFresh = true

  init(_ state: TransactionState, _ backing: ExtensionTreeBacking) throws(DatabaseError) {
    self.state = state
    try state.check()
    switch backing {
    case .stored(let tree):
      do throws(StorageError) { stored = try state.cursor(tree) } catch { throw DatabaseError(error) }
      memory = MemoryTree()
    case .memory(let place):
      stored = nil
      memory = try state.forest().trees[place] ?? MemoryTree()
    case .missing:
      stored = nil
      memory = MemoryTree()
    }
  }

  // MARK: Moving

  /// Goes to `key`, or to the first entry above it. Returns whether there is an entry at or above it. O(log n).
  public func seek(_ key: Key) throws -> Bool {
    try state.check()
    guard stored == nil else {
      return try state.wrapping { () throws(StorageError) in
        if let number = key.number { _ = try stored?.seek(number) } else { _ = try stored?.seek(key.orderedBytes) }
        return stored?.isOnEntry ?? false
      }
    }
    return moveInMemory(to: memory.rank(of: key.orderedBytes))
  }

  /// Goes to the entry with `index` entries below it; false if there are not so many. O(log n).
  public func seek(toIndex index: Int) throws -> Bool {
    try state.check()
    guard stored == nil else {
      guard index >= 0 else { return false }
      return try state.wrapping { () throws(StorageError) in try stored?.seek(toIndex: index) ?? false }
    }
    return moveInMemory(to: index)
  }

  /// Goes to the first entry; false if there is none.
  public func seekFirst() throws -> Bool {
    try state.check()
    guard stored == nil else {
      return try state.wrapping { () throws(StorageError) in try stored?.seekFirst() ?? false }
    }
    return moveInMemory(to: 0)
  }

  /// Goes to the last entry; false if there is none.
  public func seekLast() throws -> Bool {
    try state.check()
    guard stored == nil else {
      return try state.wrapping { () throws(StorageError) in try stored?.seekLast() ?? false }
    }
    return moveInMemory(to: memory.count - 1)
  }

  /// Goes to the next entry; false behind the last one.
  public func next() throws -> Bool {
    try state.check()
    guard stored == nil else {
      return try state.wrapping { () throws(StorageError) in try stored?.next() ?? false }
    }
    if isFresh { return moveInMemory(to: 0) }
    if let leaf, leaf.index + 1 < leaf.node.keys.count {
      self.leaf = (leaf.node, leaf.index + 1)
      rank += 1
      return true
    }
    return moveInMemory(to: min(rank, memory.count - 1) + 1)
  }

  /// Goes to the entry before; false in front of the first one.
  public func previous() throws -> Bool {
    try state.check()
    guard stored == nil else {
      return try state.wrapping { () throws(StorageError) in try stored?.previous() ?? false }
    }
    if isFresh { return moveInMemory(to: memory.count - 1) }
    if let leaf, leaf.index > 0 {
      self.leaf = (leaf.node, leaf.index - 1)
      rank -= 1
      return true
    }
    return moveInMemory(to: max(rank, 0) - 1)
  }

  private func moveInMemory(to rank: Int) -> Bool {
    isFresh = false
    self.rank = min(max(rank, -1), memory.count)
    leaf = memory.leaf(at: rank).map { ($0.leaf, $0.index) }
    return leaf != nil
  }

  // MARK: Looking

  /// Whether the cursor is on an entry.
  public var isOnEntry: Bool { stored?.isOnEntry ?? (leaf != nil) }

  /// The key of the entry; nil if the cursor is on none.
  public var key: Key? {
    guard stored == nil else { return stored?.key.flatMap { Key(orderedBytes: $0) } }
    return leaf.flatMap { Key(orderedBytes: $0.node.keys[$0.index]) }
  }

  /// The value of the entry, copied; nil if the cursor is on none.
  public var value: [UInt8]? {
    get throws {
      guard stored == nil else { return try state.wrapping { () throws(StorageError) in try stored?.value } }
      return leaf.map { $0.node.values[$0.index] }
    }
  }

  /// Key and value of the entry; nil if the cursor is on none.
  public var entry: (key: Key, value: [UInt8])? {
    get throws {
      guard let key, let value = try value else { return nil }
      return (key, value)
    }
  }
}
