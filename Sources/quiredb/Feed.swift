// quiredb feed: what is stored of change feeds.

import ArgumentParser
import QuireDatabase

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Lists feeds, or the changes of one.
struct Feed: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the change feeds of a database, or the changes of one as JSON, one per line. Changes nothing.",
    discussion: """
      A line is {"csn": …, "kind": …, "collection": …, "key": …}, with "object" and "metadata" where the feed keeps \
      values, and "old object" where it keeps those as well that were there before. The last line is {"cursor": "…"}: \
      --from that cursor goes on behind it. With --limit whole entries are shown, so that it may be more.

      Without --from the oldest change comes first that is there. Where the feed lacks what was before, as that has \
      expired, or as it began when there were rows, a line of standard error says so. A cursor behind which changes \
      have expired is refused: cursorExpired, exit code 1.

      --follow waits for more, and writes a line with a cursor behind each part that has come. The file is opened once \
      a second, read and closed again. If an app has it open, it is read at a checkpoint that the app makes and holds; \
      while an app has it that has no control socket nothing comes. An app that opens it in the very moment in which \
      it is read is kept out, and has to try again.
      """)

  @OptionGroup var database: LiveArgument
  @Argument(help: "The feed; all if left out.") var feed: String?
  @Option(help: "Only changes behind this cursor.") var from: String?
  @Option(help: "No more changes when there are so many.") var limit: Int?
  @Flag(help: "Waits for more changes.") var follow = false
  @Flag(help: "The list of feeds as JSON, one record per line.") var json = false

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit is at least 1.") }
    if feed == nil, from != nil || limit != nil || follow {
      throw ValidationError("Changes are those of one feed: give its name.")
    }
    if let from, FeedCursor(Self.digits(from)) == nil {
      throw ValidationError("“\(visible(from))” is no cursor: give what stands in a line {\"cursor\": …}.")
    }
  }

  /// The digits of a cursor, which may stand in quotes as JSON has them.
  private static func digits(_ text: String) -> String {
    text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
  }

  func run() throws {
    guard let feed else { return try opening(database) { db, _ in try list(db) } }
    var cursor = from.flatMap { FeedCursor(Self.digits($0)) }
    var left = limit ?? .max
    var isFirst = true
    while true {
      do {
        try opening(database, throwing: follow ? [.alreadyOpen] : [], isTold: isFirst) { db, confirm in
          isFirst = false
          try tell(feed, of: db, confirm, &cursor, &left)
        }
      } catch let error as DatabaseError where error.code == .alreadyOpen {}
      guard follow, left > 0 else { return }
      sleep(1)
    }
  }

  // MARK: Changes

  /// Shows the changes behind a cursor.
  private func tell(
    _ name: String, of db: Database, _ confirm: () throws -> Void, _ cursor: inout FeedCursor?, _ left: inout Int
  ) throws {
    let feeds = try chosen(try db.read { tx in try tx.storedFeeds() }, name, "feed", database.file) { $0.name }
    guard let feed = feeds.first else { return }
    if cursor == nil, feed.isOfThisDatabase {
      // Who follows is told what happens to a cursor from now on.
      cursor = feed.status.oldest
      if !feed.status.isComplete { complain(Self.lateBeginning(feed)) }
    }
    var output = StandardOutput()
    var count = 0
    while left > 0, let batch = try db.nextChanges(of: feed, after: cursor, limit: .rows(min(left, 5000))) {
      for change in batch.changes { output.append(try FeedLine.change(change).json) }
      count += batch.changes.count
      left -= batch.changes.count
      cursor = batch.cursor
    }
    if count > 0 || !follow {
      try confirm()
      output.append(FeedLine.cursor(cursor ?? feed.status.oldest).json)
    }
    output.flush()
  }

  /// Says that changes are shown which are not the first.
  private static func lateBeginning(_ feed: StoredFeed) -> String {
    let oldest = feed.status.oldest
    return """
      the feed “\(feed.name)” tells nothing of what was up to \(oldest.csn), part \(oldest.part): that has expired, \
      or was there before the feed began
      """
  }

  // MARK: The list

  private func list(_ db: Database) throws {
    let feeds = try db.read { tx in try tx.storedFeeds() }
    var output = StandardOutput()
    defer { output.flush() }
    if feeds.isEmpty, !json { output.append("no feeds") }
    for feed in feeds {
      if json { output.append(FeedLine.summary(feed).json) } else { Self.show(feed, &output) }
    }
  }

  private static func show(_ feed: StoredFeed, _ output: inout StandardOutput) {
    func names(_ names: [String]) -> String { names.map { "“\(shown($0))”" }.joined(separator: ", ") }
    let scope =
      switch feed.scope {
      case .all: "all collections"
      case .only(let some): names(some)
      case .except(let some): "all collections but \(names(some))"
      case .closure: "collections that the app knows"
      }
    let kept = feed.status.kept
    let foreign = feed.isOfThisDatabase ? "" : ", of another database: begins anew"
    output.append("\(shown(feed.name))  of \(scope), keeping \(FeedLine.text(feed.keeping))\(foreign)")
    output.append("\(aligned(feed.entryCount, 12))  entries, \(kept.commits) commits, \(kept.changes) changes")
    output.append("\(aligned(kept.bytes, 12))  bytes")
    let age = feed.entryCount == 0 ? "" : ", the oldest \(kept.age.components.seconds) seconds old"
    output.append("              \(feed.status.oldest.csn) to \(feed.status.newest.csn)\(age)")
  }
}
