// Changing the database.

/// The one write transaction that runs.
///
/// It sees its own changes; nobody else does before it commits, which it does when the closure it was handed to
/// returns. A closure that throws rolls everything back. Use it on the thread that it was handed to; it cannot leave
/// the closure.
public struct WriteTransaction: ~Copyable {
  // Strong: a borrowed transaction lends its reference, so that no call retains it. And the only one: each is counted
  // up and down once per transaction.
  let context: WriteContext
  /// Whether bytes are lent as copies, as memory is short.
  let lendsCopies: Bool

  /// Lends the context for one transaction.
  package init(_ context: WriteContext, _ permit: borrowing WriterPermit) {
    self.context = context
    lendsCopies = context.reader.lendsCopies
  }

  /// Another handle to the transaction that `other` is, for as long as `other` is lent.
  package init(sharing other: borrowing WriteTransaction) {
    context = other.context
    lendsCopies = other.lendsCopies
  }

  /// The number that this transaction's commit will have.
  public var csn: CSN { context.csn }

  // MARK: Trees

  /// Makes an empty tree.
  ///
  /// - Throws: `treeMismatch` if the name is taken, `invalidOption` if it is empty or longer than
  ///   `Limits.treeNameByteCount`, `limitReached` when the ids of trees are used up.
  @discardableResult
  public func createTree(_ name: String, keys: KeyKind) throws(StorageError) -> Tree {
    try context.createTree(name, keys)
  }

  /// The tree of this name, or nil.
  public func tree(named name: String) -> Tree? { context.tree(named: name) }

  /// The names of all trees, in order.
  public var treeNames: [String] { context.names.sorted }

  /// Removes a tree with all its entries. Reads its branch pages, but no leaf. Its id is never given again.
  public func dropTree(_ tree: Tree) throws(StorageError) {
    defer { leave() }
    try context.dropTree(tree)
  }

  // MARK: Entries

  @inline(__always) func enter() {
    // The transaction holds no address between its calls.
    context.renewEpoch()
  }

  /// At the end of each call.
  @inline(__always) func leave() {
    if lendsCopies { context.slots.exitEpoch(context.slot) }
  }

  /// Brings all that was put into the trees; throws if an operation has failed half-way.
  private func settle() throws(StorageError) {
    defer { leave() }
    try context.checkCommittable()
  }

  /// Starts a bulk load.
  func beginLoad(into tree: Tree, _ options: BulkLoadOptions) throws(StorageError) -> BulkLoad {
    defer { leave() }
    return try BulkLoad(context, into: tree, options)
  }

  /// Brings what was sorted before into `tree`, as a bulk load does; returns how many entries it has gained.
  ///
  /// - Parameters:
  ///   - sorter: what to store; of no use afterwards.
  ///   - leafFill: how much of each leaf is used where the tree is empty, from 0.5 to 1.
  ///   - progress: called after some thousand entries; what it throws is thrown here. Units: entries.
  /// - Throws: as a bulk load. The transaction can only be rolled back then.
  package func load(
    _ sorter: EntrySorter, into tree: Tree, leafFill: Double = 1, progress: ((StorageProgress) throws -> Void)? = nil
  ) throws -> Int {
    enter()
    defer { leave() }
    return try BulkLoad(context, into: tree, sorter, leafFill: leafFill).finish(progress)
  }

  /// Ends a bulk load.
  func finishLoad(_ load: BulkLoad, _ progress: ((StorageProgress) throws -> Void)?) throws -> Int {
    enter()
    defer { leave() }
    return try load.finish(progress)
  }

  /// Stores an entry, at once or later; the kind of the key has been checked.
  @usableFromInline package func set(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree
  ) throws(StorageError) {
    defer { leave() }
    try context.set(key, value, in: tree)
  }

  /// Stores an entry; the kind of the key has been checked.
  @usableFromInline package func put(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, isInsertOnly: Bool, in tree: Tree
  ) throws(StorageError) -> PutOutcome {
    defer { leave() }
    return try context.put(
      key, value, mode: isInsertOnly ? .insertIfAbsent : .insertOrReplace, in: tree)
  }

