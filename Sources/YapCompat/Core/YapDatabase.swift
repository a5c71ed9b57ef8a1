// The database under its original name.

public import Foundation
public import Quire

/// YapDatabase's database object, over a Quire file. New call: `Database`.
///
/// ```swift
/// let database = try YapDatabase(url: url)
/// database.registerCodableSerialization(Song.self, metadata: PlayState.self, forCollection: "songs")
/// let connection = database.newConnection()
/// try connection.readWrite { transaction in
///   transaction.setObject(song, forKey: "s1", inCollection: "songs")
/// }
/// ```
///
/// Nothing of it is kept in the file but rows: what is written here is read by `Database`, and the other way round,
/// also at the same time through ``quire``. May be used from any thread. Keeps the database open as long as it lives.
public final class YapDatabase: Sendable {
  /// The database itself, as the new API has it: for code that has come over already. New call: the `Database`.
  public var quire: Database {
    guard let database = unsafe kept else { preconditionFailure("a `YapDatabase` was used while it was being freed") }
    return database
  }

  // nonisolated(unsafe): safe because it is set in `init` and taken away in `deinit`, where nobody else is left.
  private nonisolated(unsafe) var kept: Database?
  /// What the database was opened with. New call: `Database.Options`, which `Database(at:options:)` takes.
  public let options: YapDatabaseOptions

  let registry = CollectionRegistry()
  let threads = RunningThreads()
  let registrar = ExtensionRegistrar()
  var extensions: ExtensionList { registrar.list }
  /// Commits on their way to the main queue.
  let posts = PendingPosts()
  /// What the policies `share` and `copy` have connections share.
  let sharedCaches = RowCaches(YapDatabaseConnectionConfig.Values())
  private let state: Guarded<State>

  private struct State {
    var onError: (@Sendable (any Error) -> Void)?
    var follower: Task<Void, Never>?
    let connectionDefaults = YapDatabaseConnectionConfig()
    var isClosed = false
  }

  // MARK: Opening

  /// Opens the database at a URL of the file system, or creates it. New call: `Database(at:options:)`.
  ///
  /// The original returned nil where this throws, and renamed files that it took for damaged: nothing is renamed here.
  ///
  /// - Parameters:
  ///   - url: where the file is.
  ///   - options: the settings.
  ///   - onError: gets the errors of calls that can neither throw nor return one: those of asynchronous transactions.
  ///     Without it they go to the log; see `setLogHandler(_:)`.
  /// - Throws: as `Database(at:options:)`.
  @preconcurrency public convenience init(
    url: URL, options: YapDatabaseOptions = YapDatabaseOptions(), onError: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    try self.init(path: url.path, options: options, onError: onError)
  }

  /// Opens the database at a path, or creates it, as before version 3. New call: `Database(at:options:)`.
  ///
  /// - Throws: as `Database(at:options:)`.
  @preconcurrency public convenience init(
    path: String, options: YapDatabaseOptions = YapDatabaseOptions(), onError: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    self.init(try Database(at: path, options: options.quire), options: options, onError: onError)
  }

  /// Speaks the original's language over a database that is open already. Not in the original. New call: none.
  @preconcurrency public init(
    _ database: Database, options: YapDatabaseOptions = YapDatabaseOptions(),
    onError: (@Sendable (any Error) -> Void)? = nil
  ) {
    unsafe kept = database
    self.options = options
    state = Guarded(State(onError: onError))
    if options.postsModifiedNotifications { follow() }
  }

  deinit {
    let (follower, isClosed) = state.withLock { ($0.follower, $0.isClosed) }
    follower?.cancel()
    let path = quire.path
    weak let other = unsafe kept
    unsafe kept = nil
    // Somebody else may have the file open still.
    if !isClosed, other == nil { Self.postClosed(path) }
  }

  /// Posts a notification for each commit, in their order, until the database goes.
  private func follow() {
    // The streams begin here: no commit that follows is missed. One holds the commits, the other one wakes the task.
    let (unposted, commits) = (quire.commits.makeAsyncIterator(), quire.commits)
    posts.begin(unposted)
    let task = Task.detached { [weak self] in
      do {
        for try await commit in commits {
          guard let self else { return }
          postCommits()
          // The first question puts the changes in order: beside the main thread, not on it.
          _ = commit.changes.didClearAll
        }
      } catch {
        self?.report(error)
      }
    }
    state.withLock { $0.follower = task }
  }

  /// Sends the notifications of all commits so far to the main queue, but for those that were sent before. After a
  /// commit has ended, this call puts its notification in front of what its caller sends there next.
  func postCommits() {
    posts.sendWord { DispatchQueue.main.async { [weak self] in self?.postPending() } }
  }

  /// Closes the file; nothing can be called afterwards. The original closed it when the last reference was gone, which
  /// still happens. New call: `Database.close()`.
  ///
  /// - Throws: as `Database.close()`: `inUse` while transactions or long-lived reads are alive.
  public func close() throws {
    try quire.close()
    state.withLock { $0.follower }?.cancel()
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { Self.postClosed(quire.path) }
  }

  // MARK: Errors

  /// What gets the errors of calls that can neither throw nor return one; nil for the log. New call: none is needed, as
  /// async calls of `Database` throw.
  @preconcurrency public var onError: (@Sendable (any Error) -> Void)? {
    get { state.withLock { $0.onError } }
    set { state.withLock { $0.onError = newValue } }
  }

  /// Hands an error to the app.
  func report(_ error: any Error) {
    if let onError { onError(error) } else { Self.log(.error, "\(error)") }
  }

  // MARK: Connections

  /// A connection with the settings of `connectionDefaults`. New call: `Database.makeConnection(_:)`.
  public func newConnection() -> YapDatabaseConnection { newConnection(nil) }

  /// A connection with settings of its own; nil for `connectionDefaults`. New call: `Database.makeConnection(_:)`.
  public func newConnection(_ config: YapDatabaseConnectionConfig?) -> YapDatabaseConnection {
    YapDatabaseConnection(self, config ?? connectionDefaults)
  }

  /// The settings of future connections; a change does not reach those that exist. New call:
  /// `Database.Options.connectionDefaults`.
  public var connectionDefaults: YapDatabaseConnectionConfig { state.withLock { $0.connectionDefaults } }
}
