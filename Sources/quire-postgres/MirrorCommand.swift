// quire-postgres mirror: brings rows over.

#if Postgres
  import ArgumentParser
  import Dispatch
  import QuireDatabase
  import QuirePostgres

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif

  /// Mirrors a database.
  struct MirrorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "mirror",
      abstract: "Brings rows over, and changes, until it is ended by SIGTERM or SIGINT.",
      discussion: """
        Tells what it does, a line for each: “connected”, “begins”, “changed”, “batch”, “rejected” and “retry”. While \
        PostgreSQL is away it tries again for ever. The database is open for as long as this runs.
        """)

    @OptionGroup var options: MirrorOptions
    @Flag(help: "Ends when nothing is left.") var once = false
    @Flag(help: "Says what would be done, and does nothing.") var dryRun = false
    @Flag(help: "Takes the place of tables that are of another database or another life of the feed.")
    var beginAnew = false

    func run() throws {
      try telling {
        let database = try options.open()
        let mirror = try options.mirror(of: database, beginsAnew: beginAnew) { tell($0) }
        if dryRun {
          try show(mirror.plan())
        } else {
          let signals = EndSignals { mirror.stop() }
          defer { withExtendedLifetime(signals) {} }
          do { try once ? mirror.catchUp() : mirror.follow() } catch let error as PostgresError
            where error.code == .stopped
          {}
        }
        try database.close()
      }
    }

    private func show(_ plan: PostgresPlan) {
      for statement in plan.statements { tell(statement) }
      tell(plan.bootstraps ? "all rows go over: \(plan.rowCount)" : "changes go over: \(plan.rowCount)")
    }
  }

  /// Calls a closure when the process is asked to end.
  final class EndSignals {
    private let sources: [any DispatchSourceSignal]

    init(_ body: @escaping @Sendable () -> Void) {
      sources = [SIGTERM, SIGINT].map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler(handler: body)
        source.resume()
        return source
      }
    }
  }
#endif
