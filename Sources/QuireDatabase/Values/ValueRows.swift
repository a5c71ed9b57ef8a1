// Rows of a collection whose types nobody knows.

/// A row whose object and metadata were read without their types.
public struct ValueRow: Hashable, Sendable {
  /// The key in its collection.
  public let key: String
  /// The row's number.
  public let rowID: RowID
  /// The object.
  public let object: StoredHalf
  /// The metadata, if there are any.
  public let metadata: StoredHalf?
}

/// The rows of a collection, in the order of their keys, read without their types.
///
/// Needs no more than the file: the form of each half is noted there with the collection, as are the names of fields.
/// What a file of an early version has not noted is taken for binary if it can be read so, and else for bytes.
public struct ValueRows: Sequence {
  private let rows: RawRows
  var opened: OpenedCollection { rows.opened }
  private var scan: RowScan

  init(_ rows: RawRows) {
    self.rows = rows
    scan = RowScan(rows.opened, .all)
  }

  /// The kind of the coder that has written objects last, as the file notes it. Constant time; no row is read.
  public var coder: CoderKind? { CoderKind(rows.opened.state.coders.object) }

  /// Those whose keys begin with `prefix`, instead of any range before.
  public func rows(prefix: String) -> Self { with(.prefix(prefix)) }

  /// Those whose keys are `first` or behind it, and in front of `end`, instead of any range
  /// before; without an end of the range if one is nil.
  public func rows(from first: String? = nil, upTo end: String? = nil) -> Self { with(.range(first, end)) }

  /// The same in the opposite order.
  public func reversed() -> Self {
    var other = self
    other.scan.isReversed.toggle()
    return other
  }

  private func with(_ range: RowScan.Range) -> Self {
    var other = self
    let isReversed = scan.isReversed
    other.scan = RowScan(rows.opened, range)
    other.scan.isReversed = isReversed
    return other
  }

  /// The number of rows. O(log n).
  ///
  /// - Throws: what reading pages throws.
  public func count() throws(DatabaseError) -> Int {
    try rows.opened.count { id in RowScan.bounds(scan.range, in: id) }
  }

  /// The row under `key`, or nil, wherever the range ends. Touches one page per level of the key index and of the rows.
  ///
  /// - Throws: `decodingFailed` with collection and key if what is stored is not of the form that the file notes;
  ///   `damagedRow`, and what reading pages throws.
  public func row(_ key: String) throws(DatabaseError) -> ValueRow? {
    guard let row = try rows.row(key) else { return nil }
    return try ValueRowReader(opened: rows.opened).read(row)
  }

  /// The rows in the order of their keys' bytes. An error ends the loop, and is thrown by the transaction's next call.
  public func makeIterator() -> Iterator { Iterator(scan) }

  /// Steps through the rows.
  public struct Iterator: IteratorProtocol {
    private let reader: ValueRowReader
    private var rows: RawRows.Iterator

    fileprivate init(_ scan: RowScan) {
      reader = ValueRowReader(opened: scan.opened)
      rows = RawRows.Iterator(scan)
    }

    /// The next row; nil behind the last one, and after an error.
    public mutating func next() -> ValueRow? {
      guard let row = rows.next() else { return nil }
      do throws(DatabaseError) { return try reader.read(row) } catch {
        reader.opened.transaction.note(error)
        return nil
      }
    }
  }
}

/// Decodes the halves of rows as bytes.
private struct ValueRowReader {
  let opened: OpenedCollection

  /// The row with its halves decoded.
  func read(_ row: RawRow) throws(DatabaseError) -> ValueRow {
    ValueRow(
      key: row.key, rowID: row.rowID,
      object: try read(row.object, row.objectStorage, .object, row.key),
      metadata: try row.metadata.map { metadata throws(DatabaseError) in
        try read(metadata, row.metadataStorage, .metadata, row.key)
      })
  }

  private func read(
    _ bytes: [UInt8], _ storage: RawRow.Storage?, _ half: RowHalf, _ key: String
  ) throws(DatabaseError) -> StoredHalf {
    let state = opened.state
    let coder = half == .object ? state.coders.object : state.coders.metadata
    if case .encrypted(let number)? = storage?.form {
      return StoredHalf(.encrypted(key: number), coder: CoderKind(coder))
    }
    let context = half == .object ? state.contexts.object : state.contexts.metadata
    do { return try StoredHalf(bytes, coder, context) } catch {
      throw opened.undecodable(half.name, key, error)
    }
  }
}

extension TransactionReading {
  /// The rows of a collection, read without their types: for tools, and for programs that do not know the types.
  ///
  /// Costs what reading bytes costs and decoding; nothing of it is cached. Constant time until rows are asked for.
  public func values(in name: String) -> ValueRows { ValueRows(rawRows(name)) }
}
