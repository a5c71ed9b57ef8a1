// Reading one snapshot.

/// A view of the database as of one commit. Readers never wait for another transaction to end, be it a writer's or a
/// reader's; see `StorageEngine.read` for the one case in which a call waits for a call.
///
/// A transaction lives as long as the closure it was handed to and cannot leave it. Use it on the thread that it was
/// handed to.
public struct ReadTransaction: ~Copyable {
  let slots: Unmanaged<ReaderSlots>
  let slot: ReaderSlot
  let snapshot: SnapshotRecord
  let reader: TreeReader
  /// Whether bytes are lent as copies, as memory is short.
  let lendsCopies: Bool

  /// Announces the newest snapshot.
  ///
  /// - Throws: `limitReached` if there are as many readers as there can be.
  package init(_ slots: ReaderSlots, _ reader: TreeReader) throws(StorageError) {
    let (slot, snapshot) = try slots.begin()
    self.init(slots, reader, slot: slot, snapshot: snapshot)
  }

  /// Reads a snapshot that has been announced in `slot`, which is given up at the end.
  package init(_ slots: ReaderSlots, _ reader: TreeReader, slot: ReaderSlot, snapshot: SnapshotRecord) {
    self.slots = Unmanaged.passUnretained(slots)
    self.slot = slot
    self.snapshot = snapshot
    self.reader = reader
    lendsCopies = reader.lendsCopies
  }

  /// At the start of each call: addresses of the one before are given up.
  @inline(__always) func enter() { _ = slots._withUnsafeGuaranteedRef { $0.enterEpoch(slot) } }

  /// At the end of each call.
  @inline(__always) func leave() {
    if lendsCopies { slots._withUnsafeGuaranteedRef { $0.exitEpoch(slot) } }
  }

  deinit { slots._withUnsafeGuaranteedRef { $0.end(slot) } }

  /// The commit that this transaction sees.
  public var csn: CSN { snapshot.csn }

  /// The tree of this name, or nil. O(1).
  public func tree(named name: String) -> Tree? {
    guard let id = snapshot.names.id(of: name), let index = snapshot.index(of: id, hint: 0) else { return nil }
    return Tree(id: id, keys: snapshot.trees[index].keyKind, hint: index)
  }

  /// The names of all trees, in order.
  public var treeNames: [String] { snapshot.names.sorted }

  /// The root of a tree.
  @inline(__always) package func root(_ tree: Tree) throws(StorageError) -> TreeRoot {
    guard let index = snapshot.index(of: tree.id, hint: tree.hint) else { throw tree.missing() }
    return snapshot.trees[index]
  }

  /// Lends the value stored under a key, until `endLoan`. Loans may be nested; a change of the transaction ends the use
  /// of what was lent before it.
  @usableFromInline package func lend(_ key: SearchKey, in tree: Tree) throws(StorageError) -> BorrowedValue? {
    enter()
    defer { leave() }
    guard let index = snapshot.index(of: tree.id, hint: tree.hint) else { throw tree.missing() }
    guard let value = try reader.value(key, in: snapshot.trees[index]) else { return nil }
    if lendsCopies { return BorrowedValue(copying: value) }
    slots._withUnsafeGuaranteedRef { $0.beginLoan(slot) }
    return value
  }

  /// Takes back what `lend` returned.
  @usableFromInline package func endLoan(_ value: BorrowedValue) {
    if value.isCopy { value.deallocate() } else { slots._withUnsafeGuaranteedRef { $0.endLoan(slot) } }
  }

  /// Whether there is an entry; the kind of the key has been checked.
  @usableFromInline package func has(_ key: SearchKey, in tree: Tree) throws(StorageError) -> Bool {
    enter()
    defer { leave() }
    guard let index = snapshot.index(of: tree.id, hint: tree.hint) else { throw tree.missing() }
    return try reader.value(key, in: snapshot.trees[index]) != nil
  }

  /// Calls `body` with the value stored under `key` and returns its result, or nil if there is no such entry.
  ///
  /// Touches one page per level of the tree; copies and allocates nothing as long as memory is not short, unless the
  /// value is too long for a page: then it is read from the file into memory that is freed when `body` has returned.
  /// The bytes are valid until `body` returns, which may read on and use them as a key.
  ///
  /// - Throws: `noSuchTree`, `treeMismatch`, `damagedPage`, `truncatedFile`, `inputOutput`, and what `body` throws.
  @inlinable public func withValue<Key: StorageKey & ~Escapable, Result>(
    for key: Key, in tree: Tree, _ body: (RawSpan) throws -> Result
  ) throws -> Result? {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    let value = try key.withSearchKey { (key) throws(StorageError) in try lend(key, in: tree) }
    guard let value else { return nil }
    defer { endLoan(value) }
    // One call of `body` for both kinds, so that it can be compiled into the caller.
    let bytes = value.isExtent ? try longValue(value, nil) : ValueBytes(value)
    defer { bytes.deallocate() }
    return try body(RawSpan(_unsafeStart: bytes.base, byteCount: bytes.count))
  }

  /// The value stored under `key`, copied, or nil. Touches one page per level of the tree, and the value's own pages if
  /// it is too long for one of those.
  ///
  /// - Throws: as `withValue`.
  @inlinable public func value<Key: StorageKey & ~Escapable>(
    for key: Key, in tree: Tree
  ) throws(StorageError) -> [UInt8]? {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    let value = try key.withSearchKey { (key) throws(StorageError) in try lend(key, in: tree) }
    guard let value else { return nil }
    defer { endLoan(value) }
    return try copy(value, nil)
  }

  /// Whether there is an entry under `key`. Touches one page per level of the tree, and no value.
  @inlinable public func contains<Key: StorageKey & ~Escapable>(
    _ key: Key, in tree: Tree
  ) throws(StorageError) -> Bool {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try key.withSearchKey { (key) throws(StorageError) in try has(key, in: tree) }
  }

  /// The number of entries of a tree. O(1).
  public func count(of tree: Tree) throws(StorageError) -> Int { try root(tree).count }

  /// The number of entries whose keys are below `key`. O(log n).
  public func rank<Key: StorageKey & ~Escapable>(
    of key: Key, in tree: Tree
  ) throws(StorageError) -> Int {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    enter()
    defer { leave() }
    let root = try root(tree)
    return try key.withSearchKey { (key) throws(StorageError) in try reader.rank(of: key, in: root).rank }
  }

  /// The number of entries whose keys are at least `lower` and below `upper`. O(log n).
  public func count<Key: StorageKey & ~Escapable>(
    from lower: Key, to upper: Key, in tree: Tree
  ) throws(StorageError) -> Int {
    max(0, try rank(of: upper, in: tree) - rank(of: lower, in: tree))
  }

  /// The number of entries whose keys are in `range`. O(log n).
  public func count<Key: StorageKey>(in range: Range<Key>, of tree: Tree) throws(StorageError) -> Int {
    try count(from: range.lowerBound, to: range.upperBound, in: tree)
  }

  /// A cursor over a tree, not yet on any entry.
  public func cursor(_ tree: Tree) throws(StorageError) -> Cursor {
    Cursor(reader, try root(tree), tree: tree, slots: slots, slot: slot, writer: nil, copies: lendsCopies)
  }
}
