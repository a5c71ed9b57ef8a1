// Rows that are handed to an extension while it is built.

internal import QuireStorage

/// Rows that were there before an extension was: as many as one step of building takes, in the order of their numbers.
///
/// Good until the hook returns that it is given to. They are copies: what the hook stores of them ends no walk through
/// them. Names and keys of rows are made for those alone that are asked for.
public final class UnbuiltRows {
  let transaction: TransactionState
  private let rows: [(rowID: RowID, bytes: [UInt8])]
  private let filter: CollectionFilter
  /// As long as the transaction has changed no row, the copies are what is stored.
  private let mutationCount: Int
  /// The row that a walk hands over.
  private var place: Int?

  /// - Throws: `damagedRow` if one of the rows breaks the format.
  init(
    _ transaction: TransactionState, _ rows: [(rowID: RowID, bytes: [UInt8])], _ filter: CollectionFilter
  ) throws(DatabaseError) {
    assert(zip(rows, rows.dropFirst()).allSatisfy { $0.rowID < $1.rowID }, "rows are handed over out of order")
    self.transaction = transaction
    self.rows = rows
    self.filter = filter
    mutationCount = transaction.mutationCount
    // No fault of the extension's: it is found before that is called.
    var known: CollectionID?
    for row in rows {
      guard let collection = Self.collection(of: row.bytes) else { throw RowView.damaged() }
      if collection != known { _ = try transaction.name(of: collection) }
      known = collection
    }
  }

  /// The collection of a row; nil if the row breaks the format.
  private static func collection(of row: [UInt8]) -> CollectionID? {
    unsafe row.withUnsafeBytes { row in
      guard let frame = unsafe RowFrame(row), frame.objectOffset <= row.count else { return nil }
      let key = unsafe UnsafeRawBufferPointer(rebasing: row[frame.keyOffset..<frame.metadataOffset])
      return unsafe key.isUTF8 ? frame.collection : nil
    }
  }

  /// The numbers of the first and the last of the rows, of whatever collections; nil if there are none. What the
  /// extension has of rows between these has come to it before their turn.
  public var bounds: ClosedRange<RowID>? {
    guard let first = rows.first?.rowID, let last = rows.last?.rowID else { return nil }
    return first...last
  }

  /// Calls `body` with each row of the collections that the extension follows, as an insert, and as it is by then: what
  /// the hook itself has removed meanwhile is passed over.
  ///
  /// - Throws: also what `body` throws.
  public func forEach(_ body: (RowChange) throws -> Void) throws {
    for place in rows.indices {
      guard let change = try change(place), filter.contains(change.collection) else { continue }
      self.place = place
      try body(change)
      // What was done that could not throw.
      try transaction.check()
    }
    place = nil
  }

  /// Calls `body` with the bytes of each row of one collection, without looking at the others; of one that the
  /// extension does not follow, with none.
  func forEachRow(
    of id: CollectionID, _ name: String, _ body: (RowID, UnsafeRawBufferPointer, RowFrame) throws -> Void
  ) throws {
    guard filter.contains(name) else { return }
    for place in rows.indices {
      let (rowID, copy) = rows[place]
      var bytes: [UInt8]? = copy
      if !isAsFound {
        bytes = try transaction.wrapping { () throws(StorageError) in
          try transaction.value(rowID.rawValue, in: transaction.database.trees.rows)
        }
      }
      try unsafe bytes?.withUnsafeBytes { row in
        guard let frame = unsafe RowFrame(row), frame.objectOffset <= row.count else { throw RowView.damaged() }
        guard frame.collection == id else { return }
        self.place = place
        try unsafe body(rowID, row, frame)
      }
      try transaction.check()
    }
    place = nil
  }

  private var isAsFound: Bool { transaction.mutationCount == mutationCount }

  private func change(_ place: Int) throws -> RowChange? {
    let (rowID, bytes) = rows[place]
    return try isAsFound
      ? transaction.extensions.rowChange(.insert, rowID, bytes) : transaction.extensions.rowChange(.insert, rowID)
  }

  /// Where the row is that a walk hands over, for errors.
  var rowKey: RowKey? {
    guard let place else { return nil }
    return try? transaction.extensions.rowChange(.insert, rows[place].rowID, rows[place].bytes).rowKey
  }
}
