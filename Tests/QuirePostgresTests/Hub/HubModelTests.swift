// Members of a hub that lose answers, are killed, and write all the time: they come to the same rows, and no mark that
// anybody has set is lost or there twice.

#if Postgres
  import Foundation
  import QuireDatabase
  import QuireTesting
  import Synchronization
  import Testing

  @testable import QuirePostgres

  /// A random history of members and a hub.
  final class HubHistory {
    /// What members do of which a rule can join both sides: marks are added to notes.
    static let rule: HubRule = { conflict in
      func marks(_ row: HubRow?) -> [RowValue] {
        guard case .record(let fields)? = row?.object.value, case .list(let marks)? = fields.last?.value else {
          return []
        }
        return marks
      }
      let (mine, theirs) = (marks(conflict.mine), marks(conflict.theirs))
      guard var row = conflict.theirs ?? conflict.mine, case .record(var fields)? = row.object.value else {
        return .theirs
      }
      fields[fields.count - 1].value = .list(theirs + mine.filter { !theirs.contains($0) })
      row.object = StoredHalf(.value(.record(fields)))
      return .row(row)
    }

    private var random: SeededRandom
    private let server: FakeHub
    /// Makes a connection to the hub.
    private let connect: () -> any HubServer
    private var disks: [SimulatedDisk] = []
    private var members: [Database] = []
    private var hubs: [PostgresHub] = []
    private let faults: Mutex<SeededRandom>
    private let faultPercent = Atomic(0)
    private var nextMark = 0
    private var marks: Set<String> = []
    private var kept: FakeHub.State?

    private let options: DatabaseOptions
    private let rule: HubRule
    private let resolvesLater: Bool

    /// - Parameters:
    ///   - resolvesLater: whether half of the rows are left undecided, and decided about at some time later.
    ///   - connect: how the hub is reached; one in memory if left out.
    init(
      _ seed: UInt64, members count: Int, _ durability: Durability, resolvesLater: Bool = false,
      connect: (() -> any HubServer)? = nil
    ) throws {
      self.resolvesLater = resolvesLater
      let choices = Mutex(SeededRandom(seed: seed ^ 99))
      rule = { conflict in
        if resolvesLater, choices.withLock({ $0.below(2) == 0 }) { return .undecided }
        return try Self.rule(conflict)
      }
      let server = FakeHub()
      self.server = server
      self.connect = connect ?? { server.connection() }
      random = SeededRandom(seed: seed)
      faults = Mutex(SeededRandom(seed: seed ^ 7))
      options = DatabaseOptions(durability: durability, feeds: [PostgresHub.feed(over: ["notes"])])
      for index in 0..<count {
        disks.append(SimulatedDisk())
        members.append(try disks[index].openDatabase(options: options, hasBackgroundWork: false))
        hubs.append(try makeHub(index))
      }
    }

    /// The power of a member's machine is cut. What nobody has any more was not promised.
    private func crash(_ index: Int) throws {
      let before = Set(try members[index].read { tx in tx[.notes].map(\.object) })
      disks[index] = disks[index].crashImage(seed: random.next())
      members[index] = try disks[index].openDatabase(options: options, hasBackgroundWork: false)
      hubs[index] = try makeHub(index)
      if options.durability == .full {
        let after = Set(try members[index].read { tx in tx[.notes].map(\.object) })
        #expect(after == before, "an acknowledged commit is lost")
        return
      }
      var found: Set<String> = []
      for db in members { found.formUnion(try db.read { tx in tx[.notes].flatMap(\.object.marks) }) }
      let ofHub = server.state.withLock { state in
        state.rows.values.compactMap(\.row) + (kept?.rows.values.compactMap(\.row) ?? [])
      }
      let inHub = marks.filter { mark in ofHub.contains { $0.contains("\"\(mark)\"") } }
      marks = found.union(inHub)
    }

    private func makeHub(_ index: Int) throws -> PostgresHub {
      let connection = LossyServer(connect()) { [self] in
        faults.withLock { random in
          guard random.below(100) < faultPercent.load(ordering: .relaxed) else { return .none }
          return random.below(2) == 0 ? .before : .after
        }
      }
      return try PostgresHub(members[index], over: ["notes"], as: "m\(index)", server: connection, rule: rule)
    }

    /// - Parameter putsBack: whether the hub is put back to an older state now and then.
    func run(steps: Int, putsBack: Bool) throws {
      faultPercent.store(20, ordering: .relaxed)
      for _ in 0..<steps {
        let index = random.below(members.count)
        switch random.below(20) {
        case 0..<11: try write(index)
        case 11..<17: try synchronize(index)
        case 17: if resolvesLater { try resolve(index) } else { try synchronize(index) }
        case 18: if random.below(2) == 0 { hubs[index] = try makeHub(index) } else { try crash(index) }
        default: if putsBack { putBack() }
        }
      }
      faultPercent.store(0, ordering: .relaxed)
      try checkAgreement()
    }

    private func write(_ index: Int) throws {
      try members[index].write { tx throws in
        for _ in 0...random.below(3) {
          nextMark += 1
          let mark = "k\(nextMark)"
          marks.insert(mark)
          let key = "n\(random.below(6))"
          var note = try tx[.notes].get(key) ?? Note(text: key)
          note.marks.append(mark)
          try tx[.notes].set(note, for: key)
        }
      }
    }

    private func synchronize(_ index: Int) throws {
      do { try hubs[index].synchronize() } catch let error as HubError {
        guard error.code == .unreachable else { throw error }
      }
    }

    /// Decides about what was left undecided.
    private func resolve(_ index: Int) throws {
      for conflict in try hubs[index].conflicts() {
        #expect(try hubs[index].resolve(conflict, as: Self.rule(conflict)))
      }
    }

    private func putBack() {
      if let kept, random.below(2) == 0 {
        server.state.withLock { $0 = kept }
      } else {
        kept = server.state.withLock { $0 }
      }
    }

    /// Everybody comes to the same rows, which have each mark once.
    private func checkAgreement() throws {
      // Each decision may meet another one.
      for _ in 0..<(resolvesLater ? 60 : 0) {
        for index in members.indices {
          try synchronize(index)
          try resolve(index)
        }
      }
      // What the first one gets of the last one takes a second round.
      for _ in 0..<2 { for index in members.indices { try synchronize(index) } }
      for index in members.indices { #expect(try hubs[index].synchronize() == HubProgress()) }
      var all: [Set<Note>] = []
      for db in members { all.append(Set(try db.read { tx in tx[.notes].map(\.object) })) }
      #expect(all.allSatisfy { $0 == all[0] }, "members differ")
      let found = all[0].flatMap(\.marks)
      #expect(found.count == marks.count && Set(found) == marks, "marks are lost or there twice")
      let bases = try members[0].read { tx in tx[.hubPending("notes")].count + tx[.hubConflicts("notes")].count }
      #expect(bases == 0, "something is left to be pushed")
    }
  }

  @Suite struct HubModelTests {
    @Test("Members come to the same rows, with every mark once, however often answers are lost", arguments: 1...20)
    func histories(seed: Int) throws {
      try HubHistory(UInt64(seed), members: 2 + seed % 4, seed % 2 == 0 ? .full : .relaxed)
        .run(steps: 120, putsBack: false)
    }

    @Test("They do also if they decide about a half later, and the hub is put back meanwhile", arguments: 1...40)
    func undecided(seed: Int) throws {
      try HubHistory(UInt64(seed) << 16, members: 2 + seed % 3, .full, resolvesLater: true)
        .run(steps: 150, putsBack: seed % 2 == 0)
    }

    @Test("They do also if the hub is put back to what it was before", arguments: 1...20)
    func putBack(seed: Int) throws {
      try HubHistory(UInt64(seed) << 8, members: 2 + seed % 4, .full).run(steps: 120, putsBack: true)
    }
  }
#endif
