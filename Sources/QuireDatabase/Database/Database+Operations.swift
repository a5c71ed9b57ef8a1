// What an operator asks of a database while it runs: long work, with progress and an end on demand.

public import QuireStorage

extension Database {
  /// How far long work has come.
  public typealias Progress = StorageProgress

  /// Copies the database as of its newest durable commit to a new file, compactly, while readers and writers go on.
  ///
  /// The copy is a database of its own: verified, closed cleanly, and at its name only when it is complete. Writers
  /// never wait for it; the snapshot stays pinned until the end.
  ///
  /// - Parameters:
  ///   - path: where the copy goes; nothing may be there, and the folder must exist.
  ///   - progress: called now and then, on the calling thread; what it throws ends the backup.
  /// - Returns: what was copied.
  /// - Throws: `alreadyExists`, `closed`, `diskFull`, `inputOutput`, `damagedPage`, `CancellationError`, and what
  ///   `progress` throws.
  @discardableResult
  public func backup(to path: String, progress: (Progress) throws -> Void = { _ in }) throws -> StorageBackup {
    try LongWork(core, "quire.backup", holdsSnapshot: true).run {
      try translating { try core.engine.backup(to: path, progress: progress) }
    }
  }

  /// The same on a thread of the database's; `progress` is called there.
  @concurrent @discardableResult
  public func backup(
    to path: String, progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> StorageBackup {
    try await LongWork(core, "quire.backup", holdsSnapshot: true).run {
      do { return try await core.engine.backup(to: path, progress: progress) } catch { throw translated(error) }
    }
  }

  /// Makes the file as short as its content allows, in small steps between which writers get their turn; readers never
  /// wait. Happens by itself, by a coarser measure, when the database has been idle for a second.
  ///
  /// - Parameter progress: called after each step, on the calling thread; what it throws ends the work, and what was
  ///   moved stays moved.
  /// - Throws: `closed`, `readOnly`, `failStop`, `fileChanged`, `nestedTransaction` inside a write transaction,
  ///   `diskFull`, `inputOutput`, `damagedPage`, `CancellationError`, and what `progress` throws.
  public func compact(progress: (Progress) throws -> Void = { _ in }) throws {
    try LongWork(core, "quire.compact").run { try translating { try core.engine.compact(progress: progress) } }
  }

  /// The same on a thread of the database's; `progress` is called there.
  @concurrent
  public func compact(progress: @escaping @Sendable (Progress) throws -> Void = { _ in }) async throws {
    try await LongWork(core, "quire.compact").run {
      do { try await core.engine.compact(progress: progress) } catch { throw translated(error) }
    }
  }

  /// Checks everything: the trees that readers see, on the disk every page that can be reached, that key index and
  /// rows agree, and what is noted about extensions. Writers and readers go on meanwhile.
  ///
  /// - Parameter progress: called now and then, on the calling thread; what it throws ends the check.
  /// - Throws: the first defect; `closed`, `nestedTransaction` inside a write transaction, `inputOutput`,
  ///   `CancellationError`, and what `progress` throws.
  public func verify(progress: (Progress) throws -> Void = { _ in }) throws {
    try LongWork(core, "quire.verify", holdsSnapshot: true).run {
      try translating {
        try core.engine.verify(progress: progress)
        try core.storage.read { tx in try core.verifyObjects(tx) }
      }
    }
  }

  /// The same on a thread of the database's; `progress` is called there.
  @concurrent
  public func verify(progress: @escaping @Sendable (Progress) throws -> Void = { _ in }) async throws {
    try await LongWork(core, "quire.verify", holdsSnapshot: true).run {
      do {
        _ = try await core.engine.verify(progress: progress)
        try await core.engine.read { [core] tx in try core.verifyObjects(tx) }
      } catch { throw translated(error) }
    }
  }

  private func translating<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw translated(error) }
  }

  private func translated(_ error: any Error) -> any Error {
    guard let error = error as? StorageError else { return error }
    return DatabaseError(error)
  }
}
