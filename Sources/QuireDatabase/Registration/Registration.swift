// Registering an extension: finding out what is stored of it, and building what is not.

internal import QuireStorage

/// One registration, from the first look to the last row.
///
/// The extension is built in steps, each a write transaction of its own that takes in the rows above the last step's,
/// in the order of their ids, and notes how far it has come. Between steps other writers get their turn. A row with an
/// id up to that is kept up to date by hooks; a row above it is seen when a step gets there. So no step has to know
/// what has changed since the one before, and building goes on where it stopped, after a crash as well. Steps need not
/// be durable; the last one, which makes the extension ready, is.
struct Registration {
  private let core: DatabaseCore
  private let value: any DatabaseExtension
  private let name: String
  private let progress: (StorageProgress) throws -> Void

  init(
    _ core: DatabaseCore, _ value: any DatabaseExtension, _ progress: @escaping (StorageProgress) throws -> Void
  ) throws(DatabaseError) {
    self.core = core
    self.value = value
    self.progress = progress
    name = value.name
    let kind = type(of: value).kind
    // What the language calls a type that has no name of its own changes with each launch.
    guard !kind.isEmpty, !kind.contains("(unknown context at ") else {
      throw DatabaseError(
        .invalidOption,
        "The kind of the extension “\(name)” is “\(kind)”. Give it a text that stays the same at each launch.",
        path: core.path)
    }
    guard !name.isEmpty, name.utf8.count <= Limits.extensionNameByteCount,
      kind.utf8.count <= Limits.extensionNameByteCount,
      value.version.utf8.count <= Limits.extensionNameByteCount
    else {
      throw DatabaseError(
        .invalidOption,
        """
        Name, kind and version of an extension have up to \(Limits.extensionNameByteCount) bytes, the name at least one.
        """,
        path: core.path)
    }
  }

  /// Registers the extension, as a span that is a part of `parent`.
  func runAsSpan(_ parent: SpanContext) throws {
    let work = LongWork(core, "quire.register", in: parent)
    do {
      work.span.set("quire.extension", name)
      try work.span.run(run)
      work.end(nil)
    } catch {
      work.end(error)
      throw error
    }
  }

  /// Registers the extension, and returns when it is ready.
  private func run() throws {
    try core.extensions.begin(name)
    defer { core.extensions.end(name) }
    if core.options.isReadOnly {
      try attachReadOnly()
      return try value.didRegister(in: Database(core))
    }
    let begun = try core.write(nil) { tx in try begin(tx.state) }
    do {
      while try step(begun.id) {}
      try finishBuilding()
    } catch {
      try stop(begun, after: error)
      throw error
    }
    try value.didRegister(in: Database(core))
  }

  // MARK: Beginning

  /// Attaches what is stored in a database that cannot be written.
  private func attachReadOnly() throws {
    let registered = try core.read(nil) { tx -> RegisteredExtension in
      let current = core.extensions.current
      try check(current)
      guard value.isPersistent, let record = try tx.state.extensionCatalog.record(name)?.shown(by: core.aliases),
        record.state == .ready, record.canGoOn(as: value)
      else {
        throw DatabaseError(
          .readOnly, "The extension “\(name)” would have to be built, and the database is read-only.", path: core.path)
      }
      return RegisteredExtension(value, record.id, .ready)
    }
    core.extensions.apply((core.extensions.current ?? RegisteredExtensions([])).with(registered))
    core.observers.extensionChanged(name)
  }

  /// Throws unless the extension may be registered beside those that are.
  private func check(_ current: RegisteredExtensions?) throws {
    if current?[name] != nil {
      throw DatabaseError(
        .extensionExists, "An extension “\(name)” is registered already. Unregister it first, or use another name.",
        path: core.path)
    }
    for dependency in value.dependencies {
      guard let found = current?[dependency], found.isReady else {
        throw DatabaseError(
          .missingDependency,
          "The extension “\(name)” depends on “\(dependency)”, which is not registered. Register that first.",
          path: core.path)
      }
      guard found.isPersistent || !value.isPersistent else {
        throw DatabaseError(
          .missingDependency,
          "“\(name)” is stored and depends on “\(dependency)”, which is not. Have both stored, or neither.",
          path: core.path)
      }
    }
    do { try value.checkRegistration(beside: current?.list.map(\.value) ?? []) } catch {
      throw DatabaseError(
        .extensionFailed, "The extension “\(name)” refuses to be registered. See the cause.", path: core.path,
        cause: error)
    }
  }

  /// What has begun.
  private struct Begun {
    let id: ExtensionID
    /// What was noted about the trees before, if they are there still.
    let former: ExtensionRecord?
  }

