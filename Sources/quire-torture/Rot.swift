// Damages databases in every way a disk can, and tells whether anything was shown that was not there before.

import ArgumentParser
import QuireTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// `quire-torture rot`.
struct Rot: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Damages databases on simulated disks and checks that every damage is an error or has no effect.",
    discussion: """
      Sweeps, all of them if none is named:
      \(RotKind.allCases.map { "  \(padded($0.rawValue, 20)) \($0.summary)" }.joined(separator: "\n"))
      Ends with status 1 if any trial showed what was not there, or missed damage that it had to see.
      """)

  @Option(name: .customLong("sweep"), help: "A sweep; may be given more than once.")
  var sweeps: [RotKind] = []
  @Option(help: "Run every so-manieth trial only.")
  var step = 1
  @Option(help: "Run this trial only. With one --sweep.")
  var trial: Int?
  @Option(help: "How many trials run side by side.")
  var jobs: Int?

  mutating func validate() throws {
    if step < 1 { throw ValidationError("--step must be at least 1.") }
    if trial != nil, sweeps.count != 1 { throw ValidationError("--trial needs one --sweep.") }
  }

  func run() throws {
    var total = RotTally()
    print(RotTally.heading)
    for kind in sweeps.isEmpty ? RotKind.allCases : sweeps {
      let run = RotRun(kind, try kind.makeSweep())
      let numbers = trial.map { [$0] } ?? Array(stride(from: 0, to: run.trialCount, by: step))
      let tally = run.work(numbers, jobs: jobs ?? processorCount)
      for failure in tally.failures { print("wrong: \(failure.text)\n  replay: \(run.command) \(failure.trial)") }
      print(tally.line(kind.rawValue))
      fflush(nil)
      total.add(tally)
    }
    print(total.line("all"))
    if total.wrong > 0 { throw ExitCode(1) }
  }
}

extension RotKind: ExpressibleByArgument {}
