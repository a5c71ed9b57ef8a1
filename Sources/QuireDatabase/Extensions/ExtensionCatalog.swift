// What is noted about extensions, in the trees of a transaction. The format stands in `ExtensionRecord.swift`.

internal import QuireStorage

/// The stored and remembered descriptions of extensions, their values, and the names of their trees.
///
/// A view of one transaction, for as long as that. Reads throw once the transaction is over, changes also in a read
/// transaction.
struct ExtensionCatalog {
  let transaction: TransactionState

  static let nextIDKey: [UInt8] = [UInt8(ascii: "n")]

  static func recordKey(_ name: String) -> [UInt8] { [UInt8(ascii: "r")] + name.utf8 }

  private static func valueKey(_ id: ExtensionID, _ name: String) -> [UInt8] {
    [UInt8(ascii: "v")] + id.rawValue.bigEndianBytes + name.utf8
  }

  /// The stored trees of an extension.
  func storedTrees(of id: ExtensionID) throws(DatabaseError) -> [Tree] {
    try transaction.check()
    return transaction.treeNames.filter { $0.hasPrefix(id.treePrefix) }.compactMap { transaction.tree(named: $0) }
  }

  // MARK: Records

  /// What is noted under a name; of an extension in memory what the process knows.
  ///
  /// - Parameter registered: what is registered under it, which may know the record.
  func record(
    _ name: String, knownTo registered: RegisteredExtension? = nil
  ) throws(DatabaseError) -> ExtensionRecord? {
    if let record = try transaction.forest().records[ByteString(name)] { return record }
    return try storedRecord(name, knownTo: registered)
  }

  /// What is stored under a name.
  func storedRecord(
    _ name: String, knownTo registered: RegisteredExtension? = nil
  ) throws(DatabaseError) -> ExtensionRecord? {
    try transaction.check()
    guard let catalog = transaction.tree(named: ExtensionRecord.treeName) else { return nil }
    let bytes = try transaction.wrapping { () throws(StorageError) in
      try transaction.value(Self.recordKey(name), in: catalog)
    }
    guard let bytes else { return nil }
    if let registered { return try registered.record(bytes) }
    return try ExtensionRecord(bytes, name: name)
  }

  /// Notes a record under its name.
  func store(_ record: ExtensionRecord, _ name: String, isPersistent: Bool) throws(DatabaseError) {
    guard isPersistent else {
      transaction.noteExtensionChange()
      return try transaction.changeForest { forest in forest.records[ByteString(name)] = record }
    }
    try putCatalog(Self.recordKey(name), record.bytes)
  }

  /// All stored records, by name in the order of the names' bytes. One that cannot be read is an error, unless it is
  /// that of `doomed`, which is then left out.
  func storedRecords(
    without doomed: String? = nil
  ) throws(DatabaseError) -> [(name: String, record: ExtensionRecord)] {
    try transaction.check()
    guard let catalog = transaction.tree(named: ExtensionRecord.treeName) else { return [] }
    var records: [(name: String, record: ExtensionRecord)] = []
    try forEachEntry(of: catalog, from: [UInt8(ascii: "r")], upTo: [UInt8(ascii: "s")]) {
      (key, value) throws(DatabaseError) in
      guard let name = String(validating: key.dropFirst(), as: UTF8.self) else { throw RowView.damaged() }
      do throws(DatabaseError) { records.append((name, try ExtensionRecord(value, name: name))) } catch {
        guard doomed?.hasSameBytes(as: name) ?? false else { throw error }
      }
    }
    return records
  }

  /// Removes all that is stored of an extension: record, values and trees.
  func forgetStored(_ name: String, _ id: ExtensionID) throws(DatabaseError) {
    try transaction.checkWriting()
    transaction.noteExtensionChange()
    for tree in try storedTrees(of: id) {
      try transaction.wrapping { () throws(StorageError) in try transaction.dropTree(tree) }
    }
    try removeValues(of: id)
    try transaction.changeForest { forest in
      forest.values[id] = nil
      forest.lives[id] = nil
    }
    try forgetRecord(name)
  }

  /// Removes the record under a name and nothing else. Returns whether there was one.
  @discardableResult
  func forgetRecord(_ name: String) throws(DatabaseError) -> Bool {
    try transaction.checkWriting()
    guard let catalog = transaction.tree(named: ExtensionRecord.treeName) else { return false }
    transaction.noteExtensionChange()
    return try transaction.wrapping { () throws(StorageError) in
      try Self.recordKey(name).withSearchKey { (key) throws(StorageError) in
        try transaction.delete(key, in: catalog)
      }
    }
  }

  /// Removes all that the process knows of an extension in memory.
  func forgetInMemory(_ name: String, _ id: ExtensionID) throws(DatabaseError) {
    try transaction.checkWriting()
    transaction.noteExtensionChange()
    try transaction.changeForest { forest in
      forest.records[ByteString(name)] = nil
      forest.values[id] = nil
      forest.lives[id] = nil
      forest.removeTrees(of: id)
    }
  }

