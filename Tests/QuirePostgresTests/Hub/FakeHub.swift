// A hub in memory, which loses answers, goes away, and can be put back to an older state.

#if Postgres
  import QuireDatabase
  import QuireTesting
  import Synchronization

  @testable import QuirePostgres

  /// A hub in memory that many members share.
  final class FakeHub: Sendable {
    struct Row {
      var version: Int64
      var sequence: Int64
      var origin: String
      var row: String?
      var marks: [Int64]
    }

    struct State {
      var rows: [RowKey: Row] = [:]
      var members: [String: HubMember] = [:]
      /// The ends of the pushes, with their marks.
      var ends: [HubPlace] = []
      var sequence: Int64 = 0
      /// How often each row was taken over.
      var takenCount = 0
    }

    let state = Mutex(State())

    /// What a member calls.
    func connection() -> any HubServer { FakeHubConnection(self) }
  }

  /// A way to a hub that is lost now and then: before a call has come to the hub, or before its answer has come back.
  final class LossyServer: HubServer {
    enum Fault { case none, before, after }

    private let server: any HubServer
    private let fault: () -> Fault

    /// - Parameter fault: asked at each call.
    init(_ server: any HubServer, _ fault: @escaping () -> Fault) { (self.server, self.fault) = (server, fault) }

    private func call<Result>(_ body: () throws(HubError) -> Result) throws(HubError) -> Result {
      let lost = HubError(.unreachable, "The connection is gone.")
      let fault = fault()
      if fault == .before { throw lost }
      let result = try body()
      if fault == .after { throw lost }
      return result
    }

    func member(_ origin: String) throws(HubError) -> HubMember? {
      try call { () throws(HubError) in try server.member(origin) }
    }

    func push(_ push: HubPush) throws(HubError) -> [UInt8] {
      try call { () throws(HubError) in try server.push(push) }
    }

    func changes(of collections: [String], after place: HubPlace, limit: Int) throws(HubError) -> HubChanges {
      try call { () throws(HubError) in try server.changes(of: collections, after: place, limit: limit) }
    }

    func knows(_ place: HubPlace) throws(HubError) -> Bool {
      try call { () throws(HubError) in try server.knows(place) }
    }
  }

  private final class FakeHubConnection: HubServer {
    private let hub: FakeHub

    init(_ hub: FakeHub) { self.hub = hub }

    private func call<Result: Sendable>(
      _ body: (inout FakeHub.State) throws(HubError) -> Result
    ) throws(HubError) -> Result {
      let result = hub.state.withLock { state -> Swift.Result<Result, HubError> in
        Swift.Result { () throws(HubError) in try body(&state) }
      }
      return try result.get()
    }

    func member(_ origin: String) throws(HubError) -> HubMember? {
      try call { state throws(HubError) in state.members[origin] }
    }

    func push(_ push: HubPush) throws(HubError) -> [UInt8] {
      try call { state throws(HubError) in
        if let member = state.members[push.origin], member.token == push.token { return member.outcome }
        guard push.number == (state.members[push.origin]?.number ?? 0) + 1 else {
          throw HubError(.anotherMember, "Number \(push.number) is not the next one.")
        }
        let outcome = push.entries.map { entry -> UInt8 in
          let key = RowKey(entry.collection, entry.key)
          guard (state.rows[key]?.version ?? entry.base) == entry.base else { return 0 }
          state.sequence += 1
          state.takenCount += 1
          state.rows[key] = FakeHub.Row(
            version: entry.base + 1, sequence: state.sequence, origin: push.origin, row: entry.row,
            marks: entry.marks(push.token))
          return 1
        }
        if outcome.contains(1) { state.ends.append(HubPlace(sequence: state.sequence, mark: push.token)) }
        state.members[push.origin] = HubMember(
          lineage: push.lineage, number: push.number, token: push.token, outcome: outcome)
        return outcome
      }
    }

    func changes(of collections: [String], after place: HubPlace, limit: Int) throws(HubError) -> HubChanges {
      try call { state throws(HubError) in
        var changes: [HubChange] = []
        var end = place
        for next in state.ends where next.sequence > place.sequence && changes.count < limit {
          let rows = state.rows.filter { $0.value.sequence > end.sequence && $0.value.sequence <= next.sequence }
          for (key, row) in rows.sorted(by: { $0.value.sequence < $1.value.sequence })
          where collections.contains(key.collection) {
            changes.append(
              HubChange(
                place: next, collection: key.collection, key: key.key, version: row.version, origin: row.origin,
                row: row.row, marks: row.marks))
          }
          end = next
        }
        return HubChanges(changes: changes, end: end)
      }
    }

    func knows(_ place: HubPlace) throws(HubError) -> Bool {
      try call { state throws(HubError) in place.sequence == 0 || state.ends.contains(place) }
    }
  }
#endif
