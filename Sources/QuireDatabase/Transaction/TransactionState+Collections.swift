// Finding and making collections in a transaction.

internal import QuireStorage

extension TransactionState {
  /// The collection in this transaction, its types checked against what else the process uses.
  @inlinable
  func open<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> CollectionState {
    let known = openKnown(
      collection.name, ObjectIdentifier(Object.self), ObjectIdentifier(Metadata.self), collection.coder.tag,
      collection.metadataCoder.tag)
    return known ?? openAnew(collection)
  }

  /// The collection if this transaction has opened it with these types and coders, which are told by their tags.
  @usableFromInline
  func openKnown(
    _ name: String, _ object: ObjectIdentifier, _ metadata: ObjectIdentifier, _ coder: UInt8, _ metadataCoder: UInt8
  ) -> CollectionState? {
    guard coder != 0, metadataCoder != 0 else { return nil }
    for state in collections {
      guard let types = state.types, types.object == object, types.metadata == metadata,
        state.coders == (coder, metadataCoder), name.isSame(as: state.name)
      else { continue }
      return state
    }
    return nil
  }

  @usableFromInline @inline(never)
  func openAnew<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> CollectionState {
    // The shell of a transaction that is over keeps nothing: it could never let go of it.
    guard isOpen else { return CollectionState(self, collection.name, nil) }
    do throws(DatabaseError) {
      let state = try find(collection.name)
      try database.types.check(collection)
      state.types = (ObjectIdentifier(Object.self), ObjectIdentifier(Metadata.self))
      state.coders = (collection.coder.tag, collection.metadataCoder.tag)
      return state
    } catch {
      return failed(collection.name, error)
    }
  }

  /// The collection of this name, whatever it holds.
  func open(_ name: String) -> CollectionState {
    guard isOpen else { return CollectionState(self, name, nil) }
    do throws(DatabaseError) { return try find(name) } catch { return failed(name, error) }
  }

  private func find(_ name: String) throws(DatabaseError) -> CollectionState {
    for state in collections where state.name.utf8.elementsEqual(name.utf8) { return state }
    let state = CollectionState(self, name, try findRecord(name))
    collections.append(state)
    return state
  }

  /// What stands in for a collection that could not be opened. It is not kept: the next attempt may succeed.
  private func failed(_ name: String, _ error: DatabaseError) -> CollectionState {
    note(error)
    return CollectionState(TransactionState(failed: error, in: self), name, nil)
  }

  private func findRecord(_ name: String) throws(DatabaseError) -> CollectionRecord? {
    if let record = database.table.record(name, at: csn) { return record }
    guard let format = try storedCollection(name) else { return nil }
    let record = CollectionRecord(name: name, format)
    // A collection that this very transaction has just made is not for others.
    if mutationCount == 0 { database.table.remember(record, at: csn) }
    return record
  }

  /// What the tree says about a collection.
  func storedCollection(_ name: String) throws(DatabaseError) -> CollectionFormat? {
    guard name.utf8.count <= Limits.collectionNameByteCount else {
      throw DatabaseError(
        .nameTooLong, "The name of the collection has more than \(Limits.collectionNameByteCount) bytes.",
        collection: name)
    }
    let bytes = try wrapping(name) { () throws(StorageError) in
      try value([UInt8](name.utf8), in: database.trees.collections)
    }
    guard let bytes else { return nil }
    return try CollectionFormat(bytes, name: name)
  }

  /// Runs a call of the engine's; its error gets the name of the collection, and the key.
  @inline(__always)
  func wrapping<Result>(
    _ name: String? = nil, _ key: String? = nil, _ body: () throws(StorageError) -> Result
  ) throws(DatabaseError) -> Result {
    do throws(StorageError) { return try body() } catch { throw DatabaseError(error, collection: name, key: key) }
  }

  // MARK: Changes

  /// Gives out the id of a new collection.
  func allocateCollectionID() throws(DatabaseError) -> CollectionID {
    try wrapping { () throws(StorageError) in
      let key = DatabaseTrees.nextCollectionIDKey
      let stored = try value(key, in: database.trees.info) ?? [1, 0, 0, 0]
      let next = stored.prefix(4).reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
      guard stored.count == 4, next > 0, next < .max - 1 else {
        throw StorageError(.limitReached, "The numbers of collections are used up.")
      }
      let following = (0..<4).map { UInt8(truncatingIfNeeded: (next + 1) >> UInt32(8 * $0)) }
      try putBytes(key, following, in: database.trees.info)
      return CollectionID(next)
    }
  }

  /// Notes a collection under its name.
  func storeCollection(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
    try putBytes([UInt8](name.utf8), bytes, in: database.trees.collections)
  }

  /// Forgets a collection.
  func removeCollection(_ name: String) throws(StorageError) {
    try [UInt8](name.utf8).withSearchKey { (key) throws(StorageError) in
      _ = try delete(key, in: database.trees.collections)
    }
  }

  private func putBytes(_ key: [UInt8], _ value: [UInt8], in tree: Tree) throws(StorageError) {
    try key.withSearchKey { (key) throws(StorageError) in
      try unsafe value.withValueBytes { (value) throws(StorageError) in try unsafe put(key, value, in: tree) }
    }
  }
}
