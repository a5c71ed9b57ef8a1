// Where a checkpoint stands, for tests that fail a call at a chosen place.

/// What a checkpoint, or a log that becomes longer, is about to do or in the midst of.
package enum CheckpointStage: String, Sendable, CaseIterable {
  /// Waits until what it froze is durable in the log.
  case log
  /// Writes pages to free places.
  case pages
  /// Makes the file of the next segment.
  case segment
  /// Syncs the data file.
  case sync
  /// Writes and syncs the meta page.
  case meta
  /// Writes and syncs the record that marks the meta page durable.
  case mark
  /// Everything is proven; what only old snapshots see is written home.
  case held
  /// Makes the file of another segment, for a longer log.
  case longerSegment
  /// Writes and syncs a meta page that names it.
  case longerMeta
  /// Writes and syncs the record that marks that page durable.
  case longerMark
}

extension Checkpointer {
  /// Whether the checkpoint that runs is the commit of a transaction that is too large for the log. Stepped engines
  /// only, as below.
  package var isCommittingByCheckpoint: Bool {
    guard case .checkpoint(let run) = current else { return false }
    return run.state.csn > head.csn
  }

  /// Where the checkpoint stands that runs, or what makes the log longer; nil if nothing runs. Stepped engines only:
  /// any other has a thread that changes it.
  package var stage: CheckpointStage? {
    switch current {
    case nil: nil
    case .checkpoint(let run):
      switch run.phase {
      case .preparing(.log): .log
      case .preparing(.pages): .pages
      case .preparing(.segment): .segment
      case .preparing(.sync): .sync
      case .meta, .completing(.twin): .meta
      case .completing(.mark): .mark
      case .completing(.held), .done: .held
      }
    case .lengthening(let job):
      switch job.phase {
      case .segment: .longerSegment
      case .meta: .longerMeta
      case .mark, .done: .longerMark
      }
    }
  }
}
