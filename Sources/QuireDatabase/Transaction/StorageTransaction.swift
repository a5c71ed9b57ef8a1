// The engine's transaction behind one of ours: its trees, what it has lent, and its end.

internal import QuireStorage

/// The engine's transaction of either kind, until its closure has returned.
///
/// Used by the thread that runs the closure only.
///
/// Invariants:
/// 1. `storage` is `ended` once the closure has returned, and every call throws then.
/// 2. `lentCount` is above 0 while a closure holds bytes of a page of a write transaction.
@usableFromInline class StorageTransaction {
  /// The engine's transaction.
  final var storage: StorageHandle
  /// How many closures hold bytes of pages at the moment: a change would pull these away from under a decoder.
  final var lentCount = 0

  init(_ storage: StorageHandle) { self.storage = storage }
}

extension StorageTransaction {
  // MARK: Reading

  /// Lends the value under `key` until `endLoan`.
  @inline(__always) func lend(_ key: SearchKey, in tree: Tree) throws(StorageError) -> BorrowedValue? {
    switch storage {
    case .reading(let tx): return unsafe try tx.pointee.lend(key, in: tree)
    case .writing(let tx):
      guard let value = unsafe try tx.pointee.lend(key, in: tree) else { return nil }
      lentCount &+= 1
      return value
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Takes back what `lend` returned.
  @inline(__always) func endLoan(_ value: BorrowedValue) {
    switch storage {
    case .reading(let tx): unsafe tx.pointee.endLoan(value)
    case .writing(let tx):
      assert(lentCount > 0, "bytes are given back that were not lent")
      lentCount &-= 1
      unsafe tx.pointee.endLoan(value)
    case .ended: break
    }
  }

  /// Calls `body` with the value under an integer key, however long it is.
  @inline(__always) func withValue<Result>(
    _ key: Int64, in tree: Tree, _ body: (RawSpan) throws -> Result
  ) throws -> Result? {
    switch storage {
    case .reading(let tx): return unsafe try tx.pointee.withValue(for: key, in: tree, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      return unsafe try tx.pointee.withValue(for: key, in: tree, body)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Calls `body` with the bytes `range` of the value under an integer key.
  func withValue<Result>(
    _ key: Int64, in tree: Tree, range: Range<Int>, _ body: (RawSpan) throws -> Result
  ) throws -> Result? {
    switch storage {
    case .reading(let tx): return unsafe try tx.pointee.withValue(for: key, in: tree, range: range, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      return unsafe try tx.pointee.withValue(for: key, in: tree, range: range, body)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Calls `body` for each of `count` integer keys, with descents side by side.
  func withValues(
    count: Int, in tree: Tree, _ key: (Int) throws -> Int64, _ body: (Int, RawSpan?) throws -> Void
  ) throws {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.withValues(count: count, in: tree, key, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      unsafe try tx.pointee.withValues(count: count, in: tree, key, body)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// The bytes under a key, copied.
  func value(_ key: [UInt8], in tree: Tree) throws(StorageError) -> [UInt8]? {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.value(for: key, in: tree)
    case .writing(let tx): unsafe try tx.pointee.value(for: key, in: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// The number of entries below a key.
  func rank(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Int {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.rank(of: key, in: tree)
    case .writing(let tx): unsafe try tx.pointee.rank(of: key, in: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// The number of entries of a tree.
  func count(of tree: Tree) throws(StorageError) -> Int {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.count(of: tree)
    case .writing(let tx): unsafe try tx.pointee.count(of: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// A cursor over a tree.
  func cursor(_ tree: Tree) throws(StorageError) -> Cursor {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.cursor(tree)
    case .writing(let tx): unsafe try tx.pointee.cursor(tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  // MARK: Changing

  /// Stores an entry.
  func put(_ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree) throws(StorageError) {
    switch storage {
    case .writing(let tx): _ = unsafe try tx.pointee.put(key, value, isInsertOnly: false, in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Stores an entry unless there is one already: then lends the value of that one until `endLoan`.
  func insertOrFind(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree
  ) throws(StorageError) -> BorrowedValue? {
    guard case .writing(let tx) = storage else { throw StorageHandle.unfit() }
    guard let found = unsafe try tx.pointee.insertOrFind(key, value, in: tree) else { return nil }
    lentCount &+= 1
    return found
  }

  /// Whether storing a row either succeeds or leaves a transaction that can only be rolled back.
  func isStoredWhole(_ row: borrowing RowBuilder) -> Bool {
    guard case .writing(let tx) = storage else { return false }
    return unsafe row.bytes.withUnsafeBytes { unsafe tx.pointee.standsBesideKey(SearchKey(Int64(0)), $0) }
  }

  /// The row id that is reserved next.
  var nextRowID: RowID {
    guard case .writing(let tx) = storage else { return RowID(0) }
    return RowID(unsafe tx.pointee.nextRowID)
  }

  /// Removes an entry.
  @discardableResult
  func delete(_ key: SearchKey, in tree: Tree) throws(StorageError) -> Bool {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.delete(key, in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Removes the entries from `lower` up to `upper`, which is not among them.
  @discardableResult
  func deleteRange(from lower: [UInt8], to upper: [UInt8], in tree: Tree) throws(StorageError) -> Int {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.deleteRange(from: lower, to: upper, in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Removes the entries whose integer keys are in `range`.
  func deleteRange(_ range: Range<Int64>, in tree: Tree) throws(StorageError) -> Int {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.deleteRange(range, in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Removes all entries of a tree.
  func deleteAll(in tree: Tree) throws(StorageError) {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.deleteAll(in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Reserves a row id.
  func allocateRowID() throws(StorageError) -> RowID { try allocateRowIDs(1) }

  /// Reserves row ids, one behind the other, and returns the first.
  func allocateRowIDs(_ count: Int) throws(StorageError) -> RowID {
    switch storage {
    case .writing(let tx): RowID(unsafe try tx.pointee.allocateRowIDs(count))
    default: throw StorageHandle.unfit()
    }
  }

  /// Runs `body`; if it throws, undoes what it did in the trees.
  func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.savepoint { _ in try body() }
    default: throw StorageHandle.unfit()
    }
  }
}
