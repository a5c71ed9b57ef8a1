// Many histories side by side, until enough has happened.

import Dispatch
import QuireTesting
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// When a run of histories ends; what is nil does not end it.
struct TortureLimits {
  var crashes: Int?
  var nested: Int?
  var histories: Int?
  var minutes: Double?

  /// A reason to end that is to be left out of account.
  enum Exception {
    case none
    case timePassed
  }

  /// Whether what was asked for has happened.
  func areReached(by report: TortureReport, unless exception: Exception = .none) -> Bool {
    if let histories, report.histories >= histories { return true }
    if crashes == nil, nested == nil { return exception == .timePassed && minutes != nil }
    return report.crashes >= crashes ?? 0 && report.nested >= nested ?? 0
  }
}

/// A run of histories with consecutive seeds.
final class TortureRun: Sendable {
  /// What kind of histories.
  enum Kind {
    case random
    case exhaustive
  }

  private struct State {
    var nextSeed: UInt64
    var started = 0
    var report = TortureReport()
    var lastNote = ContinuousClock.now
    /// The histories under way, and since when.
    var running: [UInt64: ContinuousClock.Instant] = [:]
  }

  let limits: TortureLimits
  private let kind: Kind
  private let begin = ContinuousClock.now
  private let state: Mutex<State>
  private let tracing = Atomic<Bool>(false)

  init(seed: UInt64, kind: Kind, limits: TortureLimits) {
    self.kind = kind
    self.limits = limits
    state = Mutex(State(nextSeed: seed))
  }

  /// Whether each operation is listed.
  var isTracing: Bool {
    get { tracing.load(ordering: .relaxed) }
    set { tracing.store(newValue, ordering: .relaxed) }
  }

  /// What has happened so far.
  var report: TortureReport { state.withLock { $0.report } }

  /// What runs the history of a seed again, and nothing else.
  func command(_ seed: UInt64) -> String {
    "quire-torture crashes --seed \(seed) --histories 1\(kind == .exhaustive ? " --exhaustive" : "")"
  }

  /// Runs histories until the limits are reached or one has failed.
  func work(jobs: Int) {
    TrapReport.install(
      command: "quire-torture crashes --seed", options: "--histories 1\(kind == .exhaustive ? " --exhaustive" : "")")
    let watch = watchForHangs()
    defer { watch.cancel() }
    DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { job in
      while let seed = takeSeed() {
        TrapReport.enter(seed, job: job)
        state.withLock { $0.running[seed] = ContinuousClock.now }
        finish(history(seed), of: seed)
      }
    }
    let report = self.report
    note(
      """
      \(report.histories) histories, \(report.operations) operations, \(report.commits) commits, \
      \(report.checkpoints) checkpoints, \(report.crashes) crashes, \(report.nested) nested, \(rate(report)) per second
      """)
  }

  private func takeSeed() -> UInt64? {
    state.withLock { state in
      if !state.report.failures.isEmpty || limits.areReached(by: state.report) { return nil }
      if let histories = limits.histories, state.started >= histories { return nil }
      if let minutes = limits.minutes, ContinuousClock.now - begin > .seconds(minutes * 60) { return nil }
      state.started += 1
      defer { state.nextSeed += 1 }
      return state.nextSeed
    }
  }

  private func history(_ seed: UInt64) -> TortureReport {
    switch kind {
    case .exhaustive: return ExhaustiveTorture(seed: seed).run()
    case .random:
      let history = TortureHistory(seed: seed)
      if isTracing {
        note("\(history.configuration)")
        history.trace = { note($0) }
      }
      return history.run()
    }
  }

  /// A history takes milliseconds. One that does not end is as bad as one that fails, and must tell its seed too.
  private func watchForHangs() -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + 5, repeating: 5)
    timer.setEventHandler { [self] in
      let late = state.withLock { state in
        state.running.filter { ContinuousClock.now - $0.value > Self.patience(kind) }.keys.min()
      }
      guard let late else { return }
      print("broken at seed \(late): the history does not end\n  replay: \(command(late))")
      print(report.verdictLine)
      fflush(nil)
      exit(1)
    }
    timer.resume()
    return timer
  }

  private static func patience(_ kind: Kind) -> Duration { kind == .random ? .seconds(120) : .seconds(600) }

  private func finish(_ report: TortureReport, of seed: UInt64) {
    let text = state.withLock { state -> String? in
      state.running[seed] = nil
      state.report.add(report)
      guard ContinuousClock.now - state.lastNote > .seconds(10) else { return nil }
      state.lastNote = ContinuousClock.now
      let all = state.report
      return "\(all.crashes) crashes, \(all.nested) nested, \(rate(all)) per second"
    }
    if let text { note(text) }
  }

  /// Recoveries per second since the beginning.
  private func rate(_ report: TortureReport) -> Int {
    let seconds = max(0.001, (ContinuousClock.now - begin) / .seconds(1))
    return Int(Double(report.crashes + report.nested) / seconds)
  }
}
