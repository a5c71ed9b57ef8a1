// A cursor as users see it.

/// A position in a tree, moved in key order in both directions.
///
/// A new cursor is on no entry: `seekFirst`, `seekLast` or `seek` puts it on one, and `next` and `previous` on a new
/// cursor start at the first and the last entry. It must not outlive its transaction, and is for one thread.
public struct Cursor: ~Copyable {
  var path: CursorPath
  let tree: Tree
  private let slots: Unmanaged<ReaderSlots>
  private let slot: ReaderSlot
  /// For a cursor of a write transaction: the context, and its count of changes when the cursor was made.
  private let writer: Unmanaged<WriteContext>?
  /// Whether `writer` is there.
  @usableFromInline let canBeInvalidated: Bool
  private let mutations: Int
  var isFresh = true
  /// The access epoch in which the leaf's address was looked up.
  private var epoch: UInt64 = 0
  /// Room to put a key together whose front is the page's prefix; behind it the `LongValueBuffer`.
  let keyBuffer: UnsafeMutableRawPointer
  private let reader: TreeReader
  /// The entries of a leaf that `forEachValue` and `forEach` work on, made at their first use.
  @usableFromInline var run: UnsafeMutablePointer<BorrowedValue>?

  init(
    _ reader: TreeReader, _ root: TreeRoot, tree: Tree, slots: Unmanaged<ReaderSlots>, slot: ReaderSlot,
    writer: WriteContext?, copies: Bool
  ) {
    path = CursorPath(reader, root, copies: copies)
    self.reader = reader
    self.tree = tree
    self.slots = slots
    self.slot = slot
    self.writer = writer.map(Unmanaged.passUnretained)
    canBeInvalidated = writer != nil
    mutations = writer?.mutations ?? 0
    keyBuffer = UnsafeMutableRawPointer.allocate(
      byteCount: Limits.keyByteCount + MemoryLayout<LongValueBuffer>.stride, alignment: 16)
    (keyBuffer + Limits.keyByteCount).initializeMemory(as: LongValueBuffer.self, repeating: LongValueBuffer(), count: 1)
  }

  deinit {
    longValue.pointee.deallocate()
    keyBuffer.deallocate()
    run?.deallocate()
  }

  private var longValue: UnsafeMutablePointer<LongValueBuffer> {
    (keyBuffer + Limits.keyByteCount).assumingMemoryBound(to: LongValueBuffer.self)
  }

  /// Called at the start of each step: addresses from the last one are given up.
  @inline(__always) mutating func enter() throws(StorageError) {
    try checkWriter()
    // Another call on the same transaction may have moved the slot's epoch: the cursor remembers its own.
    let now = slots._withUnsafeGuaranteedRef { slots in
      _ = slots.enterEpoch(slot)
      return slots.currentEpoch
    }
    if now != epoch {
      try path.refresh()
      epoch = now
    }
  }

  /// At the end of each step: with a copy of the leaf no address is kept.
  @inline(__always) func leave() {
    if path.hasCopy { slots._withUnsafeGuaranteedRef { $0.exitEpoch(slot) } }
  }

  @usableFromInline @inline(__always) func checkWriter() throws(StorageError) {
    if let writer, writer._withUnsafeGuaranteedRef({ $0.mutations }) != mutations { throw invalidated() }
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
    isFresh = false
    return try key.withSearchKey { (key) throws(StorageError) in try path.seek(key) }
  }

  /// Goes to the entry with `index` entries below it; false if there are not so many. O(log n).
  public mutating func seek(toIndex index: Int) throws(StorageError) -> Bool {
    try enter()
    defer { leave() }
    isFresh = false
    return try path.seek(rank: index)
  }

  /// Goes to the first entry; false if there is none. O(log n).
  public mutating func seekFirst() throws(StorageError) -> Bool {
    try enter()
    defer { leave() }
    isFresh = false
    return try path.seekFirst()
  }

  /// Goes to the last entry; false if there is none. O(log n).
  public mutating func seekLast() throws(StorageError) -> Bool {
    try enter()
    defer { leave() }
    isFresh = false
    return try path.seekLast()
  }

  /// Goes to the next entry; false behind the last one. O(1) within a page.
  public mutating func next() throws(StorageError) -> Bool {
    if isFresh { return try seekFirst() }
    if path.hasCopy {
      // Inside a copy nothing is touched that anybody else could take away.
      try checkWriter()
      if path.stepInLeaf(1) { return true }
    }
    try enter()
    defer { leave() }
    return try path.next()
  }

  /// Goes to the entry before; false in front of the first one. O(1) within a page.
  public mutating func previous() throws(StorageError) -> Bool {
    if isFresh { return try seekLast() }
    if path.hasCopy {
      // Inside a copy nothing is touched that anybody else could take away.
      try checkWriter()
      if path.stepInLeaf(-1) { return true }
    }
    try enter()
    defer { leave() }
    return try path.previous()
  }

  /// Whether the cursor is on an entry.
  public var isOnEntry: Bool { path.isOnEntry }

  /// Where the current entry is now; nil if there is none. Another call on the same transaction may have moved the
  /// slot's epoch since the last step: the address from then may be that of another page by now.
  ///
  /// - Throws: what reading the page once more throws, and `cursorInvalidated`: its index is of no use.
  @inline(__always) private func currentEntry() throws(StorageError) -> (page: PageBytes, index: Int)? {
    guard let entry = path.entry else { return nil }
    try checkWriter()
    if path.hasCopy || slots._withUnsafeGuaranteedRef({ $0.isAt(epoch, slot) }) { return entry }
    return (try path.currentLeaf(), entry.index)
  }

  /// The current value, or the reference to its extent, as a pointer that is good until the transaction's next call.
  @usableFromInline package var borrowedValue: BorrowedValue? {
    get throws(StorageError) {
      guard let (page, index) = try currentEntry() else { return nil }
      return BorrowedValue(page.leafCell(index))
    }
  }

  /// The bytes of the current key, put together in the cursor's buffer; for integer keys eight big-endian bytes of the
  /// ordered form. Nil also if they can no longer be found, and the next step throws why.
  @usableFromInline package var borrowedKey: BorrowedValue? {
    guard let (page, index) = try? currentEntry() else { return nil }
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
    if !path.hasCopy { slots._withUnsafeGuaranteedRef { $0.beginLoan(slot) } }
  }

  /// A loan is over.
  @usableFromInline package func endLoan() {
    if !path.hasCopy { slots._withUnsafeGuaranteedRef { $0.endLoan(slot) } }
  }

  /// Calls `body` with the current key; nil if the cursor is on no entry, or can no longer read its page: its next
  /// step then throws why.
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
  @usableFromInline func longValue(_ value: BorrowedValue) throws(StorageError) -> UnsafeRawBufferPointer {
    try checkWriter()
    announce(value)
    defer { leave() }
    return try longValue.pointee.value(of: ExtentReference(at: value.base), reader)
  }

  /// Announces that a long value will be looked up, where the cursor holds no address between its steps.
  @inline(__always) private func announce(_ value: BorrowedValue) {
    if path.hasCopy, reader.isInSlot(value) { _ = slots._withUnsafeGuaranteedRef { $0.enterEpoch(slot) } }
  }

  /// A copy of the current key; nil as `withKey` is.
  public var key: [UInt8]? {
    borrowedKey.map { [UInt8](UnsafeRawBufferPointer(start: $0.base, count: $0.count)) }
  }

  /// The current key of a tree with integer keys; nil as `withKey` is.
  public var integerKey: Int64? {
    guard let (page, index) = try? currentEntry(), page.hasIntegerKeys else { return nil }
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
