// Rows as bytes, for tools that do not know the types.

internal import QuireStorage

/// A row whose object and metadata are the bytes that their coders made, decompressed.
public struct RawRow: Hashable, Sendable {
  /// The key in its collection.
  public let key: String
  /// The row's number.
  public let rowID: RowID
  /// The object as its coder made it.
  public let object: [UInt8]
  /// The metadata as its coder made them, if there are any.
  public let metadata: [UInt8]?
}

/// The rows of a collection as bytes. Nothing is decoded but compression, so that no type needs to be known.
public struct RawRows: Sequence {
  let opened: OpenedCollection

  /// The row under `key`, or nil.
  public func row(_ key: String) throws(DatabaseError) -> RawRow? {
    try handle.withRow(key) { rowID, row in try Self.rawRow(key, rowID, row) }
  }

  /// The number of rows. O(log n).
  public var count: Int {
    opened.transaction.recorder?.noteAll(of: opened.name, [])
    return opened.noting(0) { (id) throws(DatabaseError) in try opened.transaction.count(id) }
  }

  /// The rows in the order of their keys' bytes. An error ends the loop, and is thrown by the transaction's next call.
  public func makeIterator() -> Iterator { Iterator(opened) }

  private var handle: RowHandle<[UInt8], [UInt8]> {
    RowHandle(opened, RowCollection(opened.name, coder: .bytes, metadataCoder: .bytes))
  }

  private static func rawRow(_ key: String, _ rowID: RowID, _ row: RowView) throws -> RawRow {
    RawRow(
      key: key, rowID: rowID, object: try unsafe ValueCompression.decode(row.object.bytes),
      metadata: try unsafe row.metadata.map { try unsafe ValueCompression.decode($0.bytes) })
  }

  /// Steps through the rows.
  public struct Iterator: IteratorProtocol {
    private var fetched: FetchedRows<RawRow>

    fileprivate init(_ opened: OpenedCollection) { fetched = FetchedRows(RowScan(opened, .all)) }

    /// The next row; nil behind the last one, and after an error.
    public mutating func next() -> RawRow? { fetched.next { try RawRows.rawRow($0, $1, $2) } }
  }
}
