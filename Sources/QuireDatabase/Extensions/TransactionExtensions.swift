// Extensions as a transaction finds them.

internal import QuireStorage

/// A reader that a transaction has made, and for whom.
struct KnownReader {
  let registered: RegisteredExtension
  let kind: Any.Type
  let reader: Any
}

/// The extensions of one transaction: the writers that follow it, the readers that were asked for, and what its commit
/// says of those that do not follow it.
///
/// A view of the transaction, for as long as that; what it remembers stands there.
struct TransactionExtensions {
  let transaction: TransactionState
  private var catalog: ExtensionCatalog { ExtensionCatalog(transaction: transaction) }

  init(_ transaction: TransactionState) { self.transaction = transaction }

  // MARK: The writer's session

  /// Makes the writers of the extensions that follow the transaction.
  @inline(never)
  func beginSession() throws(DatabaseError) -> ExtensionSession? {
    guard let writer = transaction.writer, let registered = writer.registered else { return nil }
    if writer.isBeginningSession {
      throw DatabaseError(
        .extensionFailed, "An extension changed rows in `makeWriter`. Change them in hooks.",
        path: transaction.database.path)
    }
    assert(writer.session == nil, "the writers of extensions are made twice")
    writer.isBeginningSession = true
    defer { writer.isBeginningSession = false }
    let session = ExtensionSession(transaction)
    // There already, so that an extension can ask for the ones that it depends on.
    writer.session = session
    do throws(DatabaseError) {
      for one in registered.list { session.add(one, try makeWriter(one)) }
    } catch {
      writer.session = nil
      transaction.note(error)
      throw error
    }
    return session
  }

  /// Makes the writer of an extension.
  func makeWriter(_ registered: RegisteredExtension) throws(DatabaseError) -> any ExtensionWriter {
    do { return try registered.value.makeWriter(store(of: registered)) } catch {
      throw failed(registered.name, "makeWriter", error)
    }
  }

  private func failed(_ name: String, _ what: String, _ error: any Error) -> DatabaseError {
    if let error = error as? DatabaseError {
      if error.code == .extensionFailed { return error }
      if error.isOfDisk { return error.inCall(what, of: name, nil, nil) }
    }
    return DatabaseError(
      .extensionFailed, "The extension “\(name)” failed in `\(what)`. See the cause.", path: transaction.database.path,
      cause: error
    )
  }

  func store(of registered: RegisteredExtension, _ known: KnownExtension? = nil) -> ExtensionStore {
    ExtensionStore(
      state: transaction, id: registered.id, isPersistent: registered.isPersistent, name: registered.name, known: known)
  }

  // MARK: Access

  /// The writer of an extension that is ready.
  ///
  /// - Parameter version: of the description that it is asked for by; nil for the name alone.
  func writer<Kind: DatabaseExtension>(
    named name: String, _: Kind.Type, version: String? = nil
  ) throws(DatabaseError) -> Kind.Writer {
    try transaction.check()
    guard transaction.isWriting else { throw transaction.notWriting() }
    guard let entry = try transaction.session()?.entry(name) else { throw notRegistered(name) }
    guard entry.registered.isReady else { throw notReady(name) }
    guard let writer = entry.writer as? Kind.Writer, entry.registered.value is Kind else {
      throw mismatch(name, entry.registered, Kind.self)
    }
    if let version, !entry.registered.value.version.hasSameBytes(as: version),
      !entry.registered.isMeant(byVersion: version)
    {
      // It may have become another one in this transaction.
      let replacement = transaction.writer?.newRegistered?[name]
      guard replacement?.isMeant(byVersion: version) == true else { throw mismatch(entry.registered, version) }
    }
    return writer
  }

  /// The reader of an extension whose trees are complete in this snapshot.
  ///
  /// - Parameter version: of the description that it is asked for by; nil for the name alone.
  func reader<Kind: DatabaseExtension>(
    named name: String, _: Kind.Type, version: String? = nil
  ) throws(DatabaseError) -> Kind.Reader {
    try transaction.check()
    transaction.recorder?.note(extensionNamed: name, notesParts: Kind.readsTreesOnly)
    for known in transaction.readers where known.registered.name.hasSameBytes(as: name) {
      guard known.kind == Kind.self, let reader = known.reader as? Kind.Reader else { continue }
      try check(version, known.registered)
      return reader
    }
    let (registered, isComplete, known) = try found(name)
    guard let value = registered.value as? Kind else { throw mismatch(name, registered, Kind.self) }
    try check(version, registered)
    guard isComplete else { throw notReady(name) }
    do {
      let reader = try value.makeReader(store(of: registered, known))
      transaction.readers.append(KnownReader(registered: registered, kind: Kind.self, reader: reader))
      return reader
    } catch {
      throw failed(name, "makeReader", error)
    }
  }

