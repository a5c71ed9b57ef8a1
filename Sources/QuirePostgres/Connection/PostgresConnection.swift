// One connection, over libpq.

#if Postgres
  internal import CPQ

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Android)
    internal import Android
  #endif

  /// A connection. For one thread. Sends in a blocking way, and waits for answers with an eye on the flag that tells it
  /// to stop.
  final class PostgresConnection {
    private let handle: OpaquePointer
    private let stopping: StopFlag

    /// What libpq is told in front of what the app says: that a network which swallows everything is noticed.
    private static let defaults = [
      ("connect_timeout", "10"), ("tcp_user_timeout", "15000"), ("keepalives_idle", "5"), ("keepalives_interval", "3"),
      ("keepalives_count", "3"), ("fallback_application_name", "quire"), ("client_encoding", "UTF8"),
    ]

    /// Connects.
    ///
    /// - Throws: `SQLError`: with a state if a server has answered and refused, without one if none has.
    init(_ conninfo: String, _ stopping: StopFlag) throws(SQLError) {
      handle = try Connecting(Self.defaults + [("dbname", conninfo)], stopping).opened()
      self.stopping = stopping
      // Notices have nothing to say to standard error.
      _ = PQsetNoticeProcessor(handle, { _, _ in }, nil)
    }

    deinit { PQfinish(handle) }

    // MARK: Statements

    /// Runs a statement.
    ///
    /// - Throws: `SQLError`; without a state if the connection was lost, and nobody knows whether it was carried out.
    @discardableResult
    func run(_ sql: String, _ parameters: [Parameter] = []) throws(SQLError) -> Rows {
      let encoded = parameters.map(\.encoded)
      // No text is ended by a zero in the binary form, and the length of nothing must not make it null.
      var bytes: [UInt8] = []
      bytes.reserveCapacity(encoded.reduce(1) { $0 + $1.count })
      for value in encoded { bytes += value }
      bytes.append(0)
      var types = parameters.map { Oid($0.type) }
      var lengths = encoded.map { Int32(truncatingIfNeeded: $0.count) }
      var formats = parameters.map { _ in Int32(1) }
      let isSent = bytes.withUnsafeBufferPointer { buffer in
        var place = 0
        let places = encoded.map { value in
          defer { place += value.count }
          return buffer.baseAddress.map { UnsafeRawPointer($0 + place).assumingMemoryBound(to: CChar.self) }
        }
        return PQsendQueryParams(handle, sql, Int32(parameters.count), &types, places, &lengths, &formats, 0)
      }
      guard isSent == 1 else { throw lost() }
      return try answer()
    }

    /// Has COPY take a stream.
    func copy(_ sql: String, _ stream: [UInt8]) throws(SQLError) {
      guard PQsendQuery(handle, sql) == 1 else { throw lost() }
      try awaitAnswer()
      guard let begun = PQgetResult(handle) else { throw lost() }
      defer { PQclear(begun) }
      guard PQresultStatus(begun) == PGRES_COPY_IN else {
        let error = Self.error(of: begun)
        _ = try answer()
        throw error
      }
      var rest = stream[...]
      while !rest.isEmpty {
        let part = rest.prefix(1 << 20)
        let isSent = part.withUnsafeBytes { bytes in
          PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
        }
        guard isSent == 1 else { throw lost() }
        rest = rest.dropFirst(part.count)
      }
      guard PQputCopyEnd(handle, nil) == 1 else { throw lost() }
      _ = try answer()
    }

    private static func error(of result: OpaquePointer) -> SQLError {
      let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
      return SQLError(state: state, message: trimmed(PQresultErrorMessage(result)))
    }

    /// Reads the whole answer to a statement.
    private func answer() throws(SQLError) -> Rows {
      var rows = Rows(columnCount: 0, values: [], changedCount: 0)
      var error: SQLError?
      while true {
        try awaitAnswer()
        guard let result = PQgetResult(handle) else { break }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: rows = Rows(result)
        case PGRES_COPY_IN: _ = PQputCopyEnd(handle, "none was asked for")
        default:
          error = error ?? Self.error(of: result)
        }
      }
      if let error {
        // A server that goes down says so first: the connection is lost with it.
        if PQstatus(handle) != CONNECTION_OK { throw SQLError(state: nil, message: error.message) }
        throw error
      }
      return rows
    }

    /// Waits until there is an answer.
    private func awaitAnswer() throws(SQLError) {
      while PQisBusy(handle) == 1 {
        if stopping.isSet { throw SQLError(state: nil, message: "The mirror was told to stop.") }
        var socket = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        let count = poll(&socket, 1, 200)
        if count < 0, errno != EINTR { throw lost() }
        if count > 0, PQconsumeInput(handle) == 0 { throw lost() }
      }
    }

    private func lost() -> SQLError {
      let message = Self.trimmed(PQerrorMessage(handle))
      return SQLError(state: nil, message: message.isEmpty ? "The connection was lost." : message)
    }

    /// What libpq says, in one line.
    private static func trimmed(_ text: UnsafePointer<CChar>?) -> String {
      guard let text else { return "" }
      return String(cString: text).split(whereSeparator: \.isNewline).joined(separator: " ")
    }
  }

  /// The rows of an answer, all values as texts.
  struct Rows {
    let columnCount: Int
    private let values: [String?]
    /// How many rows a statement has changed.
    let changedCount: Int

    init(columnCount: Int, values: [String?], changedCount: Int) {
      self.columnCount = columnCount
      self.values = values
      self.changedCount = changedCount
    }

    fileprivate init(_ result: OpaquePointer) {
      let (rowCount, columnCount) = (PQntuples(result), PQnfields(result))
      var values: [String?] = []
      for row in 0..<rowCount {
        for column in 0..<columnCount {
          let isNull = PQgetisnull(result, row, column) == 1
          values.append(isNull ? nil : PQgetvalue(result, row, column).map { String(cString: $0) })
        }
      }
      self.init(
        columnCount: Int(columnCount), values: values,
        changedCount: PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0)
    }

    var count: Int { columnCount == 0 ? 0 : values.count / columnCount }

    /// The value of a column; nil if it is null.
    func text(_ row: Int, _ column: Int) -> String? { values[row * columnCount + column] }

    func integer(_ row: Int, _ column: Int) -> Int64? { text(row, column).flatMap { Int64($0) } }

    /// The bytes of a `bytea`; nil if it is null, or is none.
    func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
      text(row, column).flatMap { $0.hasPrefix("\\x") ? Hexadecimal.bytes($0.dropFirst(2)) : nil }
    }
  }
#endif
