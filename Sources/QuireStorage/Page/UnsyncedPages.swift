// What has been written to the file and not been synced.

internal import Synchronization

/// Which pages have been written since the last sync of the file.
final class UnsyncedPages: Sendable {
  /// Those that stay in memory until the sync.
  private let kept = Latch<[PageNumber]>([])
  /// Those that were written ahead of a checkpoint, in memory or not.
  private let ahead = Latch(PageBits())

  func keep(_ numbers: some Sequence<PageNumber>) { kept.withLock { $0.append(contentsOf: numbers) } }

  func noteAhead(_ number: PageNumber) { ahead.withLock { $0[number.rawValue] = true } }

  func isAhead(_ number: PageNumber) -> Bool { ahead.withLock { $0[number.rawValue] } }

  /// Runs `sync`; returns the pages that were kept in memory for it. A sync that fails vouches for nothing: what was
  /// written ahead goes on to count as such.
  func end(_ sync: () throws(StorageError) -> Void) throws(StorageError) -> [PageNumber] {
    let numbers = kept.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
    let before = ahead.withLock { ahead in
      defer { ahead = [] }
      return ahead
    }
    do throws(StorageError) { try sync() } catch {
      ahead.withLock { $0.formUnion(before) }
      throw error
    }
    return numbers
  }
}