  /// Stores `value` under `key`, replacing what was there. Touches one page per level, more when pages split.
  ///
  /// A value of up to about a third of a page stands beside its key. A longer one, of up to `Limits.valueByteCount`
  /// bytes, is written to pages of its own in the data file before this returns, straight from the caller's bytes. If
  /// it is short enough for a log record, it is written to the log at the commit as well; if not, the transaction
  /// commits by a checkpoint.
  ///
  /// After some puts in a row, with no question to the transaction between them, the following ones are
  /// collected in memory, an eighth of the cache at most, and brought into the tree together. Where they fall into more
  /// leaves than the cache holds, they go to a temporary file beside the database instead, and into the tree at the
  /// next other call. The file needs as much room on the disk as the entries, and as much again for each time that runs
  /// are merged in groups, as there are more than memory has room for. Nobody can tell but by the time that it takes,
  /// and by where an error comes from: the transaction's next other call, or its end, may throw what a put would have.
  ///
  /// - Throws: `keyTooLong`, `valueTooLong`, `treeMismatch` and `noSuchTree` without having changed anything, and so
  ///   `diskFull`, `inputOutput` and `failStop` if a long value cannot be written; `damagedPage`, `truncatedFile`,
  ///   `inputOutput`, `diskFull` and `limitReached`, from this call or from the one that brings the entry into the
  ///   tree, after which the transaction can only be rolled back, to a savepoint or as a whole.
  @inlinable
  public func put<Key: StorageKey & ~Escapable, Value: StorageValue & ~Escapable>(
    _ value: Value, for key: Key, in tree: Tree
  ) throws(StorageError) {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    try key.withSearchKey { (key) throws(StorageError) in
      try value.withValueBytes { (value) throws(StorageError) in try set(key, value, in: tree) }
    }
  }

  /// Stores `value` under `key` as `put` does, but never later, and returns whether the entry is new. Cost and errors
  /// as `put`.
  @inlinable @discardableResult
  public func upsert<Key: StorageKey & ~Escapable, Value: StorageValue & ~Escapable>(
    _ value: Value, for key: Key, in tree: Tree
  ) throws(StorageError) -> Bool {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try key.withSearchKey { (key) throws(StorageError) in
      try value.withValueBytes { (value) throws(StorageError) in
        try put(key, value, isInsertOnly: false, in: tree) == .inserted
      }
    }
  }

  /// Stores `value` under `key` unless there is an entry already; returns whether it did. Cost and errors as `put`.
  @inlinable @discardableResult
  public func insert<Key: StorageKey & ~Escapable, Value: StorageValue & ~Escapable>(
    _ value: Value, for key: Key, in tree: Tree
  ) throws(StorageError) -> Bool {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try key.withSearchKey { (key) throws(StorageError) in
      try value.withValueBytes { (value) throws(StorageError) in
        try put(key, value, isInsertOnly: true, in: tree) == .inserted
      }
    }
  }

  /// Removes an entry; the kind of the key has been checked.
  @usableFromInline package func delete(_ key: SearchKey, in tree: Tree) throws(StorageError) -> Bool {
    defer { leave() }
    return try context.delete(key, in: tree)
  }

  /// Removes a range of entries; the kind of the keys has been checked.
  @usableFromInline package func deleteRange(
    _ lower: SearchKey?, _ upper: SearchKey?, in tree: Tree
  ) throws(StorageError) -> Int {
    defer { leave() }
    return try context.deleteRange(from: lower, to: upper, in: tree)
  }

  /// Removes the entry under `key`; returns whether there was one. Touches one page per level, and a neighbour when
  /// pages merge. Errors as `put`.
  @inlinable @discardableResult
  public func delete<Key: StorageKey & ~Escapable>(
    _ key: Key, in tree: Tree
  ) throws(StorageError) -> Bool {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try key.withSearchKey { (key) throws(StorageError) in try delete(key, in: tree) }
  }

  // MARK: Reading

  /// Lends the value stored under a key, until `endLoan`. Loans may be nested; a change of the transaction ends the use
  /// of what was lent before it.
  @usableFromInline package func lend(_ key: SearchKey, in tree: Tree) throws(StorageError) -> BorrowedValue? {
    enter()
    defer { leave() }
    let root = context.trees[try context.settledIndex(of: tree)]
    guard let value = try context.reader.value(key, in: root) else { return nil }
    if lendsCopies { return BorrowedValue(copying: value) }
    context.slots.beginLoan(context.slot)
    return value
  }

  /// Looks the keys of a batch up and lends what it found, until `endLoans`.
  @usableFromInline package func lend(_ batch: borrowing LookupBatch, in tree: Tree) throws(StorageError) {
    enter()
    defer { leave() }
    try context.reader.lookUp(batch, in: context.trees[try context.settledIndex(of: tree)])
    if lendsCopies { batch.copyValues() } else { context.slots.beginLoan(context.slot) }
  }

  /// Takes back what a batch was lent.
  @usableFromInline package func endLoans(_ batch: borrowing LookupBatch) {
    if lendsCopies { batch.freeCopies() } else { context.slots.endLoan(context.slot) }
  }

