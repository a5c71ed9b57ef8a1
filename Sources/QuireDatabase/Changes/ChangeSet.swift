// What a commit has changed, as apps and extensions ask for it.

internal import QuireStorage
internal import Synchronization

/// What one commit has changed.
///
/// A value that may be used from any thread. The first question costs time in proportion to the number of changes,
/// later ones a look-up.
///
/// Inside one transaction later changes swallow earlier ones: a removal takes back what was reported of the row; a row
/// that is stored again after its removal counts as changed, inserted and removed; clearing a collection takes back all
/// that was reported of its rows before. Keys that went with a whole collection are not listed, but `hasChanges` is
/// true for every key of it.
public final class ChangeSet: Sendable {
  private let log: ChangeLog
  private let names: [CollectionID: String]
  private let index = Latch<ChangeIndex?>(nil)
  /// Whether nobody knows what was changed, as the changes were too many to be kept: every question is answered with
  /// yes, and lists are empty. Read afresh what matters.
  public let isUnknown: Bool

  init(_ log: ChangeLog, names: [CollectionID: String]) {
    self.log = log
    self.names = names
    isUnknown = false
  }

  private init() {
    log = ChangeLog()
    names = [:]
    isUnknown = true
  }

  /// Changes that nobody knows.
  static let unknown = ChangeSet()

  /// About how many bytes of memory it takes.
  var byteCount: Int { log.bytes.capacity + 256 }

  /// Whether it is worth to look whether rows that were read have changed. Costs nothing in proportion to the changes.
  func mayConcern(_ reads: ReadSet) -> Bool {
    reads.hasReadAllRows || log.hasClearedAll || names.values.contains { reads.collections[ByteString($0)] != nil }
  }

  /// Asks the changes, looked up by collection and key; these are put in order at the first question.
  func ask<Answer: Sendable>(_ body: @Sendable (ChangeIndex) -> Answer) -> Answer {
    let index = index.withLock { index -> ChangeIndex in
      if let index { return index }
      let made = ChangeIndex(log, names)
      index = made
      return made
    }
    return body(index)
  }

  // MARK: Questions

  /// Whether the row under `key` was stored, touched or removed, also by clearing its collection.
  public func hasChanges<Object, Metadata>(
    forKey key: String, in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    hasChanges(forKey: key, inCollection: collection.name, halves)
  }

  /// Whether any of the rows under `keys` was stored, touched or removed.
  public func hasChanges<Object, Metadata>(
    forAnyOf keys: some Sequence<String>, in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    hasChanges(forAnyOf: keys, inCollection: collection.name, halves)
  }

  /// Whether any row of the collection was stored, touched or removed.
  public func hasChanges<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    hasChanges(inCollection: collection.name, halves)
  }

  /// The keys of the collection's rows that were stored, touched or removed one by one, in the order of their bytes.
  public func changedKeys<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> [String] {
    changedKeys(inCollection: collection.name, halves)
  }

  /// The keys of the collection's rows that are new, in the order of their bytes.
  public func insertedKeys<Object, Metadata>(in collection: RowCollection<Object, Metadata>) -> [String] {
    insertedKeys(inCollection: collection.name)
  }

  /// The keys of the collection's rows that were removed one by one, in the order of their bytes. One that was stored
  /// again afterwards is among them.
  public func removedKeys<Object, Metadata>(in collection: RowCollection<Object, Metadata>) -> [String] {
    removedKeys(inCollection: collection.name)
  }

  /// Whether all rows of the collection were removed at once, alone or with those of all others. Rows may have been
  /// stored in it afterwards.
  public func didClear<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> Bool {
    didClear(collectionNamed: collection.name)
  }

  /// Whether all rows of all collections were removed at once.
  public var didClearAll: Bool { isUnknown || ask { $0.isAllCleared } }

  /// Whether nothing was changed.
  public var isEmpty: Bool { !isUnknown && log.isEmpty }

  /// All rows that were stored, touched or removed one by one, in the order of collection and key.
  public var changedRows: [RowKey] {
    ask { index in
      index.collections.flatMap { name, changes in
        changes.rows.filter { $0.value.concerns(.any) }.map { RowKey(name.string, $0.key.string) }
      }.sorted()
    }
  }

  /// Calls `body` with each row that was stored, touched or removed one by one, in no particular order: the cheapest
  /// way to look at all of them. O(changes).
  public func forEachRow(_ body: (_ row: RowKey, _ summary: RowSummary) -> Void) {
    for (name, changes) in ask({ $0.collections }) {
      for (key, summary) in changes.rows where summary.concerns(.any) { body(RowKey(name.string, key.string), summary) }
    }
  }

  // MARK: The same by the collection's name

  /// The names of the collections with changes, in the order of their bytes; without those that went with all others.
  public var collections: [String] {
    ask { index in index.collections.keys.map(\.string).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
  }

  /// Whether the row under `key` was stored, touched or removed.
  public func hasChanges(forKey key: String, inCollection name: String, _ halves: RowHalves = .any) -> Bool {
    if isUnknown { return true }
    return ask { index in
      guard !index.isAllCleared else { return true }
      guard let changes = index.collections[ByteString(name)] else { return false }
      return changes.isCleared || changes.rows[ByteString(key)]?.concerns(halves) ?? false
    }
  }

  /// Whether any of the rows under `keys` was stored, touched or removed.
  public func hasChanges(
    forAnyOf keys: some Sequence<String>, inCollection name: String, _ halves: RowHalves = .any
  ) -> Bool {
    keys.contains { hasChanges(forKey: $0, inCollection: name, halves) }
  }

  /// Whether any row of the collection was stored, touched or removed.
  public func hasChanges(inCollection name: String, _ halves: RowHalves = .any) -> Bool {
    if isUnknown { return true }
    return ask { index in
      guard !index.isAllCleared else { return true }
      guard let changes = index.collections[ByteString(name)] else { return false }
      return changes.isCleared || changes.rows.values.contains { $0.concerns(halves) }
    }
  }

  /// The keys of rows that were stored, touched or removed one by one, in the order of their bytes.
  public func changedKeys(inCollection name: String, _ halves: RowHalves = .any) -> [String] {
    keys(name) { $0.concerns(halves) }
  }

  /// The keys of rows that are new, in the order of their bytes.
  public func insertedKeys(inCollection name: String) -> [String] { keys(name) { $0.isInserted } }

  /// The keys of rows that were removed one by one, in the order of their bytes.
  public func removedKeys(inCollection name: String) -> [String] { keys(name) { $0.isRemoved } }

  /// Whether all rows of the collection were removed at once.
  public func didClear(collectionNamed name: String) -> Bool {
    isUnknown || ask { $0.isAllCleared || $0.collections[ByteString(name)]?.isCleared ?? false }
  }

  private func keys(_ name: String, _ isIncluded: @Sendable (RowSummary) -> Bool) -> [String] {
    withoutActuallyEscaping(isIncluded) { isIncluded in
      ask { index in
        guard let changes = index.collections[ByteString(name)] else { return [] }
        return changes.rows.filter { isIncluded($0.value) }.map(\.key.string)
          .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      }
    }
  }
}
