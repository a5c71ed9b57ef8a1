// Transactions and cursors by keys of either kind, as the model has them.

internal import QuireStorage

extension WriteTransaction {
  func store(_ value: [UInt8], _ key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
    if tree.keys == .int64 { return try upsert(value, for: KeyUniverse.number(key) ?? 0, in: tree) }
    return try upsert(value, for: key, in: tree)
  }

  func storeLater(_ value: [UInt8], _ key: [UInt8], in tree: Tree) throws(StorageError) {
    if tree.keys == .int64 { return try put(value, for: KeyUniverse.number(key) ?? 0, in: tree) }
    try put(value, for: key, in: tree)
  }

  func insertNew(_ value: [UInt8], _ key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
    if tree.keys == .int64 { return try insert(value, for: KeyUniverse.number(key) ?? 0, in: tree) }
    return try insert(value, for: key, in: tree)
  }

  func remove(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
    if tree.keys == .int64 { return try delete(KeyUniverse.number(key) ?? 0, in: tree) }
    return try delete(key, in: tree)
  }

  func find(_ key: [UInt8], in tree: Tree) throws(StorageError) -> [UInt8]? {
    if tree.keys == .int64 { return try value(for: KeyUniverse.number(key) ?? 0, in: tree) }
    return try value(for: key, in: tree)
  }

  func rank(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Int {
    if tree.keys == .int64 { return try rank(of: KeyUniverse.number(key) ?? 0, in: tree) }
    return try rank(of: key, in: tree)
  }
}

extension ReadTransaction {
  func find(_ key: [UInt8], in tree: Tree) throws(StorageError) -> [UInt8]? {
    if tree.keys == .int64 { return try value(for: KeyUniverse.number(key) ?? 0, in: tree) }
    return try value(for: key, in: tree)
  }

  func rank(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Int {
    if tree.keys == .int64 { return try rank(of: KeyUniverse.number(key) ?? 0, in: tree) }
    return try rank(of: key, in: tree)
  }
}

extension Cursor {
  mutating func goTo(_ key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
    if tree.keys == .int64 { return try seek(KeyUniverse.number(key) ?? 0) }
    return try seek(key)
  }
}
