// Hooks that change rows while these are being told: what extensions behind them hear, and whether that is true.

import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import QuireViews
import Synchronization
import Testing

/// A value that hooks and tests share.
private final class Shared<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) { self.value = Mutex(value) }

  func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try value.withLock { value in try body(&value) }
  }
}

/// A row of these tests; its metadata are a number.
private struct Note: Codable, Sendable, Equatable {
  var text: String
  var group: Int
}

extension RowCollection where Object == Note, Metadata == Int {
  fileprivate static var notes: Self { .init("notes") }
}

/// What a row holds.
private struct Content: Equatable, Sendable {
  let note: Note
  let number: Int?
}

/// Keeps what it is told, by rows' numbers and by keys, and holds against it what it is told next.
private struct Recorder: DatabaseExtension {
  static let kind = "test.recorder"
  let name = "recorder"
  let isPersistent = false
  let isBuiltFromRows = false
  let collections = CollectionFilter.only(["notes"])
  let state = Shared(State())

  struct State: Sendable {
    var rows: [RowID: Content] = [:]
    var keys: [String: Content] = [:]
    var kinds: [RowChange.Kind] = []
  }

  func makeReader(_ store: ExtensionStore) throws -> Int { 0 }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { Writer(store, state) }

  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    let state: Shared<State>
    let needsWillChange = false

    init(_ store: ExtensionStore, _ state: Shared<State>) {
      self.store = store
      self.state = state
    }

    func willBuild(_ reason: ExtensionBuildReason) throws {}

    func didChange(_ change: RowChange) throws {
      let rowID = try #require(change.rowID)
      state.withLock { $0.kinds.append(change.kind) }
      if change.kind == .remove {
        return state.withLock { state in
          state.rows[rowID] = nil
          state.keys[change.key] = nil
        }
      }
      let object = try change.object(in: .notes)
      let told = Content(note: try #require(object), number: try change.metadata(in: .notes))
      let rows = change.readTransaction[.notes]
      #expect(try rows.get(change.key) == told.note)
      #expect(try rows.metadata(change.key) == told.number)
      #expect(try change.readTransaction.rowID(of: change.rowKey) == rowID)
      state.withLock { state in
        let isNew = state.rows[rowID] == nil
        #expect(isNew == (change.kind == .insert), "\(change.kind) of \(change.key)")
        state.rows[rowID] = told
        state.keys[change.key] = told
      }
    }

    func didClearAll() throws { state.withLock { $0 = State(kinds: $0.kinds) } }
    func makeMark() -> Any? { state.withLock { $0 } }
    func restore(_ mark: Any?) { if let mark = mark as? State { state.withLock { $0 = mark } } }
  }
}

/// A database with hooks before, between and behind extensions that follow its rows.
private struct Nest {
  typealias Action = @Sendable (WriteTransaction, RowChange) throws -> Void

  let db: Database
  let recorder = Recorder()
  let views = [
    AutoView<Note, Int>("texts", over: .notes, group: { "\($0.group)" }, sort: { $0.text < $1.text }),
    AutoView<Note, Int>(
      "numbers", over: [.notes], grouping: .byMetadata { "\($0 ?? -1)" }, sorting: .byObject { $0.text < $1.text }),
  ]
  let indexes = Indexes<Note, Int>("indexes", over: .notes) {
    Index("text", \.text)
    Index("group-text", \.group, \.text)
  }

  /// `actions` are those of the hooks, one registered before the first extension, one before the second, and so on.
  init(_ actions: [Action]) throws {
    db = try Database.inMemory()
    try hook(actions, 0)
    try db.register(views[0])
    try hook(actions, 1)
    try db.register(recorder)
    try db.register(indexes)
    try hook(actions, 2)
    try db.register(views[1])
  }

  private func hook(_ actions: [Action], _ number: Int) throws {
    guard number < actions.count else { return }
    var hooks = Hooks("hooks \(number)", collections: .only(["notes"]))
    hooks.didModify = { tx, change, _ in try actions[number](tx, change) }
    hooks.didRemove = { tx, change in try actions[number](tx, change) }
    try db.register(hooks)
  }

