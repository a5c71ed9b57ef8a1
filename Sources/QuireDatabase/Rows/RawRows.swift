// Rows as bytes, for tools that do not know the types.

internal import QuireStorage

/// A row whose object and metadata are the bytes that their coders made, decompressed, or, if they are encrypted, as
/// they are stored.
public struct RawRow: Hashable, Sendable {
  /// The key in its collection.
  public let key: String
  /// The row's number.
  public let rowID: RowID
  /// The object as its coder made it.
  public let object: [UInt8]
  /// The metadata as its coder made them, if there are any.
  public let metadata: [UInt8]?
  /// How the object is stored.
  public let objectStorage: Storage
  /// How the metadata are stored, if there are any.
  public let metadataStorage: Storage?

  /// How a value is stored.
  public struct Storage: Hashable, Sendable {
    /// What was done to the value.
    public enum Form: Hashable, Sendable {
      /// Nothing: it stands there as the coder made it.
      case plain
      /// It was compressed with LZ4.
      case compressed
      /// It was compressed with LZ4 and the collection's dictionary of this number.
      case compressedWithDictionary(Int)
      /// It is encrypted with the key of this number; the bytes of the row's half are as they are stored.
      case encrypted(UInt32)
    }

    /// What was done to the value.
    public let form: Form
    /// The bytes that it takes, without its part of the row's header.
    public let byteCount: Int

    init(_ stored: UnsafeRawBufferPointer) throws {
      byteCount = stored.count
      if unsafe SealedHeader.isSealed(stored) {
        form = .encrypted(try unsafe SealedHeader(stored).keyID)
        return
      }
      let header = try unsafe StoredHeader(stored.bytes)
      form =
        if let number = header.dictionary {
          .compressedWithDictionary(Int(number))
        } else {
          header.decodedByteCount == nil ? .plain : .compressed
        }
    }
  }
}

/// The rows of a collection as bytes. Nothing is decoded but compression, so that no type needs to be known.
public struct RawRows: Sequence {
  let opened: OpenedCollection

  /// The row under `key`, or nil.
  public func row(_ key: String) throws(DatabaseError) -> RawRow? {
    try handle.withRow(key) { rowID, row in try opened.rawRow(key, rowID, row) }
  }

  /// The number of rows. O(log n).
  public var count: Int { opened.count }

  /// The number of rows whose keys lie in `range`. O(log n).
  public func count(_ range: some KeyRange) throws(DatabaseError) -> Int {
    try opened.count { KeyBounds($0, from: range.firstKey, upTo: range.endKey) }
  }

  /// Whether there is a row under `key`. Touches one page per level of the key index.
  public func contains(_ key: String) throws(DatabaseError) -> Bool { try opened.rowID(key) != nil }

  /// The rows in the order of their keys' bytes. An error ends the loop, and is thrown by the transaction's next call.
  public func makeIterator() -> Iterator { Iterator(RowScan(opened, .all)) }

  private var handle: RowHandle<[UInt8], [UInt8]> {
    RowHandle(opened, RowCollection(opened.name, coder: .bytes, metadataCoder: .bytes))
  }

  /// Steps through the rows.
  public struct Iterator: IteratorProtocol {
    private let opened: OpenedCollection
    private let cursor: BatchCursor?
    private var fetched: [RawRow] = []
    private var position = 0

    init(_ scan: RowScan) {
      opened = scan.opened
      cursor = BatchCursor(scan)
    }

    /// The next row; nil behind the last one, and after an error.
    public mutating func next() -> RawRow? {
      guard let cursor else { return nil }
      if position == fetched.count {
        fetched.removeAll(keepingCapacity: true)
        position = 0
        cursor.fetch { fetched.append(try opened.rawRow($0, $1, $2)) }
      } else if !cursor.mayGoOn() {
        return nil
      }
      guard position < fetched.count else { return nil }
      position += 1
      return fetched[position - 1]
    }
  }
}

extension OpenedCollection {
  fileprivate func rawRow(_ key: String, _ rowID: RowID, _ row: RowView) throws -> RawRow {
    do {
      return RawRow(
        key: key, rowID: rowID, object: try unsafe rawHalf(row.object), metadata: try unsafe row.metadata.map(rawHalf),
        objectStorage: try unsafe RawRow.Storage(row.object),
        metadataStorage: try unsafe row.metadata.map { try unsafe RawRow.Storage($0) })
    } catch {
      throw undecodable("row", key, error)
    }
  }

  private func rawHalf(_ stored: UnsafeRawBufferPointer) throws -> [UInt8] {
    try unsafe SealedHeader.isSealed(stored) ? Array(stored) : decoded(stored)
  }

  /// The value that `stored` is the stored form of, in an array of its own.
  func decoded(_ stored: UnsafeRawBufferPointer) throws -> [UInt8] {
    try unsafe ValueCompression.decode(stored.bytes) { try transaction.dictionaries.dictionary($0, state) }
  }
}
