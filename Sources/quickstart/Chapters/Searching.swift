// Chapter: packages by their words, as one types.

import Foundation
import Quire
import Synchronization

extension FullText where Object == Package, Metadata == ImportState {
  /// By name, summary and description, in whatever form of its words.
  static var packages: Self {
    FullText("packages.text", over: .packages, version: "1", tokenizer: .words.stemmed(.english)) {
      SearchField("name", \.name, weight: 4)
      SearchField("summary", \.summary, weight: 2)
      SearchField("description", \.description)
    }
  }
}

extension Chapter {
  /// Registers a full text, and types a search while a writer commits.
  static let searching = Chapter(
    title: "Search: ranked as one types, while a writer commits",
    code: """
      try await db.register(FullText.packages)

      let hits = try db.read { tx in
        try tx[.packages].search(typing: typed).ranked().limit(10).map { hit in
          (hit.key, try hit.snippet(of: "summary").marked("[", "]"))
        }
      }
      """
  ) { tour in
    let db = try tour.openDatabase()
    let clock = ContinuousClock()
    let start = clock.now
    try await db.register(FullText.packages)
    let count = try await db.read { tx in try tx.access(to: FullText.packages).documentCount }
    tour.screen.done("\(text(count)) packages cut into words", text(clock.now - start))
    let name = try sampleName(db)
    let isOver = SharedStop()
    async let commits = commit(to: name, db, until: isOver)
    defer { isOver.set() }
    for words in ["command line tool", "shared librar"] { try type(words, tour, db) }
    isOver.set()
    tour.screen.done("Meanwhile", "\(text(try await commits)) durable commits changed the words of \(name)")
  }

  /// Types a text letter by letter, and shows the best at the end.
  private static func type(_ words: String, _ tour: Tour, _ db: Database) throws {
    var (slowest, sum, shown) = (Duration.zero, Duration.zero, [(key: String, snippet: String)]())
    for end in words.indices {
      let typed = String(words[...end])
      let (found, time) = try tour.timing {
        let hits = try db.read { tx in
          try tx[.packages].search(typing: typed).ranked().limit(10).map { hit in
            (hit.key, try hit.snippet(of: "summary").marked("[", "]"))
          }
        }
        return hits
      }
      (slowest, sum, shown) = (max(slowest, time), sum + time, found)
    }
    guard let best = shown.first else {
      // Among other packages than Debian's nothing may have these words.
      return tour.screen.done("“\(words)” typed", "no package has these words")
    }
    tour.screen.done(
      "“\(words)” typed: ten ranked hits in \(text(sum / words.count))", "a key press, \(text(slowest)) at the most")
    tour.screen.done("The best: \(best.key)", best.snippet)
  }

  /// Changes a word of a package, over and over. Returns how many commits that were.
  private static func commit(to name: String, _ db: Database, until isOver: SharedStop) async throws -> Int {
    var count = 0
    while !isOver.isSet {
      count += 1
      try await db.write { [count] tx in
        try tx[.packages].update(name) { package in package.description = "Changed \(count) times" }
      }
    }
    return count
  }
}

/// That something is over, as one task tells another.
private final class SharedStop: Sendable {
  private let flag = Atomic(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
