// Watching one write transaction, from the call to its acknowledgement.

/// When a write transaction was asked for, began, and ended.
final class WriteWatch: @unchecked Sendable {
  // Sendable: safe because the thread that asks, the one that writes, and the one that acknowledges use it one after
  // the other.
  let site: CallSite
  let connection: String?
  let span: TransactionSpan
  private let asked = MonotonicClock.now
  private var begun: UInt64?
  private var bodyEnded: UInt64?
  /// How many changes there are; a cleared collection is one.
  private(set) var changeCount = 0

  init(_ site: CallSite, connection: String?, _ span: TransactionSpan) {
    self.site = site
    self.connection = connection
    self.span = span
  }

  /// The transaction has the writer lock.
  func didBegin() {
    assert(begun == nil, "a transaction begins twice")
    begun = MonotonicClock.now
  }

  /// Its closure has returned, and nothing can fail any more but the disk.
  func bodyDidEnd(changes: Int) {
    assert(begun != nil && bodyEnded == nil, "a transaction's closure ends twice, or before it begins")
    bodyEnded = MonotonicClock.now
    changeCount = changes
  }

  /// How long all its parts took, now that it is over, in nanoseconds.
  var times: Times {
    let now = MonotonicClock.now
    let began = begun ?? now
    let ended = bodyEnded ?? now
    assert(asked <= began && began <= ended && ended <= now, "a part of a transaction ends before it begins")
    return Times(total: now - asked, waiting: began - asked, body: ended - began, commit: now - ended)
  }

  /// The parts of a write transaction's time, in nanoseconds.
  struct Times: Sendable {
    /// From the call to the acknowledgement.
    let total: UInt64
    /// Until it was its turn: for other writers, for the thread that writes for async callers, and for memory.
    let waiting: UInt64
    /// While it kept other writers out, in its closure and the hooks of extensions.
    let body: UInt64
    /// Until the commit was acknowledged: for the disk.
    let commit: UInt64
  }
}
