// Reads that are awaited: who waits for whom, and who need not run at all.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct AsyncReadTests {
  private let engine: StorageEngine

  init() throws {
    engine = try SimulatedDisk().openEngine(scheduling: .threads)
  }

  @Test("A read that takes long holds up no other one while a thread is idle") func idleThreadsTakeTheNextRead()
    async throws
  {
    let (engine, gate) = (engine, Gate())
    let long = Task { try await engine.read { _ in gate.pass() } }
    await gate.waitForEntries()
    for _ in 0..<10 { _ = try await engine.read { tx in tx.csn } }
    #expect(!gate.hasTimedOut)
    gate.open()
    try await long.value
  }

  @Test("Long work holds up no other one while a thread is idle") func idleThreadsTakeTheNextWork() async throws {
    let (engine, gate) = (engine, Gate())
    let tree = try await engine.write { tx in try tx.createTree("t", keys: .int64) }
    try await engine.write { tx in
      for number in Int64(0)..<2000 { try tx.put([UInt8](repeating: 1, count: 100), for: number, in: tree) }
    }
    let entered = Shared(Atomic<Bool>(true))
    let long = Task {
      try await engine.verify { _ in
        if entered.value.exchange(false, ordering: .relaxed) { gate.pass() }
      }
    }
    await gate.waitForEntries()
    for _ in 0..<4 { _ = try await engine.treeStatistics() }
    #expect(!gate.hasTimedOut)
    gate.open()
    _ = try await long.value
  }

  @Test("A read that was cancelled before its turn never runs") func cancelledReadsDoNotRun() async throws {
    var options = StorageOptions(pageSize: 512)
    options.readerThreadCount = 1
    let (engine, gate) = (try SimulatedDisk().openEngine(options, scheduling: .threads), Gate())
    let long = Task { try await engine.read { _ in gate.pass() } }
    await gate.waitForEntries()
    let ran = Shared(Atomic<Int>(0))
    let queued = Task { try await engine.read { _ in ran.value.store(1, ordering: .relaxed) } }
    let writing = Task { try await engine.write { tx in tx.csn } }
    _ = try await writing.value
    queued.cancel()
    await #expect(throws: CancellationError.self) { try await queued.value }
    #expect(!gate.hasTimedOut)
    gate.open()
    try await long.value
    try await engine.read { _ in }
    #expect(ran.value.load(ordering: .relaxed) == 0)
  }
}
