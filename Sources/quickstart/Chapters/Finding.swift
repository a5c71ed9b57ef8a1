// Chapter: packages by their fields.

import Quire

extension Indexes where Object == Package, Metadata == ImportState {
  /// By section and size, by what is depended on, and by maintainer.
  static var packages: Self {
    Indexes("packages.indexes", over: .packages, version: "1") {
      Index("section-size", \.section, .descending(\.installedSize))
      Index("provides", each: \.provides)
      Index("maintainer", \.maintainer.folded)
    }
  }
}

extension Chapter {
  /// Registers indexes, and asks for packages by their fields.
  static let finding = Chapter(
    title: "Find: by fields, in order, counted",
    code: """
      try await db.register(Indexes.packages)

      let games = try db.read { tx in
        try tx[.packages].find { $0.section == "games" }.order(by: .descending(\\.installedSize)).limit(3).keys
      }
      let large = try db.read { tx in
        try tx[.packages].find { $0.section == "games" && $0.installedSize >= 100_000 }.count
      }
      """
  ) { tour in
    let db = try tour.openDatabase()
    let clock = ContinuousClock()
    let start = clock.now
    try await db.register(Indexes.packages)
    let count = try await db.read { tx in try tx.access(to: Indexes.packages).names.count }
    tour.screen.done("\(text(count)) indexes built", text(clock.now - start), "16 MiB of memory, whatever the rows")
    try ask(tour, db)
  }

  private static func ask(_ tour: Tour, _ db: Database) throws {
    let (games, time) = try tour.timing {
      let games = try db.read { tx in
        try tx[.packages].find { $0.section == "games" }.order(by: .descending(\.installedSize)).limit(3).keys
      }
      return games
    }
    tour.screen.done("The largest games: \(games.joined(separator: ", "))", text(time))
    let (large, counting) = try tour.timing {
      let large = try db.read { tx in
        try tx[.packages].find { $0.section == "games" && $0.installedSize >= 100_000 }.count
      }
      return large
    }
    tour.screen.done("\(text(large)) games of 100 MB and more", text(counting), "counted without a look at one")
    let (agents, plan) = try db.read { tx in
      let found = tx[.packages].find { $0.provides.contains("mail-transport-agent") }
      return (try found.count, try found.plan.description)
    }
    tour.screen.done("\(text(agents)) packages provide “mail-transport-agent”", plan)
  }
}
