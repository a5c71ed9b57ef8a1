// Rows as extensions of the new API are told of them, decoded by what was registered here.

public import Quire

extension YapDatabase {
  /// The object of a row that an extension is told of, by the coder or the blocks of its collection: for extensions of
  /// the new API over collections with blocks, which see bytes otherwise. Nil after a removal. Good in the hook that
  /// was handed the row. Not in the original. New call: `RowChange.object(in:)`.
  ///
  /// - Throws: `collectionNotRegistered`, and as `RowChange.object(in:)`.
  public func object(of change: RowChange) throws -> Any? {
    try registry.bridge(change.collection).object(of: change)
  }

  /// The metadata of a row that an extension is told of; nil if it has none. Not in the original. New call:
  /// `RowChange.metadata(in:)`.
  ///
  /// - Throws: `collectionNotRegistered`, and as `RowChange.metadata(in:)`.
  public func metadata(of change: RowChange) throws -> Any? {
    try registry.bridge(change.collection).metadata(of: change)
  }
}
