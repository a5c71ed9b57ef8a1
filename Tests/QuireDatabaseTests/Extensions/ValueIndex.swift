// An extension made from scratch on the public protocol: an index over what a closure makes of rows.

import QuireDatabase

/// Finds rows by a text that a closure makes of them; rows that it makes nothing of are not in it.
struct ValueIndex<Object: Sendable, Metadata: Sendable>: DatabaseExtension {
  static var kind: String { "test.valueIndex" }

  var name: String
  var version = ""
  var isPersistent = true
  var dependencies: [String] = []
  var collections = CollectionFilter.all
  var halves: ChangedHalves = [.object, .metadata]
  var handlesClearing = false
  var describe: @Sendable (String) -> RowCollection<Object, Metadata>
  var make: @Sendable (Object, Metadata?) throws -> String?

  init(
    _ name: String, _ describe: @escaping @Sendable (String) -> RowCollection<Object, Metadata>,
    make: @escaping @Sendable (Object, Metadata?) throws -> String?
  ) {
    self.name = name
    self.describe = describe
    self.make = make
  }

  func makeReader(_ store: ExtensionStore) throws -> Reader { try Reader(store) }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { try Writer(self, store) }

  /// What the trees say, in either kind of transaction.
  struct Reader {
    let store: ExtensionStore
    /// Value, a zero byte, and the row's id.
    let entries: ExtensionTree<[UInt8]>
    /// The row's id, and the value.
    let values: ExtensionTree<RowID>

    init(_ store: ExtensionStore) throws {
      self.store = store
      entries = try store.tree("entries", of: [UInt8].self)
      values = try store.tree("values", of: RowID.self)
    }

    func rows(_ value: String) throws -> [RowID] {
      let cursor = try entries.cursor()
      var rows: [RowID] = []
      let prefix = [UInt8](value.utf8) + [0]
      var isOnEntry = try cursor.seek(prefix)
      while isOnEntry, let key = cursor.key, key.starts(with: prefix) {
        if let rowID = RowID(orderedBytes: Array(key.dropFirst(prefix.count))) { rows.append(rowID) }
        isOnEntry = try cursor.next()
      }
      return rows
    }

    func all() throws -> [RowID: String] {
      var all: [RowID: String] = [:]
      let cursor = try values.cursor()
      while try cursor.next() {
        if let (key, value) = try cursor.entry { all[key] = String(decoding: value, as: UTF8.self) }
      }
      return all
    }
  }

  struct Changes: ExtensionChanges, Equatable {
    var rows: Set<RowID> = []
    var isCleared = false
    var byteCount: Int { rows.count * 8 }
  }

  final class Writer: ExtensionWriter {
    let index: ValueIndex
    let store: ExtensionStore
    let reader: Reader
    var changes = Changes()

    init(_ index: ValueIndex, _ store: ExtensionStore) throws {
      self.index = index
      self.store = store
      reader = try Reader(store)
    }

    func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

    private func set(_ value: [UInt8]?, _ rowID: RowID) throws {
      let old = try reader.values.value(for: rowID)
      guard old != value else { return }
      changes.rows.insert(rowID)
      if let old { try reader.entries.remove(old + [0] + rowID.orderedBytes) }
      guard let value else {
        try reader.values.remove(rowID)
        return
      }
      try reader.entries.put([], for: value + [0] + rowID.orderedBytes)
      try reader.values.put(value, for: rowID)
    }

    func didChange(_ change: RowChange) throws {
      guard let rowID = change.rowID else { return }
      guard change.kind != .remove else { return try set(nil, rowID) }
      let description = index.describe(change.collection)
      guard let object = try change.object(in: description) else { return try set(nil, rowID) }
      try set(try index.make(object, try change.metadata(in: description)).map { [UInt8]($0.utf8) }, rowID)
    }

    func didClearAll() throws {
      try store.removeAllEntries()
      changes = Changes(isCleared: true)
    }

    func takeChanges() -> Changes? { changes == Changes() ? nil : changes }
    func makeMark() -> Any? { changes }
    func restore(_ mark: Any?) { changes = mark as? Changes ?? Changes() }
  }
}

extension Database {
  /// What an index should say, by its closure, of the rows of some collections.
  func expected<Object, Metadata>(
    _ index: ValueIndex<Object, Metadata>, _ names: [String], _ tx: ReadTransaction
  ) throws -> [RowID: String] {
    var expected: [RowID: String] = [:]
    for name in names where index.collections.contains(name) {
      for row in tx[index.describe(name)].rows { expected[row.rowID] = try index.make(row.object, row.metadata) }
    }
    return expected
  }
}
