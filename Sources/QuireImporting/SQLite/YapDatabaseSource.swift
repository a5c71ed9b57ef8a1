// The rows of a file of YapDatabase's, and the edges that were added to it by hand.

import QuireDatabase

/// The rows of a file of YapDatabase's, with the bytes that its serializers have made.
///
/// Behind them come the edges that were added by hand, in a collection `quire.import.edges.NAME` for each relationship,
/// in the form of an `Edge` of QuireRelationships. Views, indexes and the other extensions are left out, and so are
/// tables of the app's own.
package final class YapDatabaseSource: RowSource {
  private let database: SQLiteDatabase
  private var tables: [String] = []
  private let rows: SQLiteStatement
  private var edges: (name: String, statement: SQLiteStatement)?
  private var hasRows = true
  /// The extensions, the edges and the app's tables that stay behind.
  package private(set) var leftOut: [LeftOut] = []
  /// How many archives and property lists became records; bytes stay as they are without that.
  package private(set) var coercions: [String: Int] = [:]
  private let decodes: Bool

  /// The rows of the file at `path`.
  ///
  /// - Parameters:
  ///   - target: where the new database is going to be: the source is copied beside it if it has a write-ahead log.
  ///   - decodes: whether archives and property lists become records, which YapCompat does not read.
  package init(_ path: String, besides target: String, decodes: Bool = false) throws {
    self.decodes = decodes
    let database = try SQLiteDatabase(path, besides: target)
    self.database = database
    leftOut = database.notes
    let list = try database.statement("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name DESC")
    var isThere = false
    while try list.step("table list") {
      guard let name = list.text(0) else { throw ImportError("\(path) has a table whose name is no UTF-8.") }
      if name == "database2" { isThere = true }
      if name.hasPrefix(YapDatabaseTables.edgesPrefix) { tables.append(name) }
    }
    tables = tables.filter { name in
      YapDatabaseTables.hasEdges((try? database.columns(of: name)) ?? [])
    }
    guard isThere else {
      throw ImportError(
        "\(path) has no table “database2”, as YapDatabase's files have. `quire-import sqlite` reads tables of any kind."
      )
    }
    rows = try database.statement("SELECT collection, key, data, metadata FROM main.database2 ORDER BY rowid")
    let extensions = try Self.extensions(database, &leftOut)
    leftOut += try YapDatabaseTables(extensions: extensions).foreign(in: database, at: path, edges: tables)
  }

  /// The names of the extensions that the file names, which are told as left out.
  private static func extensions(
    _ database: SQLiteDatabase, _ leftOut: inout [LeftOut]
  ) throws(ImportError) -> Set<ByteString> {
    let values = try database.statement("SELECT type FROM sqlite_schema WHERE name = 'yap2'")
    guard try values.step("yap2") else { return [] }
    guard values.text(0) == "table" else {
      throw ImportError(
        "“yap2” of \(database.path) is no table, as YapDatabase's files have one: the file is of another kind.")
    }
    let extensions = try database.statement(
      "SELECT extension, CAST(data AS TEXT) FROM main.yap2 WHERE key = 'class' ORDER BY extension")
    var names: Set<ByteString> = []
    while try extensions.step("yap2") {
      guard let name = extensions.text(0), let type = extensions.text(1) else { continue }
      names.insert(ByteString(name))
      let what = type.contains("Relationship") ? "edges that objects derive are" : "it is"
      leftOut.append(LeftOut(name: "\(type) “\(name)”", reason: "\(what) made anew where the app registers it"))
    }
    return names
  }

  package func next() throws -> SourceItem? {
    if hasRows {
      if try rows.step("database2") { return row() }
      hasRows = false
    }
    while true {
      if let (name, statement) = edges {
        while try statement.step(name) { if let item = edge(name, statement) { return item } }
        edges = nil
      }
      guard let table = tables.popLast() else { return nil }
      // An end that is a row is named by its rowid.
      edges = (
        table,
        try database.statement(
          """
          SELECT e.rowid, e.name, s.collection, s.key, typeof(e.dst), d.collection, d.key, e.dst, e.rules
          FROM main.\(SQLiteDatabase.quoted(table)) AS e
          LEFT JOIN main.database2 AS s ON s.rowid = e.src
          LEFT JOIN main.database2 AS d ON typeof(e.dst) = 'integer' AND d.rowid = e.dst
          WHERE e.manual = 1 ORDER BY e.rowid
          """)
      )
    }
  }

  package func checkUnchanged() throws { try database.file.checkUnchanged() }

  private func row() -> SourceItem {
    guard let collection = rows.text(0), let key = rows.text(1) else {
      let shown = rows.bytes(1).prefix(200).map { String($0, radix: 16) }.joined(separator: " ")
      return .bad(BadRow(table: "database2", row: shown, reason: "Its collection or its key is no \(rows.encoding)."))
    }
    let object = rows.bytes(2)
    let metadata = rows.isNull(3) ? nil : rows.bytes(3)
    var byteCount = object.count + (metadata?.count ?? 0) + key.utf8.count
    let place = "“\(key)” of “\(collection)”"
    var content = SourceRow.Content.bytes(object: object, metadata: metadata)
    if decodes {
      do throws(BadField) {
        let read = try decoded(object, "object", &byteCount)
        var half: RowValue?
        if let metadata { half = try decoded(metadata, "metadata", &byteCount) }
        content = .values(object: read, metadata: half)
      } catch { return .bad(BadRow(table: "database2", row: place, reason: error.reason)) }
    }
    let row = SourceRow(collection: collection, key: key, content: content, byteCount: byteCount)
    return .row(row, table: "database2", place: place)
  }

  /// What the bytes of a half hold. What it has beyond them is added to `byteCount`.
  private func decoded(_ bytes: [UInt8], _ half: String, _ byteCount: inout Int) throws(BadField) -> RowValue {
    do {
      let (value, kind, cost) = try ArchivedValue.read(bytes)
      byteCount += max(0, cost - bytes.count)
      if let kind { coercions[kind.rawValue, default: 0] += 1 }
      return value
    } catch { throw BadField(reason: "Its \(half) cannot be read: \(error) Without --decode its bytes come over.") }
  }

  /// An edge as a row; nil if it stays behind.
  private func edge(_ table: String, _ statement: SQLiteStatement) -> SourceItem? {
    let place = "\(statement.integer(0))"
    func end(_ column: Int) -> RowValue? {
      guard !statement.isNull(column + 1), let collection = statement.text(column), let key = statement.text(column + 1)
      else { return nil }
      return ["collection": .text(collection), "key": .text(key)]
    }
    let isFile = statement.text(4) == "text"
    let destination: RowValue? = isFile ? statement.text(7).map { ["file": .text($0)] } : end(5).map { ["row": $0] }
    guard let name = statement.text(1), let source = end(2), let destination,
      let rules = UInt8(exactly: statement.integer(8))
    else {
      let reason =
        statement.text(4) == "blob"
        ? "it leads to a file by a bookmark, which only the app's system can follow" : "an end of it is not there"
      leftOut.append(LeftOut(name: "edge \(place) of \(table)", reason: reason))
      return nil
    }
    let value: RowValue = [
      "name": .text(name), "source": source, "destination": destination, "rules": .integer(Int128(rules)),
      "isDerived": false,
    ]
    let collection = "quire.import.edges.\(table.dropFirst(YapDatabaseTables.edgesPrefix.count))"
    let row = SourceRow(collection: collection, key: place, content: .record(value), byteCount: 100)
    return .row(row, table: table, place: place)
  }
}
