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

  /// Those of `numbers` that the map of the newest checkpoint, or of the one being written, calls used.
  func usedPlaces(_ numbers: [UInt64]) -> [UInt64] {
    state.withLock { state in numbers.filter { !state.mapFree[$0] } }
  }

  /// Every page number that the map calls free.
  package func freeNumbers() -> [UInt64] {
    state.withLock { state in
      (2..<state.pageCount).filter { state.mapFree[$0] }
    }
  }
}
