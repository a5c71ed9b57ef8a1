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
  /// The same of bytes that are lent, without a copy; nil unless there are eight.
  public init?(orderedBytes: RawSpan) {
    guard orderedBytes.byteCount == 8 else { return nil }
    let word = unsafe orderedBytes.unsafeLoadUnaligned(as: UInt64.self)
    self.init(Int64(bitPattern: UInt64(bigEndian: word) ^ 1 << 63))
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

  private var entries: ExtensionEntries { ExtensionEntries(transaction: state, backing: backing) }

  // MARK: Reading

  /// The number of entries. O(1).
  public var count: Int {
    get throws {
      if state.recorder != nil { noteRead(from: nil, upTo: nil) }
      return try entries.count()
    }
  }

  /// The value under `key`, copied. O(log n).
  public func value(for key: Key) throws -> [UInt8]? {
    noteRead(key)
    return try naming { () throws(DatabaseError) in try entries.value(key) }
  }

  /// Whether there is an entry under `key`. O(log n).
  public func contains(_ key: Key) throws -> Bool { try value(for: key) != nil }

  /// The number of entries whose keys are below `key`. O(log n).
  public func rank(of key: Key) throws -> Int {
    noteRead(from: nil, upTo: key)
    return try rankWithoutNoting(of: key)
  }

  private func rankWithoutNoting(of key: Key) throws(DatabaseError) -> Int {
    try naming { () throws(DatabaseError) in try entries.rank(of: key) }
  }

  /// Has an error of the engine's name the tree.
  @inline(__always)
  private func naming<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
    do throws(DatabaseError) { return try body() } catch {
      throw error.cause is StorageError ? error.inTree(name, of: extensionName) : error
    }
  }

  /// The number of entries whose keys are from `lower` up to `upper`, which is not among them; nil means no bound.
  /// O(log n).
  public func count(from lower: Key?, upTo upper: Key?) throws -> Int {
    noteRead(from: lower, upTo: upper)
    let end = try upper.map { key throws(DatabaseError) in try rankWithoutNoting(of: key) } ?? entries.count()
    return max(0, try end - (lower.map { key throws(DatabaseError) in try rankWithoutNoting(of: key) } ?? 0))
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
    state.noteChange(of: owner, inTree: name, key)
    try entries.put(value, for: key)
  }

  /// Removes the entry under `key`; returns whether there was one. O(log n).
  @discardableResult
  public func remove(_ key: Key) throws -> Bool {
    state.noteChange(of: owner, inTree: name, key)
    return try entries.remove(key)
  }

  /// Removes the entries from `lower` up to `upper`, which is not among them; nil means no bound. Returns how many
  /// there were. A stored tree lets go of whole pages without reading them.
  @discardableResult
  public func remove(from lower: Key?, upTo upper: Key?) throws -> Int {
    state.noteChange(
      of: owner, inTree: name, ByteInterval(lower: lower?.orderedBytes ?? [], upper: upper?.orderedBytes))
    return try entries.removeRange(from: lower, upTo: upper)
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
