// Maintenance beside writers and readers, and by itself when the engine is idle.

import Dispatch
import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedMaintenanceTests {
  private let options = StorageOptions(pageSize: 512, cacheSize: 4096 * 512, logLimit: 64 << 10)

  /// A database most of whose places are free, the later ones in use.
  private func makeSparse(_ disk: SimulatedDisk, _ options: StorageOptions) throws -> (StorageEngine, Tree) {
    let engine = try disk.openEngine(options, scheduling: .threads)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    for start in stride(from: 0, to: 2000 as Int64, by: 100) {
      try engine.write { tx in
        for key in start..<start + 100 { try tx.put([UInt8](marked: Int(key), count: 60), for: key, in: tree) }
      }
    }
    try engine.checkpoint()
    for start in stride(from: 0, to: 1500 as Int64, by: 100) {
      try engine.write { tx in for key in start..<start + 100 { try tx.delete(key, in: tree) } }
    }
    try engine.checkpoint()
    return (engine, tree)
  }

  private func check(_ engine: StorageEngine, _ tree: Tree) throws {
    try engine.read { tx in
      for key in 1500..<2000 as Range<Int64> {
        let value = try tx.value(for: key, in: tree)
        #expect(value == [UInt8](marked: Int(key), count: 60))
      }
    }
  }

  @Test func idleEnginesTidyTheirFiles() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try makeSparse(disk, options)
    let pages = engine.statistics.filePages
    let deadline = DispatchTime.now().uptimeNanoseconds + 20_000_000_000
    while engine.statistics.filePages > pages / 2, DispatchTime.now().uptimeNanoseconds < deadline {
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(50))
    }
    #expect(engine.statistics.filePages <= pages / 2)
    try check(engine, tree)
    try engine.verify()
    try engine.close()
  }

  @Test func maintenanceGoesOnBesideWritersAndReaders() throws {
    var options = options
    options.maintainsWhenIdle = false
    let disk = SimulatedDisk()
    let (engine, tree) = try makeSparse(disk, options)
    let isDone = Atomic<Bool>(false)
    let failures = Latch<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 3) { thread in
      do {
        switch thread {
        case 0:
          for _ in 0..<4 {
            try engine.compact()
            try engine.write { tx in
              for key in 0..<200 as Range<Int64> { try tx.put([UInt8](marked: 1, count: 60), for: key, in: tree) }
            }
            try engine.write { tx in for key in 0..<200 as Range<Int64> { try tx.delete(key, in: tree) } }
          }
          isDone.store(true, ordering: .releasing)
        case 1:
          var count = 0
          while !isDone.load(ordering: .acquiring) {
            try engine.write { tx in
              let value = [UInt8](marked: count, count: 50)
              try tx.put(value, for: 3000 + Int64(count % 100), in: tree)
            }
            count += 1
          }
        default: while !isDone.load(ordering: .acquiring) { try check(engine, tree) }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
        isDone.store(true, ordering: .releasing)
      }
    }
    #expect(failures.withLock { $0 } == [])
    try check(engine, tree)
    try engine.verify()
    try engine.close()
  }

  @Test func asyncMaintenanceCanBeCancelled() async throws {
    var options = options
    options.maintainsWhenIdle = false
    let disk = SimulatedDisk()
    let (engine, tree) = try makeSparse(disk, options)
    let pages = engine.statistics.filePages
    let task = Task { try await engine.compact() }
    task.cancel()
    do { try await task.value } catch { #expect(error is CancellationError) }
    try await engine.compact()
    #expect(engine.statistics.filePages <= pages / 2)
    try check(engine, tree)
    try engine.close()
    await #expect(throws: StorageError.self) { try await engine.compact() }
  }
}
