// Enumerating what a secondary index finds, as the original's Objective-C layer spells it; the same rules as for
// `iterate…`.

internal import Quire

extension YapDatabaseSecondaryIndexTransaction {
  private func stoppable(_ stop: inout Bool, _ body: (YapDatabaseStop) -> Void) {
    let pointer = YapDatabaseStop()
    body(pointer)
    stop = pointer.pointee
  }

  /// Calls `block` with collection and key of each row that is found. Returns whether the query was understood. New
  /// call: `FoundRows.keys`.
  @discardableResult
  public func enumerateKeys(
    matching query: YapDatabaseQuery,
    using block: (_ collection: String, _ key: String, _ stop: YapDatabaseStop) -> Void
  ) -> Bool {
    iterateKeys(matching: query) { collection, key, stop in stoppable(&stop) { block(collection, key, $0) } }
  }

  /// Calls `block` with each row that is found, without its object. Returns whether the query was understood. New call:
  /// `FoundRows.all`.
  @discardableResult
  public func enumerateKeysAndMetadata(
    matching query: YapDatabaseQuery,
    using block: (_ collection: String, _ key: String, _ metadata: Any?, _ stop: YapDatabaseStop) -> Void
  ) -> Bool {
    iterateKeysAndMetadata(matching: query) { collection, key, metadata, stop in
      stoppable(&stop) { block(collection, key, metadata, $0) }
    }
  }

  /// Calls `block` with each row that is found, without its metadata. Returns whether the query was understood. New
  /// call: `FoundRows.all`.
  @discardableResult
  public func enumerateKeysAndObjects(
    matching query: YapDatabaseQuery,
    using block: (_ collection: String, _ key: String, _ object: Any, _ stop: YapDatabaseStop) -> Void
  ) -> Bool {
    iterateKeysAndObjects(matching: query) { collection, key, object, stop in
      stoppable(&stop) { block(collection, key, object, $0) }
    }
  }

  /// Calls `block` with each row that is found. Returns whether the query was understood. New call: `FoundRows.all`.
  @discardableResult
  public func enumerateRows(
    matching query: YapDatabaseQuery,
    using block: (
      _ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: YapDatabaseStop
    ) -> Void
  ) -> Bool {
    iterateRows(matching: query) { collection, key, object, metadata, stop in
      stoppable(&stop) { block(collection, key, object, metadata, $0) }
    }
  }

  /// Calls `block` with the value of a column for each row that is found, without reading rows. Returns whether the
  /// query was understood. New call: `FoundRows.values(_:)`.
  @discardableResult
  public func enumerateIndexedValues(
    inColumn column: String, matching query: YapDatabaseQuery,
    using block: (_ indexedValue: Any, _ stop: YapDatabaseStop) -> Void
  ) -> Bool {
    iterateIndexedValues(inColumn: column, matching: query) { value, stop in
      stoppable(&stop) { block(value, $0) }
    }
  }
}
