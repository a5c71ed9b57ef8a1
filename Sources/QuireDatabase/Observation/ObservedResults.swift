// A read that is repeated when what it has read has changed.

internal import QuireStorage
internal import Synchronization

/// The results of a closure that reads: one at once, and another each time a commit has changed what it has read.
///
/// ```swift
/// for try await count in db.observe({ tx in tx[.songs].count }) {
///   label.text = "\(count) songs"
/// }
/// ```
///
/// What the closure reads is noted while it runs: single rows, also those that do not exist, and which half of them;
/// parts of a collection that it counts or walks through; collections; extensions. A commit that changes nothing of
/// that does not run it again. What it sees by other means, such as `csn`, other snapshots or variables, is not noted.
///
/// The closure runs when the consumer asks for the next result, on a thread of the database's, on the newest snapshot:
/// never before, so that a slow consumer gets the newest state and not all those in between. Results may repeat: see
/// `removingDuplicates`. Between two results no snapshot is kept, and no thread waits.
///
/// Ends when the database is closed or has gone, or the task was cancelled; and with an error: that of the closure, or
/// the one by which a failed write has stopped all writing. Each iterator observes on its own.
///
/// The guide is <doc:Observation>.
public struct ObservedResults<Value: Sendable>: AsyncSequence, Sendable {
  /// What is delivered.
  public typealias Element = Value
  /// What the closure throws, or a `DatabaseError`.
  public typealias Failure = any Error

  private let source: ObservedRead<Value>

  init(
    _ core: DatabaseCore, _ options: Connection.Options, _ site: CallSite,
    _ body: @escaping @Sendable (ReadTransaction) throws -> Value
  ) {
    source = ObservedRead(core, options, site, body)
  }

  /// Begins to observe with the first call of its `next`.
  public func makeAsyncIterator() -> Iterator { Iterator(observer: Observer(source)) }

  /// Takes the results one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let observer: Observer<Value>

    /// The next result: the first one at once, a later one when what was read has changed. Nil when the database was
    /// closed, or the task cancelled.
    ///
    /// - Throws: what the closure throws, `notPermitted` if the connection does not permit asynchronous reads, and as
    ///   `read`.
    public mutating func next() async throws -> Value? { try await observer.next() }
  }
}

extension ObservedResults where Value: Equatable {
  /// The same without results that are equal to the one before.
  public func removingDuplicates() -> DistinctObservedResults<Value> { DistinctObservedResults(all: self) }
}

/// The results of an observation that differ from the one before.
public struct DistinctObservedResults<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  /// What is delivered.
  public typealias Element = Value
  /// As those of `ObservedResults`.
  public typealias Failure = any Error

  fileprivate let all: ObservedResults<Value>

  /// Begins to observe with the first call of its `next`.
  public func makeAsyncIterator() -> Iterator { Iterator(all: all.makeAsyncIterator()) }

  /// Takes the results one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var all: ObservedResults<Value>.Iterator
    private var last: Value?

    fileprivate init(all: ObservedResults<Value>.Iterator) { self.all = all }

    /// The next result that differs from the one before.
    ///
    /// - Throws: as that of `ObservedResults`.
    public mutating func next() async throws -> Value? {
      while let value = try await all.next() {
        if value == last { continue }
        last = value
        return value
      }
      return nil
    }
  }
}

// MARK: - One iterator

/// A closure, and the database that it reads; does not keep that open.
struct ObservedRead<Value: Sendable>: Sendable {
  private weak let core: DatabaseCore?
  let history: CommitHistory
  let hub: ObservationHub
  private let suspension: Suspension
  private let path: String
  /// The file's, which messages of the engine have: another one if `path` is relative, or that of a link.
  private let filePath: String
  private let options: Connection.Options
  private let site: CallSite
  private let body: @Sendable (ReadTransaction) throws -> Value

  init(
    _ core: DatabaseCore, _ options: Connection.Options, _ site: CallSite,
    _ body: @escaping @Sendable (ReadTransaction) throws -> Value
  ) {
    self.core = core
    history = core.history
    hub = core.observers
    (suspension, path, filePath) = (core.suspension, core.path, core.storage.file.path)
    self.options = options
    self.site = site
    self.body = body
  }

  /// Whether the database can still be read.
  var isOpen: Bool {
    guard let core else { return false }
    do throws(StorageError) {
      try core.storage.checkOpen()
      return true
    } catch {
      return false
    }
  }

  /// Returns when the database is not suspended, if the error is that it is; does not keep it open meanwhile.
  ///
  /// - Throws: the error, if it is another one; `closed`, `CancellationError`.
  func waitUntilResumed(after error: DatabaseError) async throws {
    guard error.code == .suspended, error.path == path || error.path == filePath else { throw error }
    if suspension.suspendedCSN == nil {
      // It is about to be, and waits for a transaction; or is not any more.
      try await Task.sleep(for: .milliseconds(5))
    }
    try await suspension.wait(path)
  }

  /// Takes an observer in; nil if the database has gone.
  func add() -> Int? { core.map { hub.add($0) } }

