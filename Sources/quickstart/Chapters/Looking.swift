// Chapter: counts, a look-up, a range, everything.

import Quire

extension Chapter {
  /// Reads in the ways in which apps read.
  static let looking = Chapter(
    title: "Look: by key, by range, all of it",
    code: """
      let count = try db.read { tx in tx[.packages].count }
      let package = try db.read { tx in try tx[.packages].get(name) }

      let libraries = try db.read { tx in try tx[.packages].count(prefix: "lib") }
      let shells = try db.read { tx in tx[.packages].rows("bash"..."bash-completion").map(\\.object.summary) }
      """
  ) { tour in
    let db = try tour.openDatabase()
    try lookUp(tour, db)
    try lookAtRanges(tour, db)
    try readEverything(tour, db)
  }

  private static func lookUp(_ tour: Tour, _ db: Database) throws {
    let count = try db.read { tx in tx[.packages].count }
    tour.screen.done("\(text(count)) packages in the collection", "counted in O(log n), nothing is read")

    let name = try sampleName(db)
    let (package, time) = try tour.timing {
      let package = try db.read { tx in try tx[.packages].get(name) }
      return package
    }
    guard let package else { throw TourError("\(name) was stored and is not there.") }
    let state = try db.read { tx in try tx[.packages].metadata(name) }
    tour.screen.done(
      "\(package.name) \(package.version)", "\(text(time)) in a transaction of its own",
      state.map { "line \(text($0.line)) of the index" } ?? "")
    tour.screen.note("\(package.summary); needs \(list(package.dependencies.compactMap(\.names.first)))")
  }

  private static func lookAtRanges(_ tour: Tour, _ db: Database) throws {
    let (libraries, time) = try tour.timing {
      let libraries = try db.read { tx in try tx[.packages].count(prefix: "lib") }
      return libraries
    }
    tour.screen.done("\(text(libraries)) names begin with “lib”", text(time))
    let shells = try db.read { tx in tx[.packages].rows("bash"..."bash-completion").map(\.object.summary) }
    tour.screen.done("\(text(shells.count)) from “bash” to “bash-completion”", list(shells))
  }

  private static func readEverything(_ tour: Tour, _ db: Database) throws {
    let (size, scan) = try tour.timing {
      try db.read { tx in tx[.packages].rows.reduce(0) { $0 + $1.object.installedSize } }
    }
    let keys = try db.read { tx in Array(tx[.packages].keys) }.shuffled()
    let (_, gets) = try tour.timing {
      try db.read { tx in for key in keys { _ = try tx[.packages].get(key) } }
    }
    tour.screen.done(
      "All of them in order: \(text(byteCount: size * 1024)) installed", text(scan), rate(keys.count, "rows", in: scan))
    tour.screen.done("All of them in random order", text(gets), rate(keys.count, "rows", in: gets))
  }

  /// The name of a package that is there: bash, or the first one.
  static func sampleName(_ db: Database) throws -> String {
    let name = try db.read { tx in
      try tx[.packages].contains("bash") ? "bash" : tx[.packages].keys.first
    }
    guard let name else { throw TourError("There is no package.") }
    return name
  }

  /// A few words in a row.
  private static func list(_ words: [String]) -> String {
    guard !words.isEmpty else { return "nothing" }
    let shown = words.prefix(3).joined(separator: ", ")
    return words.count > 3 ? "\(shown), and \(text(words.count - 3)) more" : shown
  }
}
