// Searches that overtake each other, under their original name.

internal import Quire

/// What is to be searched for, while somebody types: the newest search wins. May be used from any thread. New type:
/// `SearchQueue`.
public final class YapDatabaseSearchQueue: Sendable {
  /// What has become of a search.
  private enum Order: Int {
    case goOn
    case stop
    case rollBack
  }

  private struct State {
    var waiting: [(query: String, order: Order)] = []
    /// That of the search at work.
    var running: SearchQueue?
  }

  private let state = Guarded(State())

  /// An empty queue. New call: `SearchQueue.init()`.
  public init() {}

  /// Has a text searched for next, instead of those that wait. New call: `SearchQueue.enqueue(_:)`.
  public func enqueueQuery(_ query: String) { state.withLock { $0.waiting.append((query, .goOn)) } }

  /// What waits, the newest last. New call: `SearchQueue.enqueued`.
  public func enqueuedQueries() -> [String] { state.withLock { $0.waiting.map(\.query) } }

  /// How many wait. New call: `SearchQueue.enqueuedCount`.
  public func enqueuedQueryCount() -> UInt { state.withLock { UInt($0.waiting.count) } }

  /// Gives up everything that was enqueued so far, the search at work as well. New call:
  /// `SearchQueue.abort(rollingBack:)`.
  ///
  /// - Parameter shouldRollback: whether the transaction of such a search is rolled back; if not, it shows what it has
  ///   found by then.
  public func abortSearchInProgressAndRollback(_ shouldRollback: Bool) {
    let order = shouldRollback ? Order.rollBack : .stop
    state.withLock { state in
      for place in state.waiting.indices where state.waiting[place].order.rawValue < order.rawValue {
        state.waiting[place].order = order
      }
      state.running?.abort(rollingBack: shouldRollback)
    }
  }

  /// Runs `body` with the newest search, and forgets the others; does nothing if none waits.
  func searchNewest(_ selection: (String) throws -> TextSelection, _ body: (SearchQueue) throws -> Void) throws {
    let newest = state.withLock { state in
      defer { state.waiting.removeAll() }
      return state.waiting.last
    }
    guard let newest else { return }
    let queue = SearchQueue()
    queue.enqueue(try selection(newest.query))
    if newest.order != .goOn { queue.abort(rollingBack: newest.order == .rollBack) }
    state.withLock { $0.running = queue }
    defer { state.withLock { $0.running = nil } }
    try body(queue)
  }
}

/// What a full text finds, as search views show it.
struct TextSelection: RowSelection {
  let fullText: FamilyText
  let query: String

  var name: String { "search “\(query)”" }
  var spansCollections: Bool { true }
  var storedForm: String? { query }

  func rows(in tx: ReadTransaction) throws -> any SelectedRows {
    FoundTexts(name, try tx.access(to: fullText), try SearchExpression(query, fields: fullText.fieldNames))
  }
}

/// The same in one transaction.
private final class FoundTexts: SelectedRows {
  let description: String
  private let reader: FamilyTextReader
  private let expression: SearchExpression

  init(_ name: String, _ reader: FamilyTextReader, _ expression: SearchExpression) {
    (description, self.reader, self.expression) = (name, reader, expression)
  }

  func cost(upTo limit: Int) throws -> Int? {
    let count = try reader.count(matching: expression)
    return count <= limit ? count : nil
  }

  func rowIDs() throws -> [RowID] { try reader.rowIDs(matching: expression) }

  func filter(_ rowIDs: [RowID]) throws -> [RowID] { try reader.rowIDs(matching: expression, among: rowIDs) }
}
