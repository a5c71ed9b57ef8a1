// Engines for tests: on a simulated disk, with small pages, stepped by the test or with threads of their own.

import QuireStorage
import QuireTesting
import Synchronization

/// What a test found that should not be; the text says where and with which seed.
struct Mismatch: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Throws `what` unless `condition` holds.
func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(Mismatch) {
  if !condition { throw Mismatch(what()) }
}

/// Dice that a seed determines, to be rolled from any thread.
final class SharedDice: Sendable {
  private let random: Latch<SeededRandom>
  init(seed: UInt64) { random = Latch(SeededRandom(seed: seed)) }
  func next() -> UInt64 { random.withLock { $0.next() } }
}

extension SimulatedDisk {
  /// The surroundings of an engine that lives on this disk.
  func environment(
    seed: UInt64 = 1, scheduling: Scheduling = .stepped, segmentByteCount: Int = 64 << 10,
    partByteCount: Int = 1 << 20, putsBeforeDeferral: Int = 2000
  ) -> StorageEnvironment {
    let dice = SharedDice(seed: seed)
    var environment = StorageEnvironment(
      fileSystem: self, random: { dice.next() }, scheduling: scheduling, allowsTestPages: true,
      initialSegmentByteCount: segmentByteCount, partByteCount: partByteCount,
      putsBeforeDeferral: putsBeforeDeferral)
    environment.restingSegmentByteCount = segmentByteCount
    return environment
  }

  /// Opens or creates the database `/db`.
  func openEngine(
    _ options: StorageOptions = StorageOptions(pageSize: 512), seed: UInt64 = 1, scheduling: Scheduling = .stepped,
    segmentByteCount: Int = 64 << 10, partByteCount: Int = 1 << 20, putsBeforeDeferral: Int = 2000
  ) throws -> StorageEngine {
    try StorageEngine(
      at: "/db", options: options,
      environment: environment(
        seed: seed, scheduling: scheduling, segmentByteCount: segmentByteCount, partByteCount: partByteCount,
        putsBeforeDeferral: putsBeforeDeferral))
  }
}

extension [UInt8] {
  /// A value of `count` bytes that says who wrote it.
  init(marked number: Int, count: Int) {
    self.init(repeating: UInt8(truncatingIfNeeded: number &* 31), count: count)
    if count > 1 { self[count - 1] = UInt8(truncatingIfNeeded: number >> 8) }
  }
}
