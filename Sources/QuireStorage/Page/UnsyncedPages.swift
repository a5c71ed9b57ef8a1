// What has been written to the file and not been synced.

internal import Synchronization

/// Which pages have been written since the last sync of the file.
final class UnsyncedPages: Sendable {
  /// Those of values, which stay in memory until the sync.
  private let kept = Latch<[PageNumber]>([])
  /// Those of trees, in memory or not: since the last sync began, and those that no sync has vouched for until then.
  private let tree = Latch((since: PageBits(), before: PageBits()))

  /// Notes values that were written; `end` hands them back.
  func keep(_ numbers: some Sequence<PageNumber>) { kept.withLock { $0.append(contentsOf: numbers) } }

  /// Notes a page of a tree that was written.
  func note(_ number: PageNumber) { tree.withLock { $0.since[number.rawValue] = true } }

  /// Whether a page of a tree was written, and no sync has vouched for it.
  func contains(_ number: PageNumber) -> Bool {
    tree.withLock { $0.since[number.rawValue] || $0.before[number.rawValue] }
  }

  /// Runs `sync`, one at a time; returns the pages that were kept in memory for it. Pages of trees count as not synced
  /// until the sync has vouched for them: a reader may find before that they are lost.
  func end(_ sync: () throws(StorageError) -> Void) throws(StorageError) -> [PageNumber] {
    let numbers = kept.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
    tree.withLock { tree in
      tree.before.formUnion(tree.since)
      tree.since = PageBits()
    }
    try sync()
    tree.withLock { $0.before = PageBits() }
    return numbers
  }
}
