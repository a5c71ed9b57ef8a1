// What histories find out: counts, and the failures.

/// Something that must not happen, and where it happened.
package struct TortureFailure: Error, Sendable, CustomStringConvertible {
  /// What kind of promise was broken.
  package enum Verdict: String, Sendable {
    /// An acknowledged or shown commit is gone.
    case lost = "lost"
    /// The database holds what was never committed.
    case ghost = "ghost"
    /// Damage was reported, or a call failed, although nothing was wrong.
    case falseAlarm = "false alarm"
    /// A read gave something else than its snapshot holds.
    case wrongRead = "wrong read"
    /// Anything else: invariants, leaks, an engine that does not go on.
    case broken = "broken"
  }

  /// What kind of promise was broken.
  package let verdict: Verdict
  /// The seed of the history.
  package let seed: UInt64
  /// Which of the history's operations it was, from 1.
  package let operation: Int
  /// What was seen.
  package let text: String

  package var description: String { "\(verdict.rawValue) at seed \(seed), operation \(operation): \(text)" }
}

/// The counts of one history, or of many together.
package struct TortureReport: Sendable {
  /// Histories that were run.
  package var histories = 0
  /// Power cuts and killed processes, each followed by a recovery that was checked.
  package var crashes = 0
  /// Power cuts in the middle of a recovery.
  package var nested = 0
  /// Questions to snapshots whose answers were compared with the model.
  package var snapshotReads = 0
  /// Files that were read by the decoder as well, with the same result.
  package var decoded = 0
  /// Operations of the workload.
  package var operations = 0
  /// Commits.
  package var commits = 0
  /// Checkpoints that were finished.
  package var checkpoints = 0
  /// How often a log got another segment without a checkpoint.
  package var logLengthenings = 0
  /// Openings that left it to a checkpoint to write home what the log held.
  package var logContinuations = 0
  /// Pages that were written home early, as memory was short.
  package var pagesSpilled = 0
  /// Clean pages that were taken out of memory.
  package var pagesEvicted = 0
  /// Sorted runs of puts that outgrew the memory for them.
  package var putRuns = 0
  /// Commits that wrote their pages home instead of a record.
  package var commitsByCheckpoint = 0
  /// Bulk loads that took entries.
  package var loads = 0
  /// Those of them that needed their temporary file.
  package var loadsWithRuns = 0
  /// Those of them that were stopped by their body, their progress or the disk.
  package var loadsStopped = 0
  /// Backups that were begun, and those that were made and opened.
  package var backups = 0
  package var backupsMade = 0
  /// Compactions that came to their end.
  package var compactions = 0
  /// Calls that failed at a chosen place, by the place, and those of them that struck the commit of a transaction too
  /// large for the log.
  package var placedFaults = [Int](repeating: 0, count: FaultPlace.allCases.count)
  package var placedUnlogged = [Int](repeating: 0, count: FaultPlace.allCases.count)
  /// Commits whose callers were told that the outcome is unknown, by what reopening showed.
  package var unknownKept = 0
  package var unknownLost = 0
  /// Transactions whose callers were told, as they committed, that they had failed, and those of them after which
  /// nothing could be written any more.
  package var commitsRefused = 0
  package var commitsRefusedForGood = 0
  /// The failures found; a history ends with its first.
  package var failures: [TortureFailure] = []
  /// Depends on every call to the disks and every answer; equal for equal seeds.
  package var hash = StableHash()

  /// A report without anything.
  package init() {}

  /// Adds the counts of another report. Hashes are not added: histories may end in any order.
  package mutating func add(_ other: TortureReport) {
    histories += other.histories
    crashes += other.crashes
    nested += other.nested
    snapshotReads += other.snapshotReads
    decoded += other.decoded
    operations += other.operations
    commits += other.commits
    checkpoints += other.checkpoints
    logLengthenings += other.logLengthenings
    logContinuations += other.logContinuations
    pagesSpilled += other.pagesSpilled
    pagesEvicted += other.pagesEvicted
    putRuns += other.putRuns
    commitsByCheckpoint += other.commitsByCheckpoint
    loads += other.loads
    loadsWithRuns += other.loadsWithRuns
    loadsStopped += other.loadsStopped
    backups += other.backups
    backupsMade += other.backupsMade
    compactions += other.compactions
    for index in placedFaults.indices {
      placedFaults[index] += other.placedFaults[index]
      placedUnlogged[index] += other.placedUnlogged[index]
    }
    unknownKept += other.unknownKept
    unknownLost += other.unknownLost
    commitsRefused += other.commitsRefused
    commitsRefusedForGood += other.commitsRefusedForGood
    failures += other.failures
  }

  private func count(_ verdict: TortureFailure.Verdict) -> Int { failures.count { $0.verdict == verdict } }

  /// What was met on the way, in one line: a zero here is a hole in the torture.
  package var coverageLine: String {
    "commits \(commits), by checkpoint \(commitsByCheckpoint), checkpoints \(checkpoints), "
      + "log lengthened \(logLengthenings), continued \(logContinuations), "
      + "pages spilled \(pagesSpilled), evicted \(pagesEvicted), runs of puts \(putRuns), "
      + "bulk loads \(loads), with runs \(loadsWithRuns), stopped \(loadsStopped), "
      + "backups \(backups), made \(backupsMade), compactions \(compactions), decoded \(decoded)"
  }

  /// What callers were told of commits that met a failure, in one line.
  package var outcomeLine: String {
    let places = FaultPlace.allCases.map { place in
      let unlogged = placedUnlogged[place.rawValue]
      return "\(place) \(placedFaults[place.rawValue])" + (unlogged > 0 ? " (\(unlogged) unlogged)" : "")
    }
    return "outcomes unknown \(unknownKept + unknownLost), there afterwards \(unknownKept), refused \(commitsRefused), "
      + "for good \(commitsRefusedForGood); failures in " + places.joined(separator: ", ")
  }

  /// The verdict in one line.
  package var verdictLine: String {
    "crashes \(crashes), nested \(nested), lost \(count(.lost)), ghosts \(count(.ghost)), "
      + "false alarms \(count(.falseAlarm)), snapshot reads \(snapshotReads), wrong \(count(.wrongRead))"
  }
}
