// Lives of whole databases: rows, dictionaries, upgrades, extensions, backups and crashes, until enough has happened.

import ArgumentParser
import Dispatch
import QuireTesting
import Synchronization

/// `quire-torture rows`.
struct RowTorture: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rows",
    abstract: "Crashes databases of rows with extensions of all kinds and files, and checks all of it.",
    discussion: """
      Each seed is one life. With none of --crashes, --lives and --minutes it stops after 1,000 crashes. A life that \
      fails is led again without some of its steps, for as long as --shrink says, and the steps that it needs are \
      listed. Ends with status 1 if anything was lost or wrong.
      """)

  @Option(help: "Stop after so many crashes.")
  var crashes: Int?
  @Option(help: "Lead so many lives.")
  var lives: Int?
  @Option(help: "Stop after so many minutes.")
  var minutes: Double?
  @Option(help: "The seed of the first life; the next one has the next number. Drawn if not given.")
  var seed: UInt64?
  @Option(help: "How many lives are led side by side.")
  var jobs: Int?
  @Option(help: "How many steps a life has.")
  var steps = 40
  @Option(name: .customLong("shrink"), help: "Seconds for leaving out steps of a life that fails.")
  var shrinkSeconds = 60.0

  @Flag(help: "Have something go wrong on purpose, one thing after the other: of each, lives must notice it.")
  var controls = false
  @Option(help: "The same for this thing alone.")
  var control: RowControl?

  mutating func validate() throws {
    for (name, value) in [("crashes", crashes), ("lives", lives), ("jobs", jobs), ("steps", steps)] {
      if let value, value < 1 { throw ValidationError("--\(name) must be at least 1.") }
    }
  }

  func run() throws {
    let first = seed ?? UInt64.random(in: 1...UInt64(1) << 48)
    if seed == nil { print("seed \(first)") }
    if controls || control != nil { return try runControls(from: first) }
    TrapReport.install(command: "quire-torture rows --seed", options: "--lives 1 --steps \(steps)")
    let enough = crashes ?? (lives == nil && minutes == nil ? 1000 : .max)
    let run = RowRun(seed: first, steps: steps, limits: .init(crashes: enough, lives: lives, minutes: minutes))
    let told = run.work(jobs: jobCount)
    if let (seed, reason) = told.failure {
      print("broken: \(reason)\n  replay: quire-torture rows --seed \(seed) --lives 1 --steps \(steps)")
      report(RowStep.life(seed: seed, count: steps), of: seed)
      throw ExitCode(1)
    }
    print("\(told.lives) lives, \(told.crashes) crashes: nothing was lost, and everything verified")
    print(told.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
  }

  private var jobCount: Int { jobs ?? processorCount }

  /// Sees that lives notice what goes wrong.
  private func runControls(from first: UInt64) throws {
    let count = lives ?? 20
    var isAnyMissed = false
    for control in control.map({ [$0] }) ?? RowControl.allCases.filter(\.isOn) {
      let findings = Mutex<[Int: String]>([:])
      DispatchQueue.concurrentPerform(iterations: jobCount) { [steps, jobCount] job in
        for number in stride(from: job, to: count, by: jobCount) {
          let seed = first + UInt64(number)
          let life = RowLife(seed: seed, control: control)
          do { try life.run(RowStep.life(seed: seed, count: steps)) } catch {
            findings.withLock { $0[number] = "\(error)" }
          }
        }
      }
      let found = findings.withLock { $0 }
      let example = found.min { $0.key < $1.key }.map { "; \($0.value)" } ?? ""
      print("\(control.rawValue): noticed in \(found.count) of \(count) lives\(example)")
      if found.isEmpty { isAnyMissed = true }
    }
    if isAnyMissed { throw ExitCode(1) }
  }

  /// Lists the steps that a life needs in order to fail.
  private func report(_ steps: [RowStep], of seed: UInt64) {
    let needed = shrink(steps, until: .now + .seconds(shrinkSeconds)) { steps in
      do { try RowLife(seed: seed).run(steps) } catch { return true }
      return false
    }
    print("\(needed.count) of \(steps.count) steps are enough:")
    for step in needed { print("  \(step)") }
    do { try RowLife(seed: seed).run(needed) } catch { print("  and then: \(error)") }
  }
}

extension RowControl: ExpressibleByArgument {}
