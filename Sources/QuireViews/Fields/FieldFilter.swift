// Filtering stored rows by one of their fields.

internal import QuireDatabase

/// What of a row tells whether a filter lets it through.
struct ToldFilter<Object: Sendable>: Sendable {
  let path: any PartialKeyPath<Object> & Sendable
  /// Whether a value with these sort bytes passes; nil if they do not tell the value.
  let isIncluded: @Sendable ([UInt8]) throws -> Bool?
  /// The same of a decoded object.
  let isObjectIncluded: @Sendable (Object) throws -> Bool
}

/// Finds the rows of a collection that a filter lets through. A row is decoded if it does not tell the field.
///
/// For the thread and the life of a transaction.
struct FieldFilter<Object: Sendable, Metadata: Sendable> {
  private let reader: FieldReader<Object, Metadata>
  private let finder: RowFinder

  /// Nil if rows of this type do not tell the field.
  init?(_ rows: ReadableRows<Object, Metadata>, _ told: ToldFilter<Object>) {
    let reader = FieldReader(rows)
    guard let field = reader.add(told.path) else { return nil }
    self.reader = reader
    finder = RowFinder(field, told.isIncluded) { try told.isObjectIncluded(reader.object()) }
  }

  /// Calls `body` with those rows of a step of building that have one of these numbers, which ascend, and pass.
  func forEachPassing(in rows: UnbuiltRows, among rowIDs: [RowID], _ body: (RowID) throws -> Void) throws {
    let finder = finder
    try reader.forEachRow(in: rows, withIDs: rowIDs) { rowID, fields in
      if try finder.passes(fields) { try body(rowID) }
    }
  }

  /// Calls `body` with those of some rows that are in the collection and pass.
  func forEachPassing(among rowIDs: [RowID], _ body: (RowID) throws -> Void) throws {
    let finder = finder
    try reader.forEachRow(withIDs: rowIDs) { rowID, fields in
      if try finder.passes(fields) { try body(rowID) }
      return true
    }
  }
}

/// Asks a filter about rows. Without the types of the rows, which code that is not compiled for them would ask for at
/// every step.
///
/// For one thread at a time.
private final class RowFinder {
  private let field: Int
  private let isIncluded: ([UInt8]) throws -> Bool?
  private let isObjectIncluded: () throws -> Bool
  @exclusivity(unchecked) private var bytes: [UInt8] = []

  init(
    _ field: Int, _ isIncluded: @escaping ([UInt8]) throws -> Bool?, _ isObjectIncluded: @escaping () throws -> Bool
  ) {
    (self.field, self.isIncluded, self.isObjectIncluded) = (field, isIncluded, isObjectIncluded)
  }

  func passes(_ fields: StoredFields) throws -> Bool {
    unsafe bytes.removeAll(keepingCapacity: true)
    let isTold = fields.hasValue(field) { value in
      unsafe value.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
      return true
    }
    if isTold != nil, let passes = try unsafe isIncluded(bytes) { return passes }
    return try isObjectIncluded()
  }
}
