// The engine of an open database, which is another one after each resumption.

internal import QuireStorage

/// The engine, and what waits for transactions on it.
///
/// Invariant: once it is closed, `engine` stays the same.
struct CurrentEngine {
  private(set) var engine: StorageEngine
  var scratch: [TransactionScratch] = []
  /// Whether nobody is let in but the thread that has the turn of the suspension: what is known of the file is being
  /// renewed.
  var isGated = false
  /// Whether the database was closed.
  private var isClosed = false

  init(engine: StorageEngine) { self.engine = engine }

  /// Puts another engine in the place of one that is suspended, for the thread that has the turn alone. Returns what
  /// has waited for transactions on that; nil if the database was closed meanwhile, and then nothing is done.
  mutating func replace(with next: StorageEngine) -> [TransactionScratch]? {
    if isClosed { return nil }
    assert(!engine.core.isOpen, "an engine is replaced that is in use")
    let idle = scratch
    (engine, scratch, isGated) = (next, [], true)
    return idle
  }

  /// The database has been closed with `last`. Returns false if that has got a successor, which is to be closed, too.
  mutating func close(with last: StorageEngine) -> Bool {
    guard engine.core === last.core else { return false }
    isClosed = true
    return true
  }
}
