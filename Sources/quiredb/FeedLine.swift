// What a change feed tells, as JSON.

import QuireDatabase

/// Lines of JSON about feeds.
enum FeedLine {
  /// What is kept of rows, in a word or two.
  static func text(_ keeping: ChangeFeed.Keeping) -> String {
    switch keeping {
    case .keys: "keys"
    case .newValues: "new values"
    case .bothValues: "both values"
    }
  }

  /// A line that says how far what stands before it goes.
  static func cursor(_ cursor: FeedCursor) -> RowValue { ["cursor": .text(cursor.description)] }

  /// What is known of a feed.
  static func summary(_ feed: StoredFeed) -> RowValue {
    func list(_ names: [String]) -> RowValue { .list(names.map { .text($0) }) }
    let scope: RowValue =
      switch feed.scope {
      case .all: "all"
      case .only(let some): ["only": list(some)]
      case .except(let some): ["except": list(some)]
      case .closure: "closure"
      }
    let (status, kept) = (feed.status, feed.status.kept)
    return [
      "feed": .text(feed.name), "collections": scope, "keeping": .text(text(feed.keeping)),
      "is of this database": .bool(feed.isOfThisDatabase), "entries": count(feed.entryCount),
      "commits": count(kept.commits), "changes": count(kept.changes), "bytes": count(kept.bytes),
      "oldest": count(status.oldest.csn.rawValue), "newest": count(status.newest.csn.rawValue),
      "seconds": count(kept.age.components.seconds), "oldest cursor": .text(status.oldest.description),
      "newest cursor": .text(status.newest.description),
    ]
  }

  /// One change.
  ///
  /// - Throws: `decodingFailed` with collection and key, for values that are kept and cannot be read.
  static func change(_ change: FeedChange) throws -> RowValue {
    var fields: [RowValue.Field] = [.init("csn", count(change.csn.rawValue)), .init("kind", kind(change.kind))]
    if case .changed(let halves) = change.kind, halves != .any {
      fields.append(.init("half", halves == .object ? "object" : "metadata"))
    }
    if case .renamed(let from) = change.kind { fields.append(.init("from", .text(from))) }
    if change.kind != .clearedAll { fields.append(.init("collection", .text(change.collection))) }
    guard let rowID = change.rowID else { return .record(fields) }
    fields += [.init("key", .text(change.key)), .init("row", count(rowID.rawValue))]
    for (row, prefix) in [(try change.newRow(), ""), (try change.oldRow(), "old ")] {
      guard let row else { continue }
      fields += half(row.object, "\(prefix)object")
      if let metadata = row.metadata { fields += half(metadata, "\(prefix)metadata") }
    }
    return .record(fields)
  }

  private static func kind(_ kind: FeedChange.Kind) -> RowValue {
    switch kind {
    case .inserted: "inserted"
    case .changed: "changed"
    case .removed: "removed"
    case .cleared: "cleared"
    case .clearedAll: "cleared all"
    case .renamed: "renamed"
    }
  }

  private static func half(_ half: StoredHalf, _ name: String) -> [RowValue.Field] {
    var fields = [RowValue.Field(name, RowLine.shown(half))]
    if case .encrypted(let key) = half.content { fields.append(.init("\(name) encrypted with key", count(key))) }
    return fields
  }
}
