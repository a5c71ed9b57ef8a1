// A hub in PostgreSQL.

#if Postgres
  /// A hub in PostgreSQL, by a connection that is made when it is needed, and again when it was lost.
  ///
  /// Pushes are serialized by the lock of the hub's row, which is held to the end of their transactions: numbers in the
  /// order of changes become visible in that order, and who has read up to one has missed none before it.
  final class PostgresHubServer: HubServer {
    /// How many changes back a hub knows the pushes, by which members tell that it was put back.
    private static let rememberedCount: Int64 = 10_000_000

    private let info: String
    private let hub: String
    private let stopping: StopFlag
    private var connection: PostgresConnection?

    /// - Parameter stopping: ends a call that waits for an answer.
    init(_ info: String, hub: String, _ stopping: StopFlag = StopFlag()) {
      (self.info, self.hub, self.stopping) = (info, hub, stopping)
    }

    // MARK: Members

    func member(_ origin: String) throws(HubError) -> HubMember? {
      try call { connection throws(SQLError) in try readMember(origin, connection) }
    }

    private func readMember(_ origin: String, _ connection: PostgresConnection) throws(SQLError) -> HubMember? {
      let rows = try connection.run(.member, [.text(hub), .text(origin)])
      guard rows.count > 0, let lineage = rows.text(0, 0), let number = rows.integer(0, 1),
        let token = rows.integer(0, 2), let outcome = rows.bytes(0, 3)
      else { return nil }
      return HubMember(lineage: lineage, number: number, token: token, outcome: outcome)
    }

    // MARK: Pushes

    func push(_ push: HubPush) throws(HubError) -> [UInt8] {
      let outcome = try transaction(Statement.begin) { connection throws(SQLError) -> [UInt8]? in
        let turn = try connection.run(.takeTurn, [.text(hub)])
        let last = turn.count > 0 ? turn.integer(0, 0) ?? 0 : 0
        let member = try readMember(push.origin, connection)
        if let member, member.token == push.token { return member.outcome }
        guard push.number == (member?.number ?? 0) + 1, member == nil || member?.lineage == push.lineage else {
          return nil
        }
        let outcome = try store(push, behind: last, connection)
        try connection.run(
          .noteMember,
          [
            .text(hub), .text(push.origin), .text(push.lineage), .integer(push.number), .integer(push.token),
            .bytes(outcome),
          ])
        return outcome
      }
      guard let outcome else {
        throw HubError(
          .anotherMember,
          """
          The hub has heard of another push of “\(push.origin)” as number \(push.number): another process, or a copy \
          of the file, speaks under that name. Stop one of them, or give one another origin.
          """)
      }
      return outcome
    }

    /// Stores the rows whose bases are the hub's versions. Returns the outcome.
    private func store(
      _ push: HubPush, behind last: Int64, _ connection: PostgresConnection
    ) throws(SQLError) -> [UInt8] {
      let entries = push.entries
      var arrays = HubArrays()
      for (index, entry) in entries.enumerated() { arrays.append(entry, last + Int64(index) + 1, push.token) }
      let stored = try connection.run(.store, [.text(hub), .text(push.origin)] + arrays.parameters)
      var outcome = [UInt8](repeating: 0, count: entries.count)
      for row in 0..<stored.count {
        guard let number = stored.integer(row, 0), outcome.indices.contains(Int(number - last) - 1) else { continue }
        outcome[Int(number - last) - 1] = 1
      }
      guard outcome.contains(1) else { return outcome }
      let end = last + Int64(entries.count)
      try connection.run(.addPush, [.text(hub), .integer(end), .integer(push.token)])
      try connection.run(.endTurn, [.text(hub), .integer(end)])
      if push.number % 256 == 0 {
        try connection.run(.forgetPushes, [.text(hub), .integer(end - Self.rememberedCount)])
      }
      return outcome
    }

    // MARK: Changes

    func changes(of collections: [String], after place: HubPlace, limit: Int) throws(HubError) -> HubChanges {
      var names = ArrayParameter(.text)
      for collection in collections { names.append(collection) }
      let found = try transaction(Statement.beginReading) {
        connection throws(SQLError) -> (rows: Rows, end: HubPlace)? in
        let next = try connection.run(.lastOfNext, [.text(hub), .integer(place.sequence), .integer(Int64(limit))])
        guard next.count > 0, let last = next.integer(0, 0) else { return nil }
        let push = try connection.run(.pushOf, [.text(hub), .integer(last)])
        guard push.count > 0, let end = push.integer(0, 0), let mark = push.integer(0, 1) else { return nil }
        let rows = try connection.run(
          .changes, [.text(hub), .integer(place.sequence), .integer(end), .array(names)])
        return (rows, HubPlace(sequence: end, mark: mark))
      }
      guard let found else { return HubChanges(end: place) }
      var changes = HubChanges(end: found.end)
      for row in 0..<found.rows.count {
        if let change = change(found.rows, row, found.end) {
          changes.changes.append(change)
        } else {
          changes.unusableCount += 1
        }
      }
      return changes
    }

    /// Nil for a row that is none of a hub's.
    private func change(_ rows: Rows, _ row: Int, _ place: HubPlace) -> HubChange? {
      guard let collection = rows.text(row, 0), let version = rows.integer(row, 2), let origin = rows.text(row, 3),
        let key = rows.bytes(row, 1).flatMap({ String(validating: $0, as: UTF8.self) }),
        let marks = rows.bytes(row, 5).flatMap(HubMarks.marks)
      else { return nil }
      return HubChange(
        place: place, collection: collection, key: key, version: version, origin: origin, row: rows.text(row, 4),
        marks: marks)
    }

    func knows(_ place: HubPlace) throws(HubError) -> Bool {
      if place.sequence == 0 { return true }
      return try call { connection throws(SQLError) in
        try connection.run(.place, [.text(hub), .integer(place.sequence), .integer(place.mark)]).count > 0
      }
    }
  }

  // MARK: The connection

  extension PostgresHubServer {
    /// Runs `body` in a transaction; again if it lost against another one.
    private func transaction<Result>(
      _ begin: String, _ body: (PostgresConnection) throws(SQLError) -> Result
    ) throws(HubError) -> Result {
      try call { connection throws(SQLError) in
        for _ in 0..<20 {
          if let result = try Self.attempt(begin, connection, body) { return result }
        }
        throw SQLError(state: SQLState.serializationFailure, message: "The transaction lost against others 20 times.")
      }
    }

    /// What `body` returns; nil if its transaction lost against another one.
    private static func attempt<Result>(
      _ begin: String, _ connection: PostgresConnection, _ body: (PostgresConnection) throws(SQLError) -> Result
    ) throws(SQLError) -> Result? {
      do throws(SQLError) {
        try connection.run(begin)
        let result = try body(connection)
        try connection.run(Statement.commit)
        return result
      } catch {
        // Where that fails, so has the connection, and with it the transaction.
        if error.state != nil { try connection.run(Statement.rollback) }
        guard error.hasLostAgainstAnother else { throw error }
        return nil
      }
    }

    /// Runs `body` with the connection. One that was lost goes, and the next call makes another.
    private func call<Result>(
      _ body: (PostgresConnection) throws(SQLError) -> Result
    ) throws(HubError) -> Result {
      do throws(SQLError) { return try body(try connected()) } catch {
        let told = error.told
        if error.answer == .again {
          connection = nil
          throw HubError(.unreachable, "PostgreSQL cannot be reached. Try again.", cause: told)
        }
        throw HubError(.refused, "PostgreSQL refuses what the hub says. See the cause.", cause: told)
      }
    }

    private func connected() throws(SQLError) -> PostgresConnection {
      if let connection { return connection }
      let connection = try PostgresConnection(info, stopping)
      try connection.run(Statement.limitIdleTransactions)
      for statement in [HubStatement.createHubs, .createMembers, .createPushes, .createRows, .createOrder] {
        try Self.create(statement, connection)
      }
      try connection.run(.addHub, [.text(hub)])
      self.connection = connection
      return connection
    }

    /// Makes a table or an index unless it is there, or another member makes it at this moment.
    private static func create(_ statement: HubStatement, _ connection: PostgresConnection) throws(SQLError) {
      for _ in 0..<3 {
        do throws(SQLError) {
          try connection.run(statement)
          return
        } catch {
          guard error.isMadeByAnother else { throw error }
        }
      }
      try connection.run(statement)
    }
  }

  extension PostgresConnection {
    @discardableResult
    fileprivate func run(_ statement: HubStatement, _ parameters: [Parameter] = []) throws(SQLError) -> Rows {
      try run(statement.rawValue, parameters)
    }
  }

  /// The entries of a push as the columns that a statement takes.
  private struct HubArrays {
    private var collections = ArrayParameter(.text)
    private var keys = ArrayParameter(.bytea)
    private var versions = ArrayParameter(.bigint)
    private var numbers = ArrayParameter(.bigint)
    private var rows = ArrayParameter(.text)
    private var marks = ArrayParameter(.bytea)

    var parameters: [Parameter] { [collections, keys, versions, numbers, rows, marks].map { .array($0) } }

    mutating func append(_ entry: HubIntent.Entry, _ number: Int64, _ token: Int64) {
      collections.append(entry.collection)
      keys.append(Array(entry.key.utf8))
      versions.append(entry.base + 1)
      numbers.append(number)
      rows.append(entry.row)
      marks.append(HubMarks.bytes(entry.marks(token)))
    }
  }

  /// Marks as bytes, eight for each, the most significant first.
  private enum HubMarks {
    static func bytes(_ marks: [Int64]) -> [UInt8] { marks.flatMap { Network.bytes($0) } }

    /// The marks; nil if the bytes are none, or too many.
    static func marks(_ bytes: [UInt8]) -> [Int64]? {
      guard bytes.count % 8 == 0, bytes.count <= 8 * HubKinship.markCount else { return nil }
      return stride(from: 0, to: bytes.count, by: 8).map { start in
        Int64(bitPattern: bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) })
      }
    }
  }
#endif
