// Testing rows where they are stored: of most, the fields tell that a condition names.

internal import QuireDatabase

/// A condition as a test of stored rows.
struct StoredRowTest<Object: Sendable, Metadata: Sendable>: RowFilter {
  private let reader: FieldReader<Object, Metadata>
  private let tests: ConditionNode
  private let fields: FieldTest
  private let asksBeyondObject: Bool

  init(_ rows: ReadableRows<Object, Metadata>, _ tests: ConditionNode) {
    asksBeyondObject = tests.asksBeyondObject
    let reader = FieldReader(rows, halves: asksBeyondObject ? [.object, .metadata] : .object)
    self.reader = reader
    self.tests = tests
    fields = FieldTest(tests) { reader.add($0, each: $1) }
  }

  func rowIDs(among rowIDs: [RowID]) throws -> [RowID] { try self.rowIDs(among: rowIDs, limit: .max) }

  /// All rows that satisfy the condition, in the order of their numbers. So many as the limit are enough.
  func rowIDs(limit: Int) throws -> [RowID] { try rowIDs(among: nil, limit: limit) }

  private func rowIDs(among rowIDs: [RowID]?, limit: Int) throws -> [RowID] {
    var bytes: [UInt8] = []
    let found = FoundRowIDs(fields, limit: limit) { try isTrue($0, &bytes) }
    if let rowIDs { try reader.forEachRow(withIDs: rowIDs, found.take) } else { try reader.forEachRow(found.take) }
    return found.rowIDs
  }

  /// Whether the row satisfies the condition, found out by decoding it.
  private func isTrue(_ rowID: RowID, _ bytes: inout [UInt8]) throws -> Bool {
    guard asksBeyondObject else {
      return try tests.isTrue(reader.object(), Metadata?.none, nil, rowID, &bytes)
    }
    let row = try reader.row()
    return try tests.isTrue(row.object, row.metadata, row.key, rowID, &bytes)
  }
}

/// The rows that a test lets through. Without the types of the rows, which code that is not compiled for them would ask
/// for at every step.
private final class FoundRowIDs {
  private(set) var rowIDs: [RowID] = []
  private let test: FieldTest
  private let limit: Int
  private let isTrueOfWhole: (RowID) throws -> Bool

  init(_ test: FieldTest, limit: Int, unlessTold isTrueOfWhole: @escaping (RowID) throws -> Bool) {
    (self.test, self.limit, self.isTrueOfWhole) = (test, limit, isTrueOfWhole)
  }

  /// Takes the row that is lent if it satisfies the condition; returns whether more are wanted.
  func take(_ rowID: RowID, _ fields: StoredFields) throws -> Bool {
    guard try test.isTrue(rowID, fields) ?? isTrueOfWhole(rowID) else { return true }
    rowIDs.append(rowID)
    return rowIDs.count < limit
  }
}
