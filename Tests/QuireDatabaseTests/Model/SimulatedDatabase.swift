// Databases on a disk that loses and tears.

import QuireDatabase
import QuireStorage
import QuireTesting

/// Opens the database on a simulated disk; nothing happens there by itself, so that a seed repeats.
func openSimulated(_ disk: SimulatedDisk, seed: UInt64, _ options: Database.Options) throws -> Database {
  let dice = Latch(SeededRandom(seed: seed))
  return try Database(
    at: "/db", options: options,
    environment: StorageEnvironment(
      fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: .stepped,
      initialSegmentByteCount: 64 << 10))
}
