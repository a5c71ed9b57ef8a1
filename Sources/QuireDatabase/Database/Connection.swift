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
  /// The async transactions that have not ended.
  private let pending = PendingWork()

  init(_ core: DatabaseCore, _ options: Options) {
    self.core = core
    self.options = options
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

  /// Runs `body` on the newest snapshot; see `Database.read`.
  ///
  /// - Throws: `notPermitted`, and as `Database.read`.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
    try check(.synchronousReads)
    return try core.read(self, body)
  }

  /// Runs `body` on the newest snapshot, on a thread of the database's; see `Database.read`.
  ///
  /// - Throws: `notPermitted`, and as `Database.read`.
  @concurrent
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try check(.asynchronousReads)
    let work = pending.begin()
    defer { pending.end(work) }
    return try await withCheckedThrowingContinuation { continuation in
      let isQueued = core.storage.services.runReader { [self] in
        do { continuation.resume(returning: try core.read(self, body)) } catch { continuation.resume(throwing: error) }
      }
      if !isQueued { continuation.resume(throwing: DatabaseError(core.storage.closedError())) }
    }
  }

  /// Runs `body` as the only write transaction; see `Database.write`.
  ///
  /// - Throws: `notPermitted`, and as `Database.write`.
  @discardableResult
  public func write<Result>(_ body: (WriteTransaction) throws -> Result) throws -> Result {
    try check(.synchronousWrites)
    return try core.write(self, body)
  }

  /// Runs `body` as the only write transaction, on a thread of the database's; see `Database.write`.
  ///
  /// - Throws: `notPermitted`, `CancellationError`, and as `Database.write`.
  @concurrent @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    try check(.asynchronousWrites)
    let work = pending.begin()
    defer { pending.end(work) }
    let job = WriteJob<Result>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard job.wait(continuation) else { return }
        let isQueued = core.storage.services.runWriter { [self] in
          if job.begin() { core.write(self, body, job) }
        }
        if !isQueued, job.begin() { job.end(.failure(DatabaseError(core.storage.closedError()))) }
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
    _ connection: Connection, _ body: @Sendable (WriteTransaction) throws -> Result, _ job: WriteJob<Result>
  ) {
    do {
      let pending = try writeWithoutWaiting(connection, body)
      let (result, actions) = (pending.result, pending.actions)
      guard let lsn = pending.ticket.lsn else { return finish(job, result, actions) }
      storage.queue.notify(whenDurable: lsn) { [self] failure in
        if let failure { return job.end(.failure(failed(failure))) }
        finish(job, result, actions)
      }
    } catch {
      job.end(.failure(error))
    }
  }

  /// Tells everybody that a commit is durable, on a thread that waits for nobody.
  private func finish<Result: Sendable>(_ job: WriteJob<Result>, _ result: Result, _ actions: [@Sendable () -> Void]) {
    let isQueued = storage.services.runDelivery { [self] in
      didCommit(actions)
      job.end(.success(result))
    }
    // Closed in the same moment: the commit stands all the same.
    if !isQueued { job.end(.success(result)) }
  }
}
