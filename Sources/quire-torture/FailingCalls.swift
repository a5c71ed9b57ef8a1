// Processes whose calls to the system fail, one after the other: what they were told must be so, and nothing is lost.

import ArgumentParser
import QuireStorage
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

/// `quire-torture failing-calls`: what `Tests/failing-calls` runs.
struct FailingCalls: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "failing-calls",
    abstract: "Has calls to the system fail under processes that write, and looks at what is left.",
    discussion: "Ends with status 1 if anything was lost, or if a process was told what is not so.",
    shouldDisplay: false)

  /// A way for a call to fail. Names of files are not changed by `rename`, which is therefore not among them.
  struct Fault: CustomStringConvertible {
    let call: String
    /// A name of errno, `short` or `lost`.
    let how: String
    let isForever: Bool

    var description: String { "\(call): \(how)\(isForever ? " for ever" : " once")" }

    /// Whether the caller of the engine is not to notice: the call is made again.
    var isRepaired: Bool {
      !isForever && (how == "short" || how == "EINTR" && !["fdatasync", "fsync"].contains(call))
    }

    private static let numbers = [
      "EIO": EIO, "ENOSPC": ENOSPC, "EDQUOT": EDQUOT, "EINTR": EINTR, "EMFILE": EMFILE, "EACCES": EACCES,
      "EOPNOTSUPP": EOPNOTSUPP, "EFBIG": EFBIG,
    ]

    /// Writes that are said to be done and are not: what no database survives, and what the looks at it must see.
    static let lie = Fault(call: "pwrite", how: "lost", isForever: true)

    /// What the library of `Tests/failing-calls.c` is told; `folder` is where the files are.
    func environment(at place: Int, in folder: String) -> [String] {
      [
        "QUIRE_FAIL_CALL=\(call)", "QUIRE_FAIL_AT=\(place)", "QUIRE_FAIL_FOREVER=\(isForever ? 1 : 0)",
        "QUIRE_FAIL_HOW=\(Self.numbers[how].map { "\($0)" } ?? how)", "QUIRE_FAIL_PATH=\(folder)",
      ]
    }

    static let all: [Fault] = {
      var all: [Fault] = []
      func add(_ calls: [String], once: [String], forever: [String]) {
        for call in calls {
          all += once.map { Fault(call: call, how: $0, isForever: false) }
          all += forever.map { Fault(call: call, how: $0, isForever: true) }
        }
      }
      add(["pwrite"], once: ["EIO", "ENOSPC", "EINTR", "short"], forever: ["EIO", "ENOSPC", "EDQUOT", "short"])
      add(["pread"], once: ["EIO", "EINTR", "short"], forever: ["EIO", "short"])
      add(["fdatasync"], once: ["EIO", "ENOSPC", "EINTR"], forever: ["EIO"])
      add(["fsync"], once: ["EIO"], forever: ["EIO"])
      add(["ftruncate"], once: ["EIO", "EINTR"], forever: ["EIO", "EFBIG"])
      add(["posix_fallocate"], once: ["ENOSPC", "EINTR"], forever: ["ENOSPC", "EDQUOT", "EOPNOTSUPP", "EIO"])
      add(["open"], once: ["EMFILE", "EINTR", "EACCES"], forever: ["EMFILE", "EIO"])
      add(["link", "unlink"], once: ["EIO"], forever: ["EIO", "EACCES"])
      add(["flock"], once: ["EINTR", "EIO"], forever: ["EIO"])
      return all
    }()
  }

  @Argument(help: "A folder for databases; they are removed.")
  var folder: String
  @Option(help: "The library that fails calls.")
  var library: String
  @Option(help: "How many calls of each kind fail in their turn: the first, the last, and some drawn ones.")
  var places = 6
  @Option(help: "The seed of the drawn ones.")
  var seed: UInt64 = 1

  func run() throws {
    var random = SeededRandom(seed: seed)
    var (runs, hits, findings) = (0, 0, 0)
    for fault in Fault.all {
      let counted = try FailingRun(folder, library, fault, place: 0)
      guard let count = counted.callCount else { throw ValidationError("the library was not loaded: \(counted.lines)") }
      var drawn = Set([1, count].filter { (1...max(1, count)).contains($0) })
      while drawn.count < min(places, count) { drawn.insert(1 + random.below(count)) }
      var hitsHere = 0
      for place in drawn.sorted() {
        let run = try FailingRun(folder, library, fault, place: place)
        runs += 1
        hitsHere += run.hasFailed ? 1 : 0
        for finding in run.findings() {
          findings += 1
          print("\(fault), call \(place): \(finding)\n  " + run.lines.suffix(12).joined(separator: "\n  "))
        }
      }
      hits += hitsHere
      print("\(padded(fault.description, 32)) \(aligned(count, 6)) calls, \(hitsHere) of \(drawn.count) failed")
    }
    print("\(Fault.all.count) faults, \(runs) processes, \(hits) of them with a call that failed: \(findings) findings")
    let seen = try (1...9).filter { try !FailingRun(folder, library, .lie, place: $0).findings().isEmpty }
    print("writes that were lost without a word: noticed in \(seen.count) of 9 processes")
    // Who fails nothing, or notices nothing, finds nothing.
    if findings > 0 || hits * 2 < runs || seen.isEmpty { throw ExitCode.failure }
  }
}

