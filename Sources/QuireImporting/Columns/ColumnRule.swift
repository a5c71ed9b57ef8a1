// What becomes of the values of a column.

import QuireDatabase

/// What becomes of the values of a column that are not NULL.
enum ColumnRule: Sendable {
  /// They stay as they are.
  case stored
  /// Those that fit become what the declared type says, and others stay.
  case hint(ColumnHint)
  /// All become values of a type, as somebody says; a row with one that cannot does not fit.
  case type(FieldType)
  /// Numbers of entities become their names.
  case entity([Int64: String])
  /// Data that stand in the row, or in a file beside the store.
  case external(ExternalFiles)

  /// What the report calls values that this has made.
  var what: String {
    switch self {
    case .stored: ""
    case .hint(let hint): hint.what
    case .type(let type): type.what
    case .entity: "names of entities"
    case .external: "data without the mark of where they stand"
    }
  }

  /// Makes of a value what it is to be. Returns whether it is another one than before.
  func apply(to value: inout RowValue, of column: String) throws(BadField) -> Bool {
    switch self {
    case .stored: return false
    case .hint(let hint):
      guard let coerced = hint.coerced(value) else { return false }
      value = coerced
    case .type(let type):
      guard let made = type.value(of: value) else {
        let shown = (value.text ?? value.integer.map { "\($0)" } ?? value.json).prefix(100)
        throw BadField(reason: "“\(shown)” in “\(column)” is no \(type.rawValue).")
      }
      if made == value { return false }
      value = made
    case .entity(let names):
      guard case .integer(let number) = value, let name = Int64(exactly: number).flatMap({ names[$0] }) else {
        return false
      }
      value = .text(name)
    case .external(let files): value = .bytes(try files.data(value, column))
    }
    return true
  }
}