  /// The reader of the extension of a type that serves a collection, if its trees are complete in this snapshot.
  func reader<Kind: DatabaseExtension>(
    _: Kind.Type, serving collection: String
  ) throws(DatabaseError) -> Kind.Reader? {
    try transaction.check()
    let kind = ObjectIdentifier(Kind.self)
    let current = transaction.writer?.newRegistered ?? transaction.database.extensions.current
    guard let registered = current?.list.first(where: { $0.serves(collection, kind) }) else {
      transaction.recorder?.noteRegistrations()
      return nil
    }
    do { return try reader(named: registered.name, Kind.self) } catch {
      switch error.code {
      case .extensionNotReady, .extensionNotRegistered, .extensionMismatch: return nil
      default: throw error
      }
    }
  }

  /// What is registered under a name, and whether it reads the trees of this snapshot; or what did so when the snapshot
  /// was the newest, if another one, or none, is registered by now.
  private func found(
    _ name: String
  ) throws(DatabaseError) -> (RegisteredExtension, isComplete: Bool, known: KnownExtension?) {
    let current = transaction.database.extensions.current?[name]
    if let current, let known = current.known(to: transaction) { return (current, true, known) }
    if current == nil, !transaction.database.extensions.hasFormer { throw notRegistered(name) }
    let record = try catalog.record(name, knownTo: current)
    if let current, let record, current.reads(record) { return (current, true, current.beginKnowing(transaction)) }
    if let record, let former = transaction.database.extensions.former(record) { return (former, true, nil) }
    guard let current else { throw notRegistered(name) }
    return (current, false, nil)
  }

  /// The description of the extension whose trees are complete in this snapshot.
  func registeredExtension(named name: String) throws(DatabaseError) -> any DatabaseExtension {
    try transaction.check()
    transaction.recorder?.note(extensionNamed: name)
    if let known = transaction.readers.first(where: { $0.registered.name.hasSameBytes(as: name) }) {
      return known.registered.value
    }
    let (registered, isComplete, _) = try found(name)
    guard isComplete else { throw notReady(name) }
    return registered.value
  }

  /// The extensions of a type that are registered.
  func registeredExtensions<Kind: DatabaseExtension>(_ kind: Kind.Type) throws(DatabaseError) -> [Kind] {
    try transaction.check()
    transaction.recorder?.noteRegistrations()
    let current = transaction.writer?.newRegistered ?? transaction.database.extensions.current
    guard let current else { return [] }
    var found: [Kind] = []
    for one in current.list where type(of: one.value) == kind {
      if let value = one.value as? Kind { found.append(value) }
    }
    return found
  }

  private func check(_ version: String?, _ registered: RegisteredExtension) throws(DatabaseError) {
    guard let version, !registered.value.version.hasSameBytes(as: version) else { return }
    guard registered.isMeant(byVersion: version) else { throw mismatch(registered, version) }
  }

  private func notRegistered(_ name: String) -> DatabaseError {
    DatabaseError(
      .extensionNotRegistered, "There is no extension “\(name)”. Register it after opening the database.",
      path: transaction.database.path)
  }

  private func notReady(_ name: String) -> DatabaseError {
    DatabaseError(
      .extensionNotReady,
      "The extension “\(name)” has not got all rows of this snapshot. Wait for `register`, or take a newer snapshot.",
      path: transaction.database.path)
  }

  private func mismatch(_ name: String, _ registered: RegisteredExtension, _ asked: Any.Type) -> DatabaseError {
    DatabaseError(
      .extensionMismatch, "The extension “\(name)” is a \(type(of: registered.value)), not a \(asked).",
      path: transaction.database.path)
  }

  private func mismatch(_ registered: RegisteredExtension, _ version: String) -> DatabaseError {
    DatabaseError(
      .extensionMismatch,
      """
      The extension “\(registered.name)” has version “\(registered.value.version)” in this snapshot, and was asked for \
      as version “\(version)”. Ask with the value that was registered, or register the other version.
      """, path: transaction.database.path)
  }

  /// Has another value stand for a registered extension, once the transaction commits.
  func replaceExtension(
    _ id: ExtensionID, _ name: String, with replacement: any DatabaseExtension
  ) throws(DatabaseError) {
    try transaction.checkWriting()
    guard let writer = transaction.writer, let entry = try transaction.session()?.entry(name),
      var record = try catalog.record(name)
    else {
      throw notRegistered(name)
    }
    guard record.kind == type(of: replacement).kind, replacement.name.hasSameBytes(as: name),
      replacement.dependencies == record.dependencies, replacement.isPersistent == entry.registered.isPersistent
    else { throw mismatch(name, entry.registered, type(of: replacement)) }
    guard replacement.version.utf8.count <= Limits.extensionNameByteCount else {
      throw DatabaseError(
        .invalidOption, "The version of an extension has up to \(Limits.extensionNameByteCount) bytes.",
        path: transaction.database.path)
    }
    record.version = replacement.version
    record.formatVersion = type(of: replacement).formatVersion
    try catalog.store(record, name, isPersistent: replacement.isPersistent)
    try markDependents(of: name)
    let current = writer.newRegistered ?? writer.registered ?? RegisteredExtensions([])
    writer.newRegistered = current.with((current[name] ?? entry.registered).with(replacement))
  }

