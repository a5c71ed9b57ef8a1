// Changing rows in PostgreSQL.

#if Postgres
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif
  internal import QuireDatabase
  internal import Synchronization

  /// The rows of a collection in a transaction that writes.
  ///
  /// Calls throw `refused` if a mirror feeds the collection, or PostgreSQL does not take the row; and as those of
  /// ``PostgresRows``. After an error of PostgreSQL's the transaction changes nothing.
  public struct WritablePostgresRows<Object: Codable & Sendable, Metadata: Codable & Sendable> {
    /// The rows, for reading.
    public let reading: PostgresRows<Object, Metadata>

    private var session: PostgresSession { reading.session }
    private var name: String { reading.collection.name }

    init(_ reading: PostgresRows<Object, Metadata>) { self.reading = reading }

    // MARK: Storing

    /// Stores a row, in the place of what was there. One round trip. Returns the row's version.
    ///
    /// - Throws: `otherType` if the object cannot be encoded, or the key has U+0000.
    @discardableResult
    public func set(_ object: Object, metadata: Metadata? = nil, for key: String) throws -> Int64 {
      guard let version = try store([(key, object, metadata)], .replace).first else {
        throw PostgresError(.refused, "PostgreSQL has not stored “\(key)” of “\(name)”, and does not say why.")
      }
      return version
    }

    /// Stores rows without metadata, in the place of what was there, in one round trip. Of two under one key, the last
    /// one.
    public func set(_ rows: some Sequence<(key: String, object: Object)>) throws {
      var last: [[UInt8]: Int] = [:]
      var unique: [(String, Object, Metadata?)] = []
      for row in rows {
        let key = Array(row.key.utf8)
        if let index = last[key] {
          unique[index] = (row.key, row.object, nil)
        } else {
          last[key] = unique.count
          unique.append((row.key, row.object, nil))
        }
      }
      if !unique.isEmpty { _ = try store(unique, .replace) }
    }

    /// Stores a row unless there is one under `key`. Returns whether it was stored.
    @discardableResult
    public func insert(_ object: Object, metadata: Metadata? = nil, for key: String) throws -> Bool {
      try !store([(key, object, metadata)], .keep).isEmpty
    }

    /// Stores a row if the one that is there still has a version that was read before, in another transaction perhaps.
    /// Returns the new version; nil if somebody was faster, and nothing was stored.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - metadata: the metadata, if the row is to have some.
    ///   - key: the key.
    ///   - version: the version that is replaced.
    public func set(
      _ object: Object, metadata: Metadata? = nil, for key: String, ifVersion version: Int64
    ) throws -> Int64? {
      guard try reading.contains(key) else { return nil }
      return try store([(key, object, metadata)], .replaceVersion, version).first
    }

    /// Reads the object under `key`, lets `body` change it, and stores it; the metadata stay. Two round trips. Returns
    /// whether there is a row.
    @discardableResult
    public func update(_ key: String, _ body: (inout Object) throws -> Void) throws -> Bool {
      let table = try session.tableForWriting(name)
      guard PostgresRows<Object, Metadata>.isStorable(key) else { return false }
      guard let row = try reading.rows(session.send(table.statements.oneRowForUpdate, [.text(key)])).first else {
        return false
      }
      var object = row.object
      try body(&object)
      try set(object, metadata: row.metadata, for: key)
      return true
    }

    private func store(
      _ rows: [(key: String, object: Object, metadata: Metadata?)], _ conflict: RowStatement.Conflict,
      _ version: Int64? = nil
    ) throws -> [Int64] {
      let table = try session.tableForWriting(name)
      let encoder = PostgresJSON.encoder()
      var fixed = [ArrayParameter](repeating: ArrayParameter(.text), count: 3)
      var columns = [ArrayParameter](repeating: ArrayParameter(.text), count: table.statements.columns.count)
      for row in rows {
        guard PostgresRows<Object, Metadata>.isStorable(row.key) else {
          throw PostgresError(.otherType, "A key of “\(name)” has U+0000, which no text of PostgreSQL's has.")
        }
        fixed[0].append(row.key)
        fixed[1].append(try json(row.object, row.key, encoder))
        fixed[2].append(try row.metadata.map { try json($0, row.key, encoder) })
        guard let values = table.declared.map({ $0.rowValues(row.object, row.metadata) }) else { continue }
        guard let values, values.count == columns.count else {
          throw PostgresError(.invalidDeclaration, "The table of “\(name)” is declared for rows of other types.")
        }
        for (index, value) in values.enumerated() { columns[index].append(value) }
      }
      var parameters = (fixed + columns).map { Parameter.array($0) } + [.integer(FirstVersion.next())]
      if let version { parameters.append(.integer(version)) }
      let answer = try session.send(table.statements.store(conflict), parameters)
      return (0..<answer.count).compactMap { answer.integer($0, 0) }
    }

    private func json(_ value: some Encodable, _ key: String, _ encoder: JSONEncoder) throws -> String {
      do { return String(decoding: try encoder.encode(value), as: UTF8.self) } catch {
        throw PostgresError(.otherType, "The row “\(key)” of “\(name)” cannot be encoded as JSON: \(error)")
      }
    }

    // MARK: Removing

    /// Removes the row under `key`. Returns whether there was one.
    @discardableResult
    public func remove(_ key: String) throws -> Bool {
      guard PostgresRows<Object, Metadata>.isStorable(key) else { return false }
      return try session.send(session.tableForWriting(name).statements.remove, [.text(key)]).changedCount > 0
    }

    /// Removes the row under `key` if it still has a version. Returns whether it was removed.
    public func remove(_ key: String, ifVersion version: Int64) throws -> Bool {
      guard PostgresRows<Object, Metadata>.isStorable(key) else { return false }
      let statements = try session.tableForWriting(name).statements
      return try session.send(statements.removeVersion, [.text(key), .integer(version)]).changedCount > 0
    }

    /// Removes all rows. Returns their number.
    @discardableResult
    public func removeAll() throws -> Int {
      try session.send(session.tableForWriting(name).statements.removeAll).changedCount
    }

    // MARK: Reading

    /// The object under `key`, as the transaction has it; or nil.
    public func get(_ key: String) throws -> Object? { try reading.get(key) }

    /// The row under `key`, as the transaction has it; or nil.
    public func row(_ key: String) throws -> PostgresRow<Object, Metadata>? { try reading.row(key) }

    /// Whether there is a row under `key`.
    public func contains(_ key: String) throws -> Bool { try reading.contains(key) }

    /// The number of rows. PostgreSQL reads them all for that.
    public var count: Int { get throws { try reading.count } }

    /// The rows whose keys begin with `prefix`, in order, as many as `limit` at the most.
    public func rows(prefix: String = "", limit: Int = .max) throws -> [PostgresRow<Object, Metadata>] {
      try reading.rows(prefix: prefix, limit: limit)
    }

    /// Rows that a condition finds; see ``PostgresRows/find(_:)``.
    public func find(
      _ condition: (PostgresFields<Object, Metadata>) throws -> PostgresCondition
    ) throws -> PostgresQuery<Object, Metadata> { try reading.find(condition) }

    /// Removes the rows that a condition finds. Returns their number.
    @discardableResult
    public func remove(
      where condition: (PostgresFields<Object, Metadata>) throws -> PostgresCondition
    ) throws -> Int {
      let table = try session.tableForWriting(name)
      let (sql, parameters) = try condition(PostgresFields(table.declared)).statement()
      return try session.send(table.statements.remove(sql), parameters).changedCount
    }
  }

  /// Makes versions for rows that are new: the time in microseconds since 1970, which has room in a JSON number.
  ///
  /// Versions grow by one with each change, which takes longer than a microsecond. So who has read a row does not take
  /// another one for it that was stored under its key when it had been removed: that one has begun later.
  enum FirstVersion {
    /// The last one of this process, which its clock may be put back behind.
    private static let last = Mutex<Int64>(0)

    /// A version that is greater than all before it.
    static func next() -> Int64 {
      let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
      return last.withLock { last in
        last = max(last + 1, now)
        return last
      }
    }
  }
#endif
