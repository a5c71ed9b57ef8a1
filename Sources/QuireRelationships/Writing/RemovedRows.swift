// The rows that were removed before their edges have settled, by key and by id.

internal import HashTreeCollections
internal import QuireDatabase

/// The keys of removed rows of which edges are noted: a row that is stored under such a key gets their edges back.
///
/// They are kept in memory, for a transaction, or in trees, as long as the relationship is being built: what is removed
/// in one transaction of that time may be stored again in another one.
///
/// Invariants:
/// 1. `keys` has the key of each row whose id ends an entry of `ids`, and no other.
/// 2. `memory` is empty when a transaction has settled, and so are the trees if the relationship is not being built.
struct RemovedRows {
  /// What is in memory; what a savepoint has to remember.
  private(set) var memory: TreeDictionary<RowKey, Int64> = [:]
  /// Id → key: four bytes of how long the collection's name is, that name, the key.
  private let keys: ExtensionTree<RowID>
  /// A hash of the key, then the id.
  private let ids: ExtensionTree<[UInt8]>
  private let damaged: () -> DatabaseError
  /// Whether there may be something in the trees: nearly never, and asked for every row.
  private var mayHaveStored: Bool

  init(_ trees: EdgeTrees) throws {
    keys = try trees.store.tree("removedKeys", of: RowID.self)
    ids = try trees.store.tree("removedIDs", of: [UInt8].self)
    damaged = trees.damaged
    mayHaveStored = try keys.count > 0
  }

  var isEmpty: Bool { get throws { try memory.isEmpty && !hasStored } }
  private var hasStored: Bool { get throws { try mayHaveStored && keys.count > 0 } }

  /// Goes back to what was in memory at a savepoint; the trees have gone back as well.
  mutating func restore(_ memory: TreeDictionary<RowKey, Int64>) {
    self.memory = memory
    mayHaveStored = true
  }

  /// The row that was removed from `key`.
  func id(of key: RowKey) throws -> Int64? {
    if let known = memory[key] { return known }
    guard try hasStored else { return nil }
    let prefix = Self.hash(key)
    let cursor = try ids.cursor()
    var isOnEntry = try cursor.seek(prefix)
    while isOnEntry, let entry = cursor.key, entry.starts(with: prefix) {
      guard let id = RowID(orderedBytes: Array(entry.dropFirst(prefix.count))) else { throw damaged() }
      if try storedKey(of: id) == key { return id.rawValue }
      isOnEntry = try cursor.next()
    }
    return nil
  }

  /// The key that a removed row had. O(n) for rows in memory.
  func key(of id: Int64) throws -> RowKey? {
    try storedKey(of: id) ?? memory.first { $0.value == id }?.key
  }

  /// The key that a row had which an earlier transaction has removed.
  func storedKey(of id: Int64) throws -> RowKey? { try id > 0 && hasStored ? storedKey(of: RowID(id)) : nil }

  private func storedKey(of id: RowID) throws -> RowKey? {
    guard let bytes = try keys.value(for: id) else { return nil }
    guard bytes.count >= 4 else { throw damaged() }
    let count = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard count <= bytes.count - 4, let collection = String(validating: bytes[4..<4 + count], as: UTF8.self),
      let key = String(validating: bytes[(4 + count)...], as: UTF8.self)
    else { throw damaged() }
    return RowKey(collection, key)
  }

  /// Notes a row; in trees, if transactions to come have to know it.
  mutating func insert(_ key: RowKey, _ id: Int64, forLater: Bool) throws {
    assert(id > 0, "a row that was never there is noted as removed")
    guard forLater else { return memory[key] = id }
    // Another one that was there before it has gone for good.
    try remove(key)
    mayHaveStored = true
    let collection = Array(key.collection.utf8)
    let count = UInt32(collection.count)
    try keys.put(
      (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * UInt32($0))) } + collection + key.key.utf8,
      for: RowID(id))
    try ids.put([], for: Self.hash(key) + RowID(id).orderedBytes)
  }

  /// There is a row again, or nobody asks any more.
  mutating func remove(_ key: RowKey) throws {
    memory[key] = nil
    guard let id = try id(of: key) else { return }
    try keys.remove(RowID(id))
    try ids.remove(Self.hash(key) + RowID(id).orderedBytes)
  }

  mutating func removeAll() throws {
    memory = [:]
    guard try hasStored else { return }
    try keys.removeAll()
    try ids.removeAll()
  }

  /// The keys that transactions before this one have noted, some at a time, in the order of their ids.
  func stored(after last: RowID?, limit: Int) throws -> [(id: RowID, key: RowKey)] {
    let cursor = try keys.cursor()
    var (page, end) = ([(id: RowID, key: RowKey)](), last)
    if last?.rawValue == .max { return [] }
    var isOnEntry = try last.map { try cursor.seek(RowID($0.rawValue + 1)) } ?? cursor.next()
    while isOnEntry, page.count < limit, let id = cursor.key {
      // Out of order, pages would have no end.
      if let end, id <= end { throw damaged() }
      guard let key = try storedKey(of: id) else { throw damaged() }
      page.append((id, key))
      end = id
      isOnEntry = try cursor.next()
    }
    return page
  }

  /// Throws unless the trees have the same rows. O(n log n).
  func checkInvariants() throws {
    guard try keys.count == ids.count else { throw damaged() }
    let cursor = try keys.cursor()
    while try cursor.next(), let id = cursor.key {
      guard mayHaveStored, id.rawValue > 0, let key = try storedKey(of: id),
        try ids.contains(Self.hash(key) + id.orderedBytes)
      else { throw damaged() }
    }
  }

  /// FNV-1a over both strings and what separates them: a value that is the same in every process.
  private static func hash(_ key: RowKey) -> [UInt8] {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    for byte in key.collection.utf8 { add(byte) }
    add(0xff)
    for byte in key.key.utf8 { add(byte) }
    return (0..<8).map { UInt8(truncatingIfNeeded: hash >> (56 - 8 * UInt64($0))) }
  }
}
