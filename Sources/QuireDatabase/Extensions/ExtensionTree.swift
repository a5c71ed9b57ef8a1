// The trees of extensions, stored or in memory, behind one face.

internal import QuireStorage

/// What can be a key of an extension's tree: `[UInt8]` or `RowID`.
public protocol ExtensionTreeKey: Hashable, Sendable {
  /// The key as bytes whose order is the order of the tree.
  var orderedBytes: [UInt8] { get }
  /// The key of such bytes; nil if they are none.
  init?(orderedBytes: [UInt8])
  /// Whether the tree of these keys is one of numbers.
  static var isNumber: Bool { get }
  /// The key as a number, if the tree of these keys is one of numbers.
  var number: Int64? { get }
}

extension [UInt8]: ExtensionTreeKey {
  public var orderedBytes: [UInt8] { self }
  public init?(orderedBytes: [UInt8]) { self = orderedBytes }
  public static var isNumber: Bool { false }
  public var number: Int64? { nil }
}

extension RowID: ExtensionTreeKey {
  public var orderedBytes: [UInt8] {
    (UInt64(bitPattern: rawValue) ^ 1 << 63).bigEndianBytes
  }
  public init?(orderedBytes: [UInt8]) {
    guard let word = UInt64(bigEndianBytes: orderedBytes) else { return nil }
    self.init(Int64(bitPattern: word ^ 1 << 63))
  }
  public static var isNumber: Bool { true }
  public var number: Int64? { rawValue }
}

/// A tree of an extension's own in one transaction: an ordered map that knows the rank of its entries.
///
/// Stored trees are the engine's: a question touches one page per level, and a change writes these anew. Trees in
/// memory cost about as much without the disk. Changes take part in the transaction, its savepoints and its rollback.
/// For the thread and the life of its transaction.
///
/// All calls throw `transactionClosed` when the transaction is over; changes throw `readOnly` in a read transaction,
/// and all may throw `damagedPage`, `inputOutput`, and, changing, `diskFull`.
public struct ExtensionTree<Key: ExtensionTreeKey> {
  let state: TransactionState
  let backing: ExtensionTreeBacking
  /// The extension that the tree is of.
  let owner: ExtensionID
  let extensionName: String
  let name: String

  // MARK: Reading

  /// The number of entries. O(1).
  public var count: Int { get throws { try state.count(of: backing) } }

  /// The value under `key`, copied. O(log n).
  public func value(for key: Key) throws -> [UInt8]? {
    try naming { () throws(DatabaseError) in try state.value(key, in: backing) }
  }

  /// Whether there is an entry under `key`. O(log n).
  public func contains(_ key: Key) throws -> Bool { try value(for: key) != nil }

  /// The number of entries whose keys are below `key`. O(log n).
  public func rank(of key: Key) throws -> Int {
    try naming { () throws(DatabaseError) in try state.rank(of: key, in: backing) }
  }

  /// Has an error of the engine's name the tree.
  @inline(__always)
  private func naming<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
    do throws(DatabaseError) { return try body() } catch {
      throw error.cause is StorageError ? error.inTree(name, of: extensionName) : error
    }
  }

  /// The number of entries whose keys are in the range. O(log n).
  public func count(from lower: Key, upTo upper: Key) throws -> Int {
    max(0, try rank(of: upper) - rank(of: lower))
  }

  /// The entry with `index` entries below it; nil if there are not so many. O(log n).
  public func entry(at index: Int) throws -> (key: Key, value: [UInt8])? {
    let cursor = try cursor()
    return try cursor.seek(toIndex: index) ? cursor.entry : nil
  }

  /// A new cursor, on no entry. Any change of the transaction ends it.
  public func cursor() throws -> ExtensionCursor<Key> { try ExtensionCursor(self) }

  // MARK: Changing

  /// Stores a value under `key`, in the place of what was there. O(log n).
  public func put(_ value: [UInt8], for key: Key) throws {
    state.noteChange(of: owner)
    try state.put(value, for: key, in: backing)
  }

  /// Removes the entry under `key`; returns whether there was one. O(log n).
  @discardableResult
  public func remove(_ key: Key) throws -> Bool {
    state.noteChange(of: owner)
    return try state.remove(key, in: backing)
  }

  /// Removes the entries from `lower` up to `upper`, which is not among them; nil means no bound. Returns how many
  /// there were. A stored tree lets go of whole pages without reading them.
  @discardableResult
  public func remove(from lower: Key?, upTo upper: Key?) throws -> Int {
    state.noteChange(of: owner)
    return try state.removeRange(from: lower, upTo: upper, in: backing)
  }

  /// Removes all entries.
  public func removeAll() throws { try remove(from: nil, upTo: nil) }
}

