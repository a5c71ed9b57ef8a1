// Registering extensions.

internal import Logging
public import QuireStorage

/// What is known of an extension, registered or only stored.
public struct ExtensionStatus: Hashable, Sendable {
  /// How far it is.
  public enum State: Hashable, Sendable {
    /// It has all rows.
    case ready
    /// It is being built, or building it was interrupted.
    case building
    /// Rows were changed without it: it is built anew when it is registered.
    case stale
  }

  /// Its name.
  public let name: String
  /// What kind of extension it is.
  public let kind: String
  /// The version that its trees are of.
  public let version: String
  /// The names of those that it depends on.
  public let dependencies: [String]
  /// How far it is.
  public let state: State
  /// Whether it is registered in this opening.
  public let isRegistered: Bool
  /// Whether its trees are stored.
  public let isPersistent: Bool

  init(_ name: String, _ record: ExtensionRecord, isRegistered: Bool, isPersistent: Bool) {
    self.name = name
    self.isRegistered = isRegistered
    self.isPersistent = isPersistent
    kind = record.kind
    version = record.version
    dependencies = record.dependencies
    state =
      switch record.state {
      case .ready: .ready
      case .building: .building
      case .stale: .stale
      }
  }
}

extension Database {
  /// Registers an extension, and returns when it has all rows. From then on it follows all changes.
  ///
  /// If the same version was stored before, and no row has changed while it was not registered, nothing has to be done
  /// or written. Otherwise it is built, in steps of a few milliseconds between which other writers get their turn;
  /// readers never wait. Meanwhile it can be asked for nothing. Takes a few MiB of memory, whatever the number of rows.
  ///
  /// If `progress` throws, or the task is cancelled, building stops, and the extension is not registered; registering
  /// it again goes on from there, unless rows were changed in between. The same holds after a crash, and after the disk
  /// was full or failed. An error of the extension's own leaves nothing of it.
  ///
  /// - Parameters:
  ///   - value: the extension. Those that it depends on must be registered.
  ///   - progress: called after each step, on the calling thread. Units: rows.
  /// - Throws: `extensionExists` if one of this name is registered, or is being registered, `missingDependency`,
  ///   `extensionFailed` with what the extension threw, `invalidOption` for a name without a byte or with too many,
  ///   `nestedTransaction` inside a transaction, `readOnly` if it would have to be built in a read-only database,
  ///   `CancellationError`, what `progress` throws, and as `write`.
  public func register(
    _ value: some DatabaseExtension, progress: (Progress) throws -> Void = { _ in }
  ) throws {
    try withoutActuallyEscaping(progress) { progress in try Registration(core, value, progress).runAsSpan(.current) }
  }

  /// The same on a thread of the database's; `progress` is called there.
  @concurrent
  public func register(
    _ value: some DatabaseExtension, progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws {
    do {
      let parent = SpanContext.current
      try await core.storage.runLongWork(progress) { [core] _, progress in
        try withoutActuallyEscaping(progress) { progress in
          try Registration(core, value, progress).runAsSpan(parent)
        }
      }
    } catch let error as StorageError {
      throw DatabaseError(error)
    }
  }

  /// Unregisters an extension and all that depend on it, and removes what is stored of them. Works without their code,
  /// also for names that were not registered in this opening.
  ///
  /// - Returns: the names of those that were removed.
  /// - Throws: `extensionNotRegistered` if nothing is known of the name, `extensionExists` while it is being
  ///   registered, and as `write`.
  @discardableResult
  public func unregister(extensionNamed name: String) throws -> [String] { try Removal(core: core, name: name).run() }

  /// The same, where another extension keeps something for those that go, which is to go with them: in the same
  /// transaction, so that neither is ever there without the other.
  ///
  /// - Parameters:
  ///   - name: the extension that goes.
  ///   - keeper: the extension that does, registered or only stored.
  ///   - forget: gets what it has, and the names that are unregistered; changes its values and trees. Not called if
  ///     nothing is known of the keeper, or if it goes itself. If it throws, nobody is unregistered.
  @discardableResult
  public func unregister(
    extensionNamed name: String, keptBy keeper: some DatabaseExtension,
    forget: (_ store: ExtensionStore, _ names: [String]) throws -> Void
  ) throws -> [String] {
    try withoutActuallyEscaping(forget) { forget in
      try Removal(core: core, name: name, keeper: (keeper.name, forget)).run()
    }
  }

  /// The same on a thread of the database's.
  @concurrent @discardableResult
  public func unregister(extensionNamed name: String) async throws -> [String] {
    do {
      return try await core.storage.runLongWork({ _ in }) { [core] _, _ in try Removal(core: core, name: name).run() }
    } catch let error as StorageError {
      throw DatabaseError(error)
    }
  }

  /// Tells the logger of the options, if there is one, what an extension has to say to those who develop the app.
  ///
  /// Not to be called with locks held: the handler is the app's code.
  public func warn(_ message: String, metadata: [String: String] = [:]) {
    CallOut.check()
    core.options.logger?.warning("\(message)", metadata: metadata.mapValues { .string($0) })
  }

  /// What is registered, in the order of registration, and then what is only stored. Reads the newest snapshot.
  ///
  /// - Throws: `closed`, `nestedTransaction` inside a transaction, `damagedRow`, `damagedPage`, `inputOutput`.
  public func extensions() throws -> [ExtensionStatus] {
    try read { tx in
      let registered = core.extensions.current?.list ?? []
      let known = try registered.compactMap { one in
        try tx.state.extensionCatalog.record(one.name).map {
          ExtensionStatus(one.name, $0, isRegistered: true, isPersistent: one.isPersistent)
        }
      }
      let others = try tx.state.extensionCatalog.storedRecords().filter { stored in
        !registered.contains { $0.name.hasSameBytes(as: stored.name) }
      }
      return known + others.map { ExtensionStatus($0.name, $0.record, isRegistered: false, isPersistent: true) }
    }
  }
}