  /// Finds out what is stored, and puts the extension on the list, in the first transaction.
  private func begin(_ state: TransactionState) throws -> Begun {
    guard let writer = state.writer else { throw state.notWriting() }
    let current = writer.registered
    try check(current)
    let stored = try state.extensionCatalog.storedRecord(name)
    if var stored, value.isPersistent, stored.state != .stale, stored.canGoOn(as: value) {
      // Ready, or on its way.
      if stored.collections == nil || stored.keepsOwnContent != value.keepsOwnContent {
        (stored.collections, stored.keepsOwnContent) = (value.collections.stored, value.keepsOwnContent)
        try state.extensionCatalog.store(stored, name, isPersistent: true)
      }
      writer.newRegistered = (current ?? RegisteredExtensions([])).with(
        RegisteredExtension(value, stored.id, stored.state))
      return Begun(id: stored.id, former: stored)
    }
    let (record, reason) = try newRecord(state, stored)
    let registered = RegisteredExtension(value, record.id, record.state)
    // What was read from what is built anew has to be built anew, too.
    if reason != .new { try state.extensions.markDependents(of: name) }
    try build(state, registered) { entry, session in
      try session.run(entry, "willBuild") { try entry.writer.willBuild(reason) }
    }
    try state.extensionCatalog.store(record, name, isPersistent: value.isPersistent)
    writer.newRegistered = (current ?? RegisteredExtensions([])).with(registered)
    return Begun(id: record.id, former: stored?.id == record.id ? stored : nil)
  }

  /// The record to build by, and why. Trees of another kind, and of a form that is not of this kind, go.
  private func newRecord(
    _ state: TransactionState, _ stored: ExtensionRecord?
  ) throws -> (ExtensionRecord, ExtensionBuildReason) {
    if var stored {
      let kinds = [type(of: value).kind] + type(of: value).formerKinds
      if value.isPersistent, kinds.contains(stored.kind), stored.formatVersion == type(of: value).formatVersion {
        let reason: ExtensionBuildReason = stored.version == value.version ? .stale : .otherVersion(stored.version)
        stored = ExtensionRecord(id: stored.id, of: value)
        try state.changeForest { forest in forest.beginLife(of: stored.id) }
        return (stored, reason)
      }
      if stored.keepsOwnContent { throw replacement(of: stored) }
      try state.extensionCatalog.forgetStored(name, stored.id)
    }
    let id = try state.extensionCatalog.allocateID(isPersistent: value.isPersistent)
    try state.changeForest { forest in forest.beginLife(of: id) }
    return (ExtensionRecord(id: id, of: value), stored == nil ? .new : .otherKind)
  }

  private func replacement(of stored: ExtensionRecord) -> DatabaseError {
    DatabaseError(
      .extensionMismatch,
      """
      Under “\(name)” a “\(stored.kind)” of form \(stored.formatVersion) is stored, and holds what no row tells \
      again. A “\(type(of: value).kind)” of form \(type(of: value).formatVersion) would drop that. Choose another \
      name, or unregister what is there first.
      """, path: core.path)
  }

  /// Runs `body` with the extension's writer in the transaction, which knows it or is told of it now.
  private func build(
    _ state: TransactionState, _ registered: RegisteredExtension,
    _ body: (ExtensionEntry, ExtensionSession) throws -> Void
  ) throws {
    let session: ExtensionSession
    if let known = try state.session() {
      session = known
    } else {
      session = ExtensionSession(state)
      state.writer?.session = session
    }
    if session.entry(name) == nil { session.add(registered, try state.extensions.makeWriter(registered)) }
    guard let entry = session.entry(name) else { return }
    try body(entry, session)
  }

  // MARK: Building

