// Making a connection, and telling a server that refuses from one that is not there.

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

  /// One try to connect.
  ///
  /// libpq tells by which code a server has refused a connection only in the long form of its messages, which it can be
  /// asked for between beginning a connection and completing it. Who completes it step by step has to look after the
  /// time limits, and cannot go on to the next host by itself: where the short limit for this way has passed, libpq
  /// connects in its own way, with its own limits for each host.
  struct Connecting {
    private let settings: [(name: String, value: String)]
    private let stopping: StopFlag

    /// How long a server may take to answer before libpq is left alone with it.
    private static let limit = Duration.seconds(3)

    init(_ settings: [(String, String)], _ stopping: StopFlag) {
      self.settings = settings.map { (name: $0.0, value: $0.1) }
      self.stopping = stopping
    }

    /// The connection, which is the caller's to close.
    ///
    /// - Throws: `SQLError`: with a state if a server has answered and refused, without one if none has.
    func opened() throws(SQLError) -> OpaquePointer {
      let handle = try checked(begun { PQconnectStartParams($0, $1, 1) })
      _ = PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
      guard let isOpen = complete(handle) else {
        PQfinish(handle)
        if stopping.isSet { throw SQLError(state: nil, message: "The mirror was told to stop.") }
        return try checked(begun { PQconnectdbParams($0, $1, 1) }, isComplete: true)
      }
      guard isOpen else {
        defer { PQfinish(handle) }
        throw ConnectionRefusal(PQerrorMessage(handle).map { String(cString: $0) } ?? "").error
      }
      _ = PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
      return handle
    }

    private func begun(
      _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> OpaquePointer?
    ) -> OpaquePointer? {
      withTexts(settings.map(\.name)) { names in withTexts(settings.map(\.value)) { body(names, $0) } }
    }

    /// - Parameter isComplete: whether the connection is either made or of no use.
    private func checked(_ handle: OpaquePointer?, isComplete: Bool = false) throws(SQLError) -> OpaquePointer {
      guard let handle else { throw SQLError(state: nil, message: "There is no memory for a connection.") }
      let status = PQstatus(handle)
      guard status == CONNECTION_BAD || isComplete && status != CONNECTION_OK else { return handle }
      defer { PQfinish(handle) }
      throw ConnectionRefusal(PQerrorMessage(handle).map { String(cString: $0) } ?? "").error
    }

    /// Whether a connection was made; nil if it takes too long, or nobody wants it any more.
    private func complete(_ handle: OpaquePointer) -> Bool? {
      let end = ContinuousClock.now + Self.limit
      var step = PGRES_POLLING_WRITING
      while step == PGRES_POLLING_WRITING || step == PGRES_POLLING_READING {
        if stopping.isSet || ContinuousClock.now >= end { return nil }
        let events = step == PGRES_POLLING_WRITING ? POLLOUT : POLLIN
        var socket = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        let count = poll(&socket, 1, 200)
        // A socket that is of no use is libpq's to find.
        if count == 0 || count < 0 && errno == EINTR { continue }
        step = PQconnectPoll(handle)
      }
      return step == PGRES_POLLING_OK
    }
  }

  /// What libpq says of a connection that was not made: a line or more for each host that it has tried.
  struct ConnectionRefusal {
    /// In one line, without the place in the sources of PostgreSQL.
    let message: String
    /// By which code the last server has refused; nil if one of them has not answered.
    let state: String?

    /// - Parameter text: what libpq says in the long form, or in the usual one.
    init(_ text: String) {
      let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
      message = lines.joined(separator: " ")
      let states = lines.filter { $0.hasPrefix("connection to server") }.map(Self.state)
      state = states.allSatisfy { $0 != nil } ? states.last ?? nil : nil
    }

    /// The five characters that stand between two colons.
    private static func state(_ line: Substring) -> String? {
      func isDigit(_ byte: UInt8) -> Bool { 0x30 <= byte && byte <= 0x39 }
      func isCapital(_ byte: UInt8) -> Bool { 0x41 <= byte && byte <= 0x5a }
      for part in line.split(separator: ":").dropFirst() {
        let state = part.drop { $0 == " " }.utf8
        guard state.count == 5, state.contains(where: isDigit) else { continue }
        if state.allSatisfy({ isDigit($0) || isCapital($0) }) { return String(Substring(state)) }
      }
      return nil
    }

    var error: SQLError { SQLError(state: state, message: message) }
  }

  /// Calls `body` with texts as C has lists of them: addresses, and a null behind the last.
  private func withTexts<Result>(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
    let copies = texts.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { UnsafePointer($0) } + [nil])
  }
#endif
