// Moving through a tree of an extension.

internal import QuireStorage

/// A position in a tree of an extension, moved in key order in both directions.
///
/// A new cursor is on no entry; `next` and `previous` on a new one start at the first and the last entry. For the
/// thread and the life of its transaction. Any change of the transaction to a row, or to a tree or a value of an
/// extension, ends it, whether its tree is stored or in memory: its next step throws `mutatedDuringIteration`, which
/// names the extension and the tree. So does a step while an entry of the cursor is lent.
///
/// A step that throws otherwise leaves the cursor where it was, and can be taken again.
///
/// Invariants:
/// 1. A cursor over a stored tree has no `leaf`, and one over a tree in memory is on the entry of `rank` if it has one.
/// 2. While `isLent` nothing changes `stored`, `rank` and `leaf`.
public final class ExtensionCursor<Key: ExtensionTreeKey> {
  private let state: TransactionState
  private let extensionName: String
  private let treeName: String
  // Unchecked: one thread, which changes it in steps alone, and takes none while an entry is lent.
  @exclusivity(unchecked) private var uncheckedStored: Cursor?
  @exclusivity(unchecked) private var uncheckedIsLent = false
  private let memory: MemoryTree
  /// What a cursor over a tree in memory must not go on after: the counts of changes when it was made.
  private let mutationCount: Int
  private let extensionChangeCount: Int
  /// Where a cursor over a tree in memory is: the rank of its entry, and the leaf that it is in.
  private var rank = -1
  private var leaf: (node: MemoryTree.Node, index: Int)?
  private var isFresh = true
  /// How far the cursor has gone, if the transaction is observed.
  private let walk: RecordedTreeWalk?

  /// The cursor over a stored tree; nil of a tree in memory, or of none.
  private var stored: Cursor? {
    @inline(__always) _read { yield unsafe uncheckedStored }
    @inline(__always) _modify { yield unsafe &uncheckedStored }
  }

  /// Whether a closure holds the bytes of the entry.
  private var isLent: Bool {
    get { unsafe uncheckedIsLent }
    set { unsafe uncheckedIsLent = newValue }
  }

  init(_ tree: ExtensionTree<Key>) throws(DatabaseError) {
    state = tree.state
    extensionName = tree.extensionName
    treeName = tree.name
    try state.check()
    walk = state.recorder?.beginWalk(inTree: tree.name, of: tree.extensionName)
    mutationCount = state.mutationCount
    extensionChangeCount = state.writer?.extensionChangeCount ?? 0
    switch tree.backing {
    case .stored(let tree):
      do throws(StorageError) { unsafe uncheckedStored = try state.cursor(tree) } catch { throw DatabaseError(error) }
      memory = MemoryTree()
    case .memory(let place):
      memory = try state.forest().trees[place] ?? MemoryTree()
    case .missing: memory = MemoryTree()
    }
  }

  // MARK: Checks

  /// Runs a step of a cursor over a stored tree.
  private func step<Result>(_ body: () throws(StorageError) -> Result) throws(DatabaseError) -> Result {
    do throws(StorageError) { return try body() } catch {
      if error.code == .cursorInvalidated { throw mutated(error) }
      throw DatabaseError(error).inTree(treeName, of: extensionName)
    }
  }

  /// Throws if the transaction has changed something since a cursor over a tree in memory was made.
  private func checkMemory() throws(DatabaseError) {
    guard let writer = state.writer else { return }
    if state.mutationCount != mutationCount || writer.extensionChangeCount != extensionChangeCount {
      throw mutated(nil)
    }
  }

  private func mutated(_ cause: StorageError?) -> DatabaseError {
    DatabaseError(
      .mutatedDuringIteration,
      """
      The database was changed inside a loop over the tree “\(treeName)” of the extension “\(extensionName)”. End the \
      loop after the change, or collect what it yields first and make the changes afterwards.
      """, path: state.database.path, cause: cause)
  }

  /// Throws if the cursor cannot take a step: if the transaction is over, or an entry is lent.
  private func checkStep() throws(DatabaseError) {
    try state.check()
    guard isLent else { return }
    throw DatabaseError(
      .mutatedDuringIteration,
      """
      A cursor over the tree “\(treeName)” of the extension “\(extensionName)” was moved while its entry is lent. Move \
      it when the closure has returned, or use another cursor.
      """, path: state.database.path)
  }

  // MARK: Moving

