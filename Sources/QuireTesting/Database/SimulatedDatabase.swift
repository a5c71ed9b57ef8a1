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
    let environment = environment(seed, hasBackgroundWork ? .threads : .stepped)
    if extensions.isEmpty { return try Database(at: path, options: options, environment: environment) }
    return try Database.open(at: path, options: options, environment: environment, extensions: extensions) { _ in }
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
    try Database(at: path, options: options, environment: environment(seed, scheduling, unloggedByteCount))
  }

  /// This disk, with chances that come from a seed.
  private func environment(
    _ seed: UInt64, _ scheduling: Scheduling, _ unloggedByteCount: Int = 4 << 20
  ) -> StorageEnvironment {
    let dice = Latch(SeededRandom(seed: seed))
    return StorageEnvironment(
      fileSystem: self, random: { dice.withLock { $0.next() } }, scheduling: scheduling, allowsTestPages: true,
      initialSegmentByteCount: 64 << 10, unloggedByteCount: unloggedByteCount)
  }
}