  /// Holds what extensions have against the rows.
  func check() throws {
    for view in views { try db.verify(view) }
    try db.read { tx throws in
      try tx.access(to: indexes).verify()
      let rows = tx[.notes]
      var expected: [String: Content] = [:]
      for key in rows.keys {
        let note = try rows.get(key)
        expected[key] = Content(note: try #require(note), number: try rows.metadata(key))
      }
      for view in views {
        let shown = try tx.view(view)
        #expect(shown.groups.reduce(0) { $0 + shown.count(in: $1) } == expected.count)
      }
      let (byKey, byID) = recorder.state.withLock { ($0.keys, $0.rows) }
      #expect(byKey == expected)
      #expect(byID.count == expected.count)
      for (key, content) in expected {
        let rowID = try tx.rowID(of: RowKey("notes", key))
        #expect(byID[try #require(rowID)] == content)
      }
    }
    try db.checkInvariants()
  }
}

private struct Undone: Error {}

/// What a hook does to the row at hand.
private enum Nested: CaseIterable {
  case store, remove, removeAndStore, replaceMetadata, storeOther, removeOther, clear, clearAndStore, clearAll

  func run(_ tx: WriteTransaction, _ key: String) throws {
    let rows = tx[.notes]
    switch self {
    case .store: try rows.set(Note(text: "nested", group: 9), metadata: 9, for: key)
    case .remove: try rows.remove(key)
    case .removeAndStore:
      try rows.remove(key)
      try rows.set(Note(text: "again", group: 8), for: key)
    case .replaceMetadata: try rows.replaceMetadata(7, for: key)
    case .storeOther: try rows.set(Note(text: "c other", group: 1), for: "other")
    case .removeOther: try rows.remove(["b", "d"])
    case .clear: try rows.removeAll()
    case .clearAndStore:
      try rows.removeAll()
      try rows.set(Note(text: "left", group: 6), for: key)
    case .clearAll: try tx.removeAll()
    }
  }
}

/// What the app does to a row.
private enum Outer: CaseIterable {
  case insert, update, replace, replaceMetadata, remove, removeMany, clear

  func run(_ tx: WriteTransaction) throws {
    let rows = tx[.notes]
    switch self {
    case .insert: try rows.set(Note(text: "new", group: 1), metadata: 1, for: "n")
    case .update: try rows.set(Note(text: "z", group: 1), metadata: 2, for: "c")
    case .replace: try rows.replace(Note(text: "z", group: 1), for: "c")
    case .replaceMetadata: try rows.replaceMetadata(5, for: "c")
    case .remove: try rows.remove("c")
    case .removeMany: try rows.remove(["c", "a"])
    case .clear: try rows.removeAll()
    }
  }
}

@Suite("Rows that hooks change while they are told") struct NestedChangeTests {
  @Test(
    "Extensions behind the hook hear last what is true", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: Outer.allCases, Nested.allCases)
  private func oneChange(outer: Outer, nested: Nested) throws {
    for isUndone in [false, true] {
      // In the short size one of three places for each pair, and there it is undone or not.
      let place = (Outer.allCases.firstIndex(of: outer) ?? 0) + (Nested.allCases.firstIndex(of: nested) ?? 0)
      let places = isUndone == (place % 3 == 1) ? [place % 3] : []
      for place in TestSize.isFull ? Array(0..<3) : places {
        let isDue = Shared(false)
        let act: Nest.Action = { tx, change in
          let isNow = isDue.withLock { isDue in
            defer { isDue = false }
            return isDue
          }
          guard isNow else { return }
          guard isUndone else { return try nested.run(tx, change.key) }
          do {
            try tx.savepoint {
              try nested.run(tx, change.key)
              throw Undone()
            }
          } catch is Undone {}
        }
        let nest = try Nest(Array(repeating: { _, _ in }, count: place) + [act])
        try nest.db.write { tx throws in
          for key in ["a", "b", "c", "d"] { try tx[.notes].set(Note(text: key, group: 1), metadata: 1, for: key) }
        }
        try nest.db.write { tx throws in
          isDue.withLock { $0 = true }
          try outer.run(tx)
        }
        try nest.check()
      }
    }
  }

  @Test("A new row is told as new once, and with what the hook has made of it")
  func insertIsHeardFirst() throws {
    let nest = try Nest([
      { tx, change in
        guard change.kind == .insert else { return }
        try tx[.notes].replaceMetadata(2, for: change.key)
        try tx[.notes].set(Note(text: "second", group: 2), metadata: 3, for: change.key)
      }
    ])
    try nest.db.write { tx throws in try tx[.notes].set(Note(text: "first", group: 1), for: "k") }
    #expect(nest.recorder.state.withLock { $0.kinds } == [.insert, .update])
    try nest.check()
  }

