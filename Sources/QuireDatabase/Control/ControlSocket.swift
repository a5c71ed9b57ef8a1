// A socket by which tools look at a database while its app runs.

internal import QuireStorage

/// A socket beside an open database. Through it `quiredb` looks at the database, checks, copies and compacts it, while
/// the app goes on.
///
/// ```swift
/// let control = try db.openControl()
/// ```
///
/// The socket is a file, `FILE-control` if nothing else is said. Only processes of the same user are heard. A tool that
/// reads does so in the data file, at a checkpoint that the app holds for it: that costs a checkpoint, and after it
/// what any snapshot costs that is held, which `heldSnapshots` shows as `control: pid N`. Checking and compacting run
/// in the app, on a thread of the connection's.
///
/// Lives as long as the object, until `close`, or until `Database.close` is called. May be used from any thread.
///
/// The guide is <doc:SeveralProcesses>.
public final class ControlSocket: Sendable {
  /// Limits of a socket.
  public struct Options: Sendable {
    /// How many tools are served at one time, 1 to 64; others are told so, and sent away.
    public var connectionLimit: Int
    /// For how long a tool may hold a snapshot. Then its connection is ended, and it gives up what it was doing.
    public var holdLimit: Duration

    /// Limits; what is left out has the value that suits most.
    public init(connectionLimit: Int = 8, holdLimit: Duration = .seconds(600)) {
      self.connectionLimit = connectionLimit
      self.holdLimit = holdLimit
    }
  }

  private let server: ControlServer

  /// Where it is.
  public var path: String { server.name.path }

  /// Opens a socket for an open database; `Database.openControl` is the same.
  ///
  /// What a process has left at the path that was killed is replaced, if it is a socket; nothing else ever is.
  /// Costs a thread that sleeps, and one for each tool that is connected.
  ///
  /// - Parameters:
  ///   - database: the database, in a file, and open for writing.
  ///   - path: where to; the data file's path and `-control` if left out. May have 107 bytes, on Apple's systems 103.
  ///   - options: limits.
  /// - Throws: `invalidOption` if the path is too long, the database has no file, or an option is out of its range;
  ///   `readOnly`; `closed`; `alreadyExists` if there is another file at the path, or a socket that somebody listens
  ///   to; `limitReached` if the system gives no thread; `inputOutput`.
  public init(for database: Database, at path: String? = nil, options: Options = Options()) throws(DatabaseError) {
    let core = database.core
    guard !core.path.isEmpty else {
      throw DatabaseError(.invalidOption, "A database in memory has no file that a tool could read. Use one in a file.")
    }
    guard !core.options.isReadOnly else {
      throw DatabaseError(
        .readOnly, "The database is open for reading only, as tools can open it, too. They need no control socket.",
        path: core.path)
    }
    guard (1...64).contains(options.connectionLimit), options.holdLimit > .zero else {
      throw DatabaseError(
        .invalidOption, "A control socket serves 1 to 64 tools, and lets them hold snapshots for some time.",
        path: core.path)
    }
    try Self.checkOpen(core)
    server = try ControlServer(core, path ?? "\(core.path)-control", options)
    try server.start()
    // One who closes it meanwhile may have looked for sockets before this one was there.
    do throws(DatabaseError) { try Self.checkOpen(core) } catch {
      server.close()
      throw error
    }
  }

  private static func checkOpen(_ core: DatabaseCore) throws(DatabaseError) {
    try core.wrapping { () throws(StorageError) in try core.storage.checkOpen() }
  }

  deinit { server.close() }

  /// Ends all connections and takes the socket away. Waits for requests that run in the app: a check or a compaction
  /// ends at its next step, a checkpoint when it is done. A call after the first does nothing. In a write transaction
  /// it does not wait, as requests may wait for the transaction; they end behind it.
  public func close() { server.close() }
}

extension Database {
  /// Opens a socket through which tools look at the database while it is open; see ``ControlSocket``.
  ///
  /// - Throws: as ``ControlSocket/init(for:at:options:)``.
  public func openControl(
    at path: String? = nil, options: ControlSocket.Options = ControlSocket.Options()
  ) throws(DatabaseError) -> ControlSocket {
    try ControlSocket(for: self, at: path, options: options)
  }
}
