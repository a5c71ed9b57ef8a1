// Databases on a disk that loses and tears.

import QuireDatabase
import QuireStorage
import QuireTesting

/// Opens the database on a simulated disk; nothing happens there by itself, so that a seed repeats.
func openSimulated(_ disk: SimulatedDisk, seed: UInt64) throws -> Database {
  let dice = Latch(SeededRandom(seed: seed))
  var options = Database.Options(
    durability: .relaxed, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false)
  options.buildStepRowCount = 9
  return try Database(
    at: "/db", options: options,
    environment: StorageEnvironment(
      fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: .stepped,
      initialSegmentByteCount: 64 << 10))
}
