// Databases on a disk that loses and tears.

public import QuireDatabase
internal import QuireStorage
internal import Synchronization

extension SimulatedDisk {
  /// Opens the database at `path` on this disk, or creates it. Everything about it is as in an app, but that its files
  /// are here.
  ///
  /// - Parameters:
  ///   - path: any name. Backups go to this disk as well.
  ///   - options: as in an app.
  ///   - hasBackgroundWork: whether threads of the database's write the log home and end async calls, as in an app. If
  ///     not, nothing happens by itself, and a test that uses one thread has the disk asked for the same calls each
  ///     time; but async calls that write or flush would then wait for ever.
  ///   - extensions: what is registered before the call returns, in this order, as by `Database.open`.
  /// - Throws: what opening a database throws, and registering extensions, among it what the disk refuses. The database
  ///   is closed then.
  public func openDatabase(
    at path: String = "/app.quire", options: Database.Options = Database.Options(),
    extensions: [any DatabaseExtension] = [], hasBackgroundWork: Bool = true
  ) throws -> Database {
    let seed = UInt64(operationCount)
    var options = options
    if !hasBackgroundWork { options.maintainsWhenIdle = false }
    let db = try openDatabase(at: path, seed: seed, options, scheduling: hasBackgroundWork ? .threads : .stepped)
    do {
      for next in extensions { try db.register(next) }
    } catch {
      try? db.close()
      throw error
    }
    return db
  }

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
