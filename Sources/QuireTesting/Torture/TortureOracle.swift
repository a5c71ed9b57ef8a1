// What a database must hold: what was committed, and what the callers of transactions were told, held beside what
// reopening shows.
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

/// A tree as the model knows it.
struct NamedTree: Sendable {
  let name: String
  let tree: Tree
}

/// What a commit left besides its entries.
struct CommitNotes: Sendable {
  var trees: [NamedTree] = []
  /// The first row id and the first tree id that were not given out when it was made.
  var nextRowID: Int64 = 1
  var nextTreeID: UInt64 = 1
}

/// Knows what the database must hold and may hold.
///
/// Invariants:
/// 1. `model.newest` is the newest commit that was appended, or may have been; `certain` the newest that surely was.
/// 2. `notes` has an entry for every state of the model.
/// 3. No id of `nextRowID` or `nextTreeID` and above was given out in this life or belongs to a commit that survived.
final class TortureOracle {
  private let log: TortureLog
  /// Whether a commit is durable when it was waited for.
  let waitsForFlush: Bool
  var model = ReferenceModel()
  private(set) var notes: [UInt64: CommitNotes] = [0: CommitNotes()]
  var certain = CSN(0)
  /// The newest commit that a reader was shown in this life.
  private var shown = CSN(0)
  var nextRowID: Int64 = 1
  var nextTreeID: UInt64 = 1
  /// What the callers of transactions were told that failed in this life.
  private var told = ToldOutcomes()

  init(_ log: TortureLog, _ configuration: TortureConfiguration) {
    self.log = log
    waitsForFlush = configuration.durability == .full
  }

  /// The trees of the newest commit.
  var trees: [NamedTree] { notes[model.newest.csn.rawValue]?.trees ?? [] }

  /// Adds a commit, or what may be one.
  func append(_ draft: TortureDraft, as csn: CSN) throws {
    guard csn > model.newest.csn else {
      throw log.failure(.ghost, "a commit got \(csn), but \(model.newest.csn) had been appended before")
    }
    // The ids of trees that were rolled back may be given out again after a crash: nobody knows of them.
    let known = notes[model.newest.csn.rawValue]?.nextTreeID ?? 1
    let nextTreeID = max(known, (draft.trees.map(\.tree.id.rawValue).max() ?? 0) + 1)
    model.append(draft.state, as: csn)
    // Another transaction has its number now.
    if let refused = told.refusal?.csn, refused <= csn { told.refusal = nil }
    notes[csn.rawValue] = CommitNotes(trees: draft.trees, nextRowID: nextRowID, nextTreeID: nextTreeID)
  }

  /// Forgets what nobody can ask for any more.
  func forget(_ pins: [HeldPin]) {
    guard model.stateCount > 64 else { return }
    model.forget(before: pins.map(\.snapshot.csn).min() ?? shown)
    let oldest = model.oldestCSN.rawValue
    notes = notes.filter { $0.key >= oldest }
  }

  /// A record without operations may be in the file: writing has stopped while maintenance was at work.
  func noteStoppedRearrangement() throws {
    try append(TortureDraft(state: model.newest, trees: trees), as: CSN(model.newest.csn.rawValue + 1))
  }

  func noteMaintenance(_ core: EngineCore) throws {
    while model.newest.csn < core.head.csn {
      try append(TortureDraft(state: model.newest, trees: trees), as: CSN(model.newest.csn.rawValue + 1))
      certain = model.newest.csn
      log.note("a step of maintenance made \(certain)")
    }
  }

  /// The database was opened as a commit: those after it are gone.
  func truncate(to csn: CSN) {
    // Opening makes durable what it shows, whatever it was before.
    model.truncate(to: csn)
    notes = notes.filter { $0.key <= csn.rawValue }
    certain = csn
    shown = csn
    let kept = notes[csn.rawValue] ?? CommitNotes()
    nextRowID = kept.nextRowID
    nextTreeID = kept.nextTreeID
  }

  // MARK: What was told

  /// Enters a transaction that has thrown as it was committed.
  func noteFailedCommit(_ draft: TortureDraft, _ csn: CSN, _ error: any Error, isForGood: Bool) throws {
    guard let error = error as? StorageError else { return }
    if error.code == .outcomeUnknown {
      try append(draft, as: csn)
      log.note("\(csn) may be there")
      return noteUnknown(csn)
    }
    log.note("\(csn) must not be there")
    log.report.commitsRefused += 1
    if isForGood { log.report.commitsRefusedForGood += 1 }
    told.refusal = (csn, draft.state.digest, error)
  }

  /// Whoever made this commit does not know what came of it.
  func noteUnknown(_ csn: CSN) {
    if !told.unknown.contains(csn) { told.unknown.append(csn) }
  }

  /// Whether the database holds what somebody was told had failed.
  func checkRefusal(_ csn: CSN, _ digest: StateDigest) throws {
    guard let refusal = told.refusal, refusal.csn == csn, refusal.digest == digest else { return }
    throw log.failure(.ghost, "\(csn) is there, but whoever made it was told that it had failed: \(refusal.error)")
  }

  /// Counts what has become of commits with an unknown outcome, now that the database was opened as `csn`.
  func countOutcomes(_ csn: CSN) {
    log.report.unknownKept += told.unknown.count { $0 <= csn }
    log.report.unknownLost += told.unknown.count { $0 > csn }
    told = ToldOutcomes()
  }

  // MARK: What is shown

  /// The model's state of exactly this commit.
  func state(at csn: CSN) throws -> ModelState {
    guard let state = model.state(at: csn), state.csn == csn else {
      throw log.failure(.ghost, "a reader was shown \(csn), which was never committed")
    }
    return state
  }

  /// Notes that a reader was shown a commit: it may not vanish any more.
  func see(_ csn: CSN) throws {
    if csn > certain { throw log.failure(.ghost, "a reader was shown \(csn) although its commit failed") }
    if csn < shown { throw log.failure(.wrongRead, "a reader was shown \(csn) after \(shown)") }
    if csn < model.durable {
      throw log.failure(.wrongRead, "a reader was shown \(csn), but \(model.durable) was acknowledged")
    }
    shown = csn
    if waitsForFlush { model.acknowledge(csn) }
  }
}
