// Finding the feeds of a file at its opening, and beginning those that it does not have.

internal import QuireStorage

/// The feeds of a database that is being opened.
///
/// A feed that has not heard of the newest commit is none: a program that does not know feeds has written past it, or
/// a version of the library which does not.
struct FeedOpening {
  /// A feed of the file.
  private struct Found {
    let tree: Tree
    var state: OpenFeed.State
    /// The newest commit that it has heard of, when it was found.
    let heard: UInt64
  }

  private let engine: StorageEngine
  private let definitions: [ChangeFeed]
  private let clock: @Sendable () -> Int64
  private let run: UInt64
  private let path: String
  private var found: [ByteString: Found] = [:]
  private var unnamed: [UnnamedFeed] = []
  private var space: FeedSpace { FeedSpace(engine) }

  /// Looks at the file. Changes nothing.
  ///
  /// - Throws: `invalidOption` if a feed is described in a way that cannot be kept, or one name is that of two.
  init(
    _ engine: StorageEngine, _ definitions: [ChangeFeed], path: String, clock: @escaping @Sendable () -> Int64
  ) throws {
    self.engine = engine
    self.definitions = definitions
    self.path = path
    self.clock = clock
    run = engine.core.drawRandom()
    var names: Set<ByteString> = []
    for definition in definitions {
      try definition.check(path)
      guard names.insert(ByteString(definition.name)).inserted else {
        throw DatabaseError(
          .invalidOption, "Two feeds are called “\(definition.name)”. Give each a name of its own.", path: path)
      }
    }
    let lineage = engine.core.databaseID
    try engine.read { tx in
      for treeName in tx.treeNames {
        guard let feedName = FeedKeys.feedName(treeName), let tree = tx.tree(named: treeName) else { continue }
        let name = ByteString(feedName)
        var reader = FeedTree(try tx.cursor(tree))
        guard names.contains(name) else {
          // One that is damaged has heard of nothing that counts.
          let heard = try? Self.found(tree, &reader, lineage)?.heard
          unnamed.append(UnnamedFeed(tree: tree, hasHeardAll: heard == tx.csn.rawValue))
          continue
        }
        do {
          guard let feed = try Self.found(tree, &reader, lineage), feed.heard == tx.csn.rawValue else { continue }
          found[name] = feed
        } catch {
          throw Self.damaged(feedName, path, error)
        }
      }
    }
  }

  /// A feed; nil if the tree has none of this database.
  private static func found(_ tree: Tree, _ reader: inout FeedTree, _ lineage: DatabaseID) throws -> Found? {
    guard let record = try reader.record(), record.lineage == lineage else { return nil }
    let newest = try reader.newest() ?? record.base
    let state = OpenFeed.State(
      record: record, newest: newest, oldestTime: try reader.oldest()?.time, forms: try reader.forms(),
      released: try reader.mark(record.released.csn, record.released.part))
    return Found(tree: tree, state: state, heard: max(newest.position.csn, try reader.heard()))
  }

  /// The error for a feed that cannot be read, with what helps against damage.
  private static func damaged(_ feed: String, _ path: String, _ error: any Error) -> any Error {
    guard let error = error as? DatabaseError, error.code == .damagedRow else { return error }
    return DatabaseError(
      .damagedRow,
      """
      What is noted about the feed “\(feed)” is damaged. Open the database without this feed, and change a row, which \
      ends it; named again it begins anew, and so must its consumers, with `bootstrap(of:)`.
      """, path: path, cause: error)
  }

  /// Whether there is nothing to do about feeds, as none was named and the file has none.
  var isEmpty: Bool { definitions.isEmpty && unnamed.isEmpty }

  // MARK: Renaming

  /// Tells feeds that collections are renamed, in the transaction that does so. A feed that hears of a collection under
  /// one name and not under the other cannot tell what that does to the rows of its consumers: it ends.
  ///
  /// - Parameter empty: the renamings of collections that have no row under either name.
  mutating func note(
    renamed names: [(old: String, new: String)], empty: [(old: String, new: String)],
    _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    if !names.isEmpty {
      for feed in unnamed { try tx.dropTree(feed.tree) }
      unnamed = []
    }
    for definition in definitions {
      guard let feed = found[ByteString(definition.name)] else { continue }
      let record = feed.state.record
      /// Whether the feed has heard of a collection under its old name. What a closure knows is not stored.
      func hasHeard(of old: String) -> Bool {
        record.collections.contains(ByteString(old)) && (!record.asksClosure || definition.collections.contains(old))
      }
      let isTold = names.filter { old, new in definition.collections.contains(new) || hasHeard(of: old) }
      let crosses = isTold.contains { old, new in !definition.collections.contains(new) || !hasHeard(of: old) }
      if crosses {
        try tx.dropTree(feed.tree)
        found[ByteString(definition.name)] = nil
      } else if !isTold.isEmpty {
        try note(isTold, of: definition, feed, tx)
      }
      guard let feed = found[ByteString(definition.name)], let record = renamed(feed, definition, empty) else {
        continue
      }
      found[ByteString(definition.name)]?.state.record = record
      try tx.put(record.bytes, for: FeedKeys.record, in: feed.tree)
    }
    try noteHeard(tx)
  }

