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
  @concurrent
  public func drain() async { await pending.drain() }

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
    return try await withCheckedThrowingContinuation { continuation in
      let isQueued = core.storage.services.runReader { [self] in
        do { continuation.resume(returning: try core.read(self, site, body)) } catch {
          continuation.resume(throwing: error)
        }
      }
      if !isQueued { continuation.resume(throwing: DatabaseError(core.storage.closedError())) }
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
    let job = WriteJob<Result>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard job.wait(continuation) else { return core.diagnostics.didEnd(watch, CancellationError()) }
        let isQueued = core.storage.services.runWriter { [self] in
          guard job.begin() else { return core.diagnostics.didEnd(watch, CancellationError()) }
          core.write(self, watch, body, job)
        }
        guard !isQueued else { return }
        let failure = DatabaseError(core.storage.closedError())
        core.diagnostics.didEnd(watch, failure)
        if job.begin() { job.end(.failure(failure)) }
      }
    } onCancel: {
      job.cancel()
    }
  }
}

/// An async write, from the call to its end.
///
/// Invariant: the continuation is resumed once: by `cancel` before `begin`, or by `end` after it.
final class WriteJob<Result: Sendable>: Sendable {
  private enum State {
    case new
    case waiting(CheckedContinuation<Result, any Error>)
    case running(CheckedContinuation<Result, any Error>)
    case ended
  }

  private let state = Latch(State.new)

  /// The job waits for the writer's thread. False if it was cancelled before it could.
  func wait(_ continuation: CheckedContinuation<Result, any Error>) -> Bool {
    let isWaiting = state.withLock { state -> Bool in
      guard case .new = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !isWaiting { continuation.resume(throwing: CancellationError()) }
    return isWaiting
  }

  /// The job's turn has come. False if it was cancelled.
  func begin() -> Bool {
    state.withLock { state in
      guard case .waiting(let continuation) = state else { return false }
      state = .running(continuation)
      return true
    }
  }

  /// Cancels the job, unless its turn has come.
  func cancel() {
    let continuation = state.withLock { state -> CheckedContinuation<Result, any Error>? in
      switch state {
      case .new:
        state = .ended
        return nil
      case .waiting(let continuation):
        state = .ended
        return continuation
      case .running, .ended:
        return nil
      }
    }
    continuation?.resume(throwing: CancellationError())
  }

  /// The job is done.
  func end(_ result: Swift.Result<Result, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Result, any Error>? in
      guard case .running(let continuation) = state else { return nil }
      state = .ended
      return continuation
    }
    continuation?.resume(with: result)
  }
}

extension DatabaseCore {
  /// An async write: runs on the writer's thread, which goes on to the next one while the commit waits for the disk.
  func write<Result: Sendable>(
    _ connection: Connection, _ watch: WriteWatch?, _ body: @Sendable (WriteTransaction) throws -> Result,
    _ job: WriteJob<Result>
  ) {
    do {
      let pending = try writeWithoutWaiting(connection, watch, body)
      let (result, actions, ticket) = (pending.result, pending.actions, pending.ticket)
      guard let lsn = ticket.lsn else { return finish(job, watch, result, actions) }
      storage.queue.notify(whenDurable: lsn) { [self] failure in
        guard let failure else { return finish(job, watch, result, actions) }
        let error = failed(ticket.hasOwnCommit ? failure : storage.stopped(failure))
        diagnostics.didEnd(watch, error)
        job.end(.failure(error))
      }
    } catch {
      diagnostics.didEnd(watch, error)
      job.end(.failure(error))
    }
  }

  /// Tells everybody that a commit is durable, on a thread that waits for nobody.
  private func finish<Result: Sendable>(
    _ job: WriteJob<Result>, _ watch: WriteWatch?, _ result: Result, _ actions: [@Sendable () -> Void]
  ) {
    let isQueued = storage.services.runDelivery { [self] in
      diagnostics.didEnd(watch)
      didCommit(actions)
      job.end(.success(result))
    }
    // Closed in the same moment: the commit stands all the same.
    if !isQueued { job.end(.success(result)) }
  }
}