  /// Goes to `key`, or to the first entry above it. Returns whether there is an entry at or above it. O(log n).
  public func seek(_ key: Key) throws -> Bool {
    try checkStep()
    let isFound: Bool
    if stored == nil {
      isFound = try moveInMemory(to: memory.rank(of: key.orderedBytes))
    } else {
      // The key's own code runs before the step, not in it.
      let (number, bytes) = (key.number, key.number == nil ? key.orderedBytes : [])
      try checkStep()
      isFound = try step { () throws(StorageError) in
        if let number { _ = try stored?.seek(number) } else { _ = try stored?.seek(bytes) }
        return stored?.isOnEntry ?? false
      }
    }
    if let walk { walk.look(from: key.orderedBytes, through: self.key?.orderedBytes) }
    return isFound
  }

  /// Goes to the entry with `index` entries below it; false if there are not so many. O(log n).
  public func seek(toIndex index: Int) throws -> Bool {
    try checkStep()
    if stored != nil, index < 0 { return false }
    return try moved(
      { () throws(StorageError) in try stored?.seek(toIndex: index) ?? false }, orInMemoryTo: index, looking: .downwards
    )
  }

  /// Goes to the first entry; false if there is none.
  public func seekFirst() throws -> Bool {
    try checkStep()
    return try moved(
      { () throws(StorageError) in try stored?.seekFirst() ?? false }, orInMemoryTo: 0, looking: .downwards)
  }

  /// Goes to the last entry; false if there is none.
  public func seekLast() throws -> Bool {
    try checkStep()
    return try moved(
      { () throws(StorageError) in try stored?.seekLast() ?? false }, orInMemoryTo: memory.count - 1, looking: .upwards)
  }

  /// Goes to the next entry; false behind the last one.
  public func next() throws -> Bool {
    try checkStep()
    if let walk { return try noting(walk) { try nextEntry() } }
    return try nextEntry()
  }

  private func nextEntry() throws(DatabaseError) -> Bool {
    guard stored != nil else { return try nextInMemory() }
    return try step { () throws(StorageError) in try stored?.next() ?? false }
  }

  /// Takes a step, and notes what it has seen.
  private func noting(_ walk: RecordedTreeWalk, _ step: () throws -> Bool) throws -> Bool {
    let before = key?.orderedBytes
    let isOnEntry = try step()
    walk.look(from: before ?? [], through: key?.orderedBytes)
    return isOnEntry
  }

  private func nextInMemory() throws(DatabaseError) -> Bool {
    if isFresh { return try moveInMemory(to: 0) }
    try checkMemory()
    if let leaf, leaf.index + 1 < leaf.node.keys.count {
      self.leaf = (leaf.node, leaf.index + 1)
      rank += 1
      assert(rank < memory.count, "a cursor goes on behind the last entry")
      return true
    }
    return try moveInMemory(to: min(rank, memory.count - 1) + 1)
  }

  /// Goes to the entry before; false in front of the first one.
  public func previous() throws -> Bool {
    try checkStep()
    let before = walk == nil ? nil : key?.orderedBytes
    let isOnEntry: Bool
    if stored != nil {
      isOnEntry = try step { () throws(StorageError) in try stored?.previous() ?? false }
    } else {
      isOnEntry = try previousInMemory()
    }
    if let walk { walk.look(from: key?.orderedBytes ?? [], through: before) }
    return isOnEntry
  }

  private func previousInMemory() throws(DatabaseError) -> Bool {
    if isFresh { return try moveInMemory(to: memory.count - 1) }
    try checkMemory()
    if let leaf, leaf.index > 0 {
      self.leaf = (leaf.node, leaf.index - 1)
      rank -= 1
      assert(rank >= 0, "a cursor goes on in front of the first entry")
      return true
    }
    return try moveInMemory(to: max(rank, 0) - 1)
  }

  /// Which entries decide where a jump leads: those below where it ends, or those above.
  private enum Direction { case downwards, upwards }

  /// Makes a jump in the stored tree or in that in memory.
  private func moved(
    _ jump: () throws(StorageError) -> Bool, orInMemoryTo rank: Int, looking direction: Direction
  ) throws(DatabaseError) -> Bool {
    let isOnEntry = try stored != nil ? step(jump) : moveInMemory(to: rank)
    guard let walk else { return isOnEntry }
    let found = key?.orderedBytes
    switch direction {
    case .downwards: walk.look(from: [], through: found)
    case .upwards: walk.look(from: found ?? [], through: nil)
    }
    return isOnEntry
  }

  private func moveInMemory(to rank: Int) throws(DatabaseError) -> Bool {
    try checkMemory()
    isFresh = false
    self.rank = min(max(rank, -1), memory.count)
    leaf = memory.leaf(at: rank).map { ($0.leaf, $0.index) }
    assert((leaf != nil) == (0..<memory.count).contains(self.rank), "a cursor is elsewhere than its rank says")
    return leaf != nil
  }