  /// Takes back what `lend` returned.
  @usableFromInline package func endLoan(_ value: BorrowedValue) {
    if value.isCopy { value.deallocate() } else { context.slots.endLoan(context.slot) }
  }

  /// Whether there is an entry; the kind of the key has been checked.
  @usableFromInline package func has(_ key: SearchKey, in tree: Tree) throws(StorageError) -> Bool {
    enter()
    defer { leave() }
    return try context.reader.value(key, in: context.trees[try context.settledIndex(of: tree)]) != nil
  }

  /// Calls `body` with the value stored under `key`, or returns nil. The bytes are valid until `body` returns, which
  /// may read on, but must change nothing. Cost and errors as in `ReadTransaction`, long values
  /// included.
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

  /// The value stored under `key`, copied, or nil.
  @inlinable public func value<Key: StorageKey & ~Escapable>(
    for key: Key, in tree: Tree
  ) throws(StorageError) -> [UInt8]? {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    let value = try key.withSearchKey { (key) throws(StorageError) in try lend(key, in: tree) }
    guard let value else { return nil }
    defer { endLoan(value) }
    return try copy(value, nil)
  }

  /// Whether there is an entry under `key`.
  @inlinable public func contains<Key: StorageKey & ~Escapable>(
    _ key: Key, in tree: Tree
  ) throws(StorageError) -> Bool {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try key.withSearchKey { (key) throws(StorageError) in try has(key, in: tree) }
  }

  /// The number of entries of a tree. O(1).
  public func count(of tree: Tree) throws(StorageError) -> Int {
    defer { leave() }
    return context.trees[try context.settledIndex(of: tree)].count
  }

  /// The number of entries below a key of the right kind.
  private func rank(_ key: SearchKey, in tree: Tree) throws(StorageError) -> Int {
    enter()
    defer { leave() }
    return try context.reader.rank(of: key, in: context.trees[try context.settledIndex(of: tree)]).rank
  }

  /// The number of entries whose keys are below `key`. O(log n).
  public func rank<Key: StorageKey & ~Escapable>(
    of key: Key, in tree: Tree
  ) throws(StorageError) -> Int {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try key.withSearchKey { (key) throws(StorageError) in try rank(key, in: tree) }
  }

  /// The number of entries whose keys are in `range`. O(log n).
  public func count<Key: StorageKey>(in range: Range<Key>, of tree: Tree) throws(StorageError) -> Int {
    max(0, try rank(of: range.upperBound, in: tree) - rank(of: range.lowerBound, in: tree))
  }

  /// A cursor over a tree as it is now. Any change of the transaction ends it: its next step throws
  /// `cursorInvalidated`.
  public func cursor(_ tree: Tree) throws(StorageError) -> Cursor {
    defer { leave() }
    let root = context.trees[try context.settledIndex(of: tree)]
    return Cursor(
      context.reader, root, tree: tree, slots: Unmanaged.passUnretained(context.slots), slot: context.slot,
      writer: context, copies: lendsCopies)
  }

  // MARK: Ids and savepoints

  /// Reserves `count` row ids and returns the first. Never given again, not even after a rollback.
  ///
  /// - Throws: `invalidOption` for a negative number, `limitReached` when the ids are used up.
  public func allocateRowIDs(_ count: Int = 1) throws(StorageError) -> Int64 {
    guard count >= 0 else {
      throw StorageError(.invalidOption, "A number of row ids is not negative; this is \(count).")
    }
    let first = context.rowIDCounter
    let (next, overflow) = first.addingReportingOverflow(Int64(count))
    guard !overflow else {
      throw StorageError(.limitReached, "The row ids are used up (next: \(first), asked for: \(count)).")
    }
    context.rowIDCounter = next
    return first
  }

  /// Runs `body`; if it throws, undoes what it did and rethrows, and the transaction goes on as before.
  ///
  /// May be nested. Ids that were given are not given again. Costs a copy of each page that is changed after it.
  public func savepoint<Result>(_ body: (borrowing WriteTransaction) throws -> Result) throws -> Result {
    try settle()
    let savepoint = context.makeSavepoint()
    do {
      let result = try body(self)
      try settle()
      context.releaseSavepoint()
      return result
    } catch {
      context.restore(savepoint)
      throw error
    }
  }

  /// Undoes the whole transaction by throwing out of its closure; `write` rethrows the error.
  public func rollback() throws(StorageError) -> Never {
    throw StorageError(.rolledBack, "The transaction asked for a rollback.")
  }
}
