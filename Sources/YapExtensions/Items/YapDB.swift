// Where an item is, under its original name.

public import Quire

/// The namespace of the original's own types.
public enum YapDB {
  /// A collection and a key. Two are the same if their bytes are. Quire's own: `RowKey`.
  public struct Index: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The same in Quire's own spelling.
    public let rowKey: RowKey

    /// Puts the two together.
    public init(collection: String, key: String) { rowKey = RowKey(collection, key) }

    /// The collection.
    public var collection: String { rowKey.collection }
    /// The key.
    public var key: String { rowKey.key }

    public static func < (left: Self, right: Self) -> Bool { left.rowKey < right.rowKey }

    public var description: String { "\(rowKey)" }
  }
}
