// How far a recovery has come, told to who opens the database.

/// Tells the closure of who opens a database how much of its log has been replayed, and keeps what that throws: the
/// opening ends with it, and the files are left as they were.
///
/// For the thread that opens. Invariant: what it tells never falls, also if the replay is begun anew.
package final class RecoveryProgress {
  private let handler: (StorageProgress) throws -> Void
  private var total = 0
  private var read = 0
  private var told = 0
  private var nextTelling = 0
  /// What the closure has thrown, or the cancellation of the task that opens.
  package private(set) var failure: (any Error)?

  /// Of an opening that has not begun.
  package init(_ handler: @escaping (StorageProgress) throws -> Void) { self.handler = handler }

  /// A replay begins.
  ///
  /// - Throws: an error that stands for `failure`; so do all of these.
  func begin(logByteCount: Int) throws(StorageError) {
    (total, read, nextTelling) = (logByteCount, 0, 0)
    try tell(0)
  }

  /// Operations were read from the log.
  ///
  /// - Parameter areApplied: whether they, and all before them, are in the trees.
  func didRead(byteCount: Int, areApplied: Bool) throws(StorageError) {
    read += byteCount
    assert(read <= total, "more is replayed than there is")
    guard read >= nextTelling else { return }
    nextTelling = read + max(Self.leastByteCount, total / 100)
    // Reading a byte of the log takes about as long as applying it.
    try tell(areApplied ? read : read / 2)
  }

  /// All of the log is in the trees.
  func didReplay() throws(StorageError) { try tell(total) }

  /// How much of the log is read between two tellings, at the least.
  private static let leastByteCount = 64 << 10

  private func tell(_ done: Int) throws(StorageError) {
    told = max(told, done)
    do { try StorageProgress(phase: .recovering, done: told, total: total).report(to: handler) } catch {
      failure = error
      throw StorageError(.transactionFailed, "The opening was stopped by who asked for it.")
    }
  }
}
