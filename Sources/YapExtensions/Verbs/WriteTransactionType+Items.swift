// Writing items in a transaction.

extension WriteTransactionType {
  /// Stores an item in its row, and returns it with the metadata that the row has. Metadata that are nil leave those of
  /// the row. One or two lookups more than a write of the row itself, to find what it keeps.
  ///
  /// `Codable` structures and enumerations are stored without `metadata`, which have a place of their own. The
  /// transaction fails if the type was not registered.
  @discardableResult
  public func write<Item: Persistable>(_ item: Item) -> Item { permits(Item.self) ? stored(item) : item }

  /// Stores items, each in its row, in their order. Like `write(_:)` for each.
  @discardableResult
  public func write<Items: Sequence>(_ items: Items) -> [Items.Element] where Items.Element: Persistable {
    permits(Items.Element.self) ? items.map(stored) : Array(items)
  }

  private func stored<Item: Persistable>(_ item: Item) -> Item {
    let (objects, metadatas) = (Item.itemPattern.half, Item.metadataPattern.half)
    let (index, metadata) = (item.index, metadatas.isStored ? item.metadata : nil)
    var bare = item
    // Of an object there is no copy that could go without.
    if objects.isCodable, metadatas.isStored, !(Item.self is any AnyObject.Type) { bare.metadata = nil }
    writeAtIndex(index, object: objects.store(bare), metadata: metadata.map(metadatas.store))
    guard metadata == nil, metadatas.isStored else { return item }
    var written = item
    written.metadata = self.metadata(of: Item.self, index)
    return written
  }

  // MARK: Removing

  /// Removes a row, if there is one. O(log n).
  public func removeAtIndex(_ index: YapDB.Index) { removeAtIndexes(CollectionOfOne(index)) }

  /// Removes an item's row, if there is one, with its metadata. O(log n).
  public func remove<Item: Persistable>(_ item: Item) { removeAtIndex(item.index) }

  /// Removes the rows of items, with their metadata.
  public func remove<Items: Sequence>(_ items: Items) where Items.Element: Persistable {
    removeAtIndexes(items.map(\.index))
  }
}
