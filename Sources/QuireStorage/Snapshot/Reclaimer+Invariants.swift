// What tests ask of the reclaimer between two steps.

internal import Synchronization

extension Reclaimer {
  /// Checks the invariants; returns what is broken. Looks at every item that waits.
  ///
  /// - Parameter permit: nothing is retired meanwhile.
  package func checkInvariants(_ permit: borrowing WriterPermit) -> String? {
    state.withLock { state in
      for (name, list) in [("pages", waiting), ("entries", entries)] {
        var last: UInt64 = 0
        for item in list {
          if item.death < last { return "\(name) wait out of the order of their deaths" }
          last = item.death
        }
      }
      for (snapshot, items) in state.held {
        for item in items where snapshot < item.birth || snapshot >= item.death {
          return "snapshot \(snapshot) holds what was born at \(item.birth) and died at \(item.death)"
        }
      }
      let isAscending = zip(state.intact, state.intact.dropFirst()).allSatisfy { $0 < $1 }
      if !isAscending || state.intact.last ?? 0 > state.collected { return "snapshots count as whole that cannot be" }
      if !state.isCheckpointing, !raced.isEmpty { return "frames race with no checkpoint" }
      for (name, frames) in [
        ("checkpoint", state.flipped), ("commit", state.spilled), ("running transaction", state.spilledByRunning),
      ] {
        var lost: UInt64?
        frames.forEach { if !store.frames.location(FrameIndex(UInt32($0))).isPageNumber { lost = $0 } }
        if let lost { return "frame \(lost) of a \(name) was written home and has no place" }
      }
      return nil
    }
  }

  /// Whether frames of a transaction that has not committed count as spilled.
  package var hasUncommittedSpill: Bool { state.withLock { $0.spilledByRunning.first(from: 0) != nil } }
}
