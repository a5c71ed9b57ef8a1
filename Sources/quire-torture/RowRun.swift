// Lives of databases side by side: hands out seeds, and stops when enough has happened or something was wrong.

import Dispatch
import Synchronization

/// Leads lives of databases in several threads, from one seed on. Each life has a simulated disk of its own.
final class RowRun: Sendable {
  /// When enough has happened; whichever is reached first.
  struct Limits {
    var crashes: Int
    var lives: Int?
    var minutes: Double?
  }

  /// What has happened in all lives together.
  struct Report {
    var lives = 0
    var crashes = 0
    /// How often each thing happened.
    var counts: [String: Int] = [:]
    /// The lowest seed whose life failed, and why.
    var failure: (seed: UInt64, reason: String)?
  }

  private struct State: Sendable {
    var nextSeed: UInt64
    var started = 0
    var report = Report()
  }

  private let steps: Int
  private let limits: Limits
  private let begin = ContinuousClock.now
  private let state: Mutex<State>

  /// - Parameters:
  ///   - seed: the seed of the first life; the next one has the next number.
  ///   - steps: how many steps a life has.
  init(seed: UInt64, steps: Int, limits: Limits) {
    self.steps = steps
    self.limits = limits
    state = Mutex(State(nextSeed: seed))
  }

  /// Leads lives until the limits are reached or one has failed. Those that have begun are led to their end.
  func work(jobs: Int) -> Report {
    DispatchQueue.concurrentPerform(iterations: jobs) { job in
      while let seed = takeSeed() {
        TrapReport.enter(seed, job: job)
        let life = RowLife(seed: seed)
        var reason: String?
        do { try life.run(RowStep.life(seed: seed, count: steps)) } catch { reason = "\(error)" }
        finish(life.crashCount, life.counts, reason, of: seed)
      }
    }
    return state.withLock { $0.report }
  }

  private func takeSeed() -> UInt64? {
    state.withLock { state in
      if state.report.failure != nil || state.report.crashes >= limits.crashes { return nil }
      if let lives = limits.lives, state.started >= lives { return nil }
      if let minutes = limits.minutes, ContinuousClock.now - begin > .seconds(minutes * 60) { return nil }
      state.started += 1
      defer { state.nextSeed += 1 }
      return state.nextSeed
    }
  }

  private func finish(_ crashes: Int, _ counts: [String: Int], _ reason: String?, of seed: UInt64) {
    state.withLock { state in
      state.report.lives += 1
      state.report.crashes += crashes
      state.report.counts.merge(counts) { $0 + $1 }
      if let reason, seed < state.report.failure?.seed ?? .max { state.report.failure = (seed, reason) }
    }
  }
}
