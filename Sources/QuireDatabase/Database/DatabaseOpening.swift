// Opening what is behind a database, by whatever way to its engine.

internal import Logging
package import QuireStorage

/// The way from an engine to an open database.
enum DatabaseOpening {
  /// Opens a database over the engine that `engine` makes; tells the logger, metrics and traces about it.
  ///
  /// - Parameter canReopen: whether the file can be opened again by its path alone.
  static func open(
    _ path: String, _ options: Database.Options, _ environment: StorageEnvironment, canReopen: Bool = true,
    _ engine: (StorageEnvironment) throws(StorageError) -> StorageEngine
  ) throws(DatabaseError) -> DatabaseCore {
    var environment = environment
    if let logger = options.logger {
      environment.checkpointDidFail = { error in
        logger.error("A checkpoint failed. The log keeps what it did not write.", metadata: ["error": "\(error)"])
      }
    }
    environment.onRearrangement = { (tx: borrowing QuireStorage.WriteTransaction) throws(StorageError) in
      try FeedSet.noteHeardByAll(tx)
    }
    let began = MonotonicClock.now
    let diagnostics = Diagnostics(options, path: path)
    let span = TransactionSpan(named: "quire.open", diagnostics.label, CallSite())
    let core: DatabaseCore
    do throws(DatabaseError) {
      let made: StorageEngine
      do throws(StorageError) { made = try engine(environment) } catch { throw DatabaseError(error) }
      let reopened = canReopen ? environment : nil
      core = try DatabaseCore(made, path: path, options: options, diagnostics, reopenedIn: reopened)
    } catch {
      span.end(error)
      throw error
    }
    let records = core.engine.statistics.recoveredRecords
    span.end(nil) { $0.set("quire.recovered.records", records) }
    diagnostics.metrics.noteOpening(MonotonicClock.now - began, records: records)
    core.logOpening()
    return core
  }
}

extension Database {
  /// Opens, for reading, the file of a database that another process has open, at a checkpoint that it holds. What is
  /// read counts if that is asked for after the last row whether it still holds it, as by `ControlClient.confirm`.
  ///
  /// - Throws: what `Opener.open(held:)` throws, and `invalidOption` if the options are not those of a reader.
  package convenience init(at path: String, options: Options, held image: CheckpointImage) throws(DatabaseError) {
    self.init(
      try DatabaseOpening.open(path, options, StorageEnvironment(), canReopen: false) {
        environment throws(StorageError) in
        try StorageEngine(at: path, options: options.storage, held: image, environment: environment)
      })
  }
}
