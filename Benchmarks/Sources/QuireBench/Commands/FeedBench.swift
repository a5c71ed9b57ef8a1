// What a change feed costs those who write, and how fast it is read.

internal import ArgumentParser
internal import Foundation
internal import QuireDatabase
internal import QuireTesting

/// Measures change feeds.
struct FeedBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "feeds", abstract: "Measures what change feeds add to commits, and how fast they are read.")

  @Option(help: "Rows of batches, in transactions of 1,000.")
  var count = 1_000_000
  @Option(help: "Commits of one row.")
  var commits = 20_000
  @Option(help: "Alternating runs.")
  var runs = 5

  /// A feed that is measured; nil for a database without one.
  private typealias Kind = (name: String, feed: ChangeFeed?)

  private static let batchRows = 1_000
  private static let kinds: [Kind] = [
    ("without a feed", nil), ("keys", ChangeFeed("bench", retention: .init(bytes: 1 << 30))),
    ("new values", ChangeFeed("bench", keeping: .newValues, retention: .init(bytes: 1 << 30))),
  ]

  func run() throws {
    var times: [String: [String: [Double]]] = [:]
    for run in 0..<runs {
      for kind in run % 2 == 0 ? Self.kinds : Self.kinds.reversed() {
        for (row, value) in try measure(kind) { times[row, default: [:]][kind.name, default: []].append(value) }
      }
    }
    let rows = ["µs/row in batches", "µs per single commit", "million changes/s by states", "million changes/s by log"]
    for row in rows {
      for kind in Self.kinds {
        guard let samples = times[row]?[kind.name] else { continue }
        let (middle, lowest, highest) = (median(samples), samples.min() ?? 0, samples.max() ?? 0)
        print(String(format: "%@, %@: %.3f (%.3f–%.3f)", kind.name, row, middle, lowest, highest))
      }
    }
    for row in ["µs/row in batches", "µs per single commit"] {
      guard let rows = times[row], let with = rows["keys"], let without = rows["without a feed"] else { continue }
      print(String(format: "a feed of keys adds %.3f %@", median(with) - median(without), row))
    }
  }

  /// One run: what each row of the table gives, by the time on a core. What the disk takes is no part of it.
  private func measure(_ kind: Kind) throws -> [(String, Double)] {
    let folder =
      FileManager.default.temporaryDirectory.path + "/quire-feeds-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let db = try Database(
      at: "\(folder)/rows",
      options: Database.Options(
        durability: .relaxed, cacheSize: 512 << 20, maintainsWhenIdle: false, feeds: kind.feed.map { [$0] } ?? []))
    var random = SeededRandom(seed: 1)
    let keys = (0..<count).map { "row-\(1_000_000 + $0)" }.shuffled(using: &random)
    var results: [(String, Double)] = []
    var start = Clocks.thread()
    for first in stride(from: 0, to: count, by: Self.batchRows) {
      try db.write { tx throws in
        for key in keys[first..<min(count, first + Self.batchRows)] {
          try tx[dates].set(Date(timeIntervalSinceReferenceDate: 1), for: key)
        }
      }
    }
    results.append(("µs/row in batches", Double(Clocks.thread() - start) / Double(count) / 1000))
    start = Clocks.thread()
    for number in 0..<commits {
      try db.write { tx throws in
        try tx[dates].set(Date(timeIntervalSinceReferenceDate: 2), for: keys[number % count])
      }
    }
    results.append(("µs per single commit", Double(Clocks.thread() - start) / Double(commits) / 1000))
    if let feed = kind.feed {
      for (name, mode) in [("states", FeedMode.state), ("log", .log)] {
        results.append(("million changes/s by \(name)", try read(db, feed, mode)))
      }
    }
    try db.close()
    return results
  }

  /// Reads all of a feed; a change of the log for each row that was set, by states one for each row.
  private func read(_ db: Database, _ feed: ChangeFeed, _ mode: FeedMode) throws -> Double {
    var (cursor, changes): (FeedCursor?, Int) = (nil, 0)
    let start = Clocks.thread()
    while let batch = try db.nextChanges(of: feed, after: cursor, mode: mode) {
      changes += batch.changes.count
      cursor = batch.cursor
    }
    let time = Double(Clocks.thread() - start)
    try expect(mode == .state ? changes >= count : changes == count + commits, "\(changes) changes were told")
    return Double(changes) / time * 1000
  }
}
