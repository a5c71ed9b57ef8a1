// Giving a file up for a while, so that a process which is suspended holds no lock.

internal import QuireStorage

extension Database {
  /// Gives the file up, until ``resume()-6bo9u``: for an app that shares its container with others and is about to be
  /// suspended by the system, which ends a process that holds a lock while it is.
  ///
  /// Waits for the transactions that run and lets no other begin: they throw `suspended`. Makes durable what was
  /// committed and closes the files as they are, without a checkpoint. Closes control sockets. Does nothing if it is
  /// suspended already, or in memory. <doc:Platforms#Apps-that-are-suspended> says what becomes of pins and the rest.
  ///
  /// - Parameter timeout: how long transactions are waited for; for as long as they take if nil.
  /// - Throws: `inUse` if a transaction or a backup takes longer, and then the database is open as before; `inUse`,
  ///   too, on a thread of the database's while another one suspends or resumes; `nestedTransaction` inside a
  ///   transaction; `closed`; `failStop` if writing had stopped, or now does: the database is suspended all the same.
  public func suspend(timeout: Duration? = nil) throws(DatabaseError) { try Suspending(core: core).run(timeout) }

  /// The same on a thread of its own; `limitReached` if the system gives none.
  @concurrent
  public func suspend(timeout: Duration? = nil) async throws {
    try await Suspending.onThread { [core] in try Suspending(core: core).run(timeout) }
  }

  /// Opens the file again after ``suspend(timeout:)-2hsxo``, under the same object. If others have committed, what is
  /// known of the file is found anew, as by an opening, extensions are registered again, and those who follow commits
  /// are told of one whose changes are `isUnknown`. Until it returns, or begins to build extensions, nobody is let in.
  ///
  /// - Returns: whether there are commits that were not seen here: those of others, or one whose outcome was unknown.
  /// - Throws: what opening throws, such as `alreadyOpen`, and `fileChanged` if there is another file or an older state
  ///   of it: the database stays suspended, and `resume()` may be called again; `closed`; `inUse` and
  ///   `nestedTransaction` as `suspend`. What registering an extension throws: only that extension is not there then.
  @discardableResult
  public func resume() throws -> Bool { try Resuming(core: core).run() }

  /// The same on a thread of its own; `limitReached` if the system gives none.
  @concurrent @discardableResult
  public func resume() async throws -> Bool {
    try await Suspending.onThread { [core] in try Resuming(core: core).run() }
  }

  /// Whether the file has been given up by ``suspend(timeout:)-2hsxo``.
  public var isSuspended: Bool { core.suspension.suspendedCSN != nil }

  /// Returns when the database is not suspended; throws `closed` if it is closed, and `CancellationError`.
  @concurrent
  public func waitUntilResumed() async throws { try await core.suspension.wait(core.path) }
}
