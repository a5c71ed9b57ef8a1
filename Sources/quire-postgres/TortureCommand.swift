// quire-postgres torture: a writer and the feeder in one process, for Tests/postgres to kill.

#if Postgres
  import ArgumentParser
  internal import Foundation
  internal import QuireDatabase
  internal import QuirePostgres

  /// Writes a bank and mirrors it at the same time.
  struct TortureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "torture",
      abstract: "Writes and mirrors at the same time, until SIGTERM.",
      discussion: """
        For Tests/postgres. The balances of the accounts sum to zero in each commit. Of two names a collection has one \
        or the other, as the seed has it, and is renamed at the opening. With --offline nothing is mirrored.
        """, shouldDisplay: false)

    @OptionGroup var options: MirrorOptions
    @Option(help: "What the transactions are drawn from.")
    var seed: UInt64 = 1
    @Option(help: "How many transactions there are.")
    var transactions: Int?
    @Option(help: "Milliseconds between two transactions.")
    var pause = 2
    @Flag(help: "Write rows that PostgreSQL cannot take as they are.")
    var poison = false
    @Option(help: "Change rows of this collection as well, whatever they are.")
    var touch: String?
    @Option(help: "Store so many rows first that nobody changes.")
    var rows = 0
    @Flag(help: "Mirror nothing.")
    var offline = false
    @Flag(help: "Commits are durable when the feeder or the system sees to it.")
    var relaxed = false
    @Option(help: "How many bytes the feed keeps.")
    var feedBytes = 256 << 20

    func run() throws {
      try telling {
        let feed = ChangeFeed(options.feed, retention: .init(bytes: feedBytes))
        let names = TortureWriter.thingNames
        let (old, new) = seed.isMultiple(of: 2) ? (names[0], names[1]) : (names[1], names[0])
        var settings = Database.Options(durability: relaxed ? .relaxed : .full, feeds: [feed])
        settings.renamedCollections = [old: new]
        let database = try Database(at: options.file, options: settings)
        let writer = TortureWriter(
          database: database, things: new, isPoisonous: poison, touched: touch, seed: seed)
        try writer.store(rows)
        var life = TortureLife(writer: writer, limit: transactions, pause: .milliseconds(pause))
        if !offline { try startFeeder(database) }
        try life.run()
        // The feeder is in the middle of something, and ends with the process.
        if offline { try database.close() }
      }
    }

    /// Mirrors on a thread of its own, and ends the process if that fails.
    private func startFeeder(_ database: Database) throws {
      let mirror = try options.mirror(of: database) { tell($0) }
      Thread.detachNewThread {
        do { try telling { try mirror.follow() } } catch { endProcess(with: error) }
      }
    }
  }

  private func endProcess(with error: any Error) -> Never {
    if let code = error as? ExitCode { exit(code.rawValue) }
    complain("\(error)")
    exit(1)
  }
#endif
