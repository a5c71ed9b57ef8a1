// Memory, files and long work.

public import Foundation
internal import Quire

extension YapDatabaseConnection {
  // MARK: Memory

  /// Lets go of memory, which all connections of the database share: decoded objects for `caches`, buffers for
  /// `internal`; there are no statements. Pages stay, within the budget of `Database.Options.cacheSize`. New call:
  /// `Database.flushMemory(_:)`.
  public func flushMemory(with flags: YapDatabaseConnectionFlushMemoryFlags) {
    var parts: Database.MemoryKinds = []
    if flags.contains(.caches) {
      parts.insert(.objects)
      caches.removeAll()
      database.sharedCaches.removeAll()
    }
    if flags.contains(.internal) { parts.insert(.buffers) }
    database.quire.flushMemory(parts)
  }

  // MARK: Settings of the file

  /// What a commit waits for: "FULL", "NORMAL" or "OFF". New call: `Database.Options.durability`.
  public func pragmaSynchronous() -> String {
    switch database.options.quire.durability {
    case .full: "FULL"
    case .interval: "NORMAL"
    case .relaxed: "OFF"
    }
  }

  /// The size of a page in bytes that new files get. New call: `Database.Options.pageSize`.
  public func pragmaPageSize() -> Int { database.options.quire.pageSize }

  /// How much of the file is mapped into memory: nothing. New call: `Database.Options.cacheSize`.
  @available(*, deprecated, message: "Pages are verified as they come into memory, not mapped: see `cacheSize`.")
  public func pragmaMMapSize() -> Int { 0 }

  /// How the file gets shorter: "FULL", by itself, when the database is idle; "NONE" if `maintainsWhenIdle` is off. New
  /// call: `Database.Options.maintainsWhenIdle`.
  public func pragmaAutoVacuum() -> String { database.options.quire.maintainsWhenIdle ? "FULL" : "NONE" }

  // MARK: Shortening the file

  /// Makes the file as short as its content allows, in small steps; other transactions go on. New call:
  /// `Database.checkpoint()` and `Database.compact(progress:)`.
  ///
  /// - Throws: as `Database.compact(progress:)`.
  public func vacuum() throws {
    guard !database.threads.state(self).isInside else { throw nested() }
    try check(.syncReadWriteTransaction)
    try inTurn { try shorten() }
  }

  private func shorten() throws {
    // What was removed since the last checkpoint is not free before the next one.
    try database.quire.checkpoint()
    try database.quire.compact()
  }

  /// The same when its turn has come; errors go to the database's `onError`. New call: `Database.compact` with `await`.
  @preconcurrency public func asyncVacuum(
    completionQueue: DispatchQueue? = nil, completionBlock: (@Sendable () -> Void)? = nil
  ) {
    begin(.asyncReadWriteTransaction, completionQueue, completionBlock) { try $0.shorten() }
  }

  // MARK: Copies

  /// Copies the database as of its newest commit to a new file; other transactions go on. New call:
  /// `Database.backup(to:progress:)`.
  ///
  /// - Returns: the error, as in the original; nil if the copy is complete.
  @discardableResult
  public func backup(toPath path: String) -> (any Error)? {
    do {
      guard !database.threads.state(self).isInside else { throw nested() }
      try check(.syncReadWriteTransaction)
      try inTurn { _ = try database.quire.backup(to: path) }
      return nil
    } catch {
      return error
    }
  }

  /// The same when its turn has come. New call: `Database.backup` with `await`.
  ///
  /// - Parameters:
  ///   - path: the file that is made; none may be there.
  ///   - completionQueue: where the completion block runs; nil for the main queue.
  ///   - completionBlock: gets the error, or nil if the copy is complete.
  /// - Returns: how far it has come; cancelling it ends the copy with a `CancellationError`.
  @discardableResult
  @preconcurrency public func asyncBackup(
    toPath path: String, completionQueue: DispatchQueue? = nil,
    completionBlock: (@Sendable ((any Error)?) -> Void)? = nil
  ) -> Progress {
    let progress = SharedProgress()
    let copy: @Sendable (YapDatabaseConnection) throws -> Void = { connection in
      try connection.database.quire.backup(to: path) { try progress.update($0) }
      progress.finish()
    }
    begin(.asyncReadWriteTransaction, copy) { error in
      if let completionBlock { (completionQueue ?? .main).async { completionBlock(error) } }
    }
    return progress.value
  }
}

/// A `Progress` that the thread of the work and the app's share.
private struct SharedProgress: @unchecked Sendable {
  // Sendable: safe because a `Progress` may be used from any thread.
  let value = Progress(totalUnitCount: 1000)

  /// The first half is for copying, the second for reading the copy back.
  func update(_ step: Database.Progress) throws {
    if value.isCancelled { throw CancellationError() }
    value.completedUnitCount = (step.phase == .copying ? 0 : 500) + Int64(step.fraction * 500)
  }

  func finish() { value.completedUnitCount = value.totalUnitCount }
}
