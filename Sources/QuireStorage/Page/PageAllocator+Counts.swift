// What is asked of the allocator by those who decide when to write and how long the file is.

internal import Synchronization

extension PageAllocator {
  /// How many places the next checkpoint would free, as of some moment ago.
  package var supersededCount: Int { supersededPages.load(ordering: .relaxed) }

  /// How many places the checkpoint that is being written frees, or is about to prove free.
  package var unprovenCount: Int {
    state.withLock { state in state.unproven.reduce(state.freedNow.count) { $0 + $1.numbers.count } }
  }

  /// What the lists of places take that wait for checkpoints.
  package var listByteCount: Int {
    state.withLock { state in
      state.unproven.reduce(state.superseded.byteCount + state.freedNow.byteCount) { $0 + $1.numbers.byteCount }
    }
  }

  /// Whether no checkpoint's freed places wait for their proof: nothing can fall back to a checkpoint before the
  /// newest.
  package var isProven: Bool { state.withLock { $0.unproven.isEmpty } }

  /// Whether places of the file that was opened are kept back until its map is trusted.
  package var isWithholding: Bool { state.withLock { $0.floor > 0 } }

  /// Notes that the map which the file came with is right: its free places may be given out from now on.
  package func trust() {
    state.withLock { state in
      state.trust()
      publish(state)
    }
  }

  /// Those of `numbers` that the map of the newest checkpoint, or of the one being written, calls used.
  func usedPlaces(_ numbers: [UInt64]) -> [UInt64] {
    state.withLock { state in numbers.filter { state.table[$0] == .used } }
  }

  /// Whether a place has a page that only readers of old snapshots see.
  func isLent(_ number: PageNumber) -> Bool { state.withLock { $0.table[number.rawValue] == .lent } }

  /// Checks the invariants; returns what is broken.
  package func checkInvariants() -> String? { state.withLock { $0.defect } }

  /// Whether some place was written ahead by a transaction that has not committed.
  package var hasPlacesAheadOfCommit: Bool { state.withLock { !$0.table.places(.aheadOfCommit).isEmpty } }

  /// Whether these places were given out to the running transaction ahead of its commit.
  func areAheadOfCommit(_ first: PageNumber, count: Int) -> Bool {
    state.withLock { state in Self.places(first, count).allSatisfy { state.table[$0] == .aheadOfCommit } }
  }

  /// Every page number that the map calls free.
  package func freeNumbers() -> [UInt64] {
    state.withLock { state in
      (2..<state.pageCount).filter { state.table[$0] != .used }
    }
  }
}
