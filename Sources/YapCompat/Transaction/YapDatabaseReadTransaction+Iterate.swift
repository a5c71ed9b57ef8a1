// Enumerating, as the original's Swift layer spells it.
//
// All enumerations go in the order of collections and keys by their bytes, where the original promised none. One must
// not go on after its block has changed rows: set `stop`, or the transaction fails with `mutatedDuringIteration`.
// Touching is no change.

internal import Quire

extension YapDatabaseReadTransaction {
  /// Runs one step of an enumeration. Returns whether it goes on.
  func step(_ collection: String?, _ body: (inout Bool) throws -> Void) throws -> Bool {
    let before = changeCount
    var stop = false
    try body(&stop)
    if stop { return false }
    // A call inside the block that failed ends the enumeration, and is what the transaction throws.
    guard failure == nil else { return false }
    guard changeCount == before else { throw DatabaseError.changedInLoop(collection) }
    return true
  }

  // MARK: Collections and keys

  /// Calls `block` with each collection that has rows. New call: `ReadTransaction.collections`.
  public func iterateCollections(_ block: (_ collection: String, _ stop: inout Bool) -> Void) {
    attempt(()) {
      for name in access.collections where try !step(nil, { block(name, &$0) }) { return }
    }
  }

  /// Calls `block` with each collection that has a row under `key`. New call:
  /// `ReadTransaction.collections(containing:)`.
  public func iterateCollections(forKey key: String, using block: (_ collection: String, _ stop: inout Bool) -> Void) {
    attempt(()) {
      for name in try access.collections(containing: key) where try !step(nil, { block(name, &$0) }) { return }
    }
  }

  /// Calls `block` with each key of a collection. Touches no object. New call: `tx[…].keys`.
  public func iterateKeys(inCollection collection: String?, using block: (_ key: String, _ stop: inout Bool) -> Void) {
    attempt(()) { _ = try forEachKey(collection ?? "") { key in try step(collection) { block(key, &$0) } } }
  }

  /// Calls `block` with each key of each collection. New call: `tx[…].keys`, for each of
  /// `ReadTransaction.collections`.
  public func iterateKeysInAllCollections(
    _ block: (_ collection: String, _ key: String, _ stop: inout Bool) -> Void
  ) {
    attempt(()) {
      for name in access.collections {
        guard try forEachKey(name, { key in try step(name) { block(name, key, &$0) } }) else { return }
      }
    }
  }

  /// Calls `body` with the keys of a collection, whether its types are known or not, until it returns false. Returns
  /// whether it came to the end.
  func forEachKey(_ name: String, _ body: (String) throws -> Bool) throws -> Bool {
    if let bridge = database.registry.find(name) {
      for key in bridge.keys(access) where try !body(key) { return false }
    } else {
      for row in access.rawRows(name) where try !body(row.key) { return false }
    }
    return true
  }

  // MARK: Objects

  /// Calls `block` with each key of a collection and its object; with `filter`, of the keys that it accepts. It is
  /// asked before an object is read. New call: `tx[…].rows`, with `filteringKeys(_:)`.
  ///
  /// An object of another type than `Object` is an error; the original left it out.
  public func iterateKeysAndObjects<Object>(
    inCollection collection: String?, using block: (_ key: String, _ object: Object, _ stop: inout Bool) -> Void,
    filter: ((_ key: String) -> Bool)? = nil
  ) {
    attempt(()) {
      try readable(collection)?.forEachRow(access, filter) { key, row in
        let object: Object = try cast(row.object, "object", collection, key)
        return try step(collection) { block(key, object, &$0) }
      }
    }
  }

  /// Calls `block` with each key of each collection and its object. New call: `tx[…].rows`, for each of
  /// `ReadTransaction.collections`.
  public func iterateKeysAndObjectsInAllCollections(
    _ block: (_ collection: String, _ key: String, _ object: Any, _ stop: inout Bool) -> Void,
    filter: ((_ collection: String, _ key: String) -> Bool)? = nil
  ) {
    forEachRowInAllCollections(filter) { name, key, row in try step(name) { block(name, key, row.object, &$0) } }
  }