  /// Whether a feed is described with the newer names of collections that have no row, and is the same but for that.
  func follows(renamedEmpty names: [(old: String, new: String)]) -> Bool {
    definitions.contains { definition in
      found[ByteString(definition.name)].flatMap { renamed($0, definition, names) } != nil
    }
  }

  /// The record of a feed with the newer names of collections that have no row, if it fits the description with them
  /// alone. There is nothing to tell: consumers that come to the end have no row of them.
  private func renamed(
    _ feed: Found, _ definition: ChangeFeed, _ names: [(old: String, new: String)]
  ) -> FeedRecord? {
    var record = feed.state.record
    guard !record.fits(definition, record.lineage) else { return nil }
    record.collections = record.collections.renamed { name in
      names.first { $0.old.hasSameBytes(as: name) }?.new ?? name
    }
    return record.fits(definition, record.lineage) ? record : nil
  }

  /// Notes in all feeds of the file that they have heard of a commit that the opening makes.
  private func noteHeard(_ tx: borrowing QuireStorage.WriteTransaction) throws {
    for feed in found.values { try FeedKeys.noteHeard(in: feed.tree, tx) }
    for feed in unnamed where feed.hasHeardAll { try FeedKeys.noteHeard(in: feed.tree, tx) }
  }

  private mutating func note(
    _ names: [(old: String, new: String)], of definition: ChangeFeed, _ feed: Found,
    _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    var state = feed.state
    var writer = FeedPartWriter(feed.tree, tx.csn, run: run, time: clock(), state.newest, space, definition.retention)
    var body = FeedBodyBuilder()
    for (old, new) in names { body.appendRenamed(from: old, to: new) }
    try writer.write(body, endsCommit: true, compresses: false, tx)
    state.newest = writer.newest
    state.oldestTime = state.oldestTime ?? writer.newest.time
    state.record.renamed = tx.csn.rawValue
    state.record.collections = state.record.collections.renamed { name in
      names.first { $0.old.hasSameBytes(as: name) }?.new ?? name
    }
    try tx.put(state.record.bytes, for: FeedKeys.record, in: feed.tree)
    found[ByteString(definition.name)] = Found(tree: feed.tree, state: state, heard: feed.heard)
  }

  // MARK: Beginning

  /// The feeds, of which those begin anew that the file does not have as they are described; nil if there is none.
  ///
  /// - Parameters:
  ///   - isReadOnly: whether nothing is written: then a feed is not there that would have to begin.
  ///   - collections: the tree of the names of collections, each of which has a row.
  func finish(isReadOnly: Bool, _ collections: Tree) throws -> FeedSet? {
    if isEmpty { return nil }
    let lineage = engine.core.databaseID
    var open: [OpenFeed] = []
    var missing: [ChangeFeed] = []
    for definition in definitions {
      if let feed = found[ByteString(definition.name)], feed.state.record.fits(definition, lineage) {
        open.append(OpenFeed(definition, feed.tree, feed.state))
      } else {
        missing.append(definition)
      }
    }
    if !missing.isEmpty, !isReadOnly {
      open += try engine.write { tx in
        try noteHeard(tx)
        return try missing.map { definition in try begin(definition, lineage, collections, tx) }
      }
    }
    return FeedSet(engine, open, unnamed: unnamed, run: run, clock: clock)
  }

  /// Whether there are rows that a feed which begins now does not tell of.
  private func hasRows(
    _ definition: ChangeFeed, _ collections: Tree, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws -> Bool {
    var cursor = try tx.cursor(collections)
    var isOnEntry = try cursor.seekFirst()
    while isOnEntry, let key = try cursor.readKey() {
      guard let name = String(validating: key, as: UTF8.self) else { throw RowView.damaged() }
      if definition.collections.contains(name) { return true }
      isOnEntry = try cursor.next()
    }
    return false
  }

  private func begin(
    _ definition: ChangeFeed, _ lineage: DatabaseID, _ collections: Tree,
    _ tx: borrowing QuireStorage.WriteTransaction
  ) throws -> OpenFeed {
    let name = FeedKeys.treePrefix + definition.name
    let old = tx.tree(named: name)
    if let old { try tx.dropTree(old) }
    let tree = try tx.createTree(name, keys: .bytes)
    var record = FeedRecord(
      definition, lineage, epoch: engine.core.drawRandom(), csn: tx.csn.rawValue, time: clock())
    record.lacksBeginning = try old != nil || hasRows(definition, collections, tx)
    try tx.put(record.bytes, for: FeedKeys.record, in: tree)
    return OpenFeed(
      definition, tree, OpenFeed.State(record: record, newest: record.base, oldestTime: nil, forms: [], released: nil))
  }
}
