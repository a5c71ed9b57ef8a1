// Databases that share rows by way of a hub: what goes over, what is refused, and who decides.

#if Postgres
  import Foundation
  import QuireDatabase
  import QuireTesting
  import Synchronization
  import Testing

  @testable import QuirePostgres

  /// A note that members write.
  struct Note: Codable, Hashable, Sendable {
    var text: String
    var marks: [String] = []
  }

  extension RowCollection where Object == Note, Metadata == NoMetadata {
    static var notes: Self { .init("notes") }
  }

  /// A database in memory that takes part in a hub.
  struct Member {
    let db: Database
    let hub: PostgresHub

    init(_ name: String, _ server: FakeHub, rule: @escaping HubRule = { _ in .theirs }) throws {
      db = try Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
      hub = try PostgresHub(db, over: ["notes"], as: name, server: server.connection(), rule: rule)
    }

    func set(_ text: String, _ key: String = "n") throws {
      try db.write { tx in try tx[.notes].set(Note(text: text), for: key) }
    }
    func text(_ key: String = "n") throws -> String? { try db.read { tx in try tx[.notes].get(key)?.text } }
    var texts: [String: String] {
      get throws { try db.read { tx in Dictionary(uniqueKeysWithValues: tx[.notes].map { ($0.key, $0.object.text) }) } }
    }
  }

  @Suite struct HubTests {
    let server = FakeHub()

    @Test("Rows, changes and removals of one member come to the others, once, and none comes back")
    func sharing() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      for number in 0..<2500 { try a.set("text \(number)", "n\(number)") }
      #expect(try a.hub.synchronize().pushed == 2500)
      #expect(try b.hub.synchronize() == HubProgress(applied: 2500))
      #expect(try a.texts == b.texts)
      try b.set("other", "n7")
      try b.db.write { tx in try tx[.notes].remove("n8") }
      #expect(try b.hub.synchronize() == HubProgress(pushed: 2))
      #expect(try a.hub.synchronize() == HubProgress(applied: 2))
      #expect(try a.text("n7") == "other" && a.text("n8") == nil)
      #expect(try a.hub.synchronize() == HubProgress() && b.hub.synchronize() == HubProgress())
      #expect(server.state.withLock { $0.takenCount } == 2502)
    }

    @Test("A row that was removed and stored again goes over as a new version")
    func again() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      for text in ["first", nil, "second"] {
        try a.db.write { tx throws in
          if let text { try tx[.notes].set(Note(text: text), for: "n") } else { try tx[.notes].remove("n") }
        }
        try a.hub.synchronize()
        try b.hub.synchronize()
        #expect(try b.text() == text)
      }
    }

    @Test("Emptied collections are empty for all")
    func cleared() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      for number in 0..<50 { try a.set("\(number)", "n\(number)") }
      try a.hub.synchronize()
      try b.hub.synchronize()
      try b.db.write { tx throws in
        try tx[.notes].removeAll()
        try tx[.notes].set(Note(text: "left"), for: "n3")
      }
      try b.hub.synchronize()
      try a.hub.synchronize()
      #expect(try a.texts == ["n3": "left"])
    }

    @Test("A row that two have changed is told with base, mine and theirs, and becomes what the rule says")
    func conflict() throws {
      let told = Recorded<HubConflict>()
      for (resolution, expected) in [
        (HubResolution.theirs, "of a"), (.mine, "of b"), (.row(nil), nil),
        (.row(HubRow(object: StoredHalf(.value(["text": "both", "marks": []])))), "both"),
      ] {
        let server = FakeHub()
        let a = try Member("a", server)
        let b = try Member("b", server) { conflict in
          told.add(conflict)
          return resolution
        }
        try a.set("base")
        try a.hub.synchronize()
        try b.hub.synchronize()
        try a.set("of a")
        try b.set("of b")
        try a.hub.synchronize()
        #expect(try b.hub.synchronize().resolved == 1)
        try a.hub.synchronize()
        #expect(try a.text() == expected && b.text() == expected)
        let conflict = try #require(told.last)
        #expect([conflict.base, conflict.mine, conflict.theirs].map { Self.text($0) } == ["base", "of b", "of a"])
        #expect(conflict.origin == "a" && conflict.version == 2)
      }
    }

    static func text(_ row: HubRow?) -> String? {
      guard case .record(let fields)? = row?.object.value, case .text(let text)? = fields.first?.value else {
        return nil
      }
      return text
    }

    @Test("An undecided row stays, is listed, holds up nothing, and goes on when somebody decides")
    func undecided() throws {
      let a = try Member("a", server)
      let b = try Member("b", server) { _ in .undecided }
      try a.set("of a")
      try b.set("of b")
      try b.set("else", "m")
      try a.hub.synchronize()
      let progress = try b.hub.synchronize()
      #expect(progress.undecided == 1 && progress.pushed == 1)
      #expect(try b.text() == "of b")
      let conflict = try #require(try b.hub.conflicts().first)
      #expect(conflict.base == nil && Self.text(conflict.theirs) == "of a" && conflict.reason == nil)
      try b.set("of b, later")
      #expect(try b.hub.synchronize().pushed == 0)
      #expect(try b.hub.resolve(conflict, as: .mine))
      #expect(try !b.hub.resolve(conflict, as: .mine))
      #expect(try b.hub.conflicts().isEmpty && b.hub.synchronize().pushed == 1)
      try a.hub.synchronize()
      #expect(try a.text() == "of b, later" && a.text("m") == "else")
    }

    @Test("A rule that throws leaves the row undecided, with its error")
    func throwingRule() throws {
      struct Refusal: Error {}
      let a = try Member("a", server)
      let b = try Member("b", server) { _ in throw Refusal() }
      try a.set("of a")
      try b.set("of b")
      try a.hub.synchronize()
      try b.hub.synchronize()
      #expect(try b.hub.conflicts().first?.reason?.contains("Refusal") == true)
    }

    @Test("A row of another coder stays in the hub, and is told of with the reason")
    func unstorable() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      try a.db.write { tx throws in
        try tx[RowCollection<Note, NoMetadata>("notes", coder: .json)].set(Note(text: "j"), for: "j")
      }
      try b.set("binary", "k")
      try a.hub.synchronize()
      #expect(try b.hub.synchronize().undecided == 1)
      #expect(try b.hub.conflicts().first?.reason?.contains("collectionMismatch") == true)
      #expect(try b.texts == ["k": "binary"])
    }

    @Test("A copy of the file that goes on under the same name is refused, and the first one is not")
    func copies() throws {
      let a = try Member("a", server)
      try a.set("one")
      try a.hub.synchronize()
      let other = try Member("a", server)
      try other.set("two")
      #expect(throws: HubError.self) { try other.hub.synchronize() }
      try a.set("three")
      #expect(try a.hub.synchronize().pushed == 1)
      #expect(server.state.withLock { $0.rows[RowKey("notes", "n")]?.version } == 2)
    }

    @Test("A text that is written in another way, and looks the same, goes over as a change, and keys are told apart")
    func lookAlikes() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      let (short, long) = ("caf\u{e9}", "cafe\u{301}")
      try a.set(short, "x")
      try a.set("one", short)
      try a.set("two", long)
      #expect(try a.hub.synchronize().pushed == 3)
      #expect(try b.hub.synchronize().applied == 3)
      try a.set(long, "x")
      #expect(try a.hub.synchronize() == HubProgress(pushed: 1))
      #expect(try b.hub.synchronize() == HubProgress(applied: 1))
      #expect(try b.text("x").map { Array($0.utf8) } == Array(long.utf8))
      #expect(try b.text(short) == "one" && b.text(long) == "two")
      // The hub loses one of the two.
      let old = server.state.withLock { $0 }
      try a.set("three", "y")
      try a.hub.synchronize()
      server.state.withLock { state in
        state = old
        state.rows[RowKey("notes", long)] = nil
        state.ends = state.ends.dropLast()
      }
      #expect(try a.hub.synchronize().wasCompared)
      #expect(server.state.withLock { $0.rows[RowKey("notes", long)] != nil && $0.rows[RowKey("notes", "y")] != nil })
    }

    @Test("An undecided row in a collection that is emptied holds up nothing", .timeLimit(.minutes(1)))
    func emptiedWithConflicts() throws {
      let (a, b) = (try Member("a", server), try Member("b", server) { _ in .undecided })
      for key in ["x", "y"] { try a.set("one", key) }
      try a.hub.synchronize()
      try b.hub.synchronize()
      try a.set("of a", "x")
      try b.set("of b", "x")
      try a.hub.synchronize()
      #expect(try b.hub.synchronize().undecided == 1)
      try b.db.write { tx in try tx[.notes].removeAll() }
      #expect(try b.hub.synchronize() == HubProgress(pushed: 1))
      #expect(try b.hub.synchronize() == HubProgress())
      let conflict = try #require(try b.hub.conflicts().first)
      #expect(conflict.key == "x" && conflict.mine == nil)
      #expect(try b.hub.resolve(conflict, as: .mine) && b.hub.synchronize().pushed == 1)
      try a.hub.synchronize()
      #expect(try a.texts.isEmpty)
    }

    @Test("A row of the hub that cannot be read is listed with the reason, and none of the others is held up")
    func unreadable() throws {
      let (a, b) = (try Member("a", server), try Member("b", server) { _ in .undecided })
      for key in ["x", "y"] { try a.set("of a", key) }
      try b.set("of b", "y")
      try a.hub.synchronize()
      server.state.withLock { $0.rows[RowKey("notes", "x")]?.row = "no row" }
      #expect(try b.hub.synchronize().undecided == 2)
      let conflicts = try b.hub.conflicts()
      #expect(conflicts.map(\.key) == ["x", "y"] && conflicts[0].theirs == nil && conflicts[1].theirs != nil)
      #expect(conflicts[0].reason?.contains("no row") == true)
      try b.set("kept", "x")
      #expect(try b.hub.resolve(conflicts[0], as: .theirs))
      #expect(try b.text("x") == "kept" && b.hub.conflicts().count == 2)
      #expect(try b.hub.resolve(conflicts[1], as: .theirs))
      #expect(try b.text("y") == "of a" && b.hub.conflicts().count == 1)
    }

    @Test("Long rows go over a few at a time, in both directions")
    func longRows() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      let text = String(repeating: "x", count: 1 << 20)
      for number in 0..<14 { try a.set("\(number) \(text)", "n\(number)") }
      #expect(try a.hub.synchronize() == HubProgress(pushed: 14))
      let ends = server.state.withLock { $0.ends.map(\.sequence) }
      #expect(ends == [4, 8, 12, 14])
      #expect(try b.hub.synchronize() == HubProgress(applied: 14))
      #expect(try a.texts == b.texts && a.hub.synchronize() == HubProgress())
      var pace = HubPace()
      let change = HubChange(
        place: HubPlace(), collection: "notes", key: "", version: 1, origin: "a", row: text, marks: [])
      for _ in 0..<9 { pace.note(HubChanges(end: HubPlace())) }
      #expect(pace.limit == PostgresHub.batchCount)
      for _ in 0..<9 { pace.note(HubChanges(changes: Array(repeating: change, count: 5), end: HubPlace())) }
      #expect(pace.limit == 1)
    }

    @Test("A database that was emptied as a whole joins anew, loses nothing, and pushes again")
    func emptied() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      for key in ["x", "y", "z"] { try a.set("one", key) }
      try a.hub.synchronize()
      try b.hub.synchronize()
      try a.db.write { tx in try tx.removeAll() }
      try a.set("mine", "y")
      try a.set("new", "v")
      try b.set("two", "z")
      try b.hub.synchronize()
      // The rule decides about what differs: here it takes what the hub has.
      let joined = try a.hub.synchronize()
      #expect(joined.wasCompared && joined.applied == 2 && joined.resolved == 1 && joined.pushed == 1)
      try b.hub.synchronize()
      #expect(try a.texts == ["x": "one", "y": "one", "z": "two", "v": "new"] && a.texts == b.texts)
      try a.set("later", "x")
      #expect(try a.hub.synchronize() == HubProgress(pushed: 1))
      #expect(try b.hub.synchronize() == HubProgress(applied: 1))
    }

    @Test("A row that no database can hold is passed over, is counted, and holds up nothing")
    func unusable() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      try a.set("one", "x")
      try a.hub.synchronize()
      let long = RowKey("notes", String(repeating: "k", count: Limits.rowKeyByteCount + 1))
      server.state.withLock { state in
        state.rows[long] = state.rows[RowKey("notes", "x")]
        state.rows[long]?.sequence += 1
        state.sequence += 1
        state.ends.append(HubPlace(sequence: state.sequence, mark: 5))
      }
      try a.set("two", "y")
      #expect(try a.hub.synchronize() == HubProgress(pushed: 1, unusable: 1))
      #expect(try b.hub.synchronize() == HubProgress(applied: 2, unusable: 1))
      #expect(try a.texts == ["x": "one", "y": "two"] && a.texts == b.texts)
      #expect(try b.hub.synchronize() == HubProgress())
    }

    @Test("A collection whose name leaves no room for what is kept of it is refused")
    func longNames() throws {
      let db = try Database.inMemory()
      let connection = server.connection()
      for (length, isGood) in [(1005, true), (1006, false)] {
        let name = String(repeating: "n", count: length)
        let code: HubError.Code?
        do throws(HubError) {
          _ = try PostgresHub(db, over: [name], as: "a", server: connection) { _ in .theirs }
          code = nil
        } catch { code = error.code }
        #expect(code == (isGood ? nil : .invalidOption), "\(length)")
      }
    }

    @Test("A hub that was put back to an older state gets again what it has lost")
    func putBack() throws {
      let (a, b) = (try Member("a", server), try Member("b", server))
      try a.set("one", "x")
      try a.hub.synchronize()
      try b.hub.synchronize()
      let old = server.state.withLock { $0 }
      try a.set("two", "x")
      try a.set("new", "y")
      try a.hub.synchronize()
      try b.set("of b", "z")
      try b.hub.synchronize()
      server.state.withLock { $0 = old }
      #expect(try a.hub.synchronize().wasCompared)
      #expect(try b.hub.synchronize().wasCompared)
      try a.hub.synchronize()
      #expect(try a.texts == ["x": "two", "y": "new", "z": "of b"] && a.texts == b.texts)
    }
  }

  /// Values that closures have seen.
  final class Recorded<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var last: Value? { values.withLock { $0.last } }
  }
#endif
