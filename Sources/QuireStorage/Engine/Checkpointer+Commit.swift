// Commits by checkpoint.

extension Checkpointer {
  /// Frames that the running transaction both made and replaced.
  var ownSuperseded: LazyFilterSequence<ChunkedList<SupersededPage>> {
    let csn = context.csn.rawValue
    return context.superseded.lazy.filter { Self.isOwn($0, csn) }
  }

  private static func isOwn(_ page: SupersededPage, _ csn: UInt64) -> Bool {
    page.birth == csn && page.reference.isDirty
  }

  /// Makes the running transaction, which is too large for the log, a commit by writing its pages home. The writer lock
  /// is kept to the end: a later commit in the log would otherwise be replayed on a state that lacks this one (hazard
  /// B1).
  ///
  /// The transaction has the fate of its checkpoint. Once the meta page is durable it is a commit, whatever comes after
  /// that, and before the first byte of it is written it is none.
  ///
  /// - Returns: where the log ends; what is in `ownSuperseded` is still to be retired.
  func commitUnlogged(_ permit: borrowing WriterPermit) throws(CommitFailure) -> LSN {
    finishRunning()
    log.growSegments(permit)
    let csn = context.csn
    // Where the transaction's own replaced frames spilled to is not part of this checkpoint, and its map must not call
    // that used. The frames themselves stay the transaction's until it has succeeded.
    reclaimer.giveUpPlaces(of: ownSuperseded.map(\.reference.frame))
    // The map that this checkpoint writes is that of the new state: what the transaction replaced is free in it.
    reclaimer.retire(context.superseded.lazy.filter { !Self.isOwn($0, csn.rawValue) }, csn: csn.rawValue, permit)
    let logged = log.with { $0?.lastCSN ?? CSN(0) }
    let required = log.with { $0?.endLSN ?? LSN(0) }
    let state = CheckpointState(
      csn: csn, trees: context.trees, names: context.names, nextTreeID: context.treeIDCounter)
    let run = begin(state, requiredLSN: required, loggedCSN: logged, isFinal: false, permit)
    while step() {}
    switch run.failure {
    case nil, .durable:
      guard run.isProven || hasTwinWritten() else {
        takeBack(csn, before: logged, permit)
        throw .unknown(queue.outcomeUnknown())
      }
    case .undone(let error):
      takeBack(csn, before: logged, permit)
      throw .rolledBack(error)
    case .unknown:
      takeBack(csn, before: logged, permit)
      throw .unknown(queue.outcomeUnknown())
    }
    log.change { log, alone in log?.endUnloggedCommit(remaining: csn, alone) }
    return log.with { $0?.endLSN ?? LSN(0) }
  }

  /// Writes the newest meta page, which is durable and which nothing proves, to the other slot as well; false if that
  /// fails. A commit that stands in no log must stand in both: recovery goes over a page that is not proven, as the
  /// older one leads to everything that is in the log. With two that agree, whichever it goes over, the other is there.
  private func hasTwinWritten() -> Bool {
    var page = meta.current
    page.checkpointNumber += 1
    do throws(StorageError) {
      try writeMeta(page)
      return true
    } catch {
      return false
    }
  }

  private func takeBack(_ csn: CSN, before logged: CSN, _ permit: borrowing WriterPermit) {
    reclaimer.unretire(csn: csn.rawValue, permit)
    log.change { log, alone in log?.endUnloggedCommit(remaining: logged, alone) }
  }
}