  // MARK: Metadata

  /// Calls `block` with each key of a collection and its metadata. Decodes no object. New call: `tx[…].metadata`, with
  /// `filteringKeys(_:)`.
  public func iterateKeysAndMetadata<Metadata>(
    inCollection collection: String?, using block: (_ key: String, _ metadata: Metadata?, _ stop: inout Bool) -> Void,
    filter: ((_ key: String) -> Bool)? = nil
  ) {
    attempt(()) {
      try readable(collection)?.forEachMetadata(access, filter) { key, metadata in
        let metadata: Metadata? = try metadata.map { try cast($0, "metadata", collection, key) }
        return try step(collection) { block(key, metadata, &$0) }
      }
    }
  }

  /// Calls `block` with each key of each collection and its metadata. New call: `tx[…].metadata`, for each of
  /// `ReadTransaction.collections`.
  public func iterateKeysAndMetadataInAllCollections(
    _ block: (_ collection: String, _ key: String, _ metadata: Any?, _ stop: inout Bool) -> Void,
    filter: ((_ collection: String, _ key: String) -> Bool)? = nil
  ) {
    forEachCollection(filter) { bridge, filter, goesOn in
      try bridge.forEachMetadata(access, filter) { key, metadata in
        goesOn = try step(bridge.name) { block(bridge.name, key, metadata, &$0) }
        return goesOn
      }
    }
  }

  // MARK: Rows

  /// Calls `block` with each key of a collection, its object and its metadata. New call: `tx[…].rows`, with
  /// `filteringKeys(_:)`.
  public func iterateRows<Object, Metadata>(
    inCollection collection: String?,
    using block: (_ key: String, _ object: Object, _ metadata: Metadata?, _ stop: inout Bool) -> Void,
    filter: ((_ key: String) -> Bool)? = nil
  ) {
    attempt(()) {
      try readable(collection)?.forEachRow(access, filter) { key, row in
        let object: Object = try cast(row.object, "object", collection, key)
        let metadata: Metadata? = try row.metadata.map { try cast($0, "metadata", collection, key) }
        return try step(collection) { block(key, object, metadata, &$0) }
      }
    }
  }

  /// Calls `block` with each row of each collection. New call: `tx[…].rows`, for each of `ReadTransaction.collections`.
  public func iterateRowsInAllCollections(
    _ block: (_ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: inout Bool) -> Void,
    filter: ((_ collection: String, _ key: String) -> Bool)? = nil
  ) {
    forEachRowInAllCollections(filter) { name, key, row in
      try step(name) { block(name, key, row.object, row.metadata, &$0) }
    }
  }

  // MARK: All collections

  private func forEachRowInAllCollections(
    _ filter: ((String, String) -> Bool)?, _ body: (String, String, AnyRow) throws -> Bool
  ) {
    forEachCollection(filter) { bridge, filter, goesOn in
      try bridge.forEachRow(access, filter) { key, row in
        goesOn = try body(bridge.name, key, row)
        return goesOn
      }
    }
  }

  /// Calls `body` with each collection, until that sets its last argument to false. One without types is an error in
  /// a read transaction and passed over in a write transaction, and nothing is said if the filter wants nothing of it.
  private func forEachCollection(
    _ filter: ((String, String) -> Bool)?,
    _ body: (any CollectionBridge, ((String) throws -> Bool)?, inout Bool) throws -> Void
  ) {
    attempt(()) {
      var goesOn = true
      for name in access.collections {
        if database.registry.find(name) == nil {
          let isWanted = try !forEachKey(name) { key in !(filter?(name, key) ?? true) }
          guard isWanted else { continue }
        }
        guard let bridge = try readable(name) else { continue }
        try withoutActuallyEscaping(filter ?? { _, _ in true }) { all in
          try body(bridge, filter == nil ? nil : { key in all(name, key) }, &goesOn)
        }
        if !goesOn { return }
      }
    }
  }
}
