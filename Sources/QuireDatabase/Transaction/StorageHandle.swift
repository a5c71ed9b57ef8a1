// The engine's calls, for either kind of transaction.

internal import QuireStorage

/// The engine's transaction behind one of ours.
enum StorageHandle: ~Copyable {
  case reading(QuireStorage.ReadTransaction)
  case writing(QuireStorage.WriteTransaction)
  /// The closure has returned. Every call of an app's is refused before it comes here.
  case ended

  /// The error of a call that needs another kind of transaction.
  static func unfit() -> StorageError {
    StorageError(.transactionFailed, "The transaction is over, or cannot change anything. Begin another one.")
  }
}

extension TransactionState {
  // MARK: Reading

  /// Lends the value under `key` until `endLoan`.
  @inline(__always) func lend(_ key: SearchKey, in tree: Tree) throws(StorageError) -> BorrowedValue? {
    switch unsafe storage {
    case .reading(let tx): return try tx.lend(key, in: tree)
    case .writing(let tx):
      guard let value = try tx.lend(key, in: tree) else { return nil }
      lentCount &+= 1
      return value
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Takes back what `lend` returned.
  @inline(__always) func endLoan(_ value: BorrowedValue) {
    switch unsafe storage {
    case .reading(let tx): tx.endLoan(value)
    case .writing(let tx):
      lentCount &-= 1
      tx.endLoan(value)
    case .ended: break
    }
  }

  /// Calls `body` with the value under an integer key, however long it is.
  @inline(__always) func withValue<Result>(
    _ key: Int64, in tree: Tree, _ body: (RawSpan) throws -> Result
  ) throws -> Result? {
    switch unsafe storage {
    case .reading(let tx): return try tx.withValue(for: key, in: tree, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      return try tx.withValue(for: key, in: tree, body)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Calls `body` with the bytes `range` of the value under an integer key.
  func withValue<Result>(
    _ key: Int64, in tree: Tree, range: Range<Int>, _ body: (RawSpan) throws -> Result
  ) throws -> Result? {
    switch unsafe storage {
    case .reading(let tx): return try tx.withValue(for: key, in: tree, range: range, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      return try tx.withValue(for: key, in: tree, range: range, body)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Calls `body` for each of `count` integer keys, with descents side by side.
  func withValues(
    count: Int, in tree: Tree, _ key: (Int) throws -> Int64, _ body: (Int, RawSpan?) throws -> Void
  ) throws {
    switch unsafe storage {
    case .reading(let tx): try tx.withValues(count: count, in: tree, key, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      try tx.withValues(count: count, in: tree, key, body)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// The bytes under a key, copied.
  func value(_ key: [UInt8], in tree: Tree) throws(StorageError) -> [UInt8]? {
    switch unsafe storage {
    case .reading(let tx): try tx.value(for: key, in: tree)
    case .writing(let tx): try tx.value(for: key, in: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// The number of entries below a key.
  func rank(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Int {
    switch unsafe storage {
    case .reading(let tx): try tx.rank(of: key, in: tree)
    case .writing(let tx): try tx.rank(of: key, in: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// The number of entries of a tree.
  func count(of tree: Tree) throws(StorageError) -> Int {
    switch unsafe storage {
    case .reading(let tx): try tx.count(of: tree)
    case .writing(let tx): try tx.count(of: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// A cursor over a tree.
  func cursor(_ tree: Tree) throws(StorageError) -> Cursor {
    switch unsafe storage {
    case .reading(let tx): try tx.cursor(tree)
    case .writing(let tx): try tx.cursor(tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  // MARK: Changing

  /// Stores an entry.
  func put(_ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree) throws(StorageError) {
    switch unsafe storage {
    case .writing(let tx): _ = unsafe try tx.put(key, value, isInsertOnly: false, in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Removes an entry.
  @discardableResult
  func delete(_ key: SearchKey, in tree: Tree) throws(StorageError) -> Bool {
    switch unsafe storage {
    case .writing(let tx): try tx.delete(key, in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Removes the entries from `lower` up to `upper`, which is not among them.
  @discardableResult
  func deleteRange(from lower: [UInt8], to upper: [UInt8], in tree: Tree) throws(StorageError) -> Int {
    switch unsafe storage {
    case .writing(let tx): try tx.deleteRange(from: lower, to: upper, in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Removes the rows whose ids are in `range`.
  func deleteRows(_ range: Range<Int64>) throws(StorageError) -> Int {
    switch unsafe storage {
    case .writing(let tx): try tx.deleteRange(range, in: database.trees.rows)
    default: throw StorageHandle.unfit()
    }
  }

  /// Removes all entries of a tree.
  func deleteAll(in tree: Tree) throws(StorageError) {
    switch unsafe storage {
    case .writing(let tx): try tx.deleteAll(in: tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// Reserves a row id.
  func allocateRowID() throws(StorageError) -> RowID {
    switch unsafe storage {
    case .writing(let tx): RowID(try tx.allocateRowIDs())
    default: throw StorageHandle.unfit()
    }
  }

  /// Runs `body`; if it throws, undoes what it did in the trees.
  func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    switch unsafe storage {
    case .writing(let tx): try tx.savepoint { _ in try body() }
    default: throw StorageHandle.unfit()
    }
  }
}
