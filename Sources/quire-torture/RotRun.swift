// The trials of one sweep, side by side.

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

/// What many trials came to.
struct RotTally: Sendable {
  /// A trial whose outcome must never be.
  struct Failure: Sendable {
    let trial: Int
    let text: String
  }

  var trials = 0
  var errors = 0
  var unaffected = 0
  var cut = 0
  var wrong = 0
  /// The first few of the wrong ones.
  var failures: [Failure] = []
  var seconds = 0.0

  /// Counts one trial.
  mutating func add(_ outcome: RotOutcome, of trial: Int) {
    trials += 1
    switch outcome {
    case .error: errors += 1
    case .noEffect: unaffected += 1
    case .cut: cut += 1
    case .wrong(let text):
      wrong += 1
      if failures.count < 10 { failures.append(Failure(trial: trial, text: text)) }
    }
  }

  /// Adds the trials of another tally.
  mutating func add(_ other: RotTally) {
    trials += other.trials
    errors += other.errors
    unaffected += other.unaffected
    cut += other.cut
    wrong += other.wrong
    failures = Array((failures + other.failures).prefix(10))
    seconds += other.seconds
  }

  static let heading = row("sweep", ["trials", "errors", "no effect", "tail cut", "wrong", "traps", "seconds"])

  /// One line of figures. There is no line if anything traps: the process says which trial it was and ends.
  func line(_ name: String) -> String {
    Self.row(name, [trials, errors, unaffected, cut, wrong, 0, Int(seconds.rounded())].map(String.init))
  }

  private static func row(_ name: String, _ cells: [String]) -> String {
    padded(name, 20) + cells.map { aligned($0, 10) }.joined()
  }
}

/// Runs trials on several threads.
final class RotRun: Sendable {
  private struct State {
    var next = 0
    var tally = RotTally()
    /// The trials under way, and since when.
    var running: [Int: ContinuousClock.Instant] = [:]
  }

  /// What repeats a trial, whose number follows.
  let command: String
  private let sweep: RotSweep
  private let state = Mutex(State())
  private static let batch = 16
  private static let patience = Duration.seconds(60)

  init(_ kind: RotKind, _ sweep: RotSweep) {
    self.sweep = sweep
    command = "quire-torture rot --sweep \(kind.rawValue) --trial"
  }

  /// How many trials the sweep has.
  var trialCount: Int { sweep.trialCount }

  /// Runs the trials of these numbers.
  func work(_ numbers: [Int], jobs: Int) -> RotTally {
    TrapReport.install(command: command)
    let begin = ContinuousClock.now
    let watch = watchForHangs()
    defer { watch.cancel() }
    DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { job in
      while true {
        let range = state.withLock { state -> Range<Int> in
          let start = state.next
          state.next = min(numbers.count, start + Self.batch)
          return start..<state.next
        }
        if range.isEmpty { break }
        run(numbers[range], job)
      }
    }
    return state.withLock { state in
      state.tally.seconds = (ContinuousClock.now - begin) / .seconds(1)
      return state.tally
    }
  }

  private func run(_ numbers: ArraySlice<Int>, _ job: Int) {
    state.withLock { $0.running[job] = .now }
    var tally = RotTally()
    for number in numbers {
      TrapReport.enter(UInt64(number), job: job)
      tally.add(sweep.trial(number), of: number)
    }
    state.withLock { state in
      state.running[job] = nil
      state.tally.add(tally)
    }
  }

  /// A trial takes less than a millisecond. Damage that makes one endless is as bad as a trap.
  private func watchForHangs() -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + 5, repeating: 5)
    timer.setEventHandler { [self] in
      let isLate = state.withLock { state in
        state.running.values.contains { ContinuousClock.now - $0 > Self.patience }
      }
      guard isLate else { return }
      print("wrong: a trial does not end; the threads are at")
      for number in TrapReport.current { print("  replay: \(command) \(number)") }
      fflush(nil)
      exit(1)
    }
    timer.resume()
    return timer
  }
}
