// Many places at once: for long values that are moved, and what a batch has replaced.

internal import Synchronization

extension PageAllocator {
  /// Gives out `count` free places in a row, all of them below `limit`, for the running transaction, as `allocateAhead`
  /// does; nil if there are none. Linear in the size of the map.
  package func allocateAhead(_ count: Int, below limit: UInt64) -> PageNumber? {
    state.withLock { state in
      let found = state.table.firstUsableRun(of: count, from: 2)
      guard let first = found, first + UInt64(count) <= limit else { return nil }
      for number in first..<(first + UInt64(count)) {
        enterAheadOfCommit(&state, number)
      }
      publish(state)
      return PageNumber(first)
    }
  }

  /// The same behind the last page of the file, which gets longer.
  package func allocateAtEnd(_ count: Int) -> PageNumber {
    assert(count > 0, "no places are given out")
    return state.withLock { state in
      let first = state.pageCount
      for number in first..<(first + UInt64(count)) {
        touch(&state, number)
        enterAheadOfCommit(&state, number)
      }
      state.pageCount = first + UInt64(count)
      publish(state)
      return PageNumber(first)
    }
  }

  /// Notes that no reader needs these superseded places.
  func release(_ numbers: [PageNumber]) {
    state.withLock { state in
      for number in numbers { state.release(number.rawValue) }
      publish(state)
    }
  }

  /// How many places in the file nobody needs, neither a checkpoint nor a reader: what pages can be moved to.
  package var usableCount: Int { state.withLock { $0.table.usableCount } }

  /// How many places hold what has been replaced, and are kept for readers of older snapshots or the next checkpoint.
  package var heldCount: Int { state.withLock { $0.heldCount } }
}