/// One process, what it said, and what it left.
struct FailingRun {
  let fault: FailingCalls.Fault
  let path: String
  let lines: [String]
  private let signal: Int32

  /// Runs a process until it ends, in files of its own.
  init(_ folder: String, _ library: String, _ fault: FailingCalls.Fault, place: Int) throws {
    self.fault = fault
    path = "\(folder)/victim"
    for database in [path, "\(path)-backup"] {
      unlink(database)
      for segment in 0..<Limits.segmentFileCount { unlink("\(database)-log\(segment)") }
    }
    let environment = ["LD_PRELOAD=\(library)"] + fault.environment(at: place, in: folder)
    let program = CommandLine.arguments[0]
    guard let result = runProgram(program, ["failing-child", path], environment: environment) else {
      throw ValidationError("the process cannot be started")
    }
    lines = result.output.split(separator: "\n").map(String.init)
    signal = result.signal
  }

  /// How many calls of the kind there were.
  var callCount: Int? {
    let suffix = " calls of \(fault.call)"
    return lines.last { $0.hasSuffix(suffix) }.flatMap { Int($0.dropLast(suffix.count)) }
  }

  /// Whether a call has failed.
  var hasFailed: Bool { lines.contains("failing") }

  // MARK: Judging

  /// What is not as it has to be, each in a sentence.
  func findings() -> [String] {
    var findings: [String] = []
    if signal != 0 { findings.append("it was ended by signal \(signal)") }
    if !lines.contains("done") { findings.append("it did not come to its end") }
    for line in lines where line.contains("no error of the engine's") { findings.append(line) }
    if fault.isRepaired, let line = lines.first(where: { $0.contains(" failed: ") }) {
      findings.append("a call that could have been made again was told of: \(line)")
    }
    let (newest, isOpen) = replay(&findings)
    do { try checkFiles(newest, isOpen, &findings) } catch { findings.append("it cannot be opened: \(error)") }
    return findings
  }

  /// Goes through what was said. Returns the newest acknowledged number, and whether the next one may be there, too.
  private func replay(_ findings: inout [String]) -> (newest: Int64, mayHaveNext: Bool) {
    var (newest, mayHaveNext) = (Int64(0), false)
    for line in lines {
      let words = line.split(separator: " ")
      if line.hasPrefix("acknowledged "), let number = words.last.flatMap({ Int64($0) }) {
        if number != newest + 1 { findings.append("\(number) was acknowledged after \(newest)") }
        (newest, mayHaveNext) = (number, false)
      } else if line == "commit failed: outcomeUnknown" {
        mayHaveNext = true
      } else if line.hasPrefix("shows "), let number = words.last.flatMap({ Int64($0) }) {
        // What is not known to be durable is shown to nobody, as it might be gone after a power cut.
        if number != newest { findings.append("\(number) is shown, and \(newest) was acknowledged") }
      }
    }
    return (newest, mayHaveNext)
  }

  /// Opens what is left, where nothing fails.
  private func checkFiles(_ newest: Int64, _ mayHaveNext: Bool, _ findings: inout [String]) throws {
    let engine = try StorageEngine(at: path)
    defer { try? engine.close() }
    let counter = try engine.read { tx -> Int64 in
      guard let tree = tx.tree(named: "t") else { return 0 }
      try KillChild.check(tx, tree)
      return try KillChild.counter(tx, tree)
    }
    if counter != newest, !(mayHaveNext && counter == newest + 1) {
      findings.append("\(newest) was acknowledged, and \(counter) is there")
    }
    try engine.verify()
    // And it goes on.
    let tree = try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) }
    if try KillChild.commitNext(engine, tree) != counter + 1 { findings.append("it does not go on where it was") }
    // A backup that has its name is whole, whatever was said of it.
    guard access("\(path)-backup", F_OK) == 0 else { return }
    let backup = try StorageEngine(at: "\(path)-backup", options: StorageOptions(isReadOnly: true))
    defer { try? backup.close() }
    try backup.verify()
    try backup.read { tx in if let tree = tx.tree(named: "t") { try KillChild.check(tx, tree) } }
  }
}
