// quire-postgres status, rejected and verify: looking at a mirror.

#if Postgres
  import ArgumentParser
  import QuireDatabase
  import QuirePostgres

  /// Tells how far a mirror has come.
  struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status", abstract: "Tells how far the mirror has come. Changes nothing.")

    @OptionGroup var options: MirrorOptions
    @Flag(help: "As JSON, in one line.") var json = false

    func run() throws {
      try telling {
        let database = try options.open(isReadOnly: true)
        let status = try options.mirror(of: database).status()
        if json { tell(record(status).json) } else { show(status) }
        try database.close()
      }
    }

    private func record(_ status: PostgresStatus) -> RowValue {
      var fields: [RowValue.Field] = [
        .init("feed", .text(status.feed)), .init("state", .text(status.state.rawValue)),
        .init("csn", .integer(Int128(status.csn.rawValue))), .init("rejected", .integer(Int128(status.rejectedCount))),
      ]
      if let behind = status.behind {
        fields += [
          .init("commits behind", .integer(Int128(behind.commits))),
          .init("changes behind", .integer(Int128(behind.changes))),
          .init("bytes behind", .integer(Int128(behind.bytes))),
          .init("seconds behind", .double(behind.age / .seconds(1))),
        ]
      }
      let tables = status.tables.sorted { $0.key < $1.key }.map { RowValue.Field($0.key, .text($0.value)) }
      return .record(fields + [.init("tables", .record(tables))])
    }

    private func show(_ status: PostgresStatus) {
      tell("\(shown(status.feed)) \(status.state.rawValue) at commit \(status.csn.rawValue)")
      if let behind = status.behind {
        let age = behind.commits > 0 ? ", the oldest \(behind.age.components.seconds) seconds old" : ""
        tell("behind: \(behind.commits) commits, \(behind.changes) changes, \(behind.bytes) bytes\(age)")
      }
      tell("set aside: \(status.rejectedCount)")
      for (collection, table) in status.tables.sorted(by: { $0.key < $1.key }) {
        tell("\(shown(collection)) in \(shown(table))")
      }
    }
  }

  /// Lists the rows that were set aside.
  struct RejectedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rejected", abstract: "Lists the rows that PostgreSQL has refused. Changes nothing.")

    @OptionGroup var options: MirrorOptions

    func run() throws {
      try telling {
        let database = try options.open(isReadOnly: true)
        for row in try options.mirror(of: database).rejected() { tell(.rejected(row)) }
        try database.close()
      }
    }
  }

  /// Compares both sides.
  struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Compares all rows with those in PostgreSQL, and lists the differences. Changes nothing.")

    @OptionGroup var options: MirrorOptions

    func run() throws {
      try telling {
        let database = try options.open(isReadOnly: true)
        var count = 0
        let equal = try options.mirror(of: database).verify { difference in
          count += 1
          tell(difference.description)
        }
        tell("\(equal) rows are equal, \(count) are not")
        try database.close()
        if count > 0 { throw ExitCode.failure }
      }
    }
  }
#endif
