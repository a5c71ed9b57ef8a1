// Taking part in a hub all the time.

#if Postgres
  internal import QuireDatabase
  internal import QuireStorage

  /// What a hub that is followed tells of.
  public enum HubEvent: Sendable {
    /// Both sides had nothing new any more. Told after each round in which something went over.
    case synchronized(HubProgress)
    /// PostgreSQL could not be reached, or has refused something; it is tried again after a pause.
    case unreachable(HubError, pause: Duration)
  }

  extension PostgresHub {
    /// Synchronizes again and again until ``stop()`` is called or the database is closed; not while it is suspended.
    /// Blocks. Where PostgreSQL cannot be reached, or refuses something, it tries again for ever, after 50 ms, then
    /// twice as long each time.
    ///
    /// - Parameters:
    ///   - interval: how long it waits when both sides have nothing new: about as long as a change takes to be seen.
    ///   - longestPause: how long it waits at the most before it tries again to reach PostgreSQL.
    ///   - report: told what happens, on the calling thread.
    /// - Throws: as ``synchronize()``, but for `unreachable`, `refused` and `busy`.
    public func follow(
      every interval: Duration = .seconds(1), longestPause: Duration = .seconds(30),
      report: (HubEvent) -> Void = { _ in }
    ) throws {
      var pause = 0.05
      while !stopping.isSet {
        do {
          let progress = try synchronize()
          if progress != HubProgress() { report(.synchronized(progress)) }
          pause = 0.05
          stopping.pause(interval)
        } catch let error as HubError where error.code == .busy {
          // Somebody else synchronizes, which does as well.
          stopping.pause(interval)
        } catch let error as HubError {
          guard error.code == .unreachable || error.code == .refused else { throw error }
          if stopping.isSet { return }
          // Not all members at the same moment, when the server is back.
          let some = pause * Double.random(in: 0.5...1)
          report(.unreachable(error, pause: .seconds(some)))
          stopping.pause(.seconds(some))
          pause = min(2 * pause, longestPause / .seconds(1))
        } catch let error as DatabaseError {
          guard error.code == .suspended else {
            if error.code == .closed { return }
            throw error
          }
          stopping.waitUntilResumed(database)
        }
      }
    }

    /// As ``follow(every:longestPause:report:)``, on a thread of its own, until the task is cancelled: for good, as by
    /// ``stop()``.
    ///
    /// - Parameters:
    ///   - interval: how long it waits when both sides have nothing new.
    ///   - longestPause: how long it waits at the most before it tries again to reach PostgreSQL.
    ///   - report: told what happens, on that thread.
    /// - Throws: as `follow`.
    public func run(
      every interval: Duration = .seconds(1), longestPause: Duration = .seconds(30),
      report: @escaping @Sendable (HubEvent) -> Void = { _ in }
    ) async throws {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
          do {
            try ThreadStarter.system.start {
              done.resume(with: Result { try self.follow(every: interval, longestPause: longestPause, report: report) })
            }
          } catch {
            done.resume(throwing: error)
          }
        }
      } onCancel: {
        stop()
      }
    }

    /// Has ``follow(every:longestPause:report:)`` end after the round that it is in. For good.
    public func stop() { stopping.set() }
  }
#endif