  @Test("A row that a hook stores again while its collection is cleared stays in unique indexes")
  func protectedRows() throws {
    let db = try Database.inMemory()
    var hooks = Hooks("hooks", collections: .only(["notes"]))
    hooks.didRemove = { tx, change in
      if change.key == "k" { try tx[.notes].set(Note(text: "kept", group: 1), for: "k") }
    }
    try db.register(hooks)
    let indexes = Indexes<Note, Int>("indexes", over: .notes) { Index("text", \.text).unique(.immediate) }
    try db.register(indexes)
    try db.write { tx throws in
      for key in ["a", "k", "z"] {
        try tx[.notes].set(Note(text: key == "k" ? "kept" : key, group: 1), for: key)
      }
    }
    try db.write { tx throws in #expect(try tx[.notes].removeAll() == 3) }
    try db.read { tx throws in
      try tx.access(to: indexes).verify()
      #expect(try tx[.notes].find { $0.text == "kept" }.keys == ["k"])
    }
  }

  @Test("Any number of hooks may each change another row")
  func manyHooks() throws {
    let db = try Database.inMemory()
    for number in 0..<Limits.hookDepth + 4 {
      var hooks = Hooks("hooks \(number)", collections: .only(["notes"]))
      hooks.didModify = { tx, change, _ in
        if change.key == "k" { try tx[.notes].set(Note(text: "seen", group: number), for: "by \(number)") }
      }
      try db.register(hooks)
    }
    try db.write { tx throws in try tx[.notes].set(Note(text: "first", group: 0), for: "k") }
    #expect(try db.read { tx in tx[.notes].count } == Limits.hookDepth + 5)
  }

  @Test("Random changes within changes", arguments: seeds(TestSize.trials(4, divisor: 2)))
  func agreesWithRows(seed: UInt64) throws {
    let life = Shared(NestedLife(seed))
    let act: Nest.Action = { tx, change in
      guard let step = life.withLock({ $0.nested(change.key) }) else { return }
      try step.run(tx)
    }
    let nest = try Nest([act, act, act])
    for number in 0..<steps(TestSize.trials(800, divisor: 8)) {
      try nest.db.write { tx throws in
        for _ in 0..<1 + life.withLock({ $0.random.below(3) }) { try life.withLock { $0.outer() }.run(tx) }
      }
      if number % 8 == 0 { try nest.check() }
    }
    try nest.check()
  }
}

/// What a random life does next.
private struct NestedLife: Sendable {
  var random: SeededRandom
  /// How many more changes hooks may make for the app's one.
  private var budget = 0
  private var number = 0

  /// One change.
  struct Step: Sendable {
    let kind: Int
    let key: String
    let note: Note
    let number: Int
    let isUndone: Bool

    func run(_ tx: WriteTransaction) throws {
      guard isUndone else { return try change(tx) }
      do {
        try tx.savepoint {
          try change(tx)
          throw Undone()
        }
      } catch is Undone {}
    }

    private func change(_ tx: WriteTransaction) throws {
      let rows = tx[.notes]
      switch kind {
      case 0...5: try rows.set(note, metadata: number % 3, for: key)
      case 6, 7: try rows.replace(note, for: key)
      case 8, 9: try rows.replaceMetadata(number % 3, for: key)
      case 10, 11: try rows.remove(key)
      case 12:
        try rows.remove(key)
        try rows.set(note, for: key)
      case 13: try rows.remove([key, "k1", "k2"])
      case 14: try rows.touch(key)
      case 15: try rows.update(key) { $0.text += "+" }
      case 16:
        try rows.set(note, metadata: 1, for: key)
        try rows.set(note, metadata: 2, for: key + "'")
      case 17: if number % 4 == 0 { try rows.removeAll() }
      default: if number % 16 == 0 { try tx.removeAll() }
      }
    }
  }

  init(_ seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func outer() -> Step {
    budget = random.below(5)
    return step("k\(random.below(8))")
  }

  mutating func nested(_ key: String) -> Step? {
    guard budget > 0, random.below(2) == 0 else { return nil }
    budget -= 1
    return step(random.below(3) > 0 ? key : "k\(random.below(8))")
  }

  private mutating func step(_ key: String) -> Step {
    number += 1
    let note = Note(text: "\(random.below(20))", group: random.below(2))
    return Step(
      kind: random.below(19), key: String(key.prefix(3)), note: note, number: number, isUndone: random.below(6) == 0)
  }
}
