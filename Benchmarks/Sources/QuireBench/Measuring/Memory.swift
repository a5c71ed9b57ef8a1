// The memory of a store, measured in a process that holds nothing else.

internal import Foundation
internal import Synchronization

/// How much anonymous memory the process takes at most beyond what it has while `body` runs, in bytes: looked at every
/// few milliseconds, and at the end.
func mostAnonymousBytes(_ body: () throws -> Void) throws -> Int {
  let before = ProcessCounters.anonymousBytes() ?? 0
  let (most, stops) = (SharedMaximum(), SharedFlag())
  let watcher = RunningThread {
    while !stops.isSet {
      most.take(ProcessCounters.anonymousBytes() ?? 0)
      Thread.sleep(forTimeInterval: 0.003)
    }
  }
  let outcome = Result { try body() }
  most.take(ProcessCounters.anonymousBytes() ?? 0)
  stops.set()
  try watcher.join()
  try outcome.get()
  return max(0, most.value - before)
}

/// What a process of its own reports about a store.
struct MemoryUse: Codable {
  let anonymousMiB: Double
  let residentMiB: Double
}

/// Starts this program again for a store alone, with a cache of so many bytes, and reads what it prints.
func measureMemory(_ bench: Bench, _ kind: any StoreUnderTest.Type, cacheSize: Int) throws -> Sample {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
  process.arguments = [
    "memory-of", kind.name, "--scale", "\(bench.plan.scale)", "--seed", "\(bench.plan.seed)",
    "--cache", "\(cacheSize >> 20)", "--directory", bench.directory,
  ]
  let output = Pipe()
  process.standardOutput = output
  try process.run()
  let printed = output.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  try expect(process.terminationStatus == 0, "measuring the memory of \(kind.name) failed")
  let use = try JSONDecoder().decode(MemoryUse.self, from: printed)
  return Sample(
    value: use.anonymousMiB, notes: [Note("MiB resident, files of the page cache among them", use.residentMiB)])
}

extension MemoryUse {
  /// Loads a store, gets, commits batches, and looks every few milliseconds at what this process takes beyond what it
  /// took before the store was there.
  static func measure(_ bench: Bench, _ kind: any StoreUnderTest.Type) throws -> MemoryUse {
    let plan = bench.plan
    let fresh = bench.freshRows(plan.batchTransactions * plan.batchRows, for: "memory", run: 0)
    let baseResident = ProcessCounters.peakResidentBytes() ?? 0
    let anonymous = try mostAnonymousBytes {
      let loaded = try bench.loadedStore(kind)
      _ = try loaded.store.sumOfValues(of: bench.keys, bench.lookups)
      try loaded.store.put(fresh, 0..<fresh.count, perTransaction: plan.batchRows)
      loaded.contents.add(fresh.contents)
    }
    let peakResident = ProcessCounters.peakResidentBytes() ?? 0
    try bench.closeAll()
    return MemoryUse(
      anonymousMiB: Double(anonymous) / 1_048_576,
      residentMiB: Double(max(0, peakResident - baseResident)) / 1_048_576)
  }
}

/// The largest number that any thread has seen.
private final class SharedMaximum: Sendable {
  private let most = Mutex(0)
  var value: Int { most.withLock { $0 } }
  func take(_ value: Int) { most.withLock { $0 = max($0, value) } }
}

/// Something that happens once.
private final class SharedFlag: Sendable {
  private let flag = Atomic(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