  /// Gives out the number of a new extension.
  func allocateID(isPersistent: Bool) throws(DatabaseError) -> ExtensionID {
    guard isPersistent else {
      return try transaction.changeForest { forest in
        forest.lastID += 1
        return ExtensionID(rawValue: forest.lastID)
      }
    }
    let taken = Set(try storedRecords().map(\.record.id))
    var ids = NumberSequence(try catalogValue(Self.nextIDKey))
    while let next = ids.next(below: ExtensionID.firstInMemory) {
      let (id, after) = (ExtensionID(rawValue: next), NumberSequence.bytes(after: next))
      // A file may deny that a number was given: two extensions that share their trees would spoil each other's.
      let trees = try storedTrees(of: id)
      guard trees.isEmpty, !taken.contains(id) else {
        ids = NumberSequence(after)
        continue
      }
      try putCatalog(Self.nextIDKey, after)
      return id
    }
    throw DatabaseError(.limitReached, "The numbers of extensions are used up.", path: transaction.database.path)
  }

  // MARK: Values

  func storedValue(_ name: String, of id: ExtensionID) throws(DatabaseError) -> [UInt8]? {
    try catalogValue(Self.valueKey(id, name))
  }

  func storeValue(_ value: [UInt8]?, _ name: String, of id: ExtensionID) throws(DatabaseError) {
    if let value { return try putCatalog(Self.valueKey(id, name), value) }
    try transaction.checkWriting()
    guard let catalog = transaction.tree(named: ExtensionRecord.treeName) else { return }
    transaction.noteExtensionChange()
    try transaction.wrapping { () throws(StorageError) in
      try Self.valueKey(id, name).withSearchKey { (key) throws(StorageError) in
        _ = try transaction.delete(key, in: catalog)
      }
    }
  }

  /// Removes the stored values of an extension whose names begin with `prefix`.
  func removeValues(of id: ExtensionID, beginningWith prefix: String) throws(DatabaseError) {
    try transaction.checkWriting()
    guard let catalog = transaction.tree(named: ExtensionRecord.treeName) else { return }
    transaction.noteExtensionChange()
    let first = Self.valueKey(id, prefix)
    // No byte of a name is 0xff.
    _ = try transaction.wrapping { () throws(StorageError) in
      try transaction.deleteRange(from: first, to: first + [0xff], in: catalog)
    }
  }

  /// Removes all stored values of an extension.
  func removeValues(of id: ExtensionID) throws(DatabaseError) {
    try transaction.checkWriting()
    guard let catalog = transaction.tree(named: ExtensionRecord.treeName) else { return }
    transaction.noteExtensionChange()
    _ = try transaction.wrapping { () throws(StorageError) in
      try transaction.deleteRange(
        from: Self.valueKey(id, ""), to: Self.valueKey(ExtensionID(rawValue: id.rawValue + 1), ""), in: catalog)
    }
  }

  // MARK: The tree

  private func catalogValue(_ key: [UInt8]) throws(DatabaseError) -> [UInt8]? {
    try transaction.check()
    guard let catalog = transaction.tree(named: ExtensionRecord.treeName) else { return nil }
    return try transaction.wrapping { () throws(StorageError) in try transaction.value(key, in: catalog) }
  }

  private func putCatalog(_ key: [UInt8], _ value: [UInt8]) throws(DatabaseError) {
    try transaction.checkWriting()
    transaction.noteExtensionChange()
    try transaction.wrapping { () throws(StorageError) in
      let known = transaction.tree(named: ExtensionRecord.treeName)
      let catalog = if let known { known } else { try transaction.createTree(ExtensionRecord.treeName, .bytes) }
      try key.withSearchKey { (key) throws(StorageError) in
        try unsafe value.withValueBytes { (bytes) throws(StorageError) in
          try unsafe transaction.put(key, bytes, in: catalog)
        }
      }
    }
  }

  private func forEachEntry(
    of tree: Tree, from lower: [UInt8], upTo upper: [UInt8],
    _ body: ([UInt8], [UInt8]) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    do {
      var cursor = try transaction.cursor(tree)
      var isOnEntry = try cursor.seek(lower) || cursor.isOnEntry
      while isOnEntry, let key = try cursor.readKey(), key.lexicographicallyPrecedes(upper) {
        guard let value = try cursor.value else { throw RowView.damaged() }
        try body(key, value)
        isOnEntry = try cursor.next()
      }
    } catch {
      throw transaction.wrap(error)
    }
  }
}

extension TransactionState {
  /// What is noted about extensions.
  var extensionCatalog: ExtensionCatalog { ExtensionCatalog(transaction: self) }
}