  /// Takes in the next rows, in a transaction of its own. Returns whether there may be more.
  private func step(_ id: ExtensionID) throws -> Bool {
    var report: StorageProgress?
    var isLast = false
    let pending = try core.writeWithoutWaiting(nil) { tx in
      let state = tx.state
      guard let writer = state.writer, let registered = writer.registered?[name] else {
        throw DatabaseError(
          .extensionNotRegistered, "The extension “\(name)” was unregistered while it was built.", path: core.path)
      }
      guard case .building(let through) = registered.state else {
        isLast = true
        return
      }
      try build(state, registered) { entry, session in
        let (next, isEnd) =
          value.isBuiltFromRows ? try takeRows(above: through, state, entry, session) : (through, true)
        var record = try state.extensionCatalog.record(name) ?? ExtensionRecord(id: id, of: value)
        record.state = isEnd ? .ready : .building(through: next)
        // What it changes from now on in this transaction it hears of, as later transactions will.
        entry.registered = registered.with(record.state)
        if isEnd { try session.run(entry, "didBuild") { try entry.writer.didBuild() } }
        try state.extensionCatalog.store(record, name, isPersistent: value.isPersistent)
        writer.newRegistered = writer.registered?.with(registered.with(record.state))
        let rows = state.database.trees.rows
        let (done, total) = try state.wrapping { () throws(StorageError) in
          (try state.rank(next.rawValue, in: rows), try state.count(of: rows))
        }
        report = StorageProgress(phase: .building, done: isEnd ? total : done, total: total)
        isLast = isEnd
      }
    }
    if isLast {
      do throws(StorageError) { try pending.storage.wait(pending.ticket) } catch { throw core.failed(error) }
    }
    core.didCommit(pending.actions)
    if let report { try report.report(to: progress) }
    return !isLast
  }

  /// Hands the rows above `through` to the extension, as many as a step takes. Returns the last one's id.
  private func takeRows(
    above through: RowID, _ state: TransactionState, _ entry: ExtensionEntry, _ session: ExtensionSession
  ) throws -> (RowID, isEnd: Bool) {
    let (rows, last, isEnd) = try collectRows(above: through, state)
    let unbuilt = try UnbuiltRows(state, rows, entry.registered.collections)
    try session.run(entry, "build", collection: unbuilt.rowKey?.collection, key: unbuilt.rowKey?.key) {
      try entry.writer.build(unbuilt)
    }
    return (last, isEnd)
  }

  /// Copies of the rows above `through`: while they are taken in, trees change, and cursors end.
  private func collectRows(
    above through: RowID, _ state: TransactionState
  ) throws -> (rows: [(rowID: RowID, bytes: [UInt8])], last: RowID, isEnd: Bool) {
    var rows: [(rowID: RowID, bytes: [UInt8])] = []
    var byteCount = 0
    var last = through
    do throws(StorageError) {
      var cursor = try state.cursor(state.database.trees.rows)
      var isOnEntry = try cursor.seek(through.rawValue) ? try cursor.next() : cursor.isOnEntry
      while isOnEntry, let key = try cursor.readIntegerKey(), let value = try cursor.value {
        // Else building would begin anew for ever.
        guard RowID(key) > last else { throw StorageError.keysOutOfOrder() }
        rows.append((RowID(key), value))
        byteCount += value.count
        last = RowID(key)
        isOnEntry = try cursor.next()
        if isOnEntry, rows.count >= core.options.buildStepRowCount || byteCount >= Limits.buildStepByteCount {
          return (rows, last, false)
        }
      }
    } catch { throw DatabaseError(error) }
    return (rows, last, true)
  }

  /// Has the extension build what it builds in one go.
  private func finishBuilding() throws {
    var stopping: (any Error)?
    do {
      try value.finishBuilding(in: Database(core)) { now in
        do { try now.report(to: progress) } catch {
          stopping = error
          throw error
        }
      }
    } catch {
      if stopping != nil || error is DatabaseError { throw error }
      throw DatabaseError(
        .extensionFailed, "The extension “\(name)” could not be built. See the cause.", path: core.path, cause: error)
    }
  }

  // MARK: Stopping

  /// Takes the extension off the list after `error`. One that was stopped goes on where it was when it is registered
  /// again, unless rows change in between. One that failed leaves nothing if nothing was there before; otherwise it
  /// leaves what was there, as its writer has kept it, marked as stale.
  private func stop(_ begun: Begun, after error: any Error) throws {
    let id = begun.id
    let hasFailed = (error as? DatabaseError)?.code == .extensionFailed
    do {
      try core.write(nil) { tx in
        guard let writer = tx.state.writer, let current = writer.registered, current[name]?.id == id else { return }
        writer.newRegistered = current.without(current.dependents(of: name))
        writer.session = nil
        if hasFailed, value.isPersistent {
          if var former = begun.former {
            former.state = .stale
            try tx.state.extensionCatalog.store(former, name, isPersistent: true)
          } else {
            try tx.state.extensionCatalog.forgetStored(name, id)
          }
        }
        if !value.isPersistent { try tx.state.extensionCatalog.forgetInMemory(name, id) }
      }
    } catch {
      // Nothing can be written any more: the next opening finds it as it is.
      let current = core.extensions.current
      core.extensions.apply(current.map { $0.without($0.dependents(of: name)) })
      core.observers.extensionChanged(name)
    }
  }
}
