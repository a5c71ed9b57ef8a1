// What becomes of decisions, and of what is shared, when the hub has lost a part of what members know.

#if Postgres
  import Foundation
  import QuireDatabase
  import QuireTesting
  import Synchronization
  import Testing

  @testable import QuirePostgres

  @Suite struct HubLossTests {
    /// What is decided about a row, and what everybody has then.
    enum Decision: CaseIterable {
      case mine, theirs, sameAsTheirs, none, other

      func resolution(_ conflict: HubConflict) -> HubResolution {
        switch self {
        case .mine: .mine
        case .theirs: .theirs
        case .sameAsTheirs: .row(conflict.theirs)
        case .none: .row(nil)
        case .other: .row(HubRow(object: StoredHalf(.value(["text": "both", "marks": []]))))
        }
      }

      var text: String? {
        switch self {
        case .mine: "of b"
        case .theirs, .sameAsTheirs: "of a"
        case .none: nil
        case .other: "both"
        }
      }
    }

    /// How much the hub has lost of a row with the versions 1 and 2, about the second of which somebody is to decide.
    enum Loss: CaseIterable {
      case nothing, lastVersion, lastTwoVersions, row, everything
    }

    /// `b` has left a row undecided, which `a` has changed and `b` as well. Then the hub is put back to an older state,
    /// `a` never comes back, and `b` decides.
    @Test(
      "What is decided about a row comes to all others, whatever the hub has lost of it meanwhile",
      arguments: Decision.allCases, Loss.allCases)
    func decisions(_ decision: Decision, _ loss: Loss) throws {
      let server = FakeHub()
      let (a, b) = (try Member("a", server), try Member("b", server) { _ in .undecided })
      try a.set("first", "m")
      try a.hub.synchronize()
      try b.hub.synchronize()
      let without = server.state.withLock { $0 }
      try a.set("base")
      try a.hub.synchronize()
      if loss != .row { try b.hub.synchronize() }
      let withBase = server.state.withLock { $0 }
      try a.set("between")
      try a.hub.synchronize()
      let between = server.state.withLock { $0 }
      try a.set("of a")
      try b.set("of b")
      try a.hub.synchronize()
      #expect(try b.hub.synchronize().undecided == 1)
      let conflict = try #require(try b.hub.conflicts().first)
      switch loss {
      case .nothing: break
      case .lastVersion: server.state.withLock { $0 = between }
      case .lastTwoVersions: server.state.withLock { $0 = withBase }
      case .row: server.state.withLock { $0 = without }
      case .everything: server.state.withLock { $0 = FakeHub.State() }
      }
      if loss != .nothing { #expect(try b.hub.synchronize().wasCompared) }
      #expect(try b.text() == "of b")
      #expect(try b.hub.conflicts().map(\.key) == ["n"], "nobody has decided")
      #expect(try b.hub.conflicts().first?.theirs == conflict.theirs)
      #expect(try b.hub.resolve(conflict, as: decision.resolution(conflict)))
      try b.hub.synchronize()
      #expect(try b.hub.synchronize() == HubProgress())
      let c = try Member("c", server)
      try c.hub.synchronize()
      #expect(try b.text() == decision.text)
      #expect(try c.text() == decision.text && c.text("m") == "first")
    }

    /// As above, but both are there again before somebody decides.
    @Test("Whoever wrote a version that the hub has lost pushes it again, and the decision is about that one")
    func writerComesBack() throws {
      let server = FakeHub()
      let (a, b) = (try Member("a", server), try Member("b", server) { _ in .undecided })
      try a.set("base")
      try a.hub.synchronize()
      try b.hub.synchronize()
      let old = server.state.withLock { $0 }
      try a.set("of a")
      try b.set("of b")
      try a.hub.synchronize()
      try b.hub.synchronize()
      server.state.withLock { $0 = old }
      try b.hub.synchronize()
      #expect(try a.hub.synchronize().pushed == 1)
      try b.hub.synchronize()
      let conflict = try #require(try b.hub.conflicts().first)
      #expect(HubTests.text(conflict.theirs) == "of a" && HubTests.text(conflict.base) == "base")
      #expect(try b.hub.resolve(conflict, as: .theirs) && b.hub.synchronize() == HubProgress())
      #expect(try b.text() == "of a" && a.text() == "of a")
      try b.set("later")
      #expect(try b.hub.synchronize().pushed == 1 && a.hub.synchronize().applied == 1)
    }

    /// The hub was put back, and somebody else has stored a row of his own under the key.
    @Test("A row that is undecided is not replaced by what comes after the other version", arguments: [false, true])
    func goesOn(isRemoved: Bool) throws {
      let server = FakeHub()
      let (a, b) = (try Member("a", server), try Member("b", server) { _ in .undecided })
      let old = server.state.withLock { $0 }
      try b.set("of b")
      try b.hub.synchronize()
      if isRemoved {
        try b.db.write { tx in try tx[.notes].remove("n") }
        try b.hub.synchronize()
      }
      server.state.withLock { $0 = old }
      try a.set("of a")
      try a.hub.synchronize()
      #expect(try b.hub.synchronize().undecided == 1)
      #expect(try b.hub.conflicts().map(\.base) == [nil])
      try a.set("of a, later")
      try a.hub.synchronize()
      #expect(try b.hub.synchronize() == HubProgress(undecided: 1))
      #expect(try b.text() == (isRemoved ? nil : "of b"))
      let conflict = try #require(try b.hub.conflicts().first)
      #expect(HubTests.text(conflict.theirs) == "of a, later" && conflict.base == nil)
      #expect(try b.hub.resolve(conflict, as: .mine) && b.hub.synchronize().pushed == 1)
      #expect(try a.hub.synchronize().applied == 1 && a.text() == (isRemoved ? nil : "of b"))
    }

    @Test("A row that somebody sets back in the hub by hand is told of by the next change of it")
    func setBackByHand() throws {
      let server = FakeHub()
      let told = Recorded<HubConflict>()
      let a = try Member("a", server) { conflict in
        told.add(conflict)
        return .theirs
      }
      try a.set("one")
      try a.hub.synchronize()
      let old = server.state.withLock { $0.rows[RowKey("notes", "n")] }
      for text in ["two", "three"] {
        try a.set(text)
        try a.hub.synchronize()
      }
      server.state.withLock { $0.rows[RowKey("notes", "n")] = old }
      let c = try Member("c", server)
      try c.hub.synchronize()
      try c.set("of c")
      try c.hub.synchronize()
      // Its version is no greater than that which `a` has.
      try a.hub.synchronize()
      #expect(try a.text() == "of c" && HubTests.text(told.last?.mine) == "three")
      try a.set("later")
      try a.hub.synchronize()
      try c.hub.synchronize()
      #expect(try c.text() == "later")
    }

    @Test("A member's own push whose answer was lost is no other side's, also when all rows are compared")
    func ownPush() throws {
      let server = FakeHub()
      let (a, b) = (try Member("a", server), try Member("b", server))
      try b.set("else", "m")
      try b.hub.synchronize()
      try a.hub.synchronize()
      var isLossy = true
      let lossy = CallFault.Server(server.connection()) { isLossy && $0 == "push" ? .after : .none }
      let hub = try PostgresHub(a.db, over: ["notes"], as: "a", server: lossy) { conflict in
        Issue.record("asked about \(conflict.key)")
        return .theirs
      }
      try a.set("one")
      #expect(throws: HubError.self) { try hub.synchronize() }
      try a.set("two")
      // A standby takes over that has the push, and has forgotten where the changes that came down had ended.
      server.state.withLock { state in
        state.ends = state.ends.map { HubPlace(sequence: $0.sequence, mark: $0.mark / 2) }
      }
      isLossy = false
      #expect(try hub.synchronize().wasCompared)
      #expect(try a.text() == "two")
      try b.hub.synchronize()
      #expect(try b.text() == "two")
    }

    @Test("Who shares more collections than before gets the rows of those that the others have")
    func moreCollections() throws {
      let server = FakeHub()
      func open(_ db: Database? = nil, _ name: String, _ collections: [String]) throws -> (Database, PostgresHub) {
        let db = try db ?? Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: collections)]))
        return (db, try PostgresHub(db, over: collections, as: name, server: server.connection()) { _ in .theirs })
      }
      let folder = try TestFolder()
      let (a, hubA) = try open(nil, "a", ["notes", "tags"])
      try a.write { tx throws in
        try tx[.notes].set(Note(text: "note"), for: "n")
        try tx[RowCollection<Note, NoMetadata>("tags")].set(Note(text: "tag"), for: "t")
      }
      try hubA.synchronize()
      var b = try folder.open(DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
      try open(b, "b", ["notes"]).1.synchronize()
      #expect(try b.read { tx in tx[.notes].count } == 1)
      try b.close()
      b = try folder.open(DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes", "tags"])]))
      let hubB = try open(b, "b", ["tags", "notes"]).1
      try hubB.synchronize()
      #expect(try b.read { tx in try tx[RowCollection<Note, NoMetadata>("tags")].get("t")?.text } == "tag")
      #expect(try hubB.synchronize() == HubProgress())
      // Neither fewer, nor the same again, are compared anew.
      try b.close()
      b = try folder.open(DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
      #expect(try open(b, "b", ["notes"]).1.synchronize() == HubProgress())
    }
  }
#endif