/// Where a tree's entries are.
enum ExtensionTreeBacking {
  case stored(Tree)
  case memory(MemoryForest.Place)
  /// A tree that the snapshot does not have: it has no entries.
  case missing
}

extension TransactionState {
  func count(of backing: ExtensionTreeBacking) throws(DatabaseError) -> Int {
    try check()
    switch backing {
    case .stored(let tree): return try wrapping { () throws(StorageError) in try count(of: tree) }
    case .memory(let place): return try forest().trees[place]?.count ?? 0
    case .missing: return 0
    }
  }

  func value<Key: ExtensionTreeKey>(_ key: Key, in backing: ExtensionTreeBacking) throws(DatabaseError) -> [UInt8]? {
    try check()
    switch backing {
    case .stored(let tree):
      return try wrapping { () throws(StorageError) in try storedValue(key, in: tree) }
    case .memory(let place): return try forest().trees[place]?.value(for: key.orderedBytes)
    case .missing: return nil
    }
  }

  private func storedValue<Key: ExtensionTreeKey>(_ key: Key, in tree: Tree) throws(StorageError) -> [UInt8]? {
    if let number = key.number { return try value(number, in: tree) }
    return try value(key.orderedBytes, in: tree)
  }

  func rank<Key: ExtensionTreeKey>(of key: Key, in backing: ExtensionTreeBacking) throws(DatabaseError) -> Int {
    try check()
    switch backing {
    case .stored(let tree):
      return try wrapping { () throws(StorageError) in
        if let number = key.number { return try rank(number, in: tree) }
        return try rank(key.orderedBytes, in: tree)
      }
    case .memory(let place): return try forest().trees[place]?.rank(of: key.orderedBytes) ?? 0
    case .missing: return 0
    }
  }

  func put<Key: ExtensionTreeKey>(
    _ value: [UInt8], for key: Key, in backing: ExtensionTreeBacking
  ) throws(DatabaseError) {
    try checkWriting()
    switch backing {
    case .stored(let tree):
      try wrapping { () throws(StorageError) in
        try unsafe value.withValueBytes { (bytes) throws(StorageError) in
          if let number = key.number { return try unsafe put(SearchKey(number), bytes, in: tree) }
          try key.orderedBytes.withSearchKey { (key) throws(StorageError) in try unsafe put(key, bytes, in: tree) }
        }
      }
    case .memory(let place):
      try changeForest { forest in _ = forest.trees[place, default: MemoryTree()].put(value, for: key.orderedBytes) }
    case .missing: throw notWriting()
    }
  }

  func remove<Key: ExtensionTreeKey>(_ key: Key, in backing: ExtensionTreeBacking) throws(DatabaseError) -> Bool {
    try checkWriting()
    switch backing {
    case .stored(let tree):
      return try wrapping { () throws(StorageError) in
        if let number = key.number { return try delete(SearchKey(number), in: tree) }
        return try key.orderedBytes.withSearchKey { (key) throws(StorageError) in try delete(key, in: tree) }
      }
    case .memory(let place):
      return try changeForest { forest in forest.trees[place, default: MemoryTree()].remove(key.orderedBytes) }
    case .missing: throw notWriting()
    }
  }

  func removeRange<Key: ExtensionTreeKey>(
    from lower: Key?, upTo upper: Key?, in backing: ExtensionTreeBacking
  ) throws(DatabaseError) -> Int {
    try checkWriting()
    switch backing {
    case .stored(let tree):
      return try wrapping { () throws(StorageError) in
        try deleteRange(lower?.orderedBytes, upper?.orderedBytes, isNumber: Key.isNumber, in: tree)
      }
    case .memory(let place):
      return try changeForest { forest in
        forest.trees[place]?.removeRange(from: lower?.orderedBytes, upTo: upper?.orderedBytes) ?? 0
      }
    case .missing: throw notWriting()
    }
  }

  // MARK: Memory

  /// The trees in memory as the transaction sees them.
  func forest() throws(DatabaseError) -> MemoryForest {
    try check()
    if let loadedForest { return loadedForest }
    let found = isWriting ? database.memory.newest : database.memory.forest(at: csn)
    loadedForest = found
    return found
  }

  /// Changes the trees in memory.
  @discardableResult
  func changeForest<Result>(_ body: (inout MemoryForest) -> Result) throws(DatabaseError) -> Result {
    guard let writer else { throw notWriting() }
    _ = try forest()
    var changed: MemoryForest?
    // Out of its place, so that the copies inside are the only ones and change in place.
    swap(&changed, &loadedForest)
    defer { swap(&changed, &loadedForest) }
    writer.hasChangedForest = true
    guard var current = changed.take() else { throw notWriting() }
    let result = body(&current)
    changed = current
    return result
  }
}
