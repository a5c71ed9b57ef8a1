// A PostgreSQL of the tests' own, from the system's package.

#if Postgres
  import Foundation
  import Testing

  @testable import QuirePostgres

  /// A server on a socket in a temporary folder, which ends with this process. Nothing of it is on a network.
  final class TestServer: Sendable {
    /// Where Debian has the programs.
    private static let programs = "/usr/lib/postgresql/15/bin"

    /// Whether it is installed.
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: "\(programs)/postgres") }

    /// The one that all tests use, each with a database of its own.
    static let shared = Result { try TestServer() }

    let folder: String

    /// Starts one. It is stopped when its standard input ends, as it does with this process, however that ends.
    private init() throws {
      folder = NSTemporaryDirectory() + "quire-pg-\(getpid())"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let script = """
        umask 077
        if [ "$(id -u)" = 0 ]; then
          chown postgres "$0"; user='setpriv --reuid=postgres --regid=postgres --init-groups'
        fi
        cd "$0"
        $user $1/initdb -D "$0/data" -A trust -U quire --locale=C.UTF-8 --no-sync >init.log 2>&1 || exit 1
        $user $1/pg_ctl -D "$0/data" -w -l "$0/data/log" start -o "-c listen_addresses= -c fsync=off \
        -c unix_socket_directories=$0 -c shared_buffers=32MB -c max_connections=200" >start.log 2>&1 || exit 1
        echo ready
        cat >/dev/null
        cd /
        $user $1/pg_ctl -D "$0/data" -m immediate stop >/dev/null 2>&1
        rm -rf "$0"
        """
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", script, folder, Self.programs]
      let (input, output) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      let said = output.fileHandleForReading.availableData
      guard String(decoding: said, as: UTF8.self) == "ready\n" else {
        throw PostgresError(.notReachable, "PostgreSQL did not start in \(folder).")
      }
      // The descriptor stays open as long as this process lives.
      _ = dup(input.fileHandleForWriting.fileDescriptor)
    }

    func conninfo(_ database: String) -> String { "host=\(folder) user=quire dbname=\(database)" }
  }

  /// A database of PostgreSQL's for one test.
  final class TestTarget {
    let conninfo: String
    let name: String
    private let connection: PostgresConnection

    /// - Parameter language: the language whose order texts have; that of bytes if left out.
    init(language: String? = nil) throws {
      let server = try TestServer.shared.get()
      name = "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
      let admin = try PostgresConnection(server.conninfo("postgres"), StopFlag())
      let order = language.map { " LOCALE_PROVIDER icu ICU_LOCALE '\($0)' TEMPLATE template0" } ?? ""
      try admin.run("CREATE DATABASE \(name)\(order)")
      conninfo = server.conninfo(name)
      connection = try PostgresConnection(conninfo, StopFlag())
    }

    /// Runs a statement over a connection beside the mirror's. The values are those of the answer, row by row.
    @discardableResult
    func run(_ sql: String) throws -> [[String?]] {
      let rows = try connection.run(sql)
      return (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) } }
    }

    /// The one value that a statement answers.
    func value(_ sql: String) throws -> String? { try #require(try run(sql).first?.first) }

    /// Puts the rows of another table in the place of those of a table, in one transaction.
    func replace(_ table: String, with other: String) throws {
      for statement in ["BEGIN", "DELETE FROM \(table)", "INSERT INTO \(table) SELECT * FROM \(other)", "COMMIT"] {
        try run(statement)
      }
    }

    /// Ends all sessions of the database but this one. Returns how many there were.
    func endSessions() throws -> Int {
      try run(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)' AND pid <> pg_backend_pid()
        """
      ).count
    }
  }
#endif
