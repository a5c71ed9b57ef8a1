// Rows as the blocks of views are handed them.

internal import Quire

/// A row as the blocks of views are handed it; each half is decoded where a block asks for it, and once for all that is
/// asked about the row in one operation.
struct BlockRow {
  let row: UntypedRow
  let database: YapDatabase

  /// What was decoded of a row, kept with it.
  private final class Halves {
    var object: Any?
    var metadata: Any??
  }

  var collection: String { row.collection }
  var key: String { row.key }

  private var halves: Halves {
    if let halves = row.attachment as? Halves { return halves }
    let halves = Halves()
    row.attachment = halves
    return halves
  }

  /// - Throws: `collectionNotRegistered`, `decodingFailed`.
  func object() throws -> Any {
    let halves = halves
    if let object = halves.object { return object }
    guard let object = try database.registry.bridge(row.collection).object(of: row) else {
      throw DatabaseError(
        .damagedRow, "A view leads to a row that is not there. Verify the database.", collection: collection, key: key)
    }
    halves.object = object
    return object
  }

  /// - Throws: `collectionNotRegistered`, `decodingFailed`.
  func metadata() throws -> Any? {
    let halves = halves
    if let metadata = halves.metadata { return metadata }
    let metadata = try database.registry.bridge(row.collection).metadata(of: row)
    halves.metadata = .some(metadata)
    return metadata
  }

  /// Runs a block with a transaction to read other rows by; throws the first error of its calls.
  func withTransaction<Result>(_ body: (YapDatabaseReadTransaction) throws -> Result) throws -> Result {
    let transaction = YapDatabaseReadTransaction(database, nil, .reading(row.readTransaction))
    defer { transaction.end() }
    let result = try body(transaction)
    if let failure = transaction.failure { throw failure }
    return result
  }
}
