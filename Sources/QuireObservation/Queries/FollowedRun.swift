// The runs of a live query, one after the other.

internal import QuireDatabase
internal import Synchronization

/// What a run has read, and of which state.
struct LiveReading<Value: Sendable>: Sendable {
  let csn: CSN
  let result: Result<Value, any Error>

  /// Catches what `body` throws, so that the run ends well and what it has read is followed all the same.
  init(_ tx: ReadTransaction, _ body: (ReadTransaction) throws -> Value) {
    csn = tx.csn
    result = Result { try body(tx) }
  }
}

/// A closure that is run again and again, and what to do when a run itself fails.
struct FollowedRun<Value: Sendable>: Sendable {
  /// The state that the newest run has begun to read.
  private final class Attempt: Sendable {
    let csn = Mutex<CSN?>(nil)
  }

  private let attempt: Attempt
  private let results: ObservedResults<LiveReading<Value>>

  init(_ database: Database, _ body: @escaping @Sendable (ReadTransaction) throws -> Value) {
    let attempt = Attempt()
    self.attempt = attempt
    results = database.observe { tx in
      attempt.csn.withLock { $0 = tx.csn }
      return LiveReading(tx, body)
    }
  }

  /// Hands each reading to `take`, and the error of each run that failed. Returns when the database was closed, or when
  /// `take` has returned nil, which it does when nobody wants more; otherwise it returns the database.
  ///
  /// - Throws: what has stopped all writing, so that nothing will change; `CancellationError`.
  @MainActor
  func deliver(
    every interval: Duration, to take: @MainActor (Result<LiveReading<Value>, any Error>) -> Database?
  ) async throws {
    while true {
      do {
        for try await reading in results {
          guard take(.success(reading)) != nil else { return }
          try await Task.sleep(for: interval)
        }
        return
      } catch {
        if error is CancellationError { throw error }
        guard let pause = take(.failure(error)).map(pauseAfterFailure) else { return }
        if var commits = pause.commits { guard try await commits.next() != nil else { return } }
        try await Task.sleep(for: interval)
      }
    }
  }

  /// What a run that failed waits for; nil commits if the next one may begin at once.
  private struct Pause {
    var commits: CommitStream.Iterator?
  }

  /// Of what a failed run has read nothing is known, so that any commit since it began is a reason for the next one.
  private func pauseAfterFailure(_ database: Database) -> Pause {
    // The stream first: no commit may fall between the two.
    let commits = database.commits.makeAsyncIterator()
    let read = attempt.csn.withLock { $0 }
    // If this fails, the stream tells why.
    guard let read, let newest = try? database.read({ tx in tx.csn }), newest > read else {
      return Pause(commits: commits)
    }
    return Pause(commits: nil)
  }
}
