// Collections in a transaction, with their types.

internal import QuireStorage

extension TransactionState {
  /// The collection in this transaction, its types checked against what else the process uses. Counts no reference and
  /// copies no description if it is the one that was used last.
  @inlinable @inline(__always)
  func open<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> RowHandle<Object, Metadata> {
    // In parts comes what was opened: as a whole it would be counted.
    let (state, description, own) = unsafe open(collection.untyped, Object.self, Metadata.self)
    return unsafe RowHandle(UntypedRows(OpenedCollection(self, state), description, own: own))
  }

  /// The parts of the collection. The description that they have is of the same types.
  @usableFromInline
  func open(
    _ collection: borrowing UntypedCollection, _ object: any Sendable.Type, _ metadata: any Sendable.Type
  ) -> (Unmanaged<CollectionState>, Unmanaged<KeptCollection>, own: KeptCollection?) {
    let use = CollectionFingerprint(collection, object: object, metadata: metadata)
    if let last = unsafe lastUsed, last.use.says(theSameAs: use), last.use.hasName(of: use) {
      return unsafe (last.state, .fromOpaque(last.description), nil)
    }
    return unsafe openElsewhere(copy collection, object, metadata, use)
  }

  @inline(never)
  private func openElsewhere(
    _ collection: UntypedCollection, _ object: any Sendable.Type, _ metadata: any Sendable.Type,
    _ use: CollectionFingerprint
  ) -> (Unmanaged<CollectionState>, Unmanaged<KeptCollection>, own: KeptCollection?) {
    if let known = openKnown(use, collection.name) { return unsafe (known.state, .fromOpaque(known.description), nil) }
    let description = KeptCollection(collection, object: object, metadata: metadata)
    let coders = StoredCoders(collection, metadata: metadata)
    let (state, isKept) = openAnew(use, collection.name, description, coders) { () throws(DatabaseError) in
      try database.types.check(collection, object: object, metadata: metadata)
    }
    // The first use decides, and coders' memory may have served another transaction before.
    if isKept, state.uses.count == 1 {
      state.contexts.object.userInfo = collection.extras?.objects.userInfo
      state.contexts.metadata.userInfo = collection.extras?.metadata.userInfo
    }
    return unsafe (.passUnretained(state), .passUnretained(description), isKept ? nil : description)
  }
}
