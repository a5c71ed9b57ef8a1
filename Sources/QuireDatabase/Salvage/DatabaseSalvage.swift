// A new database of all that can be read of a damaged one.

package import QuireStorage

/// Salvages a database: everything that is outside the damage goes into a new file, and what is lost is told.
///
/// The damaged files are opened read-only and not changed. The new file has its own name when it is complete.
package struct DatabaseSalvage {
  private let path: String
  private let options: SalvageOptions
  private let kinds: [any SalvagedContent.Type]
  private let report: (SalvageFinding) throws -> Void
  private let progress: (String) -> Void
  /// The budget for pages of the new database: rows are stored in order, and a larger one gains no time.
  private static let cacheSize = min(StorageOptions.defaultCacheSize, 512 << 20)

  /// - Parameters:
  ///   - path: the damaged database.
  ///   - options: what may be believed and delivered.
  ///   - kinds: how content of extensions is salvaged that is not copied as it is.
  ///   - report: gets each finding as it is found; what it throws ends the work.
  ///   - progress: gets a few words on what is being done, often.
  package init(
    _ path: String, options: SalvageOptions = SalvageOptions(), kinds: [any SalvagedContent.Type] = [],
    report: @escaping (SalvageFinding) throws -> Void, progress: @escaping (String) -> Void = { _ in }
  ) {
    (self.path, self.options, self.kinds) = (path, options, kinds)
    (self.report, self.progress) = (report, progress)
  }

  /// Makes the new database at `newPath`, where nothing may be.
  ///
  /// Reads all that can be read, the key index twice, and what was made once more, to check it.
  ///
  /// - Throws: `alreadyExists` if there is something at `newPath`; what opening the damaged files throws, such as
  ///   `damagedMetaPage` if nothing can be proven; `damagedPage` if nothing at all can be read; `newerFormat`;
  ///   `diskFull`, `inputOutput`. Nothing is at `newPath` then.
  package func run(to newPath: String) throws -> SalvageOutcome {
    let made = NewDatabaseFile(for: newPath)
    try Self.check(made)
    do {
      let reader = try SalvageReader(at: path, options: options)
      let outcome = try make(reader, at: made.temporaryPath)
      try Self.check(made)
      do throws(SystemError) { try made.publish() } catch {
        throw DatabaseError(
          .inputOutput, "The new database could not get its name. See the cause.", path: newPath, cause: error)
      }
      return outcome
    } catch {
      made.remove()
      throw (error as? StorageError).map { DatabaseError($0) } ?? error
    }
  }

  private static func check(_ made: NewDatabaseFile) throws {
    guard let taken = made.takenName else { return }
    throw DatabaseError(
      .alreadyExists, "There is something already, and nothing is overwritten: choose another name.", path: taken)
  }

  private func make(_ reader: SalvageReader, at newPath: String) throws -> SalvageOutcome {
    let work = SalvageWork(reader, report, progress)
    try work.sources.recognize(reader)
    try fill(newPath, work)
    if work.rowCount + work.entryCount == 0, work.lossCount > 0 {
      throw DatabaseError(.damagedPage, "Nothing of the database can be read. Restore it from a backup.", path: path)
    }
    return SalvageOutcome(
      source: reader.source, collections: work.rowCounts, rowCount: work.rowCount, entryCount: work.entryCount,
      lossCount: work.lossCount, defects: work.sources.hasObjects ? try defects(at: newPath) : [])
  }

  /// Makes the new database; the memory of its engine is given back then.
  private func fill(_ newPath: String, _ work: SalvageWork) throws {
    let noted = work.reader.source.pageSize
    let pageSize = QuireStorage.Limits.pageSizes.contains(noted) ? noted : 4096
    // Nobody knows of the file before it has its name.
    let engine = try StorageEngine(
      at: newPath,
      options: StorageOptions(
        pageSize: pageSize, cacheSize: Self.cacheSize, durability: .relaxed, maintainsWhenIdle: false))
    do {
      try fill(engine, work)
    } catch {
      try? engine.close()
      throw error
    }
    try engine.close()
  }

  private func fill(_ engine: StorageEngine, _ work: SalvageWork) throws {
    for (name, tree) in work.sources.others { try engine.write { tx in try work.copy(tree, name, tx) } }
    if !work.sources.hasObjects { try engine.write { tx in try work.copyUnknown(tx) } }
    if work.sources.hasObjects {
      let trees = try engine.write { tx in try DatabaseTrees(making: tx) }
      try engine.write { tx in
        try work.salvageNotes(tx, trees, path)
        try work.salvageRows(tx, trees)
        try work.finishCollections(tx, trees)
        try work.salvageExtensions(tx, trees.rows, kinds)
        try work.reserveRowNumbers(tx)
      }
    }
    try work.tellRest()
    try work.tellGeneralLosses()
  }

  /// What is wrong with the new database.
  private func defects(at newPath: String) throws -> [DatabaseError] {
    progress("the new database")
    let db = try Database(
      at: newPath,
      options: Database.Options(
        cacheSize: Self.cacheSize, maintainsWhenIdle: false, createsIfMissing: false, isReadOnly: true))
    do {
      let found = try db.defects()
      try db.close()
      return found
    } catch {
      try? db.close()
      throw error
    }
  }
}
