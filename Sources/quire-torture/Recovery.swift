// quire-torture recovery: what each step of opening after a crash costs.

import ArgumentParser
import QuireStorage
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

/// Makes a database that was never closed, and opens copies of it.
struct Recovery: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery",
    abstract: "Measures the steps of opening a database after a crash.",
    discussion: """
      Makes a database of --rows rows, of 24 bytes of key and 150 of value in random order, all of them written home, \
      and then --logged more in transactions of a thousand, which are in the log alone. Copies of it are opened --runs \
      times. Of each step the time per logged row is told, by the clock, by the processor as far as the opening thread \
      goes, and by that of all threads, and how often the opening thread touched memory for the first time. The \
      database is kept in the folder, and used again if it is there.
      """)

  @Argument(help: "A folder for the databases.", completion: .directory)
  var folder: String
  @Option(help: "Rows that have been written home.")
  var rows = 1_000_000
  @Option(help: "Rows in the log.")
  var logged = 295_000
  @Option(help: "How often to open it.")
  var runs = 5
  @Option(help: "The cache in MiB.")
  var cache = 512

  mutating func validate() throws {
    if rows < 1 || rows > 1 << 30 { throw ValidationError("--rows must be 1 to 2^30.") }
    if logged < 1 || logged > 350_000 { throw ValidationError("--logged must be 1 to 350000, what a log holds.") }
    if runs < 1 || runs > 1000 { throw ValidationError("--runs must be 1 to 1000.") }
    if cache < 1 || cache > 1 << 16 { throw ValidationError("--cache must be 1 to 65536.") }
  }

  func run() throws {
    let image = "\(folder)/recovery-\(rows)-\(logged).quire"
    if access(image, F_OK) != 0 { try describing { try make(image) } }
    var fastest: [RecoveryStage: StageCost] = [:]
    for _ in 0..<runs {
      for (stage, cost) in try measure(image) {
        if let best = fastest[stage], best.processor <= cost.processor { continue }
        fastest[stage] = cost
      }
    }
    print("\(logged) rows in the log of a database of \(rows); the fastest of \(runs) runs by processor time")
    print(
      padded("step", 12) + aligned("µs by clock", 13) + aligned("by processor", 14) + aligned("all threads", 13)
        + aligned("first touches", 15))
    var total = StageCost()
    for stage in RecoveryStage.allCases {
      guard let cost = fastest[stage] else { continue }
      show(stage.rawValue, cost)
      if stage != .settled { total = total + cost }
    }
    show("replay", total)
  }

  private func show(_ name: String, _ cost: StageCost) {
    print(
      padded(name, 12) + aligned(perRow(cost.wall), 13) + aligned(perRow(cost.processor), 14)
        + aligned(perRow(cost.allThreads), 13) + aligned(cost.faults, 15))
  }

  /// Nanoseconds for all rows as microseconds for each, with three places.
  private func perRow(_ nanoseconds: Int) -> String {
    let text = String(nanoseconds / logged)
    let digits = String(repeating: "0", count: max(0, 4 - text.count)) + text
    return "\(digits.dropLast(3)).\(digits.suffix(3))"
  }

  /// The names of a database's files.
  private func files(_ path: String) -> [String] { [path] + (0..<8).map { "\(path)-log\($0)" } }

  // MARK: The database

  private func make(_ image: String) throws {
    let path = "\(folder)/recovery-\(getpid()).quire"
    defer { for name in files(path) { unlink(name) } }
    var random = SeededRandom(seed: 7)
    let engine = try StorageEngine(at: path, options: StorageOptions(cacheSize: 2 << 30, durability: .relaxed))
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .bytes) }
    for _ in 0..<2 {
      // Twice, so that the log has grown to the size that holds all rows that follow.
      var again = SeededRandom(seed: 5)
      try put(rows, &again, engine, tree)
    }
    try engine.checkpoint()
    try put(logged, &random, engine, tree)
    try engine.flush()
    for (source, target) in zip(files(path), files(image)).reversed() { try copy(source, target) }
    try engine.close()
  }

  private func put(_ count: Int, _ random: inout SeededRandom, _ engine: StorageEngine, _ tree: Tree) throws {
    var key = [UInt8](repeating: 0, count: 24)
    var value = [UInt8](repeating: 0, count: 150)
    for start in stride(from: 0, to: count, by: 1000) {
      try engine.write { tx in
        for _ in start..<min(count, start + 1000) {
          for place in stride(from: 0, to: 24, by: 8) {
            let word = random.next()
            key.withUnsafeMutableBytes { $0.storeBytes(of: word, toByteOffset: place, as: UInt64.self) }
            value.withUnsafeMutableBytes { $0.storeBytes(of: word, toByteOffset: 5 * place, as: UInt64.self) }
          }
          try tx.put(value, for: key, in: tree)
        }
      }
    }
  }

  /// Copies a file that is there, and syncs the copy: what it costs to write is not the opening's to pay for.
  private func copy(_ source: String, _ target: String) throws {
    let input = open(source, O_RDONLY)
    guard input >= 0 else { return }
    defer { close(input) }
    let output = open(target, O_RDWR | O_CREAT | O_TRUNC, 0o644)
    guard output >= 0 else {
      complain("\(target) cannot be made.")
      throw ExitCode.failure
    }
    defer { close(output) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(input, $0.baseAddress, $0.count) }
      guard count > 0 else { break }
      let written = buffer.withUnsafeBytes { write(output, $0.baseAddress, count) }
      guard written == count else {
        complain("\(target) cannot be written.")
        throw ExitCode.failure
      }
    }
    fsync(output)
  }

  // MARK: Measuring

  private func measure(_ image: String) throws -> [(RecoveryStage, StageCost)] {
    let path = "\(folder)/recovery-\(getpid()).quire"
    defer { for name in files(path) { unlink(name) } }
    for (source, target) in zip(files(image), files(path)) { try copy(source, target) }
    let costs = Mutex<[(RecoveryStage, StageCost)]>([])
    let last = Mutex(StageCost.now())
    var environment = StorageEnvironment()
    environment.noteRecovery = { stage in
      let now = StageCost.now()
      let before = last.withLock { last in
        defer { last = now }
        return last
      }
      costs.withLock { $0.append((stage, now - before)) }
    }
    try describing {
      let engine = try StorageEngine(
        at: path, options: StorageOptions(cacheSize: cache << 20), environment: environment)
      let count = try engine.read { tx in
        guard let tree = tx.tree(named: "rows") else { return 0 }
        return try tx.count(of: tree)
      }
      guard count == rows + logged else {
        complain("\(count) rows were found, not \(rows + logged).")
        throw ExitCode.failure
      }
      try engine.close()
    }
    return costs.withLock { $0 }.reduce(into: []) { sums, step in
      // A step that comes again belongs to the next part of the log.
      if let index = sums.firstIndex(where: { $0.0 == step.0 }) {
        sums[index].1 = sums[index].1 + step.1
      } else {
        sums.append(step)
      }
    }
  }
}

