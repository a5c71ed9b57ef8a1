// A feed of an open database, and what writers remember of it between transactions.

internal import QuireStorage
internal import Synchronization

/// A feed that was named when the database was opened.
///
/// Invariants:
/// 1. `state` is as of the newest commit; it is changed under the writer lock, when a commit can no longer fail.
/// 2. `newest` is the mark of the newest entry, or the base of the record if there is none.
final class OpenFeed: Sendable {
  /// As writers find it.
  struct State {
    var record: FeedRecord
    var newest: FeedMark
    /// When the oldest entry that is kept was written; nil if there is none. If a clock that was ahead has written it,
    /// when entries were looked for last that are too old.
    var oldestTime: Int64?
    /// The forms of values that the tree has.
    var forms: Set<UInt64>
    /// What was known at the entry that was released last; nil if that has expired, or nothing was released.
    var released: FeedMark?

    /// The bytes that are kept.
    var keptBytes: UInt64 { newest.bytes &- record.base.bytes }
  }

  let definition: ChangeFeed
  let tree: Tree
  /// Which life of the feed it is.
  let epoch: UInt64
  private let state: Latch<State>

  init(_ definition: ChangeFeed, _ tree: Tree, _ state: State) {
    self.definition = definition
    self.tree = tree
    epoch = state.record.epoch
    self.state = Latch(state)
  }

  /// As of the newest commit.
  var current: State { state.withLock { $0 } }

  /// A commit has changed the feed. Under the writer lock.
  func apply(_ new: State) {
    state.withLock { state in
      assert(!new.newest.position.isBefore(state.newest.position), "a feed loses its newest entry")
      state = new
    }
  }
}

/// What a transaction has made of a feed.
struct FeedUpdate {
  let feed: OpenFeed
  let state: OpenFeed.State
}
