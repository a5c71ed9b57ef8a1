// What the callers of transactions were told, held beside what reopening shows.
//
// Who is told of any error but `outcomeUnknown` takes the transaction for rolled back, and may do it once more: then it
// must not be there. Who was told of none takes it for done: then readers see it, at once. Only after `outcomeUnknown`
// are both right.

internal import QuireStorage

/// What was told of commits that met a failure, since the database was opened.
struct ToldOutcomes {
  /// Commits that may be there or not.
  var unknown: [CSN] = []
  /// The last commit whose caller was told that it had failed, and what the database would hold with it.
  var refusal: (csn: CSN, digest: StateDigest, error: StorageError)?
}

extension TortureHistory {
  /// Enters a transaction that has thrown as it was committed.
  func noteFailedCommit(_ draft: TortureDraft, _ csn: CSN, _ error: any Error) throws {
    guard let error = error as? StorageError else { return }
    if error.code == .outcomeUnknown {
      try append(draft, as: csn)
      note("\(csn) may be there")
      return noteUnknown(csn)
    }
    note("\(csn) must not be there")
    report.commitsRefused += 1
    if hasStopped { report.commitsRefusedForGood += 1 }
    told.refusal = (csn, draft.state.digest, error)
  }

  /// Whoever made this commit does not know what came of it.
  func noteUnknown(_ csn: CSN) {
    if !told.unknown.contains(csn) { told.unknown.append(csn) }
  }

  /// Readers must see what was acknowledged, whatever has failed since.
  func expectShown(_ csn: CSN) throws {
    let shown = try opened().core.slots.newest.csn
    if shown < csn { throw failure(.lost, "\(csn) was acknowledged, and readers are shown \(shown)") }
  }

  /// Whether the database holds what somebody was told had failed.
  func checkRefusal(_ csn: CSN, _ digest: StateDigest) throws {
    guard let refusal = told.refusal, refusal.csn == csn, refusal.digest == digest else { return }
    throw failure(.ghost, "\(csn) is there, but whoever made it was told that it had failed: \(refusal.error)")
  }

  /// Counts what has become of commits with an unknown outcome, now that the database was opened as `csn`.
  func countOutcomes(_ csn: CSN) {
    report.unknownKept += told.unknown.count { $0 <= csn }
    report.unknownLost += told.unknown.count { $0 > csn }
    told = ToldOutcomes()
  }
}
