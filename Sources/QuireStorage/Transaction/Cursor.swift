// A cursor as users see it.

/// A position in a tree, moved in key order in both directions.
///
/// A new cursor is on no entry: `seekFirst`, `seekLast` or `seek` puts it on one, and `next` and `previous` on a new
/// cursor start at the first and the last entry. It must not outlive its transaction, and is for one thread.
///
/// A step that throws leaves the cursor where it was, and can be taken again: an error is never the end. An entry that
/// the cursor is on, and that could not be read when it was asked for, is not passed over either: unless it has been
/// asked for again with success, the next step, in whichever direction, stays on it.
///
/// Invariants:
/// 1. `standing` says `isFresh` until a step has succeeded; till then there is no position.
/// 2. An address in `path` is used only while the slot is in `epoch`, in which it was looked up.
public struct Cursor: ~Copyable {
  /// What the next step has to do before it moves on.
  struct Standing: OptionSet {
    let rawValue: UInt8
    /// To find an end of the tree: the cursor is new.
    static let isFresh = Standing(rawValue: 1)
    /// To tell an entry whose key was asked for and could not be read.
    static let keyIsUntold = Standing(rawValue: 2)
    /// To tell an entry of whose value the same is true.
    static let valueIsUntold = Standing(rawValue: 4)
  }

  /// What a cursor has. It stands in memory of its own: a cursor of more than a few words is copied whole by each call
  /// that only looks at it.
  struct State: ~Copyable {
    var path: CursorPath
    let tree: Tree
    let slots: Unmanaged<ReaderSlots>
    let slot: ReaderSlot
    /// For a cursor of a write transaction: the context, and its count of changes when the cursor was made.
    let writer: Unmanaged<WriteContext>?
    let mutations: Int
    var standing = Standing.isFresh
    /// The access epoch in which the leaf's address was looked up; `noEpoch` once it could not be looked up again.
    var epoch: UInt64 = 0
    let reader: TreeReader
    var longValue = LongValueBuffer()
  }

  let state: UnsafeMutablePointer<State>
  /// Room to put a key together whose front is the page's prefix; behind the state, in the same memory.
  let keyBuffer: UnsafeMutableRawPointer
  /// Whether `writer` is there.
  @usableFromInline let canBeInvalidated: Bool
  /// The entries of a leaf that `forEachValue` and `forEach` work on, made at their first use.
  @usableFromInline var run: UnsafeMutablePointer<BorrowedValue>?

