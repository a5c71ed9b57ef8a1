// Types that know where their rows are.

/// A type whose values are rows of one collection, each under its `id`.
///
/// ```swift
/// struct Book: Persistable {
///   static let collection = RowCollection<Book, NoMetadata>("books")
///   var id: String
/// }
///
/// try book.save(in: db)
/// let same = try Book.find("b1", in: db)
/// ```
///
/// All verbs come in three forms: in a transaction, on a connection or a database, and async on these.
public protocol Persistable: Codable, Sendable {
  /// The type of the rows' metadata.
  associatedtype Metadata: Codable & Sendable = NoMetadata
  /// Where the rows are.
  static var collection: RowCollection<Self, Metadata> { get }
  /// The row's key.
  var id: String { get }
}

// MARK: - In a transaction

extension Persistable {
  /// Stores the value under its id; a row that is there keeps its metadata. Cost and errors as `WritableRows.set`, and
  /// one look more whether there is a row, if rows have metadata.
  public func save(in tx: WriteTransaction) throws {
    let rows = tx[Self.collection]
    if Metadata.self != NoMetadata.self, try rows.replace(self, for: id) { return }
    try rows.set(self, for: id)
  }

  /// Stores the value under its id, with metadata.
  public func save(metadata: Metadata, in tx: WriteTransaction) throws {
    try tx[Self.collection].set(self, metadata: metadata, for: id)
  }

  /// Removes the value's row. Returns whether there was one.
  @discardableResult
  public func delete(in tx: WriteTransaction) throws -> Bool { try tx[Self.collection].remove(id) }

  /// The value under `id`, or nil.
  public static func find(_ id: String, in tx: some TransactionReading) throws -> Self? {
    try tx.rows(of: collection).get(id)
  }

  /// The values under `ids` that exist, in the order of `ids`.
  public static func find(_ ids: some Sequence<String>, in tx: some TransactionReading) throws -> [Self] {
    try tx.rows(of: collection).objects(for: ids)
  }

  /// All values, in the order of their ids' bytes.
  public static func all(in tx: some TransactionReading) throws -> [Self] { try tx.rows(of: collection).allObjects() }

  /// The values under `ids` that exist, and the ids that have none, both in the order of `ids`.
  public static func partition(
    _ ids: some Sequence<String>, in tx: some TransactionReading
  ) throws -> (found: [Self], missing: [String]) {
    try tx.rows(of: collection).partition(ids)
  }
}

extension RowReading {
  fileprivate func allObjects() throws -> [Object] {
    let objects = rows.map(\.object)
    // An error ended the loop; nothing is not the same as a part.
    try handle.opened.check()
    return objects
  }

  fileprivate func partition(_ keys: some Sequence<String>) throws -> (found: [Object], missing: [String]) {
    let keys = Array(keys)
    let rows = try rows(for: keys)
    var found: [Object] = []
    var missing: [String] = []
    var position = 0
    for key in keys {
      if position < rows.count, rows[position].key.hasSameBytes(as: key) {
        found.append(rows[position].object)
        position += 1
      } else {
        missing.append(key)
      }
    }
    return (found, missing)
  }
}

extension Sequence where Element: Persistable {
  /// Stores all values, each under its id. Returns how many there were.
  @discardableResult
  public func save(in tx: WriteTransaction) throws -> Int {
    var count = 0
    for value in self {
      try value.save(in: tx)
      count += 1
    }
    return count
  }

  /// Removes the values' rows. Returns how many there were.
  @discardableResult
  public func delete(in tx: WriteTransaction) throws -> Int {
    var count = 0
    for value in self where try value.delete(in: tx) { count += 1 }
    return count
  }
}
