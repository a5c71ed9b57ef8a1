// An engine that is gone leaves nothing behind.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct LeakTests {
  /// Opens a database, uses all that has a thread, and lets it go.
  ///
  /// - Returns: what must be gone then.
  private func live(_ disk: SimulatedDisk, closes: Bool) async throws -> [WeakReference] {
    let engine = try disk.openEngine(scheduling: .threads)
    try await engine.write { tx in _ = try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) }
    try await engine.read { _ in }
    try await engine.verify()
    try write(engine)
    if closes { try close(engine) }
    let core = engine.core
    return [
      WeakReference(engine), WeakReference(core), WeakReference(core.threads), WeakReference(core.queue),
      WeakReference(core.context), WeakReference(core.store), WeakReference(core.slots),
    ]
  }

  private func write(_ engine: StorageEngine) throws { try engine.write { _ in } }
  private func close(_ engine: StorageEngine) throws { try engine.close() }

  @Test("Nothing of an engine outlives it", arguments: [true, false]) func partsGo(closes: Bool) async throws {
    let parts = try await live(SimulatedDisk(), closes: closes)
    // A thread of the engine's may be on its way out with a part in hand.
    for _ in 0..<1000 where parts.contains(where: { $0.object != nil }) {
      try await Task.sleep(for: .milliseconds(2))
    }
    for part in parts { #expect(part.object == nil, "\(part.name) is still there") }
  }

  #if os(Linux)
    @Test("Openings leave memory as it was", .enabled(if: TestSize.hasSlowTests, "slow"))
    func openingsLeaveMemoryAsItWas() async {
      await #expect(processExitsWith: .success) {
        do {
          let folder = TemporaryFolder()
          let path = folder.path + "/a.quire"
          func openAndClose(_ count: Int) throws {
            for _ in 0..<count {
              let engine = try StorageEngine(at: path, options: StorageOptions(cacheSize: 1 << 20))
              try engine.read { _ in }
              try engine.close()
            }
          }
          let count = TestSize.trials(10_000, divisor: 5)
          try openAndClose(50)
          let before = Heap.use.used
          try openAndClose(count)
          let growth = Heap.use.used - before
          // A block for each opening would be more.
          if growth > 8_000 {
            print("\(growth) bytes more after \(count) openings")
            exit(1)
          }
          exit(0)
        } catch {
          print(error)
          exit(2)
        }
      }
    }
  #endif
}

/// An object that may go.
private struct WeakReference {
  weak var object: AnyObject?
  let name: String
  init(_ object: some AnyObject) {
    self.object = object
    name = "\(type(of: object))"
  }
}
