// Rows of a view by their places on a screen, and the places of rows.

public import Foundation
internal import Quire

extension YapDatabaseViewTransaction {
  // MARK: Index paths

  /// Collection and key of the row at a place on a screen: section, then row. Nil if there is none. New call:
  /// `ViewReader.rowKey(at:_:)`.
  ///
  /// The mappings must be of this view, and stand at the commit that the transaction reads, as those that a long-lived
  /// read has brought on do. Mappings of another view fail the transaction with `viewRefused`.
  public func getCollectionKey(at indexPath: IndexPath, with mappings: YapDatabaseViewMappings) -> (String, String)? {
    rowKey(indexPath.viewPath, mappings).map { ($0.collection, $0.key) }
  }

  /// The object of the row at a place on a screen; nil if there is none. New call: `ViewReader.object(at:_:)`.
  public func object(at indexPath: IndexPath, with mappings: YapDatabaseViewMappings) -> Any? {
    object(rowKey(indexPath.viewPath, mappings))
  }

  /// The metadata of the row at a place on a screen; nil if there is no row, or the row has none. New call:
  /// `ViewReader.rowKey(at:_:)`.
  public func metadata(at indexPath: IndexPath, with mappings: YapDatabaseViewMappings) -> Any? {
    metadata(rowKey(indexPath.viewPath, mappings))
  }

  /// The group of a place on a screen and the index there, which differ from section and row if the mappings reverse
  /// the group, show a part of it, or leave empty ones out. New call: `ViewMappings.location(of:)`.
  public func getGroupIndex(at indexPath: IndexPath, with mappings: YapDatabaseViewMappings) -> (String, Int)? {
    place(indexPath.viewPath, mappings)
  }

  /// Where a row stands on a screen; nil if that does not show it. New call: `ViewReader.path(of:_:)`.
  public func indexPath(
    forKey key: String, inCollection collection: String?, with mappings: YapDatabaseViewMappings
  ) -> IndexPath? {
    path(key, collection, mappings).map { IndexPath($0) }
  }

  // MARK: Rows and sections

  /// Collection and key of a row of a section; nil if there is none. New call: `ViewReader.rowKey(at:_:)`.
  public func getCollectionKey(
    atRow row: UInt, inSection section: UInt, with mappings: YapDatabaseViewMappings
  ) -> (String, String)? {
    rowKey(ViewPath(row, section), mappings).map { ($0.collection, $0.key) }
  }

  /// The object of a row of a section; nil if there is none. New call: `ViewReader.object(at:_:)`.
  public func object(atRow row: UInt, inSection section: UInt, with mappings: YapDatabaseViewMappings) -> Any? {
    object(rowKey(ViewPath(row, section), mappings))
  }

  /// The metadata of a row of a section; nil if there is no row, or the row has none. New call:
  /// `ViewReader.rowKey(at:_:)`.
  public func metadata(atRow row: UInt, inSection section: UInt, with mappings: YapDatabaseViewMappings) -> Any? {
    metadata(rowKey(ViewPath(row, section), mappings))
  }

  /// The row and the section where a row stands on a screen; nil if that does not show it. New call:
  /// `ViewReader.path(of:_:)`.
  public func getRowSection(
    forKey key: String, inCollection collection: String?, with mappings: YapDatabaseViewMappings
  ) -> (row: UInt, section: UInt)? {
    path(key, collection, mappings).map { (UInt($0.row), UInt($0.section)) }
  }

  // MARK: Looking up

  private func rowKey(_ path: ViewPath?, _ mappings: YapDatabaseViewMappings) -> RowKey? {
    guard let path else { return nil }
    return attempt(nil) { try reader.rowKey(at: path, mappings.mappings) }
  }

  private func path(_ key: String, _ collection: String?, _ mappings: YapDatabaseViewMappings) -> ViewPath? {
    attempt(nil) { try reader.path(of: RowKey(collection ?? "", key), mappings.mappings) }
  }

  private func place(_ path: ViewPath?, _ mappings: YapDatabaseViewMappings) -> (String, Int)? {
    guard let path, rowKey(path, mappings) != nil else { return nil }
    return mappings.mappings.location(of: path).map { ($0.group, $0.index) }
  }
}
