// A read that a screen shows, and that is repeated as commits change what it has read.

public import Observation
public import QuireDatabase

/// What a closure reads, kept up to date: for views of SwiftUI, and for whoever observes by `withObservationTracking`.
///
/// ```swift
/// let titles = LiveQuery(db, initial: []) { tx in
///   try tx[.songs].find { $0.rating >= 4 }.order(by: \.title).objects.map(\.title)
/// }
/// ```
///
/// The closure runs on a thread of the database's, at once and whenever a commit has changed something that it has
/// read, as in `Database.observe(_:)`: views, indexes, searches and single rows alike. Its result comes to the main
/// actor as `value`. Between two results lies `minimumInterval` at the least: what is committed meanwhile is one more
/// run, on the newest snapshot. A state is never followed by an older one, and a value that equals the one before is
/// not told.
///
/// An error of the closure becomes `error`, beside the last good value, and goes with the next run that succeeds: that
/// follows a commit to what the closure had read before it failed. Where this is not known, as with an error of a call
/// that cannot throw, it follows any commit. It ends, and `isLive` says so, with `stop()`, when the database is closed,
/// and when a failed write has stopped all writing, which `error` tells then.
///
/// Lets go of everything when nobody holds it any more; until then it keeps the database open.
///
/// Invariants: there is a task if and only if `isLive`; `csn` is that of the newest state that was delivered.
///
/// The guide is <doc:SwiftUI>.
@MainActor @Observable
public final class LiveQuery<Value: Sendable> {
  /// The newest result; before the first one the initial value.
  public private(set) var value: Value
  /// What the newest run has thrown; nil if it has succeeded.
  public private(set) var error: (any Error)?
  /// Whether `value` is a result of the closure that is followed, and not what was there before it.
  public private(set) var isLoaded = false
  /// Whether commits are followed.
  public private(set) var isLive = false

  @ObservationIgnored private let database: Database
  @ObservationIgnored private let minimumInterval: Duration
  @ObservationIgnored private let areEqual: (Value, Value) -> Bool
  @ObservationIgnored private var body: @Sendable (ReadTransaction) throws -> Value
  /// The commit that the newest delivered state is of.
  @ObservationIgnored private var csn: CSN?
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Reads `body` at once, and again after commits that change what it has read. Any two values differ: see the form
  /// for those that can be compared.
  ///
  /// - Parameters:
  ///   - database: what is read.
  ///   - initial: what is shown until the first result is there.
  ///   - minimumInterval: what lies between two results at the least: a frame of a screen, unless another one is given.
  ///   - body: what is read; as in `Database.observe(_:)` it returns values and awaits nothing.
  public convenience init(
    _ database: Database, initial: Value, minimumInterval: Duration = .milliseconds(16),
    _ body: @escaping @Sendable (ReadTransaction) throws -> Value
  ) {
    self.init(database, initial, minimumInterval, body) { _, _ in false }
  }

  init(
    _ database: Database, _ initial: Value, _ minimumInterval: Duration,
    _ body: @escaping @Sendable (ReadTransaction) throws -> Value, areEqual: @escaping (Value, Value) -> Bool
  ) {
    (self.database, value, self.minimumInterval, self.body) = (database, initial, minimumInterval, body)
    self.areEqual = areEqual
    begin()
  }

  deinit { task?.cancel() }

  // MARK: What is followed

  /// Follows another closure, or the same one with other variables: a search field's words. Until its first result the
  /// value of the one before is shown, and `isLoaded` is false.
  public func follow(_ body: @escaping @Sendable (ReadTransaction) throws -> Value) {
    self.body = body
    if isLoaded { isLoaded = false }
    begin()
  }

  /// Runs the closure anew, whatever has changed: for one that reads variables as well, after an error that is known to
  /// be mended, and after `stop()`.
  public func refresh() { begin() }

  /// Follows commits no more. The last value stays; a result that is on its way is not delivered.
  public func stop() {
    task?.cancel()
    task = nil
    if isLive { isLive = false }
    checkInvariants()
  }

  /// Runs the closure now, on the caller's thread, and shows its result: for a first frame that is to be right. It may
  /// wait for the disk. A commit after it is delivered as usual. While the database is suspended `error` says so, until
  /// the closure has run after the resumption.
  public func load() {
    do {
      let body = body
      show(try database.read { tx in LiveReading(tx, body) })
    } catch {
      self.error = error
      // Without a commit nothing else would take the error back.
      if isLive, (error as? DatabaseError)?.code == .suspended { begin() }
    }
  }

  // MARK: Following

  private typealias Reading = LiveReading<Value>

  private func begin() {
    task?.cancel()
    let run = FollowedRun(database, body)
    task = Task { [weak self, minimumInterval] in
      do {
        try await run.deliver(every: minimumInterval) { event -> Database? in
          // Weak, so that nothing that is waited for keeps the object.
          guard !Task.isCancelled, let self else { return nil }
          switch event {
          case .success(let reading): self.show(reading)
          case .failure(let error): self.error = error
          }
          return self.database
        }
        if !Task.isCancelled { self?.end(nil) }
      } catch {
        if !Task.isCancelled { self?.end(error) }
      }
    }
    if !isLive { isLive = true }
    checkInvariants()
  }

  private func show(_ reading: Reading) {
    if let csn, reading.csn < csn { return }
    csn = reading.csn
    switch reading.result {
    case .success(let new):
      if !areEqual(value, new) { value = new }
      if !isLoaded { isLoaded = true }
      if error != nil { error = nil }
    case .failure(let failure): error = failure
    }
  }

  /// Nothing more will come.
  private func end(_ failure: (any Error)?) {
    task = nil
    if let failure { error = failure }
    isLive = false
    checkInvariants()
  }

  /// Stops the process, in debug builds, if the invariants at the head of the type do not hold.
  func checkInvariants() { assert((task != nil) == isLive, "who follows has a task, and nobody else") }
}

extension LiveQuery where Value: Equatable {
  /// Reads `body` at once, and again after commits that change what it has read.
  ///
  /// - Parameters:
  ///   - database: what is read.
  ///   - initial: what is shown until the first result is there.
  ///   - minimumInterval: what lies between two results at the least: a frame of a screen, unless another one is given.
  ///   - body: what is read; as in `Database.observe(_:)` it returns values and awaits nothing.
  public convenience init(
    _ database: Database, initial: Value, minimumInterval: Duration = .milliseconds(16),
    _ body: @escaping @Sendable (ReadTransaction) throws -> Value
  ) {
    self.init(database, initial, minimumInterval, body) { $0 == $1 }
  }
}
