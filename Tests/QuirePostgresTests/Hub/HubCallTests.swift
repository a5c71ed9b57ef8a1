// Members whose calls to the hub fail in turn, rules that misbehave, and several hubs over one database.

#if Postgres
  import Foundation
  import QuireDatabase
  import QuireTesting
  import Synchronization
  import Testing

  @testable import QuirePostgres

  /// A hub whose calls fail by their names.
  enum CallFault {
    final class Server: HubServer {
      private let server: any HubServer
      private let fault: (String) -> LossyServer.Fault

      init(_ server: any HubServer, _ fault: @escaping (String) -> LossyServer.Fault) {
        (self.server, self.fault) = (server, fault)
      }

      private func call<Result>(
        _ name: String, _ body: () throws(HubError) -> Result
      ) throws(HubError) -> Result {
        let lost = HubError(.unreachable, "The connection is gone.")
        let fault = fault(name)
        if fault == .before { throw lost }
        let result = try body()
        if fault == .after { throw lost }
        return result
      }

      func member(_ origin: String) throws(HubError) -> HubMember? {
        try call("member") { () throws(HubError) in try server.member(origin) }
      }

      func push(_ push: HubPush) throws(HubError) -> [UInt8] {
        try call("push") { () throws(HubError) in try server.push(push) }
      }

      func changes(of names: [String], after place: HubPlace, limit: Int) throws(HubError) -> HubChanges {
        try call("changes") { () throws(HubError) in try server.changes(of: names, after: place, limit: limit) }
      }

      func knows(_ place: HubPlace) throws(HubError) -> Bool {
        try call("knows") { () throws(HubError) in try server.knows(place) }
      }
    }
  }

  @Suite struct HubCallTests {
    @Test("Each call to the hub may fail, before and after, in a life of two members", arguments: 1...45)
    func eachCall(number: Int) throws {
      for fault in [LossyServer.Fault.before, .after] {
        let server = FakeHub()
        var calls = 0
        func member(_ name: String) throws -> (db: Database, hub: PostgresHub) {
          let db = try Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
          let lossy = LossyServer(server.connection()) {
            calls += 1
            return calls == number ? fault : .none
          }
          return (db, try PostgresHub(db, over: ["notes"], as: name, server: lossy, rule: HubHistory.rule))
        }
        let members = [try member("a"), try member("b")]
        var expected: [String: Set<String>] = [:]
        func round(_ index: Int) throws {
          do { try members[index].hub.synchronize() } catch let error as HubError {
            #expect(error.code == .unreachable)
          }
        }
        func add(_ index: Int, _ key: String, _ mark: String) throws {
          try members[index].db.write { tx throws in
            var note = try tx[.notes].get(key) ?? Note(text: key)
            note.marks.append(mark)
            try tx[.notes].set(note, for: key)
          }
          expected[key, default: []].insert(mark)
        }
        for step in 0..<3 {
          for (index, name) in ["a", "b"].enumerated() { try add(index, "n\(step)", "\(name)\(step)") }
          for index in [0, 1] { try add(index, "n", "\(index) in \(step)") }
          if step == 1 {
            try members[0].db.write { tx throws in
              try tx[.notes].set(Note(text: "gone"), for: "gone")
              try tx[.notes].remove("gone")
            }
          }
          try round(0)
          try round(1)
        }
        // The rounds after the fault.
        for _ in 0..<2 { for index in [0, 1] { try round(index) } }
        for member in members {
          #expect(try member.hub.synchronize() == HubProgress())
          let notes = try member.db.read { tx in tx[.notes].map { ($0.key, $0.object.marks) } }
          #expect(notes.allSatisfy { Set($0.1).count == $0.1.count }, "a mark is there twice")
          #expect(Dictionary(uniqueKeysWithValues: notes.map { ($0.0, Set($0.1)) }) == expected)
        }
      }
    }

    @Test("A removal against a change is decided by the rule, and a row that was removed and stored again is new")
    func removals() throws {
      let told = Recorded<HubConflict>()
      for (resolution, expected) in [(HubResolution.theirs, "changed"), (.mine, nil)] {
        let server = FakeHub()
        let a = try Member("a", server)
        let b = try Member("b", server) { conflict in
          told.add(conflict)
          return resolution
        }
        try a.set("one")
        try a.hub.synchronize()
        try b.hub.synchronize()
        try a.set("changed")
        try b.db.write { tx in try tx[.notes].remove("n") }
        try a.hub.synchronize()
        #expect(try b.hub.synchronize().resolved == 1)
        try a.hub.synchronize()
        #expect(try a.text() == expected && b.text() == expected)
        #expect(told.last?.mine == nil && HubTests.text(told.last?.theirs) == "changed")
        try a.set("again")
        try a.db.write { tx in try tx[.notes].remove("n") }
        try a.set("again and again")
        try a.hub.synchronize()
        #expect(try b.hub.synchronize().applied == 1)
        #expect(try b.text() == "again and again")
      }
    }

    @Test("A rule that never gives the same answer comes to an end, and both sides to the same row")
    func fickleRule() throws {
      let server = FakeHub()
      let count = Atomic(0)
      let rule: HubRule = { _ in
        let number = count.add(1, ordering: .relaxed).newValue
        return .row(HubRow(object: StoredHalf(.value(["text": .text("answer \(number)"), "marks": []]))))
      }
      let (a, b) = (try Member("a", server, rule: rule), try Member("b", server, rule: rule))
      for round in 0..<5 {
        try a.set("a \(round)")
        try b.set("b \(round)")
        try a.hub.synchronize()
        try b.hub.synchronize()
        try a.hub.synchronize()
        #expect(try a.text() == b.text())
      }
    }

    @Test("A rule that calls back into the database, or into its hub, is told so and leaves the row undecided")
    func callingBack() throws {
      final class Box: Sendable { let member = Mutex<Member?>(nil) }
      for calls in 0..<3 {
        let server = FakeHub()
        let box = Box()
        let a = try Member("a", server)
        let b = try Member("b", server) { _ in
          guard let member = box.member.withLock({ $0 }) else { return .theirs }
          switch calls {
          case 0: try member.set("from the rule")
          case 1: _ = try member.text()
          default: try member.hub.synchronize()
          }
          return .theirs
        }
        box.member.withLock { $0 = b }
        defer { box.member.withLock { $0 = nil } }
        try a.set("of a")
        try b.set("of b")
        try a.hub.synchronize()
        let progress = try b.hub.synchronize()
        #expect(progress.undecided + progress.resolved == 1)
        if progress.undecided == 1 { #expect(try b.text() == "of b") }
        #expect(try b.hub.synchronize() == HubProgress())
      }
    }

    @Test("Calls from many threads: one at a time, the others hear so, and nothing is lost", arguments: [false, true])
    func manyThreads(ofTwoObjects: Bool) async throws {
      let server = FakeHub()
      let (a, b) = (try Member("a", server), try Member("b", server))
      let second =
        ofTwoObjects
        ? try PostgresHub(a.db, over: ["notes"], as: "a", server: server.connection()) { _ in .theirs } : a.hub
      try await withThrowingTaskGroup(of: Void.self) { group in
        for thread in 0..<4 {
          group.addTask {
            for number in 0..<50 {
              try a.set("text", "n\(thread)-\(number)")
              do { try (thread % 2 == 0 ? a.hub : second).synchronize() } catch let error as HubError {
                #expect(error.code == .busy, "\(error)")
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try a.hub.synchronize()
      try b.hub.synchronize()
      #expect(try a.texts == b.texts && a.texts.count == 200)
      #expect(server.state.withLock { $0.takenCount } == 200)
    }

    @Test("Who follows goes on when somebody else synchronizes at the same moment")
    func followingBesideCalls() async throws {
      let server = FakeHub()
      let a = try Member("a", server)
      let slow = CallFault.Server(server.connection()) { _ in
        Thread.sleep(forTimeInterval: 0.002)
        return .none
      }
      let hub = try PostgresHub(a.db, over: ["notes"], as: "a", server: slow) { _ in .theirs }
      let run = Task { try await hub.run(every: .milliseconds(1)) }
      for number in 0..<40 {
        try a.set("\(number)", "n\(number)")
        do { try hub.synchronize() } catch let error as HubError { #expect(error.code == .busy) }
        try await Task.sleep(for: .milliseconds(3))
      }
      for _ in 0..<500 where server.state.withLock({ $0.rows.count }) < 40 {
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(server.state.withLock { $0.rows.count } == 40)
      run.cancel()
      try await run.value
    }

    @Test("A second hub over a database that has one is refused, while the same one is not")
    func twoHubs() throws {
      let db = try Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
      func hub(_ info: String, _ name: String, _ origin: String = "a") throws -> PostgresHub {
        try PostgresHub(db, over: ["notes"], as: origin, at: info, hub: name) { _ in .theirs }
      }
      var first: PostgresHub? = try hub("host=one", "quire")
      let again = try hub("host=one", "quire")
      for (info, name, origin) in [("host=one", "other", "a"), ("host=two", "quire", "a"), ("host=one", "quire", "b")] {
        let error = #expect(throws: HubError.self) { try hub(info, name, origin) }
        #expect(error?.code == .invalidOption)
      }
      withExtendedLifetime((first, again)) {}
      first = nil
    }

    @Test("Names of collections that PostgreSQL has no texts for are refused")
    func zeroes() throws {
      let db = try Database.inMemory()
      let error = #expect(throws: HubError.self) {
        try PostgresHub(db, over: ["a\u{0}b"], as: "a", at: "") { _ in .theirs }
      }
      #expect(error?.code == .invalidOption)
    }
  }
#endif
