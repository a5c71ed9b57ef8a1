// Enumerating, as the original's Objective-C layer spells it; the same rules as for `iterate…`.

internal import Quire

extension YapDatabaseReadTransaction {
  /// Runs `body` with a stop of its own kind.
  private func stoppable(_ stop: inout Bool, _ body: (YapDatabaseStop) -> Void) {
    let pointer = YapDatabaseStop()
    body(pointer)
    stop = pointer.pointee
  }

  // MARK: Collections and keys

  /// Calls `block` with each collection that has rows. New call: `ReadTransaction.collections`.
  public func enumerateCollections(_ block: (_ collection: String, _ stop: YapDatabaseStop) -> Void) {
    iterateCollections { collection, stop in stoppable(&stop) { block(collection, $0) } }
  }

  /// Calls `block` with each collection that has a row under `key`. New call:
  /// `ReadTransaction.collections(containing:)`.
  public func enumerateCollections(
    forKey key: String, using block: (_ collection: String, _ stop: YapDatabaseStop) -> Void
  ) {
    iterateCollections(forKey: key) { collection, stop in stoppable(&stop) { block(collection, $0) } }
  }

  /// Calls `block` with each key of a collection. New call: `tx[…].keys`.
  public func enumerateKeys(
    inCollection collection: String?, using block: (_ key: String, _ stop: YapDatabaseStop) -> Void
  ) {
    iterateKeys(inCollection: collection) { key, stop in stoppable(&stop) { block(key, $0) } }
  }

  /// Calls `block` with each key of each collection. New call: `tx[…].keys`, for each of
  /// `ReadTransaction.collections`.
  public func enumerateKeysInAllCollections(
    _ block: (_ collection: String, _ key: String, _ stop: YapDatabaseStop) -> Void
  ) {
    iterateKeysInAllCollections { collection, key, stop in stoppable(&stop) { block(collection, key, $0) } }
  }

  // MARK: Objects, metadata, rows

  /// Calls `block` with each key of a collection and its object. New call: `tx[…].rows`.
  public func enumerateKeysAndObjects(
    inCollection collection: String?, using block: (_ key: String, _ object: Any, _ stop: YapDatabaseStop) -> Void,
    withFilter filter: ((_ key: String) -> Bool)? = nil
  ) {
    iterateKeysAndObjects(
      inCollection: collection,
      using: { (key, object: Any, stop) in stoppable(&stop) { block(key, object, $0) } }, filter: filter)
  }

  /// Calls `block` with each key of each collection and its object. New call: `tx[…].rows`, for each of
  /// `ReadTransaction.collections`.
  public func enumerateKeysAndObjectsInAllCollections(
    _ block: (_ collection: String, _ key: String, _ object: Any, _ stop: YapDatabaseStop) -> Void,
    withFilter filter: ((_ collection: String, _ key: String) -> Bool)? = nil
  ) {
    iterateKeysAndObjectsInAllCollections(
      { collection, key, object, stop in stoppable(&stop) { block(collection, key, object, $0) } }, filter: filter)
  }

  /// Calls `block` with each key of a collection and its metadata. New call: `tx[…].metadata`.
  public func enumerateKeysAndMetadata(
    inCollection collection: String?, using block: (_ key: String, _ metadata: Any?, _ stop: YapDatabaseStop) -> Void,
    withFilter filter: ((_ key: String) -> Bool)? = nil
  ) {
    iterateKeysAndMetadata(
      inCollection: collection,
      using: { (key, metadata: Any?, stop) in stoppable(&stop) { block(key, metadata, $0) } }, filter: filter)
  }

  /// Calls `block` with each key of each collection and its metadata. New call: `tx[…].metadata`, for each of
  /// `ReadTransaction.collections`.
  public func enumerateKeysAndMetadataInAllCollections(
    _ block: (_ collection: String, _ key: String, _ metadata: Any?, _ stop: YapDatabaseStop) -> Void,
    withFilter filter: ((_ collection: String, _ key: String) -> Bool)? = nil
  ) {
    iterateKeysAndMetadataInAllCollections(
      { collection, key, metadata, stop in stoppable(&stop) { block(collection, key, metadata, $0) } }, filter: filter)
  }

  /// Calls `block` with each row of a collection. New call: `tx[…].rows`.
  public func enumerateRows(
    inCollection collection: String?,
    using block: (_ key: String, _ object: Any, _ metadata: Any?, _ stop: YapDatabaseStop) -> Void,
    withFilter filter: ((_ key: String) -> Bool)? = nil
  ) {
    iterateRows(
      inCollection: collection,
      using: { (key, object: Any, metadata: Any?, stop) in stoppable(&stop) { block(key, object, metadata, $0) } },
      filter: filter)
  }

  /// Calls `block` with each row of each collection. New call: `tx[…].rows`, for each of `ReadTransaction.collections`.
  public func enumerateRowsInAllCollections(
    _ block: (_ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: YapDatabaseStop) -> Void,
    withFilter filter: ((_ collection: String, _ key: String) -> Bool)? = nil
  ) {
    iterateRowsInAllCollections(
      { collection, key, object, metadata, stop in
        stoppable(&stop) { block(collection, key, object, metadata, $0) }
      }, filter: filter)
  }

  // MARK: Given keys

  /// Calls `block` with the objects under some keys, and with where in `keys` each key is; nil where there is no row.
  /// Looked up side by side. In the order of `keys`, where the original promised none. New call: `tx[…].rows(for:)`.
  public func enumerateObjects(
    forKeys keys: [String], inCollection collection: String?,
    unorderedUsing block: (_ keyIndex: UInt, _ object: Any?, _ stop: YapDatabaseStop) -> Void
  ) {
    forEachRow(keys, collection) { index, row, stop in block(index, row?.object, stop) }
  }

  /// Calls `block` with the metadata under some keys; nil where there is no row, or none. New call: `tx[…].rows(for:)`.
  public func enumerateMetadata(
    forKeys keys: [String], inCollection collection: String?,
    unorderedUsing block: (_ keyIndex: UInt, _ metadata: Any?, _ stop: YapDatabaseStop) -> Void
  ) {
    forEachRow(keys, collection) { index, row, stop in block(index, row?.metadata, stop) }
  }

  /// Calls `block` with the rows under some keys; nil where there is no row. New call: `tx[…].rows(for:)`.
  public func enumerateRows(
    forKeys keys: [String], inCollection collection: String?,
    unorderedUsing block: (_ keyIndex: UInt, _ object: Any?, _ metadata: Any?, _ stop: YapDatabaseStop) -> Void
  ) {
    forEachRow(keys, collection) { index, row, stop in block(index, row?.object, row?.metadata, stop) }
  }

  /// How many rows of given keys are fetched at once.
  private static let fetchedKeyCount = 256

  private func forEachRow(
    _ keys: [String], _ collection: String?, _ block: (UInt, AnyRow?, YapDatabaseStop) -> Void
  ) {
    attempt(()) {
      let bridge = try readable(collection)
      for first in stride(from: 0, to: keys.count, by: Self.fetchedKeyCount) {
        let some = Array(keys[first..<min(keys.count, first + Self.fetchedKeyCount)])
        for (offset, row) in try (bridge?.rows(some, access) ?? some.map { _ in nil }).enumerated() {
          let goesOn = try step(collection) { stop in stoppable(&stop) { block(UInt(first + offset), row, $0) } }
          guard goesOn else { return }
        }
      }
    }
  }
}
