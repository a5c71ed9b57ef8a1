// The chapters in their order, and the run through all of them.

extension Chapter {
  static let all: [Chapter] = [
    .importing, .looking, .finding, .searching, .connecting, .sectioning, .watching, .surviving,
  ]
}

extension Tour {
  /// Runs all chapters.
  func run() async throws {
    let clock = ContinuousClock()
    let start = clock.now
    screen.title("Quire quickstart", "an embedded object database, on real data")
    try open()
    for (index, chapter) in Chapter.all.enumerated() {
      screen.chapter(index + 1, of: Chapter.all.count, chapter.title, code: chapter.code)
      try await chapter.run(self)
    }
    try close()
    let kept = isKept ? "The database is at \(path)." : "The database is gone again; --database PATH keeps it."
    screen.end("Done in \(text(clock.now - start)). \(kept)", "Next: Sources/Quire/Quire.docc/GettingStarted.md")
  }
}
