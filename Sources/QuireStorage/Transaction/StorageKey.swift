// What callers hand in as keys and values: anything that can show its bytes for the length of a call.

/// A key of a tree: `Int64`, or anything made of bytes.
///
/// Conforming types lend their bytes for the length of a call and copy nothing.
public protocol StorageKey: ~Escapable {
  /// Calls `body` with the key in the form that trees search by.
  func withSearchKey<Result>(_ body: (SearchKey) throws(StorageError) -> Result) throws(StorageError) -> Result
  /// What kind of tree the key fits.
  static var keyKind: KeyKind { get }
}

/// A value: anything made of bytes.
public protocol StorageValue: ~Escapable {
  /// Calls `body` with the bytes, which stay valid until it returns.
  func withValueBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result
  ) throws(StorageError) -> Result
}

extension Int64: StorageKey {
  @inlinable public static var keyKind: KeyKind { .int64 }
  @inlinable public func withSearchKey<Result>(
    _ body: (SearchKey) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try body(SearchKey(self))
  }
}

extension UnsafeRawBufferPointer: StorageKey, StorageValue {
  @inlinable public static var keyKind: KeyKind { .bytes }
  @inlinable public func withSearchKey<Result>(
    _ body: (SearchKey) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try body(SearchKey(self))
  }
  @inlinable public func withValueBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try body(self)
  }
}

extension RawSpan: StorageKey, StorageValue {
  @inlinable public static var keyKind: KeyKind { .bytes }
  @inlinable public func withSearchKey<Result>(
    _ body: (SearchKey) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try withUnsafeBytes { (bytes) throws(StorageError) in try body(SearchKey(bytes)) }
  }
  @inlinable public func withValueBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try withUnsafeBytes { (bytes) throws(StorageError) in try body(bytes) }
  }
}

extension [UInt8]: StorageKey, StorageValue {
  @inlinable public static var keyKind: KeyKind { .bytes }
  @inlinable public func withSearchKey<Result>(
    _ body: (SearchKey) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try withValueBytes { (bytes) throws(StorageError) in try body(SearchKey(bytes)) }
  }
  @inlinable public func withValueBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try span.bytes.withUnsafeBytes { (bytes) throws(StorageError) in try body(bytes) }
  }
}

extension String: StorageKey, StorageValue {
  @inlinable public static var keyKind: KeyKind { .bytes }
  @inlinable public func withSearchKey<Result>(
    _ body: (SearchKey) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try withValueBytes { (bytes) throws(StorageError) in try body(SearchKey(bytes)) }
  }
  @inlinable public func withValueBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    var copy = self
    // The typed throw does not pass through withUTF8, so the outcome travels as a value.
    let outcome = copy.withUTF8 { bytes -> Swift.Result<Result, StorageError> in
      do throws(StorageError) { return .success(try body(UnsafeRawBufferPointer(bytes))) } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }
}

/// A tree, by identity and kind of keys. Good in any transaction of its database in which the tree exists.
public struct Tree: Hashable, Sendable {
  /// The tree's identity, never given twice in one database.
  public let id: TreeID
  /// What its keys are.
  public let keys: KeyKind
  /// Where the tree was in the snapshot that this value came from.
  @usableFromInline package let hint: Int

  /// A tree found at index `hint` of a snapshot's roots.
  package init(id: TreeID, keys: KeyKind, hint: Int) {
    self.id = id
    self.keys = keys
    self.hint = hint
  }

  public static func == (left: Tree, right: Tree) -> Bool { left.id == right.id }
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

extension Tree {
  /// The error for a tree that a snapshot does not have.
  @usableFromInline @inline(never) func missing() -> StorageError {
    StorageError(.noSuchTree, "There is no \(id) in this snapshot: it was dropped, or is from another database.")
  }

  /// The error for a key of the wrong kind.
  @usableFromInline @inline(never) func mismatch() -> StorageError {
    StorageError(.treeMismatch, "The keys of \(id) are \(keys == .int64 ? "Int64" : "byte strings"); use such a key.")
  }
}
