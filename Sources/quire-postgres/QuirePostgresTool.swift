// The tool that mirrors databases into PostgreSQL.

internal import ArgumentParser

#if Postgres
  internal import QuireDatabase
  internal import QuirePostgres

  /// `quire-postgres`: what an operator asks of a mirror.
  @main
  struct QuirePostgresTool: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "quire-postgres",
      abstract: "Mirrors the rows of a database into PostgreSQL, exactly once.",
      discussion: """
        Exit codes: 0, done, or both sides are equal; 1, they are not, or something went wrong, which standard error \
        tells; 3, another feeder has moved the cursor; 4, the tables are of another database, of a copy of it, or of \
        another life of the feed, and were left alone; 64, the command line is none.
        """,
      subcommands: [
        MirrorCommand.self, StatusCommand.self, RejectedCommand.self, VerifyCommand.self, RowsCommand.self,
        TortureCommand.self, MemberCommand.self,
      ])
  }
#else
  /// The tool without what it is about.
  @main
  struct QuirePostgresTool: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "quire-postgres")

    func run() throws {
      throw ValidationError("The mirror is not built in: swift run --traits Postgres quire-postgres")
    }
  }
#endif
