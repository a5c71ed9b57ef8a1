// Rows of a collection whose types nobody knows.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

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

/// One half of a row, read without its type.
public struct StoredHalf: Hashable, Sendable {
  /// What the half says.
  public enum Content: Hashable, Sendable {
    /// A value of a form that is known.
    case value(RowValue)
    /// The bytes of a custom coder of the app's, which alone knows what they mean.
    case custom([UInt8])
    /// It is encrypted with the key of this number.
    case encrypted(key: UInt32)
  }

  /// What it says.
  public let content: Content
  /// How many upgrades the coder had that has written it: the value is as it was then. Of a coder of timestamps, bytes
  /// or an app's own form those versions are binary ones that it upgrades from, which the file does not tell but for 0.
  public let version: Int
  /// The kind of the coder that has written it; nil where the file does not note it.
  public let coder: CoderKind?

  /// The value, if it is of a form that is known.
  public var value: RowValue? { if case .value(let value) = content { value } else { nil } }
}

/// The kinds of coders, as the file notes them for each collection.
public enum CoderKind: String, Hashable, Sendable, CaseIterable {
  /// Of ``RowCoder/binary``.
  case binary
  /// Of ``RowCoder/json``.
  case json = "JSON"
  /// Of ``RowCoder/propertyList``.
  case propertyList = "property list"
  /// Of ``RowCoder/timestamp``.
  case timestamp
  /// Of ``RowCoder/bytes``.
  case bytes
  /// Of closures of the app's.
  case custom
}

/// The rows of a collection, in the order of their keys, read without their types.
///
/// Needs no more than the file: the form of each half is noted there with the collection, as are the names of fields.
/// What a file of an early version has not noted is taken for binary if it can be read so, and else for bytes.
public struct ValueRows: Sequence {
  private let rows: RawRows
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

extension CoderKind {
  /// Of what has written a half; nil if that is not known.
  fileprivate init?(_ coder: StoredCoder) {
    guard let kind = coder.kind else { return nil }
    self.init(rawValue: kind.rawValue)
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
      return StoredHalf(content: .encrypted(key: number), version: 0, coder: CoderKind(coder))
    }
    let context = half == .object ? state.contexts.object : state.contexts.metadata
    do { return try unsafe bytes.withUnsafeBytes { try unsafe StoredHalf($0, coder, context) } } catch {
      throw opened.undecodable(half.name, key, error)
    }
  }
}

extension StoredHalf {
  /// Reads a half that a coder of this kind has written.
  fileprivate init(_ bytes: UnsafeRawBufferPointer, _ coder: StoredCoder, _ context: RowCodingContext) throws {
    guard let noted = coder.kind else {
      let value = try? unsafe StoredHalf(bytes, StoredCoder(CoderIdentity(.binary, nil, isEncrypted: false)), context)
      self = unsafe value ?? StoredHalf(content: .value(.bytes([UInt8](bytes))), version: 0, coder: nil)
      return
    }
    let (version, start) = try unsafe readVersion(of: bytes, noted, hasVersions: coder.hasVersions)
    // A coder that got upgrades as it took the place of a binary one: what that has written is of no version.
    let kind = coder.hasVersions && version == 0 ? .binary : noted
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
    let content = try unsafe Self.content(of: rest, kind, context)
    self.init(content: content, version: version, coder: CoderKind(rawValue: kind.rawValue))
  }

  private static func content(
    of bytes: UnsafeRawBufferPointer, _ kind: CoderIdentity.Kind, _ context: RowCodingContext
  ) throws -> Content {
    switch kind {
    case .binary: return .value(try unsafe context.decodeBinary(RowValue.self, bytes))
    case .json:
      var reader = unsafe JSONReader(bytes, hasMarks: false)
      return .value(try reader.document())
    case .propertyList:
      let decoder = PropertyListDecoder()
      decoder.userInfo[ValueBudget.key] = ValueBudget(byteCount: bytes.count)
      return .value(try unsafe decoder.decode(RowValue.self, from: Data(bytes)))
    case .timestamp: return .value(.date(try unsafe RowForm.timestamp(bytes)))
    case .bytes: return unsafe .value(.bytes([UInt8](bytes)))
    case .custom: return unsafe .custom([UInt8](bytes))
    }
  }
}

extension TransactionReading {
  /// The rows of a collection, read without their types: for tools, and for programs that do not know the types.
  ///
  /// Costs what reading bytes costs and decoding; nothing of it is cached. Constant time until rows are asked for.
  public func values(in name: String) -> ValueRows { ValueRows(rawRows(name)) }
}
