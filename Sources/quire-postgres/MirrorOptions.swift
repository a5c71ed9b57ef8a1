// What commands of the tool are given, and how they open what they are given.

#if Postgres
  import ArgumentParser
  import QuireDatabase
  import QuirePostgres
  import QuireStorage

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif

  /// A database, and where its mirror is.
  struct MirrorOptions: ParsableArguments {
    @Argument(help: "The file of the database.", completion: .file()) var file: String
    @Argument(help: "Where PostgreSQL is, in the words of libpq: \"host=… dbname=…\", or a URI.") var conninfo: String
    @Option(help: "The name of the change feed.") var feed = "postgres"
    @Option(
      help: """
        The collections, with commas between them; all if left out. To be the same each time: with others the feed \
        begins a new life.
        """)
    var collections: String?
    @Flag(help: "Stores no bytes of rows beside their values.") var noBytes = false
    @Option(help: "How many rows a transaction has at the most.") var largestBatch = 10_000
    @Option(help: "How many milliseconds are between two tries to connect at the most.") var maxPauseMs = 30_000

    /// The feed as it is named at the opening.
    var changeFeed: ChangeFeed {
      let names = collections.map { $0.split(separator: ",").map(String.init) }
      return ChangeFeed(feed, over: names.map { .only(Set($0)) } ?? .all)
    }

    /// Opens the database with the feed.
    func open(isReadOnly: Bool = false, durability: Durability = .full) throws -> Database {
      try Database(
        at: file,
        options: .init(
          durability: durability, createsIfMissing: false, isReadOnly: isReadOnly, feeds: [changeFeed]))
    }

    /// The mirror of an open database.
    func mirror(
      of database: Database, beginsAnew: Bool = false, report: (@Sendable (PostgresEvent) -> Void)? = nil
    ) throws -> PostgresMirror {
      try PostgresMirror(
        of: database, feed: changeFeed, to: conninfo,
        options: .init(
          keepsBytes: !noBytes, beginsAnew: beginsAnew, largestBatch: largestBatch,
          longestPause: .milliseconds(maxPauseMs), report: report))
    }
  }

  /// Runs `body`, and tells of its errors in a line, with the exit code that they have.
  func telling(_ body: () throws -> Void) throws {
    do { try body() } catch let error as PostgresError {
      complain(error.description)
      throw ExitCode(exitCode(of: error))
    } catch let error as DatabaseError {
      complain(error.description)
      throw ExitCode.failure
    }
  }

  private func exitCode(of error: PostgresError) -> Int32 {
    switch error.code {
    case .anotherFeeder: 3
    case .foreignMirror: 4
    default: 1
    }
  }

  /// Writes a line to standard error.
  func complain(_ line: String) { writeLine("quire-postgres: \(line)", to: 2) }

  /// Writes a line to standard output at once.
  func tell(_ line: String) { writeLine(line, to: 1) }

  /// Writes a line; a reader that has gone away ends the process, as it does every filter.
  private func writeLine(_ line: String, to descriptor: Int32) {
    var rest = Array((visible(line) + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { bytes in write(descriptor, bytes.baseAddress, bytes.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { exit(1) }
      rest = rest.dropFirst(count)
    }
  }

  /// Tells what a feeder has done, in a line.
  func tell(_ event: PostgresEvent) {
    switch event {
    case .connected(let csn, let state): tell("connected csn=\(csn.rawValue) state=\(state.rawValue)")
    case .retry(let error, let pause):
      let milliseconds = pause / .milliseconds(1)
      tell("retry \(error.sqlState ?? "-") pause_ms=\(Int(milliseconds)) \(error.message)")
    case .batch(let csn, let rows, let state): tell("batch csn=\(csn.rawValue) rows=\(rows) state=\(state.rawValue)")
    case .rejected(let row):
      tell("rejected \(shown(row.collection)) \(shown(row.key)) \(row.sqlState ?? "-") \(row.reason)")
    case .changedTable(let statement): tell("changed \(statement)")
    case .begins(let reason): tell("begins \(reason)")
    }
  }
#endif
