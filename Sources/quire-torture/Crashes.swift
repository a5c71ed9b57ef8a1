// Crashes the engine on simulated disks, as often as asked, and tells whether anything was lost or invented.

import ArgumentParser
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

/// `quire-torture crashes`.
struct Crashes: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Crashes the engine on simulated disks and checks every recovery.",
    discussion: """
      Each seed is one history: a database that works, crashes, recovers and works on for several lives. With none of \
      --crashes, --nested, --histories and --minutes it stops after 10,000 crashes. Ends with status 1 if anything \
      failed, or if --minutes passed before the crashes asked for had happened.
      """)

  @Option(help: "Stop after so many crashes.")
  var crashes: Int?
  @Option(help: "Go on until at least so many crashes in the middle of a recovery have happened as well.")
  var nested: Int?
  @Option(help: "The seed of the first history; the next one has the next number. Drawn if not given.")
  var seed: UInt64?
  @Option(help: "Stop after so many minutes.")
  var minutes: Double?
  @Option(help: "How many histories run side by side.")
  var jobs: Int?
  @Option(help: "Run so many histories.")
  var histories: Int?
  @Flag(help: "Short histories, but every crash that is possible in each.")
  var exhaustive = false
  @Option(help: "Run so many seeds twice and compare every call to the disk, and do nothing else.")
  var verifyDeterminism: Int?
  @Flag(help: "List the operations of the history. With --histories 1.")
  var trace = false

  mutating func validate() throws {
    for (name, value) in [("crashes", crashes), ("nested", nested), ("histories", histories), ("jobs", jobs)] {
      if let value, value < 1 { throw ValidationError("--\(name) must be at least 1.") }
    }
    if trace, histories != 1 { throw ValidationError("--trace needs --histories 1.") }
  }

  func run() throws {
    let seed = seed ?? UInt64.random(in: 1...UInt64(1) << 48)
    if self.seed == nil {
      print("seed \(seed)")
      fflush(nil)
    }
    if let verifyDeterminism {
      try verify(from: seed, count: verifyDeterminism)
      return
    }
    let run = TortureRun(seed: seed, kind: exhaustive ? .exhaustive : .random, limits: limits)
    run.isTracing = trace
    run.work(jobs: jobs ?? processorCount)
    let report = run.report
    for failure in report.failures { print("\(failure)\n  replay: \(run.command(failure.seed))") }
    print(report.coverageLine)
    print(report.outcomeLine)
    print(report.verdictLine)
    if !report.failures.isEmpty { throw ExitCode(1) }
    if !run.limits.areReached(by: report, unless: .timePassed) {
      note("the time was over before the crashes asked for had happened")
      throw ExitCode(1)
    }
  }

  private var limits: TortureLimits {
    var limits = TortureLimits(crashes: crashes, nested: nested, histories: histories, minutes: minutes)
    if crashes == nil, nested == nil, histories == nil, minutes == nil { limits.crashes = 10_000 }
    return limits
  }

  private func verify(from seed: UInt64, count: Int) throws {
    var hash = StableHash()
    for seed in seed..<seed + UInt64(count) {
      let (first, second) = (TortureHistory(seed: seed).run(), TortureHistory(seed: seed).run())
      guard first.hash == second.hash else {
        print("seed \(seed) went two ways")
        throw ExitCode(1)
      }
      hash.combine(first.hash.value)
    }
    // Two processes must agree as well: what depends on the order of a set is alike only within one.
    print("\(count) seeds ran twice and gave the same trace each time; all together \(String(hash.value, radix: 16))")
  }
}

/// How many jobs run side by side where nobody says.
let processorCount = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

/// Writes a line to standard error.
func note(_ text: String) {
  var line = text + "\n"
  line.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
}
