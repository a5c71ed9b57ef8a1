// Consumers of feeds, and what they are compared with.

import QuireDatabase
import QuireTesting

/// The rows of some collections of texts: object and metadata behind each key.
struct FeedRows: Equatable {
  var collections: [String: [String: String]] = [:]

  static func text(_ row: Row<String, String>) -> String { "\(row.object)|\(row.metadata ?? "-")" }

  /// All rows of a database but those of some collections.
  init(_ db: Database, without names: Set<String> = []) throws {
    self = try db.read { tx in
      var rows = FeedRows()
      for name in tx.collections where !names.contains(name) {
        for row in tx[.texts(name)].rows { rows.collections[name, default: [:]][row.key] = Self.text(row) }
      }
      return rows
    }
  }

  init() {}

  /// Takes a change over, as a consumer of an app's would.
  mutating func apply(_ change: FeedChange) throws {
    switch change.kind {
    case .inserted, .changed:
      guard let row = try change.newRow() else { throw Lacking(change: "\(change.kind) of \(change.key)") }
      set(change.collection, change.key, "\(row.object.text)|\(row.metadata?.text ?? "-")")
    case .removed: set(change.collection, change.key, nil)
    case .cleared: collections[change.collection] = nil
    case .clearedAll: collections = [:]
    case .renamed(let old):
      collections[change.collection] = collections[old]
      collections[old] = nil
    }
  }

  private mutating func set(_ collection: String, _ key: String, _ text: String?) {
    collections[collection, default: [:]][key] = text
    if collections[collection]?.isEmpty == true { collections[collection] = nil }
  }

  struct Lacking: Error { let change: String }
}

extension StoredHalf {
  /// A text of the tests.
  var text: String { if case .text(let text)? = value { text } else { "\(content)" } }
}

/// A consumer that keeps its rows and its cursor together, as a sink with transactions does.
struct FeedConsumer {
  let feed: ChangeFeed
  let mode: FeedMode
  var rows = FeedRows()
  var cursor: FeedCursor?

  init(_ feed: ChangeFeed, _ mode: FeedMode, _ cursor: FeedCursor? = nil) {
    (self.feed, self.mode, self.cursor) = (feed, mode, cursor)
  }

  /// Takes over the next batch; returns it.
  mutating func pull(_ db: Database, rows limit: Int = 5000) throws -> FeedBatch? {
    guard let batch = try db.nextChanges(of: feed, after: cursor, limit: .rows(limit), mode: mode) else { return nil }
    for change in batch.changes { try rows.apply(change) }
    cursor = batch.cursor
    return batch
  }

  /// Takes over all there is.
  mutating func pullAll(_ db: Database, rows limit: Int = 5000) throws {
    while try pull(db, rows: limit) != nil {}
  }

  /// Takes over all rows, some at a time.
  mutating func bootstrap(_ db: Database, rows limit: Int = 10_000) throws {
    rows = FeedRows()
    var position: BootstrapPosition?
    repeat {
      let batch = try db.bootstrap(of: feed, after: position, limit: .rows(limit))
      for row in batch.rows { try rows.apply(row) }
      position = BootstrapPosition(batch.position.description)
    } while position?.isComplete == false
    cursor = position?.cursor
  }
}

/// Removes rows of “b” with those of “a”, and counts the rows of “a” in “count”.
struct Cascade: DatabaseExtension {
  static let kind = "test.cascade"
  let name = "cascade"
  var isBuiltFromRows: Bool { false }
  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> Writer { Writer(store) }

  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    init(_ store: ExtensionStore) { self.store = store }
    func willBuild(_ reason: ExtensionBuildReason) throws {}
    func didChange(_ change: RowChange) throws {
      guard change.kind == .remove, change.collection == "a" else { return }
      _ = try store.writeTransaction?[.texts("b")].remove(change.key)
    }
    func settleRows() throws {
      guard let tx = store.writeTransaction else { return }
      let count = "\(tx[.texts("a")].count)"
      if try tx[.texts("count")].get("a") != count { try tx[.texts("count")].set(count, for: "a") }
    }
  }
}