  // MARK: Looking

  /// Whether the cursor is on an entry; not when the transaction is over.
  public var isOnEntry: Bool { state.isOpen && (stored?.isOnEntry ?? (leaf != nil)) }

  /// The key of the entry; nil if the cursor is on none, or the transaction is over. Nil also if the entry can no
  /// longer be read: then the transaction's next call throws why.
  public var key: Key? { shownKey.flatMap { Key(orderedBytes: $0) } }

  /// The bytes of the key of the entry, for who cannot throw.
  private var shownKey: [UInt8]? {
    guard state.isOpen else { return nil }
    do throws(DatabaseError) { return try readKey() } catch {
      // After a change the next step throws; the change itself is no error.
      if error.code != .mutatedDuringIteration { state.note(error) }
      return nil
    }
  }

  /// The value of the entry, copied; nil if the cursor is on none.
  public var value: [UInt8]? {
    get throws {
      try state.check()
      guard stored == nil else { return try step { () throws(StorageError) in try stored?.value } }
      return leaf.map { $0.node.values[$0.index] }
    }
  }

  /// Key and value of the entry; nil if the cursor is on none.
  public var entry: (key: Key, value: [UInt8])? {
    get throws {
      try state.check()
      guard let bytes = try readKey(), let key = Key(orderedBytes: bytes), let value = try value else { return nil }
      return (key, value)
    }
  }

  /// The bytes of the key of the entry; nil if the cursor is on none.
  private func readKey() throws(DatabaseError) -> [UInt8]? {
    guard stored == nil else { return try step { () throws(StorageError) in try stored?.readKey() } }
    return leaf.map { $0.node.keys[$0.index] }
  }

  /// The value of the entry as the number of a row, in the form of `RowID.orderedBytes`; nil if it is none, or if the
  /// cursor is on no entry. Copies nothing.
  public var rowID: RowID? {
    get throws {
      var found: RowID?
      _ = try lend { _, value in found = RowID(orderedBytes: value) }
      return found
    }
  }

  /// Calls `body` with key and value where they lie; see `withEntry`.
  func withBorrowedEntry<Result>(_ body: (RawSpan, RawSpan) throws -> Result) throws -> Result? {
    var result: Result?
    _ = try lend { key, value in result = try body(key, value) }
    return result
  }

  /// Calls `body` with key and value where they lie, and returns whether the cursor is on an entry.
  func lend(_ body: (RawSpan, RawSpan) throws -> Void) throws -> Bool {
    try state.check()
    let wasLent = isLent
    isLent = true
    defer { isLent = wasLent }
    guard stored != nil else {
      guard let leaf else { return false }
      let (key, value) = (leaf.node.keys[leaf.index], leaf.node.values[leaf.index])
      try unsafe body(key.span.bytes, value.span.bytes)
      return true
    }
    state.lentCount += 1
    defer { state.lentCount -= 1 }
    do {
      return try stored?.lend(body) ?? false
    } catch let error as StorageError {
      if error.code == .cursorInvalidated { throw mutated(error) }
      throw DatabaseError(error).inTree(treeName, of: extensionName)
    }
  }
}

// The same where keys are bytes: code that does not know the type of keys asks the runtime for it each time.
extension ExtensionCursor where Key == [UInt8] {
  /// The key of the entry; nil if the cursor is on none, or the transaction is over. Nil also if the entry can no
  /// longer be read: then the transaction's next call throws why.
  public var key: [UInt8]? { shownKey }

  /// Key and value of the entry; nil if the cursor is on none.
  public var entry: (key: [UInt8], value: [UInt8])? {
    get throws {
      try state.check()
      guard let key = try readKey(), let value = try value else { return nil }
      return (key, value)
    }
  }
}

extension Cursor {
  /// Calls `body` with key and value of the entry, an integer key as `RowID.orderedBytes` has it; returns whether the
  /// cursor is on an entry.
  fileprivate func lend(_ body: (RawSpan, RawSpan) throws -> Void) throws -> Bool {
    guard let (key, value) = try borrowedEntry else { return false }
    if value.isExtent {
      let bytes = unsafe try longValue(value)
      beginLoan()
      defer { endLoan() }
      try unsafe body(RawSpan(_unsafeStart: key.base, byteCount: key.count), bytes.bytes)
    } else {
      beginLoan()
      defer { endLoan() }
      try unsafe body(
        RawSpan(_unsafeStart: key.base, byteCount: key.count),
        RawSpan(_unsafeStart: value.base, byteCount: value.count))
    }
    return true
  }
}
