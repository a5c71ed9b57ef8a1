// What an extension has of the database in one transaction: trees of its own, values of its own, and the rows.

internal import QuireStorage

/// An extension's part of the database in one transaction.
///
/// Nobody else can open its trees and values. For the thread and the life of the transaction.
public struct ExtensionStore {
  let state: TransactionState
  let id: ExtensionID
  let isPersistent: Bool
  /// The name that the extension is registered under.
  public let name: String
  /// What other transactions have found of it that this one would find, too; nil if it has to look.
  var known: KnownExtension?

  // MARK: Trees

  /// The tree of this name, made if it does not exist. In a read transaction one that does not exist is empty.
  ///
  /// - Throws: `nameTooLong` for more than `Limits.extensionTreeNameByteCount` bytes, `extensionFailed` if the tree has
  ///   keys of the other kind, `damagedPage`, `inputOutput`, `diskFull`.
  public func tree<Key: ExtensionTreeKey>(_ treeName: String, of: Key.Type) throws -> ExtensionTree<Key> {
    try state.check()
    guard treeName.utf8.count <= Limits.extensionTreeNameByteCount else {
      throw DatabaseError(
        .nameTooLong, "The name of a tree has more than \(Limits.extensionTreeNameByteCount) bytes: “\(treeName)”.",
        path: state.database.path)
    }
    guard isPersistent else {
      let place = MemoryForest.Place(id: id, name: ByteString(treeName))
      return ExtensionTree(state: state, backing: .memory(place), owner: id, extensionName: name, name: treeName)
    }
    let keys: KeyKind = Key.isNumber ? .int64 : .bytes
    if let tree = known?.tree(treeName), tree.keys == keys {
      return ExtensionTree(state: state, backing: .stored(tree), owner: id, extensionName: name, name: treeName)
    }
    guard let tree = try storedTree(treeName, keys) else {
      return ExtensionTree(state: state, backing: .missing, owner: id, extensionName: name, name: treeName)
    }
    return ExtensionTree(state: state, backing: .stored(tree), owner: id, extensionName: name, name: treeName)
  }

  private func storedTree(_ treeName: String, _ keys: KeyKind) throws(DatabaseError) -> Tree? {
    let fullName = id.treeName(treeName)
    if let tree = state.tree(named: fullName) {
      guard tree.keys == keys else {
        throw DatabaseError(
          .extensionFailed,
          "The extension “\(name)” opened its tree “\(treeName)” with keys of another kind than it has.",
          path: state.database.path)
      }
      known?.keep(tree, treeName)
      return tree
    }
    guard state.isWriting else { return nil }
    state.noteExtensionChange()
    return try state.wrapping { () throws(StorageError) in try state.createTree(fullName, keys) }
  }

  /// Removes all entries of all trees, and all values, stored and not. Trees that are open stay so.
  public func removeEverything() throws {
    try removeAllEntries()
    try state.extensionCatalog.removeValues(of: id)
    noteChangeInMemory()
    try state.changeForest { forest in forest.values[id] = nil }
  }

  /// Removes all entries of all trees; the trees and the values stay.
  public func removeAllEntries() throws {
    try state.checkWriting()
    state.noteWholeChange(of: id)
    guard isPersistent else { return try state.changeForest { forest in forest.removeTrees(of: id) } }
    for tree in try state.extensionCatalog.storedTrees(of: id) {
      try state.wrapping { () throws(StorageError) in try state.deleteAll(in: tree) }
    }
  }

  // MARK: Values

  /// The value that was set under `name`; nil if there is none, or one of another type.
  ///
  /// - Parameters:
  ///   - valueName: what it was stored under.
  ///   - as: the type that it was stored as.
  ///   - persistent: whether it is looked for among those that are stored; of an extension that is not stored
  ///     none are.
  public func value<Value: ExtensionValue>(
    _ valueName: String, as: Value.Type = Value.self, persistent: Bool = true
  ) throws -> Value? {
    try state.check()
    state.recorder?.note(ByteInterval([UInt8](valueName.utf8)), inTree: ExtensionParts.values, of: name)
    let bytes: [UInt8]? =
      persistent && isPersistent
      ? try state.extensionCatalog.storedValue(valueName, of: id)
      : try state.forest().values[id]?[ByteString(valueName)]
    return bytes.flatMap { Value.fromExtensionBytes($0) }
  }