/// What a step has cost: nanoseconds by the clock, by the processor for the calling thread and for all, and page faults
/// of the calling thread.
private struct StageCost {
  var wall = 0
  var processor = 0
  var allThreads = 0
  var faults = 0

  static func now() -> StageCost {
    func nanoseconds(_ clock: clockid_t) -> Int {
      var time = timespec()
      clock_gettime(clock, &time)
      return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
    }
    var usage = rusage()
    #if canImport(Darwin)
      getrusage(RUSAGE_SELF, &usage)
    #else
      // RUSAGE_THREAD, which the header keeps for programs that ask for everything.
      getrusage(1, &usage)
    #endif
    return StageCost(
      wall: nanoseconds(CLOCK_MONOTONIC), processor: nanoseconds(CLOCK_THREAD_CPUTIME_ID),
      allThreads: nanoseconds(CLOCK_PROCESS_CPUTIME_ID), faults: Int(usage.ru_minflt))
  }

  static func + (left: StageCost, right: StageCost) -> StageCost {
    StageCost(
      wall: left.wall + right.wall, processor: left.processor + right.processor,
      allThreads: left.allThreads + right.allThreads, faults: left.faults + right.faults)
  }

  static func - (left: StageCost, right: StageCost) -> StageCost {
    StageCost(
      wall: left.wall - right.wall, processor: left.processor - right.processor,
      allThreads: left.allThreads - right.allThreads, faults: left.faults - right.faults)
  }
}
