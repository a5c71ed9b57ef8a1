// Opening a database together with its extensions.

public import QuireStorage

extension Database {
  /// Opens the database at `path`, or creates it, and registers its extensions in the order of the list: so that none
  /// is forgotten, and no transaction comes before they are there.
  ///
  /// ```swift
  /// let library = try await Database.open(at: "library.quire", extensions: [byAlbum, songIndex]) { progress in
  ///   print(progress)
  /// }
  /// ```
  ///
  /// Those that others depend on come first. What is built stays built: at the next opening nothing has to be done, if
  /// no row has changed without the extension.
  ///
  /// Extensions that the file has and the list does not are left as they are; nothing of them is removed. They do not
  /// follow the changes of this opening, and are built anew when they are registered after a row of theirs has changed.
  /// The logger of the options is told their names, and ``extensions()`` has them.
  ///
  /// - Parameters:
  ///   - path: the data file.
  ///   - options: how it is opened.
  ///   - extensions: what is registered, as by `register(_:progress:)`.
  ///   - progress: called on the calling thread: now and then while a log is replayed after crashes, after each step
  ///     of building an extension. What it throws ends the opening, and so does cancelling the calling task. A replay
  ///     that is ended leaves the files as they were, and building goes on from there at the next opening.
  /// - Throws: as ``init(at:options:)`` and `register(_:progress:)`, and what `progress` throws. The database is
  ///   closed then.
  public static func open(
    at path: String, options: Options = Options(), extensions: [any DatabaseExtension] = [],
    progress: (OpeningProgress) throws -> Void = { _ in }
  ) throws -> Database {
    try open(at: path, options: options, environment: StorageEnvironment(), extensions: extensions, progress: progress)
  }

  /// The same on a thread of its own, where `progress` is called, too: for apps that show how far the recovery of a
  /// long log, or the building of an extension, has come.
  ///
  /// - Throws: as the other form, and `limitReached` if the system gives no thread.
  @concurrent
  public static func open(
    at path: String, options: Options = Options(), extensions: [any DatabaseExtension] = [],
    progress: @escaping @Sendable (OpeningProgress) throws -> Void = { _ in }
  ) async throws -> Database {
    let parent = SpanContext.current
    do {
      return try await ThreadStarter.system.run { cancellation in
        try OpeningWork(extensions, parent) { now in
          if cancellation.isSet { throw CancellationError() }
          try progress(now)
        }.run(path, options, StorageEnvironment())
      }
    } catch let error as StorageError {
      throw DatabaseError(error)
    }
  }

  /// Opens a database in surroundings of the caller's making.
  package static func open(
    at path: String, options: Options, environment: StorageEnvironment, extensions: [any DatabaseExtension],
    progress: (OpeningProgress) throws -> Void
  ) throws -> Database {
    try withoutActuallyEscaping(progress) { progress in
      try OpeningWork(extensions, .current, progress).run(path, options, environment)
    }
  }

  /// A database without files, empty, with extensions: see ``inMemory(options:)``.
  ///
  /// - Throws: as that, and as `register(_:progress:)`.
  public static func inMemory(
    options: Options = Options(), extensions: [any DatabaseExtension]
  ) throws -> Database {
    let database = try inMemory(options: options)
    for one in extensions { try database.register(one) }
    return database
  }
}

/// How far the opening of a database has come.
public struct OpeningProgress: Sendable, Equatable, CustomStringConvertible {
  /// The name of the extension that is built; nil while the log is replayed.
  public let extensionName: String?
  /// How many extensions are ready.
  public let readyCount: Int
  /// How many extensions the opening was asked for.
  public let extensionCount: Int
  /// How far the replay, or the building of the extension, has come.
  public let work: StorageProgress

  public var description: String {
    guard let extensionName else { return work.description }
    return "“\(extensionName)” (\(readyCount + 1) of \(extensionCount)), \(work)"
  }
}

/// The opening of a database with extensions.
struct OpeningWork {
  private let extensions: [any DatabaseExtension]
  private let parent: SpanContext
  private let progress: (OpeningProgress) throws -> Void

  /// - Parameters:
  ///   - parent: what the spans of the work are parts of.
  ///   - progress: is told how far it has come, on the thread that runs it.
  init(
    _ extensions: [any DatabaseExtension], _ parent: SpanContext,
    _ progress: @escaping (OpeningProgress) throws -> Void
  ) {
    self.extensions = extensions
    self.parent = parent
    self.progress = progress
  }

  /// Opens the database and registers the extensions.
  func run(_ path: String, _ options: Database.Options, _ environment: StorageEnvironment) throws -> Database {
    let recovery = RecoveryProgress { now in try tell(now, nil, readyCount: 0) }
    let database: Database
    do throws(DatabaseError) {
      database = try Database(at: path, options: options, environment: environment, recovery: recovery)
    } catch { throw recovery.failure ?? error }
    do {
      for (index, one) in extensions.enumerated() {
        try Registration(database.core, one) { now in try tell(now, one.name, readyCount: index) }.runAsSpan(parent)
      }
      try warnOfOthers(in: database)
      return database
    } catch {
      // Extensions may hold the database; whoever tries again is not to find it open. An error of closing says nothing
      // about why the opening failed, and the file is given up in any case.
      do throws(DatabaseError) { try database.close() } catch {}
      throw error
    }
  }

  private func tell(_ work: StorageProgress, _ name: String?, readyCount: Int) throws {
    try progress(
      OpeningProgress(
        extensionName: name, readyCount: readyCount, extensionCount: extensions.count, work: work))
  }

  /// Tells the logger of extensions that are stored and were not named: they may have been forgotten.
  private func warnOfOthers(in database: Database) throws {
    let options = database.core.options
    guard !extensions.isEmpty, options.logger != nil, !options.isReadOnly else { return }
    let others = try database.extensions().filter { !$0.isRegistered }.map(\.name)
    guard !others.isEmpty else { return }
    database.warn(
      """
      Extensions that the file has were not named at the opening. They do not follow changes, and are built anew when \
      they are registered after one. Name them, or unregister them.
      """, metadata: ["path": database.path, "extensions": others.sorted().joined(separator: ", ")])
  }
}