  /// What `make` makes of the extension's values (of a stored one: of those that are stored) and of what it was
  /// registered as: made once, and given to the read transactions after this one too, as long as no value was set and
  /// no tree was made. In a write transaction it is made at each call. An observed read depends on all values from
  /// here on.
  ///
  /// An extension keeps one thing: all that its readers want to keep stands in it.
  ///
  /// - Parameter make: what it makes must not hold the transaction or anything of it.
  /// - Throws: `transactionClosed`, and what `make` throws; then nothing is kept.
  public func keeping<Made: AnyObject & Sendable>(_ make: () throws -> Made) throws -> Made {
    try state.check()
    state.recorder?.note(ByteInterval(lower: [], upper: nil), inTree: ExtensionParts.values, of: name)
    if let kept = known?.kept as? Made { return kept }
    let made = try make()
    known?.keep(made)
    return made
  }

  /// Sets the value under `name`; nil removes it. Takes part in the transaction like the trees.
  ///
  /// - Parameters:
  ///   - value: what is stored; nil removes it.
  ///   - valueName: at most 512 bytes.
  ///   - persistent: whether it is stored; if not, or if the extension is not stored, it lives as long as the
  ///     database is open.
  /// - Throws: `nameTooLong`, `readOnly`, `transactionClosed`, `damagedPage`, `inputOutput`, `diskFull`.
  public func set<Value: ExtensionValue>(_ value: Value?, for valueName: String, persistent: Bool = true) throws {
    try state.checkWriting()
    state.noteChange(of: id, inTree: ExtensionParts.values, ByteInterval([UInt8](valueName.utf8)))
    guard valueName.utf8.count <= Limits.extensionNameByteCount else {
      throw DatabaseError(
        .nameTooLong, "The name of a value has more than \(Limits.extensionNameByteCount) bytes.",
        path: state.database.path)
    }
    if persistent, isPersistent {
      try state.extensionCatalog.storeValue(value?.extensionBytes, valueName, of: id)
    } else {
      let bytes = value?.extensionBytes
      noteChangeInMemory()
      try state.changeForest { forest in forest.values[id, default: [:]][ByteString(valueName)] = bytes }
    }
  }

  /// Removes the values whose names begin with the bytes of `prefix`, stored and not. Takes part in the transaction as
  /// trees do. O(log n) and the values that go.
  ///
  /// - Throws: `readOnly`, `transactionClosed`, `damagedPage`, `inputOutput`, `diskFull`.
  public func removeValues(beginningWith prefix: String) throws {
    try state.checkWriting()
    state.noteWholeChange(of: id)
    try state.extensionCatalog.removeValues(of: id, beginningWith: prefix)
    guard let values = try state.forest().values[id] else { return }
    let rest = values.filter { !$0.key.string.utf8.starts(with: prefix.utf8) }
    noteChangeInMemory()
    try state.changeForest { forest in forest.values[id] = rest }
  }

  /// Notes a change of values that are not stored, where all of the extension's are such.
  private func noteChangeInMemory() { if !isPersistent { state.noteExtensionChange() } }

  /// Which life of its content the extension is in, as the transaction sees it.
  ///
  /// - Throws: `transactionClosed`.
  public var life: ExtensionLife {
    get throws(DatabaseError) { ExtensionLife(id: id, number: try state.forest().lives[id] ?? 0) }
  }

  // MARK: The rows

  /// The transaction, as an app has it. Nil in a read transaction.
  public var writeTransaction: WriteTransaction? { state.isWriting ? WriteTransaction(state: state) : nil }

  /// The transaction, as a reading one: also in a write transaction, whose changes it shows.
  public var readTransaction: ReadTransaction { ReadTransaction(state: state) }

  /// The key and the contents of the row of an id, whatever its collection, as hooks are told of it; nil if it is gone.
  /// Touches one page per level of the row tree.
  public func row(_ rowID: RowID) throws -> RowChange? { try state.extensions.rowChange(.insert, rowID) }

  /// Another extension that this one depends on, for reading in a read transaction.
  ///
  /// - Throws: as `ReadTransaction.access`.
  public func reader<Other: DatabaseExtension>(of otherName: String, as: Other.Type) throws -> Other.Reader {
    try state.extensions.reader(named: otherName, Other.self)
  }

  /// Another extension that this one depends on, in a write transaction.
  ///
  /// - Throws: as `WriteTransaction.access`.
  public func writer<Other: DatabaseExtension>(of otherName: String, as: Other.Type) throws -> Other.Writer {
    try state.extensions.writer(named: otherName, Other.self)
  }

  /// The writers of this type that follow the transaction, its own among them, in the order of registration; also those
  /// of extensions that are still being built. Empty in a read transaction. For extensions of one kind that have to
  /// agree with each other.
  public func writers<Writer>(as: Writer.Type) throws -> [Writer] {
    try state.session()?.entries.compactMap { $0.writer as? Writer } ?? []
  }

  /// The database that the transaction is one of: for what is to be done after it, in `onCommit`. Transactions cannot
  /// be nested.
  public var database: Database { Database(state.database) }

