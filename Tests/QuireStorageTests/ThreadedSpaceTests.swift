// Measuring the space that a checkpoint will take while one runs.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedSpaceTests {
  /// What the writer asks for is known to the writer: nothing of it is read beside a checkpoint that writes it. For the
  /// thread sanitizer.
  @Test func treesAreMadeBesideCheckpoints() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(
      StorageOptions(pageSize: 512, cacheSize: 4096 * 512, durability: .relaxed, logLimit: 256 << 10),
      scheduling: .threads)
    let isDone = Atomic<Bool>(false)
    let threads = ThreadGroup()
    threads.start {
      while !isDone.load(ordering: .relaxed) { try engine.checkpoint() }
    }
    threads.start {
      defer { isDone.store(true, ordering: .relaxed) }
      for round in 0..<40 {
        try engine.write { tx in
          // More than are made before the space for the catalog is measured anew.
          for number in 0..<20 { _ = try tx.createTree("tree \(round * 20 + number)", keys: .int64) }
        }
      }
    }
    let complaints = threads.join()
    #expect(complaints.isEmpty, "\(complaints)")
    let count = try engine.read { tx in tx.treeNames.count }
    #expect(count == 800)
    try engine.verify()
    try engine.close()
  }
}
