// The dictionaries of collections in the open database.

internal import QuireStorage
internal import Synchronization

/// What is noted about a collection's dictionaries as of some commit, and the one for new values.
struct NewestDictionary: Sendable {
  var record = DictionaryRecord()
  var dictionary: CompressionDictionary?
}

/// What the writer has noticed about a collection's values. Only the sequence of calls decides what it holds, so that a
/// history that is repeated stores the same bytes.
struct DictionaryAttempts: Sendable {
  /// How many values were long enough for a dictionary since training was last thought of.
  var candidateCount = 0
  /// How many attempts in a row saved nothing worth the time.
  private var failureCount = 0
  /// How many values were stored as they are since the last attempt.
  private var skippedCount = 0

  private static let mostFailures = 16
  private static let skipCount = 15

  /// Whether the next value is to be tried.
  mutating func isNextTried() -> Bool {
    if failureCount < Self.mostFailures || skippedCount == Self.skipCount {
      skippedCount = 0
      return true
    }
    assert(skippedCount < Self.skipCount, "more values were passed by than are")
    skippedCount += 1
    return false
  }

  /// Forgets how attempts went: there is a new dictionary.
  mutating func restart() { failureCount = 0 }

  /// Notes how an attempt went.
  mutating func note(success: Bool) { failureCount = success ? 0 : failureCount + 1 }
}

/// The dictionaries of one collection, as far as anybody has asked for them; shared by all transactions.
///
/// Invariants:
/// 1. `known` holds dictionaries of committed states under their numbers. As no number is given twice, each is that of
///    every snapshot that has the number.
/// 2. `newest` is that of the newest appended commit, or nil if nobody has looked.
final class CollectionDictionaries: Sendable {
  private struct State {
    var known: [UInt32: CompressionDictionary] = [:]
    var newest: NewestDictionary?
    var attempts = DictionaryAttempts()
  }

  private let state = Latch(State())

  /// More than these are asked for by a hostile file only; they are read anew.
  private static let mostKnown = 32

  /// The dictionary of a number, if it is known.
  func known(_ number: UInt32) -> CompressionDictionary? { state.withLock { $0.known[number] } }

  /// Remembers a dictionary of a committed state.
  func remember(_ dictionary: CompressionDictionary) {
    state.withLock { state in
      if state.known.count >= Self.mostKnown { state.known.removeAll() }
      assert(
        state.known[dictionary.number].map { $0.byteCount == dictionary.byteCount } ?? true,
        "a number was given to two dictionaries")
      state.known[dictionary.number] = dictionary
    }
  }

  /// For the writer, at the begin of its use: what it knows so far.
  var outlook: (newest: NewestDictionary?, attempts: DictionaryAttempts) {
    state.withLock { ($0.newest, $0.attempts) }
  }

  /// From the writer, at its end: what it has learnt, be it committed or not. `newest` is that of the commit before.
  func giveBack(_ newest: NewestDictionary, _ attempts: DictionaryAttempts) {
    state.withLock { state in
      state.attempts = attempts
      if state.newest == nil { state.newest = newest }
    }
  }

  /// A commit has changed what is noted.
  func publish(_ newest: NewestDictionary, _ trained: [CompressionDictionary]) {
    for dictionary in trained { remember(dictionary) }
    state.withLock { state in
      assert(
        state.newest.map { $0.record.lastNumber <= newest.record.lastNumber } ?? true,
        "a commit takes numbers of dictionaries back")
      state.newest = newest
    }
  }
}

/// The dictionaries of all collections that were used.
final class DictionaryTable: Sendable {
  private let collections = Latch<[CollectionID: CollectionDictionaries]>([:])

  /// Those of a collection that is in the collection tree.
  func dictionaries(of id: CollectionID) -> CollectionDictionaries {
    collections.withLock { collections in
      if let known = collections[id] { return known }
      let new = CollectionDictionaries()
      collections[id] = new
      return new
    }
  }

  /// A commit has made a collection.
  func add(_ dictionaries: CollectionDictionaries, of id: CollectionID) {
    collections.withLock { $0[id] = dictionaries }
  }

  /// A commit has removed a collection. Snapshots that have it keep what they use.
  func remove(_ id: CollectionID) { collections.withLock { _ = $0.removeValue(forKey: id) } }

  /// Forgets all: somebody else may have made and removed collections.
  func removeAll() { collections.withLock { $0 = [:] } }
}

/// The dictionaries of a collection in one transaction. Costs nothing before one is used.
///
/// Invariant: `trained` is what this transaction has changed, in order; nobody else knows of it before the commit.
struct DictionaryUse {
  /// What is noted as of the commit before, once that was asked for.
  private(set) var committed: NewestDictionary?
  /// What this transaction has noted instead, the last one last.
  private(set) var trained: [NewestDictionary] = []
  var attempts = DictionaryAttempts()
  /// Whether values are tried however many before have not become smaller.
  var triesAll = false
  /// Whether the writer has asked for the newest one.
  private(set) var hasBegunWriting = false
  /// The dictionary that a row was read with last.
  private(set) var last: CompressionDictionary?

  /// What is noted now; nil before `begin`.
  var newest: NewestDictionary? { trained.last ?? committed }

  /// A transaction begins to ask for the newest one: `outlook` is what others know, `newest` what is noted.
  mutating func begin(
    isWriting: Bool, _ outlook: (newest: NewestDictionary?, attempts: DictionaryAttempts), _ newest: NewestDictionary
  ) {
    assert(committed == nil && trained.isEmpty, "a transaction asks for the newest dictionary twice")
    hasBegunWriting = isWriting
    committed = newest
    attempts = outlook.attempts
  }

  /// The transaction has noted something.
  mutating func note(_ new: NewestDictionary) {
    assert(hasBegunWriting, "a transaction that reads has trained a dictionary")
    assert(
      newest.map { $0.record.lastNumber <= new.record.lastNumber } ?? false, "the number of a dictionary is given again"
    )
    trained.append(new)
  }

  /// A savepoint is undone: back to as many as there were at its begin.
  mutating func restore(_ trainedCount: Int) {
    assert(trainedCount <= trained.count, "what was trained before a savepoint is gone")
    trained.removeLast(max(0, trained.count - trainedCount))
  }

  /// A dictionary that this transaction has made itself: in the place of one, perhaps, that a savepoint has undone.
  func own(_ number: UInt32) -> CompressionDictionary? {
    trained.isEmpty ? nil : trained.last { $0.dictionary?.number == number }?.dictionary
  }

  /// A row was read with a dictionary of a committed state.
  mutating func remember(_ dictionary: CompressionDictionary) { last = dictionary }

  /// The writer's transaction is over.
  func end(_ shared: CollectionDictionaries) {
    if let committed { shared.giveBack(committed, attempts) }
  }

  /// What a commit makes known.
  func publication(_ shared: CollectionDictionaries) -> (() -> Void)? {
    guard let newest = trained.last else { return nil }
    let dictionaries = trained.compactMap(\.dictionary)
    return { shared.publish(newest, dictionaries) }
  }
}
