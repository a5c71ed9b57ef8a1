// What a file may cost that an enemy has made: opening it, checking it and reading all of it ask the disk for little
// more than the file holds, take little more memory than a right file of that length, and as much time (goals G11,
// G12).
//
// Each kind of file has a process of its own, so that its memory and its time are those of the trials alone.

import QuireStorage
import QuireTesting
import Testing

/// What was asked of the machine between two moments.
private struct HostileCost {
  var calls = 0
  var byteCount = 0
  /// Time that a processor worked, in seconds.
  var seconds = 0.0
  /// Entries that were read, and the bytes of their values.
  var entries = 0
  var valueByteCount = 0

  var text: String {
    "\(calls) reads of \(byteCount) bytes, \(Int(seconds * 1000)) ms, \(entries) entries of \(valueByteCount) bytes"
  }
}

/// What is done with a file.
private enum HostileStage: String, CaseIterable {
  case inspect, open, verify, read, close
}

/// One process that opens hostile files.
private struct HostileBench {
  let name: String
  /// Where the seed stands that is tried, for those who find the process dead.
  let notes: String

  private func measure(_ disk: SimulatedDisk, _ body: (inout HostileCost) throws -> Void) throws -> HostileCost {
    let before = disk.counters
    var cost = HostileCost()
    let seconds = try Effort.seconds {
      do { try body(&cost) } catch is StorageError {}
    }
    cost.calls = disk.counters[.read] - before[.read]
    cost.byteCount = disk.counters.readByteCount - before.readByteCount
    cost.seconds = seconds
    return cost
  }

  /// Reads every entry, and keeps none.
  private func readAll(_ engine: StorageEngine, _ cost: inout HostileCost) throws {
    try engine.read { tx in
      for name in tx.treeNames {
        guard let tree = tx.tree(named: name) else { continue }
        // A tree that cannot be read does not hide the others.
        do {
          var cursor = try tx.cursor(tree)
          while try cursor.next() {
            cost.entries += 1
            cost.valueByteCount += try cursor.value?.count ?? 0
          }
        } catch is StorageError {}
      }
    }
  }

  private func costs(_ disk: SimulatedDisk, pageSize: Int) throws -> [HostileStage: HostileCost] {
    var costs: [HostileStage: HostileCost] = [:]
    costs[.inspect] = try measure(disk) { _ in
      _ = try Inspector(at: TinyDatabase.path, fileSystem: disk).check(defectLimit: 5)
    }
    var engine: StorageEngine?
    costs[.open] = try measure(disk) { _ in engine = try TinyDatabase(disk, pageSize: pageSize).open() }
    guard let engine else { return costs }
    costs[.verify] = try measure(disk) { _ in try engine.verify() }
    costs[.read] = try measure(disk) { cost in try readAll(engine, &cost) }
    costs[.close] = try measure(disk) { _ in try engine.close() }
    return costs
  }

  /// Why this is too much for files of so many bytes; nil if it is not.
  private func excess(
    _ stage: HostileStage, _ cost: HostileCost, honest: HostileCost, byteCount: Int, pageSize: Int
  ) -> String? {
    // Every page is asked for twice at the most, by itself; values that several entries lead to, once for each.
    let bytes = 2 * byteCount + (64 << 10) + cost.valueByteCount
    let calls = 2 * byteCount / pageSize + 64 + cost.entries
    if cost.byteCount > bytes { return "more than \(bytes) bytes are read" }
    if cost.calls > calls { return "more than \(calls) reads" }
    // A cell is two bytes of a page at the least, and its key or value is as long as it says, and in the page.
    if cost.entries > byteCount / 2 { return "more than \(byteCount / 2) entries" }
    let seconds = 10 * honest.seconds + 0.1
    return cost.seconds > seconds ? "more than \(Int(seconds * 1000)) ms" : nil
  }