  /// Runs the closure for an observer, on a thread of the database's. Nil if the database has gone, or if the task was
  /// cancelled before the closure began.
  func run(_ id: Int) async throws -> Value? {
    guard let core else { return nil }
    let connection = Connection(core, options)
    try connection.check(.asynchronousReads)
    let job = PlainJob<Value?>(cancelled: .success(nil)) { [hub, site, body] _ in
      hub.beginRun(id)
      let (value, reads, csn) = try core.observedRead(connection, site, body)
      hub.endRun(id, reads, at: csn)
      return value
    }
    return try await job.result {
      try core.wrapping { () throws(StorageError) in try core.storage.threads.runReader { job.run() } }
    }
  }
}

/// What stands behind an iterator: for one consumer.
///
/// Invariant: `id` is that of an observer in the hub, from the first result to the end.
private final class Observer<Value: Sendable>: Sendable {
  private enum State {
    case new
    case observing(Int)
    case ended
  }

  private let source: ObservedRead<Value>
  private let state = Latch(State.new)

  init(_ source: ObservedRead<Value>) { self.source = source }

  deinit { end() }

  func next() async throws -> Value? {
    guard !Task.isCancelled, let (id, isFirst) = begin() else { return end() }
    do {
      if !isFirst {
        guard try await source.hub.waitUntilDue(id) else { return end() }
      }
      guard let value = try await read(id) else { return end() }
      return value
    } catch {
      end()
      // It is being closed, or was in the same moment.
      if (error as? DatabaseError)?.code == .closed, source.hub.isClosed || !source.isOpen { return nil }
      throw error
    }
  }

  /// Runs the closure; after a suspension, if that comes in between.
  private func read(_ id: Int) async throws -> Value? {
    while true {
      do { return try await source.run(id) } catch let error as DatabaseError {
        do { try await source.waitUntilResumed(after: error) } catch is CancellationError { return nil }
      }
    }
  }

  /// The observer's number, and whether it has had no result; nil if it has ended.
  private func begin() -> (id: Int, isFirst: Bool)? {
    state.withLock { state in
      switch state {
      case .observing(let id): return (id, false)
      case .ended: return nil
      case .new:
        guard let id = source.add() else { return nil }
        state = .observing(id)
        return (id, true)
      }
    }
  }

  @discardableResult
  private func end() -> Value? {
    let id = state.withLock { state -> Int? in
      defer { state = .ended }
      if case .observing(let id) = state { return id }
      return nil
    }
    if let id { source.hub.remove(id, source.history) }
    return nil
  }
}

extension DatabaseCore {
  /// Runs `body` on the newest snapshot, and returns what it has read as well, and the commit that it saw.
  func observedRead<Result>(
    _ connection: Connection, _ site: CallSite, _ body: (ReadTransaction) throws -> Result
  ) throws -> (Result, ReadSet, CSN) {
    let outer = CurrentTransaction.innermost
    try checkNotNested(outer)
    let scratch: TransactionScratch
    do throws(StorageError) { scratch = try takeScratchForReading() } catch { throw DatabaseError(error) }
    let recorder = ReadRecorder()
    let state = TransactionState(reading: scratch, self, connection, outer: outer, recorder: recorder)
    let result = try run(state, "observed read", site, body)
    return (result, recorder.finish(opened: state.collections.all.map(\.name)), state.csn)
  }
}

// MARK: - Observing

extension Database {
  /// The results of `body`, which is run at once and again whenever a commit has changed what it has read; see
  /// `ObservedResults`. It reads in a transaction of its own each time, on a thread of the database's. What it returns
  /// is to be made of values: the transaction ends with it. Messages say which line has asked.
  public func observe<Value: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ReadTransaction) throws -> Value
  ) -> ObservedResults<Value> {
    ObservedResults(core, Connection.Options(), CallSite(fileID: fileID, line: line), body)
  }
}

extension Database {
  /// Whether every observer waits for a change that has not come: for tests, which then know that nothing was missed.
  package var areObserversWaiting: Bool { core.observers.areAllWaiting }
  /// Runs `job` on the thread that looks at commits: for tests, which hold it up.
  package func runLook(_ job: @escaping @Sendable () -> Void) throws(DatabaseError) {
    try core.wrapping { () throws(StorageError) in try core.storage.threads.runLook(job) }
  }
  /// Whether commits were acknowledged that observers have not looked at yet.
  package var hasLooksDue: Bool { core.observers.hasLooksDue }
  /// How many observers there are.
  package var observerCount: Int { core.observers.observerCount }
  /// Throws if an invariant of the observers' is broken.
  package func checkObservers() throws(DatabaseError) { try core.observers.checkInvariants() }
}

extension Connection {
  /// The results of `body`, which is run at once and again whenever a commit has changed what it has read; see
  /// `ObservedResults`. Needs `asynchronousReads`.
  public func observe<Value: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ReadTransaction) throws -> Value
  ) -> ObservedResults<Value> {
    ObservedResults(core, options, CallSite(fileID: fileID, line: line), body)
  }
}
