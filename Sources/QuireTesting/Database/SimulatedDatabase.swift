// Databases on a disk that loses and tears.

package import QuireDatabase
internal import QuireStorage
internal import Synchronization

extension SimulatedDisk {
  /// Opens the database that stands at `path` on this disk; nothing happens there by itself, so that a seed repeats.
  /// Pages may be smaller than those of apps.
  ///
  /// - Parameter unloggedByteCount: from how many bytes on a load commits by a checkpoint instead of the log.
  /// - Throws: What opening a database throws, among it what the disk was told to fail with.
  package func openDatabase(
    at path: String = "/db", seed: UInt64, _ options: Database.Options, scheduling: Scheduling = .stepped,
    unloggedByteCount: Int = 4 << 20
  ) throws -> Database {
    let dice = Latch(SeededRandom(seed: seed))
    return try Database(
      at: path, options: options,
      environment: StorageEnvironment(
        fileSystem: self, random: { dice.withLock { $0.next() } }, scheduling: scheduling, allowsTestPages: true,
        initialSegmentByteCount: 64 << 10, unloggedByteCount: unloggedByteCount))
  }
}
