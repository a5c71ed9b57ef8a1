// Lists that the user orders.

public import QuireDatabase

/// A view whose rows the app puts where it wants them: favourites, playlists, the order that a user has dragged.
///
/// Rows that are removed from the database vanish from it by themselves; stored ones are told as updates.
///
/// The guide is <doc:Views>.
public struct ManualView<Object: Sendable, Metadata: Sendable>: ViewExtension {
  public static var kind: String { "quire.manualView" }

  public let name: String
  public let version: String
  public let isPersistent: Bool
  public let collections: CollectionFilter
  public var isBuiltFromRows: Bool { false }
  let family: CollectionFamily<Object, Metadata>

  /// Describes a list.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - collections: whose rows may stand in it.
  ///   - version: another one empties the list, when it is registered with that. Nothing else does.
  ///   - isPersistent: whether it is stored; if not, it begins empty at each opening.
  public init(
    _ name: String, over collections: [RowCollection<Object, Metadata>], version: String = "",
    isPersistent: Bool = true
  ) {
    self.init(name, over: CollectionFamily(collections), version: version, isPersistent: isPersistent)
  }

  /// Describes a list of rows of all collections of a family, those to come as well.
  public init(
    _ name: String, over family: CollectionFamily<Object, Metadata>, version: String = "", isPersistent: Bool = true
  ) {
    self.name = name
    self.version = version
    self.isPersistent = isPersistent
    self.family = family
    collections = family.filter
  }

  /// Describes a list of rows of one collection.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "", isPersistent: Bool = true
  ) {
    self.init(name, over: [collection], version: version, isPersistent: isPersistent)
  }

  public func makeReader(_ store: ExtensionStore) throws -> ViewReader<Object, Metadata> {
    try ViewReader(store, family)
  }

  public func makeWriter(_ store: ExtensionStore) throws -> ManualViewWriter<Object, Metadata> {
    try ManualViewWriter(self, store)
  }
}

/// A `ManualView` in a write transaction.
public final class ManualViewWriter<Object: Sendable, Metadata: Sendable>: ViewWriting {
  public let store: ExtensionStore
  public var needsWillChange: Bool { false }
  public let reader: ViewReader<Object, Metadata>
  private let view: ManualView<Object, Metadata>
  let storage: ViewStorage
  private let labels: LabelledOrder
  /// Whether filtered views that do not follow have been marked: the list changes without a row.
  private var hasMarkedDependents = false

  init(_ view: ManualView<Object, Metadata>, _ store: ExtensionStore) throws {
    self.view = view
    self.store = store
    storage = try ViewStorage(store)
    labels = LabelledOrder(storage)
    reader = try ViewReader(store, view.family)
  }

  // MARK: The list

  /// Puts the row under `key` of the view's first collection behind all others of a group. O(log n).
  ///
  /// - Throws: `viewRefused` if there is no such row, or if it is in the view already.
  public func append(_ key: String, to group: String) throws { try insert(key, at: reader.count(in: group), in: group) }

  /// Puts the row under `key` of the view's first collection at an index of a group; the rows from there on move up.
  /// O(log n).
  ///
  /// - Throws: `viewRefused` if there is no such row, if it is in the view already, or if the group is shorter.
  public func insert(_ key: String, at index: Int, in group: String) throws {
    guard let collection = view.family.named.first else {
      throw refused("It has no collection that is known by name. Give the whole `RowKey`.")
    }
    try insert(RowKey(collection.name, key), at: index, in: group)
  }

  /// Puts a row at an index of a group. Errors as above.
  public func insert(_ key: RowKey, at index: Int, in group: String) throws {
    guard view.collections.contains(key.collection), let tx = store.writeTransaction,
      let rowID = try tx.rowID(of: key)
    else { throw refused("There is no row \(key) in its collections.") }
    guard try storage.trees.entries(of: rowID).isEmpty else { throw refused("\(key) is in it already.") }
    let count = reader.count(in: group)
    guard index >= 0, index <= count else { throw refused("“\(group)” has \(count) rows, and no index \(index).") }
    let order =
      if let id = try storage.group(group) { try labels.label(at: index, in: id, group) } else {
        OrderLabel.first
      }
    try markDependents()
    try storage.insert(rowID, key, group, order: order)
  }

