// Names that collections had in earlier versions of a program.
//
// A rename moves what is noted about a collection to another name of the collection tree. Rows, the key index and the
// trees of extensions know a collection by its number, which stays.

internal import QuireStorage

/// What `Database.Options.renamedCollections` asks for; done at an opening, before anybody else sees the database.
struct CollectionRenaming {
  /// Older name and today's, in the order of the older names' bytes.
  private let names: [(old: String, new: String)]
  private let path: String

  /// - Throws: `invalidOption` if a name is an older and a newer one at a time, `nameTooLong`.
  init(_ names: [String: String], path: String) throws(DatabaseError) {
    self.path = path
    self.names = names.map { ($0.key, $0.value) }.sorted { $0.old.utf8.lexicographicallyPrecedes($1.old.utf8) }
    let olderNames = Set(names.keys.map(ByteString.init))
    for (old, new) in self.names {
      if olderNames.contains(ByteString(new)) {
        throw DatabaseError(
          .invalidOption,
          """
          The collection “\(old)” is to be called “\(new)”, which is to be called something else itself. Have every \
          older name lead to the name of today.
          """, path: path, collection: old)
      }
      guard new.utf8.count > Limits.collectionNameByteCount else { continue }
      throw DatabaseError(
        .nameTooLong, "The name of the collection has more than \(Limits.collectionNameByteCount) bytes.", path: path,
        collection: new)
    }
  }

  /// Renames what has an older name, in one commit that is on the disk when this returns. A database that is only read
  /// is not changed: the result says which names to take for which.
  ///
  /// - Throws: `collectionExists` if two collections would have one name; then nothing is renamed.
  func run(
    _ engine: StorageEngine, _ trees: DatabaseTrees, isReadOnly: Bool, _ feeds: inout FeedOpening
  ) throws -> CollectionAliases {
    if names.isEmpty { return CollectionAliases([]) }
    let (found, empty, records) = try engine.read { tx in
      let found = try find { name in try tx.value(for: [UInt8](name.utf8), in: trees.collections) != nil }
      if isReadOnly { return (found, [(old: String, new: String)](), [RecordChange]()) }
      let empty = try findEmpty { name in try tx.value(for: [UInt8](name.utf8), in: trees.collections) != nil }
      return (found, empty, try changedRecords(found, empty, tx))
    }
    let isNothingNoted = found.isEmpty && records.isEmpty && !feeds.follows(renamedEmpty: empty)
    if isNothingNoted || isReadOnly { return CollectionAliases(found) }
    try engine.write { tx in
      for (old, new) in found {
        guard let noted = try tx.value(for: [UInt8](old.utf8), in: trees.collections) else { throw RowView.damaged() }
        try tx.put(noted, for: [UInt8](new.utf8), in: trees.collections)
        try tx.delete([UInt8](old.utf8), in: trees.collections)
      }
      try feeds.note(renamed: found, empty: empty, tx)
      guard let catalog = tx.tree(named: ExtensionRecord.treeName) else { return }
      for record in records { try tx.put(record.value, for: record.key, in: catalog) }
    }
    try engine.flush()
    return CollectionAliases([])
  }

  private typealias RecordChange = (key: [UInt8], value: [UInt8])

  /// What is to be noted about extensions. Those that follow a collection follow it under its new name, be it empty or
  /// not. One that follows the new name and did not follow the old one has none of the rows: it is marked as stale.
  private func changedRecords(
    _ found: [(old: String, new: String)], _ empty: [(old: String, new: String)],
    _ tx: borrowing QuireStorage.ReadTransaction
  ) throws -> [RecordChange] {
    if found.isEmpty && empty.isEmpty { return [] }
    guard let catalog = tx.tree(named: ExtensionRecord.treeName) else { return [] }
    return try records(catalog, tx).compactMap { key, value in
      guard let name = String(validating: key.dropFirst(), as: UTF8.self) else { throw RowView.damaged() }
      var record = try ExtensionRecord(value, name: name)
      for (index, (old, new)) in (found + empty).enumerated() {
        guard let filter = record.collections else { continue }
        if filter.names(old) {
          record.collections = filter.renamed { $0.hasSameBytes(as: old) ? new : $0 }
        } else if index < found.count, filter.names(new) {
          record.state = .stale
        }
      }
      return record.bytes == value ? nil : (key, record.bytes)
    }
  }

  /// The entries of the records of extensions.
  private func records(
    _ catalog: Tree, _ tx: borrowing QuireStorage.ReadTransaction
  ) throws -> [(key: [UInt8], value: [UInt8])] {
    let prefix = [UInt8(ascii: "r")]
    var entries: [(key: [UInt8], value: [UInt8])] = []
    var cursor = try tx.cursor(catalog)
    var isOnEntry = try cursor.seek(prefix) || cursor.isOnEntry
    while isOnEntry, let key = try cursor.readKey(), key.starts(with: prefix), let value = try cursor.value {
      entries.append((key, value))
      isOnEntry = try cursor.next()
    }
    return entries
  }

  /// The renamings of collections without a row, under either name.
  private func findEmpty(_ exists: (String) throws -> Bool) throws -> [(old: String, new: String)] {
    try names.filter { old, new in
      try old.utf8.count <= Limits.collectionNameByteCount && !exists(old) && !exists(new)
    }
  }

  /// The collections that have an older name. A collection exists as long as it has a row.
  private func find(_ exists: (String) throws -> Bool) throws -> [(old: String, new: String)] {
    var holders: [ByteString: String] = [:]
    var found: [(old: String, new: String)] = []
    for (old, new) in names where old.utf8.count <= Limits.collectionNameByteCount {
      guard try exists(old) else { continue }
      if let other = try holders[ByteString(new)] ?? (exists(new) ? new : nil) {
        throw DatabaseError(
          .collectionExists,
          """
          The rows of “\(old)” are to be those of “\(new)”, but “\(other)” has rows as well; an older version of the \
          program may have stored them. Open the database without this renaming, and move or remove the rows of one.
          """, path: path, collection: old)
      }
      holders[ByteString(new)] = old
      found.append((old, new))
    }
    return found
  }
}
