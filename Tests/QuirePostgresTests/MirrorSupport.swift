// What the tests of mirrors share.

#if Postgres
  import Foundation
  import QuireTesting
  import Synchronization
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres
  @testable import QuireStorage

  struct Song: Codable, Sendable, Equatable {
    var title: String
    var year: Int
    var rating: Double?
  }

  extension RowCollection where Object == Song, Metadata == NoMetadata {
    static var songs: Self { .init("songs") }
    static func songs(_ name: String) -> Self { .init(name) }
  }

  /// A database with a feed, and a database of PostgreSQL's that it is mirrored into.
  final class MirrorFixture {
    let folder: TestFolder
    let target: TestTarget
    let feed: ChangeFeed
    var database: Database
    let events = Events()

    init(_ feed: ChangeFeed = ChangeFeed("sql")) throws {
      folder = try TestFolder()
      target = try TestTarget()
      self.feed = feed
      database = try folder.open(.init(durability: .relaxed, maintainsWhenIdle: false, feeds: [feed]))
    }

    func mirror(
      _ tables: [PostgresTable] = [], to conninfo: String? = nil, keepsBytes: Bool = true, beginsAnew: Bool = false,
      largestBatch: Int = 10_000
    ) throws -> PostgresMirror {
      try PostgresMirror(
        of: database, feed: feed, to: conninfo ?? target.conninfo, tables: tables,
        options: .init(
          keepsBytes: keepsBytes, beginsAnew: beginsAnew, largestBatch: largestBatch,
          longestPause: .milliseconds(100), report: { [events] in events.add($0) }))
    }

    /// Opens the file again.
    func reopen(_ feeds: [ChangeFeed]? = nil, renamed: [String: String] = [:]) throws {
      try database.close()
      database = try folder.open(
        .init(
          durability: .relaxed, maintainsWhenIdle: false, renamedCollections: renamed, feeds: feeds ?? [feed]))
    }

    func set(_ songs: ClosedRange<Int>, year: Int, in name: String = "songs") throws {
      try database.write { tx throws in
        for number in songs {
          try tx[.songs(name)].set(Song(title: "Song \(number)", year: year, rating: nil), for: Self.key(number))
        }
      }
    }

    static func key(_ number: Int) -> String { "s\(String(number + 100_000).dropFirst())" }

    /// That both sides are equal, row by row, and nothing is left to do.
    func expectEqual(
      _ mirror: PostgresMirror? = nil, rows: Int? = nil, at line: SourceLocation = #_sourceLocation
    ) throws {
      let mirror = try mirror ?? self.mirror()
      var differences: [PostgresDifference] = []
      let equal = try mirror.verify { differences.append($0) }
      #expect(differences == [], sourceLocation: line)
      if let rows { #expect(equal == rows, sourceLocation: line) }
      #expect(try mirror.status().state == .consistent, sourceLocation: line)
      try checkInvariants(of: Sink(mirror.settings), mirror.conninfo, at: line)
    }

    /// The invariants of `Sink`, asked over a connection of their own.
    private func checkInvariants(of sink: Sink, _ conninfo: String, at line: SourceLocation) throws {
      let connection = try PostgresConnection(conninfo, StopFlag())
      let known = try connection.run("SELECT state, encode(cursor, 'hex') FROM quire_feed WHERE feed = '\(sink.feed)'")
      #expect(known.text(0, 0) == sink.state.mark.state, sourceLocation: line)
      #expect(known.text(0, 1) == Hexadecimal.text(sink.state.mark.cursor), sourceLocation: line)
      for table in sink.tables.values {
        let both = try connection.run(
          """
          SELECT count(*) FROM \(Statement.quoted(table.name)) t JOIN quire_rejected r \
          ON r.key_bytes = convert_to(t.key, 'UTF8') \
          WHERE r.feed = $1 AND r.collection_bytes = $2
          """, [.text(sink.feed), .bytes(Array(table.collection.utf8))])
        #expect(both.integer(0, 0) == 0, "a row is stored and set aside", sourceLocation: line)
        let newest = try connection.run("SELECT max(csn) FROM \(Statement.quoted(table.name))").integer(0, 0) ?? 0
        #expect(newest <= Int64(sink.state.csn), "a row is newer than the cursor", sourceLocation: line)
      }
    }
  }

  /// What a mirror has told.
  final class Events: Sendable {
    private let events = Mutex<[PostgresEvent]>([])

    func add(_ event: PostgresEvent) { events.withLock { $0.append(event) } }

    var all: [PostgresEvent] { events.withLock { $0 } }
    var rejectedKeys: [String] { all.compactMap { if case .rejected(let row) = $0 { row.key } else { nil } } }
    var beginnings: [String] { all.compactMap { if case .begins(let reason) = $0 { reason } else { nil } } }
    var retries: Int { all.count { if case .retry = $0 { true } else { false } } }
    var batches: [Int] { all.compactMap { if case .batch(_, let rows, _) = $0 { rows } else { nil } } }
  }

  /// The code of the error that `body` throws, or nil.
  func postgresCode(_ body: () throws -> Void) -> PostgresError.Code? {
    do { try body() } catch { return (error as? PostgresError)?.code }
    return nil
  }
#endif