  private func markDependents() throws {
    if hasMarkedDependents { return }
    try store.markDependents()
    hasMarkedDependents = true
  }

  /// Takes the row at an index out of a group; it stays in the database. Returns where it was.
  ///
  /// - Throws: `viewRefused` if the group is shorter.
  @discardableResult
  public func remove(at index: Int, in group: String) throws -> RowKey {
    guard let id = try storage.group(group), let found = try storage.trees.entry(at: index, in: id),
      let key = try store.readTransaction.key(of: found.rowID)
    else { throw refused("“\(group)” has no index \(index).") }
    try markDependents()
    try storage.remove(found.rowID, key, group, found.entry)
    return key
  }

  /// Takes the row under `key` of the view's first collection out of the view. Returns whether it was in it.
  @discardableResult
  public func remove(_ key: String) throws -> Bool {
    guard let collection = view.family.named.first, let tx = store.writeTransaction,
      let rowID = try tx.rowID(of: RowKey(collection.name, key))
    else { return false }
    try markDependents()
    return try storage.removeFromAll(rowID, RowKey(collection.name, key))
  }

  /// Takes all rows out of a group. Returns how many there were.
  @discardableResult
  public func removeAll(in group: String) throws -> Int {
    let count = reader.count(in: group)
    try markDependents()
    try storage.reset(group)
    return count
  }

  /// Moves the row at an index of a group to another index of it, as counted without the row.
  ///
  /// - Throws: `viewRefused` if the group is shorter.
  public func move(from index: Int, to target: Int, in group: String) throws {
    let count = reader.count(in: group)
    guard index >= 0, index < count, target >= 0, target < count else {
      throw refused("“\(group)” has \(count) rows: no row goes from \(index) to \(target).")
    }
    let key = try remove(at: index, in: group)
    try insert(key, at: target, in: group)
  }

  private func refused(_ why: String) -> DatabaseError {
    DatabaseError(.viewRefused, "The view “\(view.name)” cannot do that. \(why)")
  }

  // MARK: Hooks

  /// Rows may have gone while the view was not registered: these leave it, and all others stay where they are.
  public func willBuild(_ reason: ExtensionBuildReason) throws {
    guard reason == .stale else { return try store.removeEverything() }
    storage.isRecording = false
    defer { storage.isRecording = true }
    for rowID in try storage.trees.allRows() {
      guard let key = try store.readTransaction.key(of: rowID) else {
        // Nobody is told, and nobody knows its key any more.
        try storage.removeFromAll(rowID, RowKey("", ""))
        continue
      }
      guard view.collections.contains(key.collection) else {
        throw refused(
          """
          It holds \(key), and is described without that row's collection. Describe it over “\(key.collection)” as \
          well; another version empties it.
          """)
      }
    }
  }

  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID, change.kind != .insert else { return }
    if change.kind == .remove {
      try storage.removeFromAll(rowID, change.rowKey)
      return
    }
    for entry in try storage.trees.entries(of: rowID) {
      guard let group = entry.group else { throw storage.trees.damaged() }
      try storage.update(change.rowKey, try storage.trees.name(of: group), entry, change.kind.aspects)
    }
  }

  public func didClearAll() throws { try storage.resetAll() }

  public func takeChanges() -> ViewChanges? {
    storage.operations.isEmpty ? nil : ViewChanges(operations: storage.operations)
  }

  public func makeMark() -> Any? { storage.makeMark() }

  public func restore(_ mark: Any?) {
    storage.restore(mark as? Int ?? 0)
    // The savepoint may have undone that, too.
    hasMarkedDependents = false
  }
}

extension DatabaseError.Code {
  /// A view was asked to place a row that is not there, or where there is no place.
  public static let viewRefused = DatabaseError.Code("viewRefused")
}
