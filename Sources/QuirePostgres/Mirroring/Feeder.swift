// Brings rows and changes over, whatever happens to either side.

#if Postgres
  internal import QuireDatabase
  internal import QuireStorage

  /// One run of a mirror. For one thread.
  ///
  /// Invariants:
  /// 1. Where the mirror is stands in PostgreSQL alone, and is read at each connection: after a failover the feed goes
  ///    back with the rows.
  /// 2. What holds it up is the mirror's `trouble`, from the moment it is met until a step is done.
  /// 3. `attempted` has the places where the cursor was to be moved by transactions of which nobody knows whether they
  ///    were carried out.
  final class Feeder {
    private let mirror: PostgresMirror
    private var pause: RetryPause
    private var attempted: Set<SinkMark> = []

    init(_ mirror: PostgresMirror) {
      self.mirror = mirror
      pause = RetryPause(longest: mirror.options.longestPause)
    }

    /// Works until there is nothing left, or, following, until the mirror is told to stop or the database is closed.
    func run(isFollowing: Bool) throws {
      let waker = isFollowing ? wakeWithCommits() : nil
      defer { waker?.cancel() }
      while true {
        do {
          try session(isFollowing)
          return
        } catch let error as SQLError {
          if mirror.stopping.isSet { throw stopped() }
          // Who follows is not there to look after it: what is refused is tried again until somebody has mended it.
          // A table that somebody has dropped is made by the next session.
          let isMade = error.state == SQLState.undefinedTable
          guard error.answer == .again || isMade || isFollowing else { throw error.told }
          let duration = pause.next()
          mirror.tell(.retry(error.told, pause: duration))
          mirror.stopping.pause(duration)
        } catch let error as DatabaseError where error.code == .closed && isFollowing {
          return
        } catch let error as DatabaseError where error.code == .suspended && isFollowing {
          // The connection has gone with the session.
          mirror.stopping.waitUntilResumed(mirror.database)
        }
      }
    }

    private func stopped() -> PostgresError { PostgresError(.stopped, "The mirror was told to stop.") }

    private func wakeWithCommits() -> Task<Void, Never> {
      let (commits, stopping) = (mirror.database.commits, mirror.stopping)
      return Task {
        do { for try await _ in commits { stopping.wake() } } catch {}
        stopping.wake()
      }
    }

    /// Works over one connection.
    private func session(_ isFollowing: Bool) throws {
      if mirror.stopping.isSet { throw stopped() }
      let sink = try Sink(mirror.settings)
      var steps = try FeedSteps(mirror, sink)
      mirror.tell(.connected(csn: CSN(sink.state.csn), state: sink.state.state))
      while true {
        if mirror.stopping.isSet { throw stopped() }
        guard let step = try steps.next() else {
          mirror.isHeldUp(by: nil)
          try steps.release(isLast: !isFollowing)
          if !isFollowing { return }
          mirror.stopping.sleep(.seconds(1))
          continue
        }
        try store(step, sink, &steps)
      }
    }

    private func store(_ step: FeedStep, _ sink: Sink, _ steps: inout FeedSteps) throws {
      let start = ContinuousClock.now
      do {
        try sink.store(step.changes, csn: step.csn, copies: step.copies, next: step.next)
        attempted = []
      } catch let error as SQLError {
        if error.state == nil { attempted.insert(step.next.mark) }
        throw error
      } catch is FenceError {
        // What was sent over a connection that was lost may have been carried out after this one was made.
        try sink.read()
        guard attempted.contains(sink.state.mark) else { throw anotherFeeder() }
        return
      } catch is StaleCursorError {
        try sink.connection.run(Statement.rollback)
        try sink.read()
        steps.beginAnew("A table has another name since a commit behind the cursor.")
        return
      }
      pause.reset()
      try steps.didStore(step, in: ContinuousClock.now - start)
      mirror.isHeldUp(by: nil)
      mirror.tell(.batch(csn: CSN(sink.state.csn), rows: step.rowCount, state: sink.state.state))
    }

    private func anotherFeeder() -> PostgresError {
      PostgresError(
        .anotherFeeder,
        """
        Another feeder has moved the cursor of the feed “\(mirror.feed.name)”. Nothing of this batch was stored. Let \
        one program feed the mirror.
        """)
    }
  }

  /// How long to wait before the next try: 50 ms, doubling, by half of it more or less.
  struct RetryPause {
    private let longest: Duration
    private var current = RetryPause.shortest

    private static let shortest = Duration.milliseconds(50)

    init(longest: Duration) { self.longest = longest }

    mutating func next() -> Duration {
      defer { current = min(current * 2, longest) }
      return min(current, longest) * Double.random(in: 0.5...1.5)
    }

    mutating func reset() { current = Self.shortest }
  }
#endif