  // MARK: Before the commit

  /// Marks the stored extensions that do not follow this transaction, and whose rows it has changed behind their backs.
  /// Returns the collections that concern those which are not marked, if that was found out.
  ///
  /// - Parameter names: of the collections that the transaction knows.
  func markOthers(_ names: [CollectionID: String]) throws(DatabaseError) -> [CollectionFilter.Stored]? {
    guard let writer = transaction.writer, unsafe !writer.changes.isEmpty else { return nil }
    let known = transaction.database.extensions.unmarkedOthers
    if let known, known.isEmpty { return nil }
    let changed = try changedCollections(unsafe writer.changes, names)
    func concerns(_ filter: CollectionFilter.Stored) -> Bool {
      guard let changed else { return true }
      return changed.contains { filter.contains($0) }
    }
    if let known, !known.contains(where: concerns) { return nil }
    let registered = writer.newRegistered ?? writer.registered
    var unmarked: [CollectionFilter.Stored] = []
    let records = try catalog.storedRecords()
    for (name, record) in records where record.state != .stale && registered?[name] == nil {
      let collections = sources(of: record, records)
      guard collections.contains(where: concerns) else {
        unmarked += collections
        continue
      }
      var record = record
      record.state = .stale
      try catalog.store(record, name, isPersistent: true)
    }
    return unmarked
  }

  /// The collections that an extension follows, and those that the ones follow which it reads.
  private func sources(
    of record: ExtensionRecord, _ records: [(name: String, record: ExtensionRecord)]
  ) -> [CollectionFilter.Stored] {
    var sources = [record.collections ?? .any]
    var names = Set(record.dependencies.map(ByteString.init))
    var open = names
    while let next = open.popFirst() {
      guard let found = records.first(where: { ByteString($0.name) == next })?.record else { continue }
      sources.append(found.collections ?? .any)
      for name in found.dependencies where names.insert(ByteString(name)).inserted { open.insert(ByteString(name)) }
    }
    return sources
  }

  /// The collections in which rows were stored or removed; nil for all.
  private func changedCollections(
    _ changes: ChangeLog, _ known: [CollectionID: String]
  ) throws(DatabaseError) -> Set<ByteString>? {
    var ids: Set<CollectionID> = []
    var last: CollectionID?
    var hasClearedAll = false
    unsafe changes.forEachStoredChange { id, _ in
      guard let id else { return hasClearedAll = true }
      if id != last { ids.insert(id) }
      last = id
    }
    if hasClearedAll { return nil }
    var names: Set<ByteString> = []
    for id in ids {
      if let name = known[id] {
        names.insert(ByteString(name))
      } else {
        names.insert(ByteString(try transaction.name(of: id)))
      }
    }
    return names
  }

  /// Marks all stored extensions that depend on one that changes, and do not follow this transaction.
  func markDependents(of name: String) throws(DatabaseError) {
    if let others = transaction.database.extensions.unmarkedOthers, others.isEmpty { return }
    let registered = transaction.writer?.newRegistered ?? transaction.writer?.registered
    var names: Set<ByteString> = [ByteString(name)]
    let records = try catalog.storedRecords()
    var hasMore = true
    while hasMore {
      hasMore = false
      for (dependent, record) in records where !names.contains(ByteString(dependent)) {
        guard record.dependencies.contains(where: { names.contains(ByteString($0)) }) else { continue }
        names.insert(ByteString(dependent))
        hasMore = true
        guard record.state != .stale, registered?[dependent] == nil else { continue }
        var record = record
        record.state = .stale
        try catalog.store(record, dependent, isPersistent: true)
      }
    }
  }

  /// Makes sure that a change of trees in memory gets a commit number of its own, without which readers of the state
  /// before would see it.
  func numberForest() throws(DatabaseError) {
    guard let writer = transaction.writer, writer.hasChangedForest else { return }
    let count = try transaction.wrapping { () throws(StorageError) in
      try transaction.value(Self.forestCountKey, in: transaction.database.trees.info)
    }
    let bytes = ((count.flatMap { UInt64(littleEndianBytes: $0) } ?? 0) &+ 1).littleEndianBytes
    try transaction.wrapping { () throws(StorageError) in
      try Self.forestCountKey.withSearchKey { (key) throws(StorageError) in
        try unsafe bytes.withValueBytes { (bytes) throws(StorageError) in
          try unsafe transaction.put(key, bytes, in: transaction.database.trees.info)
        }
      }
    }
  }

  private static let forestCountKey = [UInt8]("memoryCommits".utf8)
}

extension TransactionState {
  /// The extensions of this transaction.
  var extensions: TransactionExtensions { TransactionExtensions(self) }

  /// The extensions that follow this write transaction; nil if there are none, or if it reads. Makes their writers when
  /// it is asked for the first time.
  @inline(__always)
  func session() throws(DatabaseError) -> ExtensionSession? {
    guard let writer, writer.registered != nil else { return nil }
    if let session = writer.session { return session }
    return try extensions.beginSession()
  }
}
