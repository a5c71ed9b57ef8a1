// What the columns of Core Data's tables are called, and what they hold.

import QuireDatabase

/// Makes fields of the columns of Core Data's tables.
struct CoreDataColumns {
  let database: SQLiteDatabase
  let entities: CoreDataEntities
  let indexes: Set<ByteString>
  let files: ExternalFiles

  /// The columns of an entity's table: attributes are called as their columns, in capitals, without the Z in front.
  ///
  /// - Parameter notes: gets what nothing tells of a column, and the user may know.
  func entity(
    _ table: String, _ columns: [SQLiteDatabase.Column], _ notes: inout [LeftOut]
  ) throws(ImportError) -> [TablePlan.Column] {
    let names = Set(columns.map(\.name))
    let destinations = Set(columns.compactMap { Self.destination($0.name) })
    var taken: Set<String> = []
    var made: [TablePlan.Column] = []
    for column in columns {
      let name = column.name
      if ["Z_PK", "Z_ENT", "Z_OPT"].contains(name) {
        made.append(TablePlan.Column(name: name, field: nil, rule: .stored))
        continue
      }
      var (field, rule) = (name, ColumnRule.stored)
      if let end = Self.order(name) {
        field = "\(end)_ORDER"
      } else if let end = Self.destination(name), names.contains("Z\(end)") {
        // Beside the relationship stands the entity that it leads to, where that has others under it.
        (field, rule) = ("\(end)_ENTITY", .entity(entities.names))
      } else if name.hasPrefix("Z"), name.utf8.count > 1, !name.hasPrefix("Z_") {
        field = String(name.dropFirst())
        rule = try self.rule(table, column, isDestination: destinations.contains(field), &notes)
      }
      made.append(TablePlan.Column(name: name, field: Self.free(field, name, &taken), rule: rule))
    }
    return made
  }

  /// The columns of a table that joins two entities: keys are called as the relationships that lead to them.
  func pairs(_ columns: [SQLiteDatabase.Column]) -> [TablePlan.Column] {
    var taken: Set<String> = []
    return columns.map { column in
      let end = Self.order(column.name)
      let name = end ?? column.name
      var field = (name.hasPrefix("Z_") ? String(name.dropFirst(2)) : name).withoutNumber
      if end != nil { field += "_ORDER" }
      field = Self.free(field, column.name, &taken)
      return TablePlan.Column(name: column.name, field: field, rule: end == nil ? .hint(.key) : .stored)
    }
  }

  /// What a column `Z_FOK_NAME` has the order for, of the objects at the other end of a relationship; nil for others.
  static func order(_ column: String) -> String? {
    column.hasPrefix("Z_FOK_") ? String(column.dropFirst("Z_FOK_".count)).withoutNumber : nil
  }

  /// What a column such as `Z3_NAME` has the entity for; nil for others.
  private static func destination(_ column: String) -> String? {
    guard column.hasPrefix("Z"), column.dropFirst().first?.isASCIIDigit == true else { return nil }
    let rest = String(column.dropFirst()).withoutNumber
    return rest.hasPrefix("_") && rest.utf8.count > 1 ? String(rest.dropFirst()) : nil
  }

  /// A name for a field that no other one has: the one that is meant, or the column's.
  private static func free(_ field: String, _ column: String, _ taken: inout Set<String>) -> String {
    if taken.insert(field).inserted { return field }
    var name = column
    while !taken.insert(name).inserted { name += "_" }
    return name
  }

  private func rule(
    _ table: String, _ column: SQLiteDatabase.Column, isDestination: Bool, _ notes: inout [LeftOut]
  ) throws(ImportError) -> ColumnRule {
    switch column.declared.uppercased() {
    case "TIMESTAMP": return .hint(.secondsSince2001)
    case "DECIMAL": return .hint(.decimal)
    case "INTEGER":
      // Core Data makes such an index for each relationship to one, and indexes of attributes are called otherwise.
      let isRelationship = isDestination || indexes.contains(ByteString("\(table)_\(column.name)_INDEX"))
      return isRelationship ? .hint(.key) : .stored
    case "BLOB": return try dataRule(table, column.name, &notes)
    default: return .stored
    }
  }

  /// Nothing tells UUIDs from data, nor data that may stand in files from others, but all values of the column.
  private func dataRule(
    _ table: String, _ column: String, _ notes: inout [LeftOut]
  ) throws(ImportError) -> ColumnRule {
    let quoted = SQLiteDatabase.quoted(column)
    func hasRow(_ condition: String) throws(ImportError) -> Bool {
      let rows = "SELECT 1 FROM main.\(SQLiteDatabase.quoted(table)) WHERE \(quoted) IS NOT NULL AND \(condition)"
      return try database.isTrue("SELECT EXISTS (\(rows))", "\(table), \(column)")
    }
    guard try hasRow("1") else { return .stored }
    let isUUID = """
      CASE WHEN typeof(\(quoted)) = 'blob' AND length(\(quoted)) = 16 THEN \
      substr(hex(\(quoted)), 13, 1) BETWEEN '1' AND '8' AND substr(hex(\(quoted)), 17, 1) IN ('8', '9', 'A', 'B') \
      ELSE 0 END
      """
    if try !hasRow("NOT (\(isUUID))") { return .hint(.uuid) }
    let form = ExternalFiles.form(of: quoted)
    if try hasRow("(\(form)) = 0") { return .stored }
    if files.isThere { return .external(files) }
    if try hasRow("(\(form)) = 2") { return .external(files) }
    notes.append(
      LeftOut(
        name: "the mark of \(table).\(column)",
        reason: """
          all its data begin with the byte 1, as if some stood in files. If the store has a folder beside it whose \
          name begins with a dot, copy it along and begin again; else the byte is a part of the data
          """))
    return .stored
  }
}

extension String {
  /// The text without the digits that it begins with.
  var withoutNumber: String { String(drop { $0.isASCIIDigit }) }
}

extension Character {
  var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
