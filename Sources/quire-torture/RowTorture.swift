// Lives of whole databases: rows, dictionaries, upgrades, extensions, backups and crashes, until enough has happened.

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
  @Option(help: "How many steps a life has.")
  var steps = 40
  @Option(name: .customLong("shrink"), help: "Seconds for leaving out steps of a life that fails.")
  var shrinkSeconds = 60.0

  @Flag(help: "Have something go wrong on purpose, one thing after the other: of each, lives must notice it.")
  var controls = false
  @Option(help: "The same for this thing alone.")
  var control: RowControl?

  func run() throws {
    let first = seed ?? UInt64.random(in: 1...UInt64(1) << 48)
    if seed == nil { print("seed \(first)") }
    if controls || control != nil { return try runControls(from: first) }
    TrapReport.install(command: "quire-torture rows --seed", options: "--lives 1 --steps \(steps)")
    let begin = ContinuousClock.now
    var (number, crashCount) = (UInt64(0), 0)
    var counts: [String: Int] = [:]
    func isEnough() -> Bool {
      if let minutes, ContinuousClock.now - begin > .seconds(minutes * 60) { return true }
      if let lives { return Int(number) >= lives }
      return crashCount >= crashes ?? (minutes == nil ? 1000 : .max)
    }
    while !isEnough() {
      let seed = first + number
      TrapReport.enter(seed, job: 0)
      let life = RowLife(seed: seed)
      let all = RowStep.life(seed: seed, count: steps)
      do { try life.run(all) } catch {
        print("broken: \(error)\n  replay: quire-torture rows --seed \(seed) --lives 1 --steps \(steps)")
        report(all, of: seed)
        throw ExitCode(1)
      }
      crashCount += life.crashCount
      counts.merge(life.counts) { $0 + $1 }
      number += 1
    }
    print("\(number) lives, \(crashCount) crashes: nothing was lost, and everything verified")
    print(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
  }

  /// Sees that lives notice what goes wrong.
  private func runControls(from first: UInt64) throws {
    let count = lives ?? 20
    var isAnyMissed = false
    for control in control.map({ [$0] }) ?? RowControl.allCases.filter(\.isOn) {
      var findings: [String] = []
      for seed in first..<first + UInt64(count) {
        let life = RowLife(seed: seed, control: control)
        do { try life.run(RowStep.life(seed: seed, count: steps)) } catch { findings.append("\(error)") }
      }
      print(
        "\(control.rawValue): noticed in \(findings.count) of \(count) lives\(findings.first.map { "; \($0)" } ?? "")")
      if findings.isEmpty { isAnyMissed = true }
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
