// What operators ask for: compactions and backups, to their ends or stopped on the way.

internal import QuireStorage

/// Ends long work from its progress.
private struct Enough: Error {}

extension TortureHistory {
  /// Compacts the file; every step may be a commit that changes nothing.
  func compact() throws {
    let engine = try system.opened()
    var left = random.oneIn(2) ? Int.max : random.below(20)
    let hadStopped = system.hasStoppedByNow
    do {
      try engine.compact { _ in
        try oracle.noteMaintenance(engine.core)
        if left == 0 { throw Enough() }
        left -= 1
      }
      try oracle.noteMaintenance(engine.core)
      log.report.compactions += 1
      log.note("compacted")
    } catch is Enough {
      try oracle.noteMaintenance(engine.core)
      log.note("stopped a compaction")
    } catch {
      try oracle.noteMaintenance(engine.core)
      if system.hasStoppedByNow, !hadStopped { try oracle.noteStoppedRearrangement() }
      throw error
    }
  }

  /// Makes a backup, and compares it with the state of the commit that it says it is. What failed or was stopped must
  /// have left nothing under its name.
  func backUp() throws {
    let engine = try system.opened()
    log.report.backups += 1
    let path = "/backup-\(log.report.backups)"
    var left = random.oneIn(3) ? random.below(20) : Int.max
    do {
      let backup = try engine.backup(to: path) { _ in
        if left == 0 { throw Enough() }
        left -= 1
      }
      log.report.backupsMade += 1
      log.note("made a backup of \(backup.csn)")
      try checkBackup(backup, at: path)
    } catch is Enough {
      try log.expect(!system.disk.names.contains(path), "a backup that was stopped is there")
      log.note("stopped a backup")
    } catch let error as StorageError {
      system.checkForStop()
      let isThere = !system.disk.isPoweredOff && system.disk.names.contains(path)
      try log.expect(!isThere || !configuration.faultKinds.isEmpty, "a backup that failed is there: \(error)")
      throw error
    }
  }

  private func checkBackup(_ backup: StorageBackup, at path: String) throws {
    let faults = system.disk.counters.faultCount
    do {
      // Opened like any other database, and gone again before the next operation.
      let environment = StorageEnvironment(
        fileSystem: system.disk, random: { backup.databaseID.low }, scheduling: .stepped, allowsTestPages: true,
        initialSegmentByteCount: configuration.segmentByteCount)
      let copy = try StorageEngine(at: path, options: configuration.options, environment: environment)
      let found = try copy.read { tx in
        try log.expect(tx.csn == backup.csn, "a backup of \(backup.csn) shows \(tx.csn)")
        return try reader.digest(of: tx)
      }
      guard let state = oracle.model.state(at: backup.csn), state.csn == backup.csn else {
        throw log.failure(.ghost, "a backup shows \(backup.csn), which was never committed")
      }
      try log.expect(found == state.digest, "a backup of \(backup.csn) holds something else")
      try copy.close()
    } catch {
      try system.judge(error, since: faults, during: "opening a backup")
    }
    do throws(SystemError) { try system.disk.unlink(path) } catch {}
  }
}