  init(
    _ reader: TreeReader, _ root: TreeRoot, tree: Tree, slots: Unmanaged<ReaderSlots>, slot: ReaderSlot,
    writer: WriteContext?, copies: Bool
  ) {
    let stateByteCount = MemoryLayout<State>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: stateByteCount + Limits.keyByteCount, alignment: 16)
    state = memory.bindMemory(to: State.self, capacity: 1)
    keyBuffer = memory + stateByteCount
    state.initialize(
      to: State(
        path: CursorPath(reader, root, copies: copies), tree: tree, slots: slots, slot: slot,
        writer: writer.map(Unmanaged.passUnretained), mutations: writer?.mutations ?? 0, reader: reader))
    canBeInvalidated = writer != nil
  }

  deinit {
    state.pointee.longValue.deallocate()
    state.deinitialize(count: 1)
    UnsafeMutableRawPointer(state).deallocate()
    run?.deallocate()
  }

  var tree: Tree { state.pointee.tree }
  var standing: Standing {
    get { state.pointee.standing }
    nonmutating set { state.pointee.standing = newValue }
  }
  private var slots: Unmanaged<ReaderSlots> { state.pointee.slots }
  private var slot: ReaderSlot { state.pointee.slot }
  private var reader: TreeReader { state.pointee.reader }

  /// Called at the start of each step: addresses from the last one are given up.
  @inline(__always) mutating func enter() throws(StorageError) {
    try checkWriter()
    // Another call on the same transaction may have moved the slot's epoch: the cursor remembers its own.
    let now = slots._withUnsafeGuaranteedRef { slots in
      _ = slots.enterEpoch(slot)
      return slots.currentEpoch
    }
    if now != state.pointee.epoch {
      try state.pointee.path.refresh()
      state.pointee.epoch = now
    }
  }

  /// At the end of each step: with a copy of the leaf no address is kept.
  @inline(__always) func leave() {
    if state.pointee.path.hasCopy { slots._withUnsafeGuaranteedRef { $0.exitEpoch(slot) } }
  }

  @usableFromInline @inline(__always) func checkWriter() throws(StorageError) {
    guard canBeInvalidated, let writer = state.pointee.writer else { return }
    if writer._withUnsafeGuaranteedRef({ $0.mutations }) != state.pointee.mutations { throw invalidated() }
  }

  @inline(never) private func invalidated() -> StorageError {
    StorageError(
      .cursorInvalidated, "\(tree.id) or another tree was changed since this cursor was made. Make a new cursor.")
  }

  /// Goes to `key`, or to the first entry above it. Returns whether `key` itself is there. O(log n).
  public mutating func seek<Key: StorageKey & ~Escapable>(_ key: Key) throws(StorageError) -> Bool {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    try enter()
    defer { leave() }
    let isThere = try key.withSearchKey { (key) throws(StorageError) in try state.pointee.path.seek(key) }
    standing = []
    return isThere
  }

  /// Goes to the entry with `index` entries below it; false if there are not so many. O(log n).
  public mutating func seek(toIndex index: Int) throws(StorageError) -> Bool {
    try enter()
    defer { leave() }
    let isThere = try state.pointee.path.seek(rank: index)
    standing = []
    return isThere
  }

  /// Goes to the first entry; false if there is none. O(log n).
  public mutating func seekFirst() throws(StorageError) -> Bool {
    try enter()
    defer { leave() }
    let isThere = try state.pointee.path.seekFirst()
    standing = []
    return isThere
  }

  /// Goes to the last entry; false if there is none. O(log n).
  public mutating func seekLast() throws(StorageError) -> Bool {
    try enter()
    defer { leave() }
    let isThere = try state.pointee.path.seekLast()
    standing = []
    return isThere
  }

  /// Goes to the next entry; false behind the last one. O(1) within a page.
  public mutating func next() throws(StorageError) -> Bool {
    if !standing.isEmpty { return try begin(atLast: false) }
    if state.pointee.path.hasCopy {
      // Inside a copy nothing is touched that anybody else could take away.
      try checkWriter()
      if state.pointee.path.stepInLeaf(1) { return true }
    }
    try enter()
    defer { leave() }
    return try state.pointee.path.next()
  }

  /// Goes to the entry before; false in front of the first one. O(1) within a page.
  public mutating func previous() throws(StorageError) -> Bool {
    if !standing.isEmpty { return try begin(atLast: true) }
    if state.pointee.path.hasCopy {
      // Inside a copy nothing is touched that anybody else could take away.
      try checkWriter()
      if state.pointee.path.stepInLeaf(-1) { return true }
    }
    try enter()
    defer { leave() }
    return try state.pointee.path.previous()
  }

  /// Takes the first step of a new cursor, and the one that tells an entry which could not be read before.
  @inline(never) private mutating func begin(atLast: Bool) throws(StorageError) -> Bool {
    if standing.contains(.isFresh) { return try atLast ? seekLast() : seekFirst() }
    assert(isOnEntry, "an entry is untold, and the cursor is on none")
    try enter()
    defer { leave() }
    standing = []
    return true
  }

  /// Whether the cursor is on an entry.
  public var isOnEntry: Bool { state.pointee.path.isOnEntry }

  /// Where the current entry is now; nil if there is none. Another call on the same transaction may have moved the
  /// slot's epoch since the last step: the address from then may be that of another page by now.
  ///
  /// - Parameter part: what of the entry is asked for; untold if the page cannot be read.
  /// - Throws: what reading the page once more throws, and `cursorInvalidated`: its index is of no use.
  @inline(__always) private func currentEntry(
    _ part: Standing
  ) throws(StorageError) -> (page: PageBytes, index: Int)? {
    guard let entry = state.pointee.path.entry else { return nil }
    try checkWriter()
    if state.pointee.path.hasCopy { return entry }
    if slots._withUnsafeGuaranteedRef({ $0.isAt(state.pointee.epoch, slot) }) { return entry }
    return (try leafAgain(part), entry.index)
  }

  /// Never an epoch that a slot is in.
  private static let noEpoch = UInt64.max

  /// The current leaf, looked up once more.
  @inline(never) private func leafAgain(_ part: Standing) throws(StorageError) -> PageBytes {
    do throws(StorageError) {
      let page = try state.pointee.path.currentLeaf()
      standing.subtract(part)
      return page
    } catch {
      standing.formUnion(part)
      // Whoever asks again comes here again, and the next step looks the page up.
      state.pointee.epoch = Self.noEpoch
      throw error
    }
  }

  /// The current value, or the reference to its extent, as a pointer that is good until the transaction's next call.
  @usableFromInline package var borrowedValue: BorrowedValue? {
    get throws(StorageError) {
      guard let (page, index) = try currentEntry(.valueIsUntold) else { return nil }
      return BorrowedValue(page.leafCell(index))
    }
  }

  /// The bytes of the current key, put together in the cursor's buffer; for integer keys eight big-endian bytes of the
  /// ordered form. Nil also if they can no longer be found: then the next step stays on the entry, or throws why not.
  @usableFromInline package var borrowedKey: BorrowedValue? {
    guard let (page, index) = try? currentEntry(.keyIsUntold) else { return nil }
    return key(page, index)
  }

  /// The bytes of the key of an entry, likewise.
  func key(_ page: PageBytes, _ index: Int) -> BorrowedValue {
    if page.hasIntegerKeys {
      keyBuffer.storeBytes(of: page.orderedKey(index).bigEndian, as: UInt64.self)
      return BorrowedValue(base: keyBuffer, count: 8)
    }
    let prefixCount = page.prefixCount
    if prefixCount == 0, !page.isUniform {
      let cell = page.leafCell(index)
      return BorrowedValue(base: cell.key, count: cell.keyCount)
    }
    if prefixCount > 0 { keyBuffer.copyMemory(from: page.prefix, byteCount: prefixCount) }
    return BorrowedValue(base: keyBuffer, count: page.copyLeafKey(index, behindPrefixAt: keyBuffer))
  }

  /// Bytes of the leaf are lent; a copy of it needs no protection.
  @usableFromInline package func beginLoan() {
    if !state.pointee.path.hasCopy { slots._withUnsafeGuaranteedRef { $0.beginLoan(slot) } }
  }

  /// A loan is over.
  @usableFromInline package func endLoan() {
    if !state.pointee.path.hasCopy { slots._withUnsafeGuaranteedRef { $0.endLoan(slot) } }
  }

  /// Calls `body` with the current key; nil if the cursor is on no entry, or can no longer read its page: then its next
  /// step stays on the entry, or throws why it cannot.
  @inlinable public func withKey<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result? {
    guard let key = borrowedKey else { return nil }
    beginLoan()
    defer { endLoan() }
    return try body(RawSpan(_unsafeStart: key.base, byteCount: key.count))
  }

  /// Calls `body` with the current value, valid until it returns; nil if the cursor is on no entry.
  ///
  /// A value that is too long for a page is read from the file, into memory that the cursor keeps for the next one.
  ///
  /// - Throws: `damagedPage`, `truncatedFile` and `inputOutput` if something has to be read, `cursorInvalidated` if the
  ///   write transaction has changed something, and what `body` throws.
  @inlinable public func withValue<Result>(_ body: (RawSpan) throws -> Result) throws -> Result? {
    guard let value = try borrowedValue else { return nil }
    if value.isExtent { return try body(try longValue(value).bytes) }
    beginLoan()
    defer { endLoan() }
    return try body(RawSpan(_unsafeStart: value.base, byteCount: value.count))
  }

  /// The current value, which stands in an extent; good until the cursor shows another one.
  @usableFromInline package func longValue(_ value: BorrowedValue) throws(StorageError) -> UnsafeRawBufferPointer {
    try checkWriter()
    announce(value)
    defer { leave() }
    return try state.pointee.longValue.value(of: ExtentReference(at: value.base), reader)
  }

  /// Announces that a long value will be looked up, where the cursor holds no address between its steps.
  @inline(__always) private func announce(_ value: BorrowedValue) {
    if state.pointee.path.hasCopy, reader.isInSlot(value) { _ = slots._withUnsafeGuaranteedRef { $0.enterEpoch(slot) } }
  }

  /// Where the current key and its value are, with one look at the page; nil if the cursor is on no entry. A long value
  /// is given as the reference to it, which `isExtent` tells. Good until the cursor or the transaction moves on; where
  /// anything else is called in between, between `beginLoan` and `endLoan`.
  ///
  /// - Throws: `cursorInvalidated`, `damagedPage`, `inputOutput`.
  package var borrowedEntry: (key: BorrowedValue, value: BorrowedValue)? {
    get throws(StorageError) {
      guard let (page, index) = try currentEntry([.keyIsUntold, .valueIsUntold]) else { return nil }
      return (key(page, index), BorrowedValue(page.leafCell(index)))
    }
  }

  /// A copy of the current key; nil as `withKey` is.
  public var key: [UInt8]? {
    borrowedKey.map { [UInt8](UnsafeRawBufferPointer(start: $0.base, count: $0.count)) }
  }

  /// A copy of the current key; nil if the cursor is on no entry.
  ///
  /// - Throws: why `key` is nil although the cursor is on an entry.
  package func readKey() throws(StorageError) -> [UInt8]? {
    guard let (page, index) = try currentEntry(.keyIsUntold) else { return nil }
    let key = key(page, index)
    return [UInt8](UnsafeRawBufferPointer(start: key.base, count: key.count))
  }

  /// The current key of a tree with integer keys; nil as `withKey` is.
  public var integerKey: Int64? { (try? readIntegerKey()) ?? nil }

  /// The current key of a tree with integer keys; nil if the cursor is on no entry. Throws as `readKey`.
  package func readIntegerKey() throws(StorageError) -> Int64? {
    guard let (page, index) = try currentEntry(.keyIsUntold), page.hasIntegerKeys else { return nil }
    return KeyOrder.key(page.orderedKey(index))
  }

  /// A copy of the current value; nil if the cursor is on no entry.
  ///
  /// - Throws: as `withValue`.
  public var value: [UInt8]? {
    get throws(StorageError) {
      guard let value = try borrowedValue else { return nil }
      guard value.isExtent else { return try reader.copy(value) }
      try checkWriter()
      announce(value)
      defer { leave() }
      return try reader.copy(value)
    }
  }

  /// The length of the current value in bytes; nil as `withKey` is. Reads no long value.
  public var valueByteCount: Int? {
    guard let value = try? borrowedValue else { return nil }
    return reader.byteCount(value)
  }

  /// A copy of the bytes `range` of the current value, what lies behind its end left out; nil if the cursor is on no
  /// entry. Of a long value only those pieces of 64 KiB are read that the range touches.
  ///
  /// - Throws: as `withValue`.
  public func value(range: Range<Int>) throws(StorageError) -> [UInt8]? {
    guard let value = try borrowedValue else { return nil }
    guard value.isExtent else { return try reader.copy(value, range) }
    try checkWriter()
    announce(value)
    defer { leave() }
    return try reader.copy(value, range)
  }
}
