// The rows of a collection in PostgreSQL.

#if Postgres
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif
  internal import QuireDatabase

  /// A row in PostgreSQL.
  public struct PostgresRow<Object: Sendable, Metadata: Sendable>: Sendable {
    /// The key.
    public let key: String
    /// The object.
    public let object: Object
    /// The metadata, if the row has some.
    public let metadata: Metadata?
    /// A number that grows with each change of the row: for changes that must not go over another one. A row that was
    /// removed and stored again has another one than those before, unless the clocks of those who write are put back.
    public let version: Int64
  }

  extension PostgresRow: Equatable where Object: Equatable, Metadata: Equatable {}

  /// The rows of a collection in a transaction. A collection that has no table has no rows.
  ///
  /// Calls throw `otherType` for a row that the types do not read, `refused` and `notReachable`.
  public struct PostgresRows<Object: Codable & Sendable, Metadata: Codable & Sendable> {
    /// How many rows come over at once.
    static var pageCount: Int { 1000 }

    let session: PostgresSession
    let collection: RowCollection<Object, Metadata>

    init(_ session: PostgresSession, _ collection: RowCollection<Object, Metadata>) {
      (self.session, self.collection) = (session, collection)
    }

    func table() throws(PostgresError) -> PostgresRowTable? { try session.table(collection.name) }

    // MARK: By key

    /// The object under `key`, or nil. One round trip.
    public func get(_ key: String) throws -> Object? { try row(key)?.object }

    /// The metadata of the row under `key`; nil if there is none, or it has none. One round trip.
    public func metadata(_ key: String) throws -> Metadata? { try row(key)?.metadata }

    /// The row under `key`, or nil. One round trip.
    public func row(_ key: String) throws -> PostgresRow<Object, Metadata>? {
      guard let table = try table(), Self.isStorable(key) else { return nil }
      return try rows(session.send(table.statements.oneRow, [.text(key)])).first
    }

    /// Whether there is a row under `key`. One round trip.
    public func contains(_ key: String) throws -> Bool {
      guard let table = try table(), Self.isStorable(key) else { return false }
      return try session.send(table.statements.contains, [.text(key)]).count > 0
    }

    /// The number of rows. PostgreSQL reads them all for that.
    public var count: Int {
      get throws {
        guard let table = try table() else { return 0 }
        return Int(try session.send(table.statements.count).integer(0, 0) ?? 0)
      }
    }

    /// A text of PostgreSQL's has no U+0000.
    static func isStorable(_ key: String) -> Bool { !key.utf8.contains(0) }

    // MARK: In order

    /// Calls `body` with each row in the order of the keys' bytes, a thousand at a time.
    ///
    /// - Parameters:
    ///   - prefix: what keys begin with; all by default.
    ///   - body: gets a row; false ends the walk.
    public func forEach(prefix: String = "", _ body: (PostgresRow<Object, Metadata>) throws -> Bool) throws {
      guard let table = try table(), Self.isStorable(prefix) else { return }
      let end = KeyRange.end(ofPrefix: prefix)
      var (start, comparison) = (prefix, ">=")
      while true {
        let sql = table.statements.range(comparison, hasEnd: end != nil, limit: Self.pageCount)
        let page = try rows(session.send(sql, [.text(start)] + (end.map { [.text($0)] } ?? [])))
        for row in page where try !body(row) { return }
        guard page.count == Self.pageCount, let last = page.last else { return }
        (start, comparison) = (last.key, ">")
      }
    }

    /// The rows whose keys begin with `prefix`, in order, as many as `limit` at the most.
    public func rows(prefix: String = "", limit: Int = .max) throws -> [PostgresRow<Object, Metadata>] {
      var found: [PostgresRow<Object, Metadata>] = []
      guard limit > 0 else { return [] }
      try forEach(prefix: prefix) { row in
        found.append(row)
        return found.count < limit
      }
      return found
    }

    // MARK: Decoding

    /// The rows of an answer.
    func rows(_ answer: Rows) throws -> [PostgresRow<Object, Metadata>] {
      let decoder = PostgresJSON.decoder()
      return try (0..<answer.count).map { index in
        guard let key = answer.text(index, 0), let version = answer.integer(index, 3) else {
          throw PostgresError(.otherType, "A row of “\(collection.name)” has no key, or no version.")
        }
        guard let object = answer.text(index, 1) else {
          throw PostgresError(
            .otherType,
            """
            The row “\(key)” of “\(collection.name)” has bytes of a coder of the app's, and no values that SQL can read.
            """)
        }
        do {
          return PostgresRow(
            key: key, object: try decoder.decode(Object.self, from: Data(object.utf8)),
            metadata: try answer.text(index, 2).map { try decoder.decode(Metadata.self, from: Data($0.utf8)) },
            version: version)
        } catch {
          throw PostgresError(
            .otherType, "The row “\(key)” of “\(collection.name)” is not read by its type: \(error)")
        }
      }
    }
  }

  /// How types become `jsonb` and come back: as a mirror has them, with texts for what JSON has no numbers for.
  enum PostgresJSON {
    static func decoder() -> JSONDecoder {
      let decoder = JSONDecoder()
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
      return decoder
    }

    static func encoder() -> JSONEncoder {
      let encoder = JSONEncoder()
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
      return encoder
    }
  }

  /// Ranges of keys.
  enum KeyRange {
    /// The first key behind all that begin with `prefix`; nil if there is none.
    static func end(ofPrefix prefix: String) -> String? {
      var scalars = Array(prefix.unicodeScalars)
      while let last = scalars.popLast() {
        // Surrogates are no scalars.
        let next = last.value == 0xd7ff ? 0xe000 : last.value + 1
        guard let scalar = Unicode.Scalar(next) else { continue }
        scalars.append(scalar)
        return String(String.UnicodeScalarView(scalars))
      }
      return nil
    }
  }
#endif
