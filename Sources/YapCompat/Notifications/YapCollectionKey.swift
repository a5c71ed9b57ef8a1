// Where a row is, under its original name.

public import Quire

/// A collection and a key. New type: `RowKey`.
///
/// Two are the same, and one comes before the other, by their bytes.
public struct YapCollectionKey: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
  /// The same in the new API.
  public let rowKey: RowKey

  /// The same as a row's key of the new API. New call: none.
  public init(_ rowKey: RowKey) { self.rowKey = rowKey }

  /// Puts the two together; nil is the collection "". New call: `RowKey(_:_:)`.
  public init(collection: String?, key: String) { rowKey = RowKey(collection ?? "", key) }

  /// The collection.
  public var collection: String { rowKey.collection }
  /// The key.
  public var key: String { rowKey.key }

  public static func < (left: Self, right: Self) -> Bool { left.rowKey < right.rowKey }

  public var description: String { "\(rowKey)" }
}

extension YapCollectionKey {
  /// Puts the two together, in the words of Objective-C. New call: `RowKey(_:_:)`.
  public static func create(withCollection collection: String?, key: String) -> YapCollectionKey {
    YapCollectionKey(collection: collection, key: key)
  }
}
