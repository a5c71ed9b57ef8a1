// What reading hands out.

/// One row: where it is, and what it holds.
public struct Row<Object, Metadata> {
  /// The key in its collection.
  public let key: String
  /// The row's number, which stays as long as the row lives.
  public let rowID: RowID
  /// The object.
  public let object: Object
  /// The metadata, if it has some.
  public let metadata: Metadata?

  /// Puts a row together.
  @inlinable public init(key: String, rowID: RowID, object: Object, metadata: Metadata?) {
    self.key = key
    self.rowID = rowID
    self.object = object
    self.metadata = metadata
  }
}

extension Row: Sendable where Object: Sendable, Metadata: Sendable {}
extension Row: Equatable where Object: Equatable, Metadata: Equatable {}

/// A row without its object.
public struct MetadataRow<Metadata> {
  /// The key in its collection.
  public let key: String
  /// The row's number.
  public let rowID: RowID
  /// The metadata, if the row has some.
  public let metadata: Metadata?

  @inlinable init(key: String, rowID: RowID, metadata: Metadata?) {
    self.key = key
    self.rowID = rowID
    self.metadata = metadata
  }
}

extension MetadataRow: Sendable where Metadata: Sendable {}
extension MetadataRow: Equatable where Metadata: Equatable {}
