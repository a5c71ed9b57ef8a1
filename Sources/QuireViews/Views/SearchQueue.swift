// Searches that overtake each other.

public import QuireDatabase
internal import Synchronization

/// What is to be searched for, while somebody types: the newest search wins, and one at work can be given up.
///
/// ```swift
/// queue.abort(rollingBack: false)  // what is searched for at the moment is out of date
/// queue.enqueue(RowCollection.songs.query { $0.title.hasPrefix(typed) })
/// try await db.write { tx in try tx.access(to: found).search(from: queue) }
/// ```
///
/// May be used from any thread. `SearchViewWriter.search(from:)` takes the newest one and forgets the others.
public final class SearchQueue: Sendable {
  /// Invariants:
  /// 1. The numbers of those that wait ascend, and none is above `lastNumber`.
  /// 2. `rolledBackThrough <= abortedThrough <= lastNumber`.
  private struct State {
    var waiting: [(number: Int, selection: any RowSelection)] = []
    var lastNumber = 0
    /// Those up to this number are given up.
    var abortedThrough = 0
    /// Those up to this number take their transactions with them.
    var rolledBackThrough = 0
  }

  private let state = Mutex(State())

  /// An empty queue.
  public init() {}

  /// Has a selection searched for next, instead of those that wait.
  public func enqueue(_ selection: some RowSelection) {
    state.withLock { state in
      state.lastNumber += 1
      assert(state.lastNumber > state.abortedThrough, "a search is given up before it is enqueued")
      state.waiting.append((state.lastNumber, selection))
    }
  }

  /// What waits, the newest last.
  public var enqueued: [any RowSelection] { state.withLock { $0.waiting.map(\.selection) } }

  /// How many wait.
  public var enqueuedCount: Int { state.withLock { $0.waiting.count } }

  /// Gives up everything that was enqueued so far: what waits, and the search at work, which ends within some thousand
  /// rows.
  ///
  /// - Parameter rollingBack: whether the transaction of such a search is rolled back, with `rolledBack`. If not, a
  ///   search at work shows the rows that it has found by then, and one that has not begun changes nothing.
  public func abort(rollingBack: Bool) {
    state.withLock { state in
      state.abortedThrough = state.lastNumber
      if rollingBack { state.rolledBackThrough = state.lastNumber }
      assert(state.rolledBackThrough <= state.abortedThrough, "a search is rolled back that is not given up")
    }
  }

  /// Takes the newest, and forgets the others.
  func takeNewest() -> (number: Int, selection: any RowSelection)? {
    state.withLock { state in
      assert(zip(state.waiting, state.waiting.dropFirst()).allSatisfy { $0.number < $1.number }, "searches lost order")
      defer { state.waiting.removeAll() }
      return state.waiting.last
    }
  }

  /// What has become of a search.
  enum Order { case goOn, stop, rollBack }

  /// Whether a search is to go on.
  func order(for number: Int) -> Order {
    state.withLock { state in
      if number <= state.rolledBackThrough { return .rollBack }
      return number <= state.abortedThrough ? .stop : .goOn
    }
  }
}

/// Counts the rows of a search, and asks now and then whether it is to go on.
///
/// Invariant: once it has stopped it stays so, and nobody is asked again.
struct SearchWatch {
  /// So many rows are looked at in between.
  static let interval = 4_096

  private let store: ExtensionStore
  private let place: (queue: SearchQueue, number: Int)?
  private var isWatching = true
  private var count = 0
  /// Whether the search was given up, and shows what it has found.
  private(set) var isStopped = false

  init(_ store: ExtensionStore, _ place: (queue: SearchQueue, number: Int)? = nil) {
    (self.store, self.place) = (store, place)
  }

  /// A search that nobody gives up: a part of a commit.
  static func unwatched(_ store: ExtensionStore) -> Self {
    var watch = Self(store)
    watch.isWatching = false
    return watch
  }

  /// Counts a row. Returns whether to go on.
  ///
  /// - Throws: `CancellationError`; `rolledBack`, which the transaction's end throws as well.
  mutating func step() throws -> Bool {
    count += 1
    if isWatching, count % Self.interval == 0 { try look() }
    return !isStopped || !isWatching
  }

  /// What a search that was given up has found is shown whatever comes: nobody is asked any more.
  mutating func keepWhatIsFound() {
    assert(isStopped, "a search is cut off that nobody gave up")
    isWatching = false
  }

  /// Asks at once.
  mutating func look() throws {
    try store.checkCancellation()
    guard let place, !isStopped else { return }
    switch place.queue.order(for: place.number) {
    case .goOn: break
    case .stop: isStopped = true
    case .rollBack:
      do { try store.writeTransaction?.rollback() } catch {
        // The app may go on after the error, and the transaction is not to commit then.
        store.noting(()) { throw error }
        throw error
      }
    }
  }
}