  /// A number that is another one when the transaction has changed rows, or anything that extensions keep, since it
  /// was asked for last; also if that was undone. 0 in a read transaction.
  public var changeCount: Int { state.mutationCount &+ (state.writer?.extensionChangeCount ?? 0) }

  /// For work that takes long: to be called now and then.
  ///
  /// - Throws: `CancellationError` if the task was cancelled that runs the transaction, or that awaits it while a
  ///   thread of the database's runs it.
  public func checkCancellation() throws(CancellationError) { try state.checkCancelled() }

  /// Runs a call that cannot throw, like `count` or the step of a `for` loop: an error of `body`'s is thrown by the
  /// transaction's next call, at the latest at its end, which then rolls back, and `fallback` is returned.
  public func noting<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
    state.noting(fallback) { () throws(DatabaseError) in
      do { return try body() } catch { throw state.wrap(error) }
    }
  }

  /// To be called when the extension changes what others read from it, and no change of a row has led to that: stored
  /// extensions that depend on it and are not registered in this opening are marked, and built anew when they are.
  /// Reads what is noted about all extensions.
  public func markDependents() throws { try state.extensions.markDependents(of: name) }

  /// Lets `replacement`, which has the same name, take the place of the extension from the end of this transaction on,
  /// if it commits; stores its version. The writer of this transaction stays, and is to bring the trees into the form
  /// that the new version wants. Readers of older snapshots go on: a reader has to do with trees of the versions that
  /// were replaced in this opening, of which the last 256 are remembered.
  ///
  /// - Throws: `extensionMismatch` if name, kind or dependencies differ, `invalidOption` for too long a version.
  public func replaceExtension(with replacement: any DatabaseExtension) throws {
    try state.extensions.replaceExtension(id, name, with: replacement)
  }
}

/// The life of an extension's content, from the registration that begins to build it to the one that begins anew, or to
/// the end of the extension.
///
/// What is derived from the content step by step, such as a screen, goes on within one life only. Another version,
/// another kind, rows that changed while the extension was not registered, and unregistering it begin or end a life;
/// opening the database again and finding the content as it was does not. In one process no two lives that were begun
/// are the same, in whatever openings; to be compared within one database only.
public struct ExtensionLife: Hashable, Sendable {
  let id: ExtensionID
  let number: Int

  /// Whether the content was there when the database was opened, made by the same version, and was taken over.
  public var isKept: Bool { number == 0 }
}

/// What can be a value of an extension: `Bool`, `Int`, `Double`, `String`, `[UInt8]`.
public protocol ExtensionValue {
  /// The value as bytes that tell its type.
  var extensionBytes: [UInt8] { get }
  /// The value of such bytes; nil if they are of another type. No initializer, which would be one more answer to
  /// `String.init` in apps.
  static func fromExtensionBytes(_ bytes: [UInt8]) -> Self?
}

extension Bool: ExtensionValue {
  public var extensionBytes: [UInt8] { [1, self ? 1 : 0] }
  public static func fromExtensionBytes(_ bytes: [UInt8]) -> Self? {
    guard bytes.count == 2, bytes[0] == 1, bytes[1] <= 1 else { return nil }
    return bytes[1] == 1
  }
}

extension Int: ExtensionValue {
  public var extensionBytes: [UInt8] { [2] + Int64(self).littleEndianBytes }
  public static func fromExtensionBytes(_ bytes: [UInt8]) -> Self? {
    guard let word = Self.word(bytes, 2), let value = Int(exactly: Int64(bitPattern: word)) else { return nil }
    return value
  }

  fileprivate static func word(_ bytes: [UInt8], _ tag: UInt8) -> UInt64? {
    guard bytes.first == tag else { return nil }
    return UInt64(littleEndianBytes: bytes.dropFirst())
  }
}

extension Double: ExtensionValue {
  public var extensionBytes: [UInt8] { [3] + bitPattern.littleEndianBytes }
  public static func fromExtensionBytes(_ bytes: [UInt8]) -> Self? {
    guard let word = Int.word(bytes, 3) else { return nil }
    return Self(bitPattern: word)
  }
}

extension String: ExtensionValue {
  public var extensionBytes: [UInt8] { [4] + utf8 }
  public static func fromExtensionBytes(_ bytes: [UInt8]) -> Self? {
    guard bytes.first == 4, let text = String(validating: bytes.dropFirst(), as: UTF8.self) else { return nil }
    return text
  }
}

extension [UInt8]: ExtensionValue {
  public var extensionBytes: [UInt8] { [5] + self }
  public static func fromExtensionBytes(_ bytes: [UInt8]) -> Self? {
    guard bytes.first == 5 else { return nil }
    return Array(bytes.dropFirst())
  }
}
