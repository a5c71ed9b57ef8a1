// What becomes of a table: its collection, its key, and its columns.

import QuireDatabase

/// What becomes of the rows of a table, or of those of an entity that has the table together with others.
struct TablePlan {
  /// A column that is read.
  struct Column {
    /// Its name in the source.
    let name: String
    /// The name of the field; nil if the column is left out.
    var field: String?
    var rule: ColumnRule
  }

  /// What messages call the table.
  var name: String
  var collection: String
  /// Whether no row comes over.
  var isLeftOut = false
  /// The columns in the order in which rows have them.
  var columns: [Column]
  /// Where the parts of the key stand in a row.
  var keyColumns: [Int]

  /// Changes what a map says of the table. Columns go by their own names, or by those that their fields have without
  /// the map.
  ///
  /// - Throws: ``ImportError`` for a column that is not there, is named twice or cannot be of its type, and for fields
  ///   that would have one name.
  mutating func follow(_ map: ImportMap.Table) throws(ImportError) {
    if map.isLeftOut { isLeftOut = true }
    if let name = map.collection { collection = name }
    var places: [ByteString: Int] = [:]
    for (index, column) in columns.enumerated() {
      if let field = column.field { places[ByteString(field)] = index }
    }
    for (index, column) in columns.enumerated() { places[ByteString(column.name)] = index }
    func place(_ column: String) throws(ImportError) -> Int {
      if let place = places[ByteString(column)] { return place }
      let known = ImportMap.shown(columns.map { $0.field ?? $0.name })
      throw ImportError("The map names the column “\(column)” of “\(name)”, which has \(known).")
    }
    if !map.key.isEmpty { keyColumns = try map.key.map { column throws(ImportError) in try place(column) } }
    var changed: Set<Int> = []
    for (column, change) in map.fields {
      let index = try place(column)
      guard changed.insert(index).inserted else {
        throw ImportError("The map names the column “\(columns[index].name)” of “\(name)” twice. Say it once.")
      }
      switch change {
      case .leftOut: columns[index].field = nil
      case .kept(let field, let rule):
        columns[index].field = field ?? columns[index].field ?? columns[index].name
        if let rule { try follow(rule, index) }
      }
    }
    try checkFields()
  }

  /// Has the values of a column become what a map says.
  private mutating func follow(_ rule: ColumnRule, _ index: Int) throws(ImportError) {
    guard case .external = columns[index].rule else {
      columns[index].rule = rule
      return
    }
    // Its values say where the data are, and are not the data.
    if case .type(.bytes) = rule { return }
    throw ImportError(
      """
      The map gives a type to the column “\(columns[index].name)” of “\(name)”, whose data may be in files: it can be \
      “bytes” only. Change it there, or leave it out.
      """)
  }

  private func checkFields() throws(ImportError) {
    var taken: Set<ByteString> = []
    for column in columns {
      guard let field = column.field, !taken.insert(ByteString(field)).inserted else { continue }
      throw ImportError("Two fields of “\(name)” would be called “\(field)”. Give one of them another name in the map.")
    }
  }
}
