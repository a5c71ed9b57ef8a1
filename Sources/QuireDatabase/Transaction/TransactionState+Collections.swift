// Finding and making collections in a transaction.

internal import QuireStorage

extension TransactionState {

  /// The collection if this transaction has used it under a description that says the same.
  func openKnown(_ use: CollectionFingerprint, _ name: String) -> CollectionState.Use? {
    if collections.hasTable { return collections[name].flatMap { openKnown(use, of: $0) } }
    for state in collections.all where name.hasSameBytes(as: state.name) { return openKnown(use, of: state) }
    return nil
  }

  private func openKnown(_ use: CollectionFingerprint, of state: CollectionState) -> CollectionState.Use? {
    for used in state.uses where used.use.says(theSameAs: use) {
      // Not of a name that is made anew for each use: the words of one that is gone may come to mean another.
      if used.use.name.1 != 0, used.use.hasName(of: use) { unsafe lastUsed = used }
      return used
    }
    return nil
  }

  /// The collection, under a description that is new to it, and whether it keeps that.
  func openAnew(
    _ use: CollectionFingerprint, _ name: String, _ description: AnyObject, _ coders: StoredCoders,
    _ check: () throws(DatabaseError) -> Void
  ) -> (CollectionState, isKept: Bool) {
    // A transaction that is over takes nothing up any more: all its calls throw.
    guard isOpen else { return (.untouched, false) }
    do throws(DatabaseError) {
      let state = try find(name)
      if !state.uses.contains(where: { $0.use.hasTypes(of: use) }) {
        try check()
        try state.check(coders)
      }
      return (state, state.keep(use, description))
    } catch {
      return (failed(name, error), false)
    }
  }

  /// The collection of this name, whatever it holds. The transaction keeps it.
  func open(_ name: String) -> CollectionState {
    guard isOpen else { return .untouched }
    do throws(DatabaseError) { return try find(name) } catch { return failed(name, error) }
  }

  private func find(_ name: String) throws(DatabaseError) -> CollectionState {
    if let state = collections[name] { return state }
    let record = try findRecord(name)
    let state = CollectionState(name, record, cache: record.flatMap(cache(of:)))
    for context in [state.contexts.object, state.contexts.metadata] {
      unsafe context.watch.policy = database.unknownFields
    }
    collections.append(state)
    return state
  }

  /// What stands in for a collection that could not be opened: every call throws `error`, also after a savepoint has
  /// undone the attempt. The next attempt may succeed.
  private func failed(_ name: String, _ error: DatabaseError) -> CollectionState {
    note(error)
    for state in failedCollections where state.failure?.code == error.code && state.name.hasSameBytes(as: name) {
      return state
    }
    let state = CollectionState(name, nil, failure: error)
    failedCollections.append(state)
    return state
  }

  /// The cache of objects, if this transaction may use it for the collection. One that writes may not: what it reads
  /// may be its own, and be undone. Nor may one that is observed: what it reads is noted on the way to the trees.
  private func cache(of record: CollectionRecord) -> (cache: ObjectCache, cleared: UInt64)? {
    guard !isWriting, recorder == nil, let cache = database.objectCache, record.isKept(in: cache) else { return nil }
    return cache.cleared(record.id, csn: csn).map { (cache, $0) }
  }

  private func findRecord(_ name: String) throws(DatabaseError) -> CollectionRecord? {
    if let record = database.table.record(name, at: csn) { return record }
    if let record = pinnedCollections?.record(name) { return record }
    guard let format = try storedCollection(name) else { return nil }
    let record = CollectionRecord(name: name, format, database.dictionaries.dictionaries(of: format.id))
    pinnedCollections?.remember(record)
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
    guard let stored = database.aliases.storedName(name) else { return nil }
    let bytes = try wrapping(name) { () throws(StorageError) in
      try value([UInt8](stored.utf8), in: trees.collections)
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
    let new = try wrapping { () throws(StorageError) in
      let key = DatabaseTrees.nextCollectionIDKey
      let ids = NumberSequence(try value(key, in: trees.info))
      guard let next = ids.next(below: .max - 1) else {
        throw StorageError(.limitReached, "The numbers of collections are used up.")
      }
      try putBytes(key, NumberSequence.bytes(after: next), in: trees.info)
      return CollectionID(next)
    }
    // A file may say that a number is free which is not: rows of two collections would become one's.
    guard collections.name(of: new) == nil, try count(new) == 0, try !dictionaries.haveEntries(of: new) else {
      throw RowView.damaged()
    }
    return new
  }

  /// Notes a collection under its name.
  func storeCollection(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
    try putBytes([UInt8](name.utf8), bytes, in: trees.collections)
  }

  /// Forgets a collection.
  func removeCollection(_ name: String) throws(StorageError) {
    try [UInt8](name.utf8).withSearchKey { (key) throws(StorageError) in
      _ = try delete(key, in: trees.collections)
    }
  }

  /// Stores an entry.
  func putBytes(_ key: [UInt8], _ value: [UInt8], in tree: Tree) throws(StorageError) {
    try key.withSearchKey { (key) throws(StorageError) in
      try unsafe value.withValueBytes { (value) throws(StorageError) in try unsafe put(key, value, in: tree) }
    }
  }
}
