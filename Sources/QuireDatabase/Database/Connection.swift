// Connections: views of one database with settings of their own.

internal import QuireStorage
internal import Synchronization

/// A way into a database with settings of its own: what it may do, and what it is called in messages.
///
/// Cheap to make; keeps the database alive. May be used from any thread, by several at once.
public final class Connection: Sendable {
  /// Settings of a connection.
  public struct Options: Sendable {
    /// What the connection is called in messages.
    public var name: String?
    /// Which transactions it permits; others throw `notPermitted` before they begin.
    public var permits: Permissions

    /// Settings; what is left out permits everything.
    public init(name: String? = nil, permits: Permissions = .all) {
      self.name = name
      self.permits = permits
    }
  }

  /// Kinds of transactions.
  public struct Permissions: OptionSet, Hashable, Sendable {
    /// One bit for each kind.
    public let rawValue: Int
    /// Wraps bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `read` that blocks its thread.
    public static let synchronousReads = Permissions(rawValue: 1)
    /// `read` that is awaited.
    public static let asynchronousReads = Permissions(rawValue: 2)
    /// `write` that blocks its thread.
    public static let synchronousWrites = Permissions(rawValue: 4)
    /// `write` that is awaited.
    public static let asynchronousWrites = Permissions(rawValue: 8)
    /// All reads.
    public static let reads: Permissions = [.synchronousReads, .asynchronousReads]
    /// All writes.
    public static let writes: Permissions = [.synchronousWrites, .asynchronousWrites]
    /// Everything.
    public static let all: Permissions = [.reads, .writes]
  }

  let core: DatabaseCore
  /// The settings.
  public let options: Options
  /// Its name in one number.
  let number: ConnectionNumber
  /// The async transactions that have not ended.
  private let pending = PendingWork()

  init(_ core: DatabaseCore, _ options: Options) {
    self.core = core
    self.options = options
    number = core.holders.names.number(of: options.name)
  }

  /// Returns when every async `read` and `write` of this connection that was called before has ended: committed, rolled
  /// back, failed or cancelled.
  ///
  /// Waits for their `onCommit` actions, too.
  @concurrent
  public func drain() async { await pending.drain() }

  /// Work begins that `drain` waits for; returns its end.
  func beginWork() -> @Sendable () -> Void {
    let work = pending.begin()
    return { [pending] in pending.end(work) }
  }

  func check(_ permission: Permissions) throws(DatabaseError) {
    guard !options.permits.contains(permission) else { return }
    throw DatabaseError(
      .notPermitted,
      "The connection \(options.name.map { "“\($0)” " } ?? "")does not permit such a transaction; see its options.",
      path: core.path)
  }

  /// As the `read` without a place, which it is for.
  public func read<Result>(at site: CallSite, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    try check(.synchronousReads)
    return try core.read(self, site, body)
  }

  /// As the `read` without a place, which it is for.
  @concurrent
  public func read<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try check(.asynchronousReads)
    let work = pending.begin()
    defer { pending.end(work) }
    let job = AsyncJob<Result>()
    return try await job.result {
      try core.wrapping { () throws(StorageError) in
        try core.storage.services.runReader { [self] in job.run { try core.read(self, site, body) } }
      }
    }
  }

  /// As the `write` without a place, which it is for.
  @discardableResult
  public func write<Result>(at site: CallSite, _ body: (WriteTransaction) throws -> Result) throws -> Result {
    try check(.synchronousWrites)
    return try core.write(self, site, body)
  }

  /// As the `write` without a place, which it is for.
  @concurrent @discardableResult
  public func write<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    try check(.asynchronousWrites)
    let work = pending.begin()
    defer { pending.end(work) }
    let watch = core.diagnostics.watchWrite(site, connection: options.name)
    let job = AsyncJob<Result>()
    do {
      return try await job.result {
        try core.wrapping { () throws(StorageError) in
          // What has been appended must not want for a thread that acknowledges it.
          try core.storage.services.prepareDelivery()
          try core.storage.services.runWriter { [self] in
            if job.begin() { core.write(self, watch, body, job) }
          }
        }
      }
    } catch {
      // What has begun was watched to its end.
      if !job.hasBegun { core.diagnostics.didEnd(watch, error) }
      throw error
    }
  }
}

extension DatabaseCore {
  /// An async write: runs on the writer's thread, which goes on to the next one while the commit waits for the disk.
  func write<Result: Sendable>(
    _ connection: Connection, _ watch: WriteWatch?, _ body: @Sendable (WriteTransaction) throws -> Result,
    _ job: AsyncJob<Result>
  ) {
    do {
      let pending = try writeWithoutWaiting(connection, watch, body)
      let (result, ticket) = (pending.result, pending.ticket)
      // Here, where one commit comes after the other.
      let hasActions = !pending.actions.isEmpty || !pending.rollbackActions.isEmpty
      let actions =
        hasActions ? actions.add(pending.actions, orElse: pending.rollbackActions, connection.beginWork()) : nil
      guard let lsn = ticket.lsn else { return finish(job, watch, result, actions) }
      storage.queue.notify(whenDurable: lsn) { [self] failure in
        guard let failure else { return finish(job, watch, result, actions) }
        let error = failed(ticket.hasOwnCommit ? failure : storage.stopped(failure))
        diagnostics.didEnd(watch, error)
        job.end(.failure(error))
        if let actions { settle(actions, isCommitted: false) }
      }
    } catch {
      diagnostics.didEnd(watch, error)
      job.end(.failure(error))
    }
  }

  /// Tells everybody that a commit is durable, on a thread that waits for nobody. What may take its time comes behind
  /// the acknowledgement; what apps want done, on a thread of its own.
  private func finish<Result: Sendable>(
    _ job: AsyncJob<Result>, _ watch: WriteWatch?, _ result: Result, _ actions: CommitActions.Entry?
  ) {
    do throws(StorageError) {
      try storage.services.runDelivery { [self] in
        diagnostics.didEnd(watch)
        deliver()
        job.end(.success(result))
        report()
        if let actions { settle(actions, isCommitted: true) }
      }
    } catch {
      // Closed in the same moment: the commit stands all the same.
      job.end(.success(result))
      if let actions { settle(actions, isCommitted: true) }
    }
  }

  /// The fate of a commit is known: its actions have their turn, or never.
  private func settle(_ entry: CommitActions.Entry, isCommitted: Bool) {
    actions.settle(entry, isCommitted: isCommitted)
    // Without another thread they run here. They come after the acknowledgement in any case.
    do throws(StorageError) { try storage.services.runAction { [actions] in actions.run() } } catch { actions.run() }
  }
}
