// What has been written to the file and not been synced.

internal import Synchronization

/// Which pages have been written since the last sync of the file.
final class UnsyncedPages: Sendable {
  /// Those that stay in memory until the sync.
  private let kept = Latch<[PageNumber]>([])
  /// Those that were written ahead of a checkpoint, in memory or not: since the last sync began, and those that no sync
  /// has vouched for until then.
  private let ahead = Latch((since: PageBits(), before: PageBits()))

  func keep(_ numbers: some Sequence<PageNumber>) { kept.withLock { $0.append(contentsOf: numbers) } }

  func noteAhead(_ number: PageNumber) { ahead.withLock { $0.since[number.rawValue] = true } }

  func isAhead(_ number: PageNumber) -> Bool { ahead.withLock { $0.since[number.rawValue] || $0.before[number.rawValue] } }

  /// Runs `sync`, one at a time; returns the pages that were kept in memory for it. What was written ahead counts as
  /// such until the sync has vouched for it: a reader may find before that it is lost.
  func end(_ sync: () throws(StorageError) -> Void) throws(StorageError) -> [PageNumber] {
    let numbers = kept.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
    ahead.withLock { ahead in
      ahead.before.formUnion(ahead.since)
      ahead.since = PageBits()
    }
    try sync()
    ahead.withLock { $0.before = PageBits() }
    return numbers
  }
}
