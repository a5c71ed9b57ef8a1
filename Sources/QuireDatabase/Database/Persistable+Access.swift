// The verbs of `Persistable` outside of transactions: each is a transaction of its own.
//
// In async functions Swift takes the async forms.

extension Persistable {
  /// Stores the value under its id, in a transaction of its own; a row that is there keeps its metadata. Cost and
  /// errors as `Database.write` and `WritableRows.set`.
  public func save(in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line) throws {
    try access.write(fileID: fileID, line: line) { tx throws in try save(in: tx) }
  }

  /// The same, awaited.
  public func save(in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line) async throws {
    try await access.write(fileID: fileID, line: line) { tx in try save(in: tx) }
  }

  /// Stores the value under its id, with metadata, in a transaction of its own.
  public func save(
    metadata: Metadata, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    try access.write(fileID: fileID, line: line) { tx throws in try save(metadata: metadata, in: tx) }
  }

  /// The same, awaited.
  public func save(
    metadata: Metadata, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws {
    try await access.write(fileID: fileID, line: line) { tx in try save(metadata: metadata, in: tx) }
  }

  /// Removes the value's row in a transaction of its own. Returns whether there was one.
  @discardableResult
  public func delete(in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line) throws -> Bool
  {
    try access.write(fileID: fileID, line: line) { tx throws in try delete(in: tx) }
  }

  /// The same, awaited.
  @discardableResult
  public func delete(
    in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> Bool {
    try await access.write(fileID: fileID, line: line) { tx in try delete(in: tx) }
  }

  // MARK: Finding

  /// The value under `id`, or nil.
  public static func find(
    _ id: String, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Self? {
    try access.read(fileID: fileID, line: line) { tx throws in try find(id, in: tx) }
  }

  /// The same, awaited.
  public static func find(
    _ id: String, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> Self? {
    try await access.read(fileID: fileID, line: line) { tx in try find(id, in: tx) }
  }

  /// The values under `ids` that exist, in the order of `ids`, all of one snapshot.
  public static func find(
    _ ids: some Sequence<String>, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> [Self] {
    try access.read(fileID: fileID, line: line) { tx throws in try find(ids, in: tx) }
  }

  /// The same, awaited.
  public static func find(
    _ ids: some Sequence<String>, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Self] {
    let ids = Array(ids)
    return try await access.read(fileID: fileID, line: line) { tx in try find(ids, in: tx) }
  }

  /// All values, in the order of their ids' bytes.
  public static func all(
    in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> [Self] {
    try access.read(fileID: fileID, line: line) { tx throws in try all(in: tx) }
  }

  /// The same, awaited.
  public static func all(
    in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Self] {
    try await access.read(fileID: fileID, line: line) { tx in try all(in: tx) }
  }

  /// The values under `ids` that exist, and the ids that have none, both in the order of `ids`.
  public static func partition(
    _ ids: some Sequence<String>, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> (found: [Self], missing: [String]) {
    try access.read(fileID: fileID, line: line) { tx throws in try partition(ids, in: tx) }
  }

  /// The same, awaited.
  public static func partition(
    _ ids: some Sequence<String>, in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> (found: [Self], missing: [String]) {
    let ids = Array(ids)
    return try await access.read(fileID: fileID, line: line) { tx in try partition(ids, in: tx) }
  }
}

extension Sequence where Element: Persistable {
  /// Stores all values, each under its id, in one transaction. Returns how many there were.
  @discardableResult
  public func save(in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line) throws -> Int {
    try access.write(fileID: fileID, line: line) { tx throws in try save(in: tx) }
  }

  /// The same, awaited.
  @discardableResult
  public func save(
    in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> Int {
    let values = Array(self)
    return try await access.write(fileID: fileID, line: line) { tx in try values.save(in: tx) }
  }

  /// Removes the values' rows in one transaction. Returns how many there were.
  @discardableResult
  public func delete(in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line) throws -> Int {
    try access.write(fileID: fileID, line: line) { tx throws in try delete(in: tx) }
  }

  /// The same, awaited.
  @discardableResult
  public func delete(
    in access: some DatabaseAccess, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> Int {
    let values = Array(self)
    return try await access.write(fileID: fileID, line: line) { tx in try values.delete(in: tx) }
  }
}
