// One table of SQLite's that is read, row by row.

import Foundation
import QuireDatabase

/// One table that is read.
final class TableReader {
  /// Which plan a row follows.
  enum Choice {
    case always(TablePlan)
    /// By the number in a column; nil if there is no plan for it.
    case byNumber(column: Int, (Int64) throws -> TablePlan?)
  }

  private let name: String
  private let statement: SQLiteStatement
  private let choice: Choice
  private var plans: [Int64: TablePlan] = [:]
  private var count = 0
  /// How often the rule of each column of the statement has made a value something else.
  private var coercedCounts: [Int]
  private var coercedNames: [String]

  /// The table `name` through a statement of so many columns.
  init(_ name: String, _ statement: SQLiteStatement, columnCount: Int, _ choice: Choice) {
    (self.name, self.statement, self.choice) = (name, statement, choice)
    coercedCounts = Array(repeating: 0, count: columnCount)
    coercedNames = Array(repeating: "", count: columnCount)
  }

  /// How many values were made something else, by what was made of them.
  var coercions: [String: Int] {
    var all: [String: Int] = [:]
    for (name, count) in zip(coercedNames, coercedCounts) where count > 0 { all[name, default: 0] += count }
    return all
  }

  /// The next row; nil behind the last one.
  func next() throws -> SourceItem? {
    while try statement.step("\(name), behind \(count) rows") {
      count += 1
      guard let plan = try plan() else { return bad(nil, "Its entity is none of the store's.") }
      if plan.isLeftOut { continue }
      do throws(BadField) { return try row(plan) } catch { return bad(plan, error.reason) }
    }
    return nil
  }

  private func plan() throws -> TablePlan? {
    switch choice {
    case .always(let plan): return plan
    case .byNumber(let column, let make):
      let number = statement.integer(column)
      if let known = plans[number] { return known }
      let plan = try make(number)
      plans[number] = plan
      return plan
    }
  }

  private func row(_ plan: TablePlan) throws(BadField) -> SourceItem {
    var fields: [RowValue.Field] = []
    fields.reserveCapacity(plan.columns.count)
    var byteCount = 0
    for index in plan.columns.indices {
      let column = plan.columns[index]
      guard let field = column.field else { continue }
      guard var value = statement.value(index) else {
        throw BadField(reason: "The text in “\(column.name)” is no \(statement.encoding).")
      }
      if value.isNull { continue }
      byteCount += 8
      if try column.rule.apply(to: &value, of: column.name) {
        if coercedCounts[index] == 0 { coercedNames[index] = column.rule.what }
        coercedCounts[index] += 1
      }
      switch value {
      case .text(let text): byteCount += text.utf8.count
      case .bytes(let bytes): byteCount += bytes.count
      default: break
      }
      fields.append(RowValue.Field(field, value))
    }
    guard let key = key(plan) else {
      throw BadField(reason: "Its key has a NULL, or a text that is no \(statement.encoding).")
    }
    let row = SourceRow(
      collection: plan.collection, key: key, content: .record(.record(fields)), byteCount: byteCount)
    return .row(row, table: plan.name, place: key)
  }

  private func bad(_ plan: TablePlan?, _ reason: String) -> SourceItem {
    .bad(BadRow(table: plan?.name ?? name, row: plan.flatMap(key) ?? "number \(count)", reason: reason))
  }

  // MARK: Keys

  private func key(_ plan: TablePlan) -> String? {
    if plan.keyColumns.count == 1 { return part(plan, plan.keyColumns[0]) }
    var parts: [String] = []
    for column in plan.keyColumns {
      guard let part = part(plan, column) else { return nil }
      parts.append(part)
    }
    return SourceRow.key(joining: parts)
  }

  /// A part of the key as text. A UUID is written as one, and other values as they are, whatever becomes of the field.
  private func part(_ plan: TablePlan, _ column: Int) -> String? {
    switch statement.value(column) {
    case .integer(let number): return String(number)
    case .double(let number): return "\(number)"
    case .text(let text): return text
    case .bytes(let bytes):
      if case .uuid(let uuid)? = plan.columns[column].rule.uuid(bytes) { return uuid.uuidString }
      return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    default: return nil
    }
  }
}

extension ColumnRule {
  /// The UUID that this makes of bytes; nil if it makes something else.
  fileprivate func uuid(_ bytes: [UInt8]) -> RowValue? {
    switch self {
    case .hint(.uuid), .type(.uuid): ColumnHint.uuid.coerced(.bytes(bytes))
    default: nil
    }
  }
}

/// Tables that are read one after the other.
struct TableQueue {
  /// The tables that are left, the next one last.
  private var readers: [TableReader]
  private var finished: [String: Int] = [:]

  init(_ readers: [TableReader]) { self.readers = readers.reversed() }

  /// The next row; nil behind the last one.
  mutating func next() throws -> SourceItem? {
    while let reader = readers.last {
      if let item = try reader.next() { return item }
      finished.merge(reader.coercions, uniquingKeysWith: +)
      readers.removeLast()
    }
    return nil
  }

  /// How many values were made something else, by what was made of them.
  var coercions: [String: Int] { finished.merging(readers.last?.coercions ?? [:], uniquingKeysWith: +) }
}
