// Collections in a transaction, with their types.

internal import QuireStorage

extension TransactionState {
  /// The collection in this transaction, its types checked against what else the process uses. Counts no reference and
  /// copies no description if it is the one that was used last.
  @inlinable @inline(__always)
  func open<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> RowHandle<Object, Metadata> {
    let use = CollectionFingerprint(collection)
    if let last = unsafe lastUsed, last.use.says(theSameAs: use), last.use.hasName(of: use) {
      return unsafe RowHandle(OpenedCollection(self, last.state), .fromOpaque(last.description), own: nil)
    }
    // In its parts: a handle from there would be counted, and so, since either may come from here, the one above. In
    // parts goes the collection, too: as a whole, it would be put together in memory before each use and destroyed by
    // way of its type after it, though most of it is known to be nil.
    let (objects, metadata) = (collection.coder, collection.metadataCoder)
    let (state, description, own) = unsafe openElsewhere(
      collection.name, objects.form, objects.upgrades, objects.protection, metadata.form, metadata.upgrades,
      metadata.protection, collection.compression, collection.sanitizers, use)
    return unsafe RowHandle(OpenedCollection(self, state), description, own: own)
  }

  @usableFromInline @inline(never)
  func openElsewhere<Object, Metadata>(
    _ name: String, _ form: RowForm<Object>, _ upgrades: UpgradeChain<Object>?, _ protection: RowProtection?,
    _ metadataForm: RowForm<Metadata>, _ metadataUpgrades: UpgradeChain<Metadata>?,
    _ metadataProtection: RowProtection?, _ compression: Compression, _ sanitizers: Sanitizers<Object, Metadata>?,
    _ use: CollectionFingerprint
  ) -> (Unmanaged<CollectionState>, Unmanaged<RowCollection<Object, Metadata>.Kept>, own: AnyObject?) {
    let collection = RowCollection<Object, Metadata>(
      name, RowCoder(form, upgrades: upgrades, protection: protection),
      RowCoder(metadataForm, upgrades: metadataUpgrades, protection: metadataProtection), compression, sanitizers)
    if let known = openKnown(use, collection.name) { return unsafe (known.state, .fromOpaque(known.description), nil) }
    let description = RowCollection.Kept(collection)
    let (state, isKept) = openAnew(use, collection.name, description, StoredCoders(collection)) {
      () throws(DatabaseError) in
      try database.types.check(collection)
    }
    return unsafe (.passUnretained(state), .passUnretained(description), isKept ? nil : description)
  }
}