  /// Opens the files of so many seeds, behind an honest one that shows what is usual.
  func run(
    debug: Int, release: Int, pageSize: Int, honest: SimulatedDisk, forged: (UInt64) throws -> SimulatedDisk
  ) throws {
    // Memory that is asked for counts, whether it is used or not.
    PaintedMemory.begin()
    var usual: [HostileStage: HostileCost] = [:]
    for _ in 0..<2 { usual = try costs(honest.copy(), pageSize: pageSize) }
    let start = firstSeed()
    var (most, worst): ([HostileStage: HostileCost], Int) = ([:], 0)
    for seed in start..<(start + UInt64(trialCount(debug: debug, release: release, divisor: 10))) {
      let text = "\(seed)"
      writeFile(Array(text.utf8), notes)
      let disk = try forged(seed)
      let byteCount = disk.names.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) }
      let before = PeakMemory.begin()
      for (stage, cost) in try costs(disk, pageSize: pageSize) {
        let excess = excess(
          stage, cost, honest: usual[stage] ?? HostileCost(), byteCount: byteCount, pageSize: pageSize)
        if let excess { Issue.record("\(stage): \(excess) (\(cost.text)); \(Self.replay(name, text))") }
        if cost.byteCount >= most[stage]?.byteCount ?? 0 { most[stage] = cost }
      }
      let growth = PeakMemory.byteCount - before
      worst = max(worst, growth)
      if growth > (4 << 20) + 2 * byteCount {
        Issue.record("\(growth) bytes of memory for a file of \(byteCount); \(Self.replay(name, text))")
      }
    }
    trace("\(name): \(HostileStage.allCases.map { "\($0): \(most[$0]?.text ?? "")" }), \(worst) bytes of memory")
  }

  static func replay(_ name: String, _ seed: String) -> String {
    "\(name), again with: QUIRE_SEED=\(seed) QUIRE_TRIALS=1 swift test --filter HostileCostTests"
  }
}

#if os(Linux) || os(macOS)
  @Suite("What hostile files cost") struct HostileCostTests {
    /// Runs `body` in a process; if that dies, says at which seed.
    private func expectSuccess(_ name: String, _ body: (String) async -> Bool) async {
      let folder = TemporaryFolder()
      let notes = folder.path + "/seed"
      if await body(notes) { return }
      let seed = String(decoding: readFile(notes), as: UTF8.self)
      Issue.record("the process is dead: \(HostileBench.replay(name, seed))")
    }

    @Test(
      "Data files", .enabled(if: TestSize.hasSlowTests, "slow"), arguments: HostileFiles.Kind.allCases, [512, 4096])
    func dataFiles(kind: HostileFiles.Kind, pageSize: Int) async {
      await expectSuccess("\(kind)") { notes in
        let result = await #expect(processExitsWith: .success) {
          [notes = notes as String, kind = kind.rawValue as String, pageSize = pageSize as Int] in
          let files = try HostileFiles(try #require(HostileFiles.Kind(rawValue: kind)), pageSize: pageSize)
          func disk(_ bytes: [UInt8]) -> SimulatedDisk {
            let disk = SimulatedDisk()
            disk.install(bytes, at: TinyDatabase.path)
            return disk
          }
          try HostileBench(name: "\(kind) of \(pageSize) bytes", notes: notes).run(
            debug: 60, release: 1000, pageSize: pageSize, honest: disk(files.honest)
          ) { seed in disk(try files.forged(seed: seed)) }
        }
        return result != nil
      }
    }

    @Test("Logs") func logs() async {
      await expectSuccess("logs") { notes in
        let result = await #expect(processExitsWith: .success) { [notes = notes as String] in
          let logs = try HostileLogs()
          try HostileBench(name: "logs", notes: notes).run(
            debug: 100, release: 2000, pageSize: 4096, honest: logs.honest
          ) { seed in logs.forged(seed: seed) }
        }
        return result != nil
      }
    }
  }
#endif
