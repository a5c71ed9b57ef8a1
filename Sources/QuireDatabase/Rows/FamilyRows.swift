// Rows of a family of collections, as an extension shows them to an app's closures.

/// Has the rows that an extension is told of, or has looked up, decoded as rows of a family's collections.
///
/// ```swift
/// let rows = FamilyRows(CollectionFamily([.songs]), store)
/// guard let song = try rows.row(change)?.object else { return }
/// ```
///
/// Opens each collection once, when a row of it is decoded for the first time: types that nobody decodes are none of
/// the collection's. For the thread and the life of a transaction.
public final class FamilyRows<Object: Sendable, Metadata: Sendable> {
  private let family: CollectionFamily<Object, Metadata>
  private let transaction: TransactionState
  /// Most rows are of the collection that the row before was of.
  private var last: DescribedRows?
  private var known: [ByteString: DescribedRows] = [:]

  /// Of a family, in the transaction of an extension.
  public init(_ family: CollectionFamily<Object, Metadata>, _ store: ExtensionStore) {
    self.family = family
    transaction = store.state
  }

  /// A row, of which nothing is decoded yet; nil if it is of no collection of the family. Reads nothing.
  public func row(_ change: RowChange) -> FamilyRow<Object, Metadata>? {
    if let last, last.name.hasSameBytes(as: change.collection) { return FamilyRow(DecodedRow(change, last)) }
    return rows(of: change.collection).map { FamilyRow(DecodedRow(change, $0)) }
  }

  private func rows(of name: String) -> DescribedRows? {
    let bytes = ByteString(name)
    if let found = known[bytes] {
      last = found
      return found
    }
    guard let collection = family.collection(named: name) else { return nil }
    let transaction = transaction
    let found = DescribedRows(name) { transaction.open(collection).rows }
    (last, known[bytes]) = (found, found)
    return found
  }
}

/// A row of a family's collection: its halves are decoded when they are asked for, and once, however often the value is
/// copied. For the thread and the life of its transaction.
public struct FamilyRow<Object: Sendable, Metadata: Sendable> {
  private let row: DecodedRow

  /// Of a row whose collection was described with these types.
  fileprivate init(_ row: DecodedRow) { self.row = row }

  /// Where the row is, and what happens to it.
  public var change: RowChange { row.change }
  /// The name of the collection.
  public var collection: String { row.change.collection }
  /// The key in the collection.
  public var key: String { row.change.key }

  /// The object: the new one if one is stored, also before that; else the one that is there.
  ///
  /// - Throws: `collectionMismatch`, `decodingFailed`, `damagedPage`, `inputOutput`; `damagedRow` if the row is gone.
  public var object: Object {
    get throws {
      // The row owns the place, and may be let go of at its last mention.
      try withExtendedLifetime(row) { try unsafe row.object().assumingMemoryBound(to: Object.self).pointee }
    }
  }

  /// The metadata; nil if the row has none.
  ///
  /// - Throws: `collectionMismatch`, `decodingFailed`, `damagedPage`, `inputOutput`.
  public var metadata: Metadata? {
    get throws {
      try withExtendedLifetime(row) { try unsafe row.metadataIfAny()?.assumingMemoryBound(to: Metadata.self).pointee }
    }
  }
}
