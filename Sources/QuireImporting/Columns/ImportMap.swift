// A map of names: what collections, keys and fields are called, and what columns hold.
//
//     {
//       "player": {
//         "collection": "players",
//         "key": ["team", "number"],
//         "fields": {"full_name": "name", "born": {"name": "birthday", "as": "seconds since 1970"}, "password": null}
//       },
//       "cache": null
//     }

package import QuireDatabase

/// What somebody says of tables, as a JSON record of them.
package struct ImportMap: Sendable {
  /// What is said of a table.
  struct Table: Sendable {
    var isLeftOut = false
    var collection: String?
    /// The columns of the key; none if it stays as it is.
    var key: [String] = []
    var fields: [(column: String, change: Change)] = []
  }

  /// What is said of a column.
  enum Change: Sendable {
    case leftOut
    /// Its new name, and what becomes of its values; nil for what stays.
    case kept(String?, ColumnRule?)
  }

  private var tables: [ByteString: Table] = [:]
  /// The names of tables in their order.
  private var names: [String] = []

  /// A map that says nothing.
  package init() {}

  /// The map in the file at `path`.
  ///
  /// - Throws: ``ImportError`` for what cannot be read, and what is no map.
  package init(at path: String) throws {
    let file = try TextFile(path)
    var bytes: [UInt8] = []
    while bytes.count <= Self.mostBytes {
      let more = try file.read(Self.mostBytes)
      if more.isEmpty { break }
      bytes += more
    }
    guard bytes.count <= Self.mostBytes else {
      throw ImportError("The map \(path) has more than \(Self.mostBytes) bytes: it is something else.")
    }
    let value: RowValue
    do { value = try RowValue(json: bytes) } catch { throw ImportError("The map \(path): \(error)") }
    do throws(ImportError) { try self.init(value) } catch { throw ImportError("The map \(path): \(error)") }
  }

  /// The map that a value is.
  package init(_ value: RowValue) throws(ImportError) {
    for (name, value) in try Self.fields(value, "it") {
      tables[ByteString(name)] = try Self.table(value, name)
      names.append(name)
    }
  }

  private static let mostBytes = 16 << 20
  private static let shownNameCount = 50

  /// The beginning of a list of names, for messages.
  static func shown(_ names: [String]) -> String {
    if names.isEmpty { return "none" }
    let more = names.count > shownNameCount ? " and others" : ""
    return names.prefix(shownNameCount).map { "“\($0)”" }.joined(separator: ", ") + more
  }

  // MARK: Use

  /// What is said of a table; nil if that is nothing.
  func table(_ name: String) -> Table? { tables[ByteString(name)] }

  /// Throws if a table is named that is not there.
  func check(known: [String], in source: String) throws(ImportError) {
    let all = Set(known.map { ByteString($0) })
    for name in names where !all.contains(ByteString(name)) {
      throw ImportError("The map names “\(name)”, which \(source) does not have. It has \(Self.shown(known)).")
    }
  }

  /// What the map leaves out of a table, as a report tells it.
  func leftOut(_ name: String) -> [LeftOut] {
    guard let table = table(name) else { return [] }
    if table.isLeftOut { return [LeftOut(name: name, reason: Self.reason)] }
    return table.fields.compactMap { column, change in
      guard case .leftOut = change else { return nil }
      return LeftOut(name: "\(name).\(column)", reason: Self.reason)
    }
  }

  private static let reason = "the map says so"
}

// MARK: Reading

extension ImportMap {
  /// The fields of a record that has no name twice.
  private static func fields(
    _ value: RowValue, _ place: String
  ) throws(ImportError) -> [(name: String, value: RowValue)] {
    guard let fields = value.record else { throw ImportError("\(place) is no record {…} of names.") }
    var names: Set<ByteString> = []
    for field in fields where !names.insert(ByteString(field.name)).inserted {
      throw ImportError("\(place) has “\(field.name)” twice.")
    }
    return fields.map { ($0.name, $0.value) }
  }

  private static func name(_ value: RowValue, _ place: String) throws(ImportError) -> String {
    if let text = value.text, !text.isEmpty { return text }
    throw ImportError("\(place) is no name.")
  }

  private static func table(_ value: RowValue, _ name: String) throws(ImportError) -> Table {
    var table = Table()
    if value.isNull {
      table.isLeftOut = true
      return table
    }
    let place = "“\(name)”"
    for (part, value) in try fields(value, place) {
      switch part {
      case "collection": table.collection = try Self.name(value, "“collection” of \(place)")
      case "key":
        let parts = value.list ?? [value]
        table.key = try parts.map { part throws(ImportError) in try Self.name(part, "“key” of \(place)") }
        if table.key.isEmpty { throw ImportError("“key” of \(place) names no column.") }
      case "fields":
        for (column, value) in try fields(value, "“fields” of \(place)") {
          table.fields.append((column, try change(value, "“\(column)” of \(place)")))
        }
      default: throw ImportError("\(place) has “\(part)”, and may have “collection”, “key” and “fields”.")
      }
    }
    return table
  }

  private static func change(_ value: RowValue, _ place: String) throws(ImportError) -> Change {
    if value.isNull { return .leftOut }
    if let text = value.text { return .kept(try name(.text(text), place), nil) }
    var (name, rule): (String?, ColumnRule?) = (nil, nil)
    for (part, value) in try fields(value, place) {
      switch part {
      case "name": name = try Self.name(value, "“name” of \(place)")
      case "as":
        if value == "stored" {
          rule = .stored
        } else if let type = value.text.flatMap({ FieldType(rawValue: $0) }) {
          rule = .type(type)
        } else {
          throw ImportError("“as” of \(place) is none of stored, \(FieldType.names).")
        }
      default: throw ImportError("\(place) has “\(part)”, and may have “name” and “as”.")
      }
    }
    return .kept(name, rule)
  }
}
