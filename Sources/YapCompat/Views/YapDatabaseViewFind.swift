// Searching a view by its own order.

public import Foundation
internal import Quire

/// Says where a row is to the interval that is looked for, in the order in which the view sorts: `orderedAscending` in
/// front of it, `orderedSame` inside, `orderedDescending` behind.
///
/// New call: the closure of `ViewReader.range(in:where:)`.
public struct YapDatabaseViewFind {
  let find: (BlockRow) throws -> ComparisonResult

  /// By collection and key. New call: `ViewReader.range(in:where:)`.
  public static func withKeyBlock(
    _ block: @escaping (_ collection: String, _ key: String) throws -> ComparisonResult
  ) -> Self {
    Self { try block($0.collection, $0.key) }
  }

  /// By the object. New call: `ViewReader.range(in:where:)`.
  public static func withObjectBlock(
    _ block:
      @escaping (_ collection: String, _ key: String, _ object: Any) throws ->
      ComparisonResult
  ) -> Self {
    Self { try block($0.collection, $0.key, $0.object()) }
  }

  /// By the metadata; objects are not decoded. New call: `ViewReader.range(in:where:)`.
  public static func withMetadataBlock(
    _ block:
      @escaping (_ collection: String, _ key: String, _ metadata: Any?) throws ->
      ComparisonResult
  ) -> Self {
    Self { try block($0.collection, $0.key, $0.metadata()) }
  }

  /// By all of the row. New call: `ViewReader.range(in:where:)`.
  public static func withRowBlock(
    _ block:
      @escaping (_ collection: String, _ key: String, _ object: Any, _ metadata: Any?) throws ->
      ComparisonResult
  ) -> Self {
    Self { try block($0.collection, $0.key, $0.object(), $0.metadata()) }
  }
}

extension YapDatabaseViewTransaction {
  /// The indexes of the rows of a group that lie within an interval of the view's own order; nil if there are none.
  /// Asks about O(log n) rows. New call: `ViewReader.range(in:where:)`.
  public func findRange(inGroup group: String, using find: YapDatabaseViewFind) -> Range<Int>? {
    attempt(nil) {
      try reader.range(in: group) { row in
        try find.find(BlockRow(row: row, database: transaction.database)).rawValue
      }
    }
  }

  /// The index of the first of these rows; nil if there are none. New call: `ViewReader.range(in:where:)`.
  public func findFirstMatch(inGroup group: String, using find: YapDatabaseViewFind) -> Int? {
    findRange(inGroup: group, using: find)?.lowerBound
  }
}
