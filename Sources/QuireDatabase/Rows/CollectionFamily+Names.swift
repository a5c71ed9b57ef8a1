// The collections of a family that a transaction sees.

extension CollectionFamily {
  /// The names of those that have rows as of a transaction, and of those that are known by name. O(collections).
  public func names(in tx: some TransactionReading) -> [String] {
    if named.isEmpty { return tx.collections.filter(filter.contains) }
    var seen: Set<ByteString> = []
    return named.map(\.name).filter { seen.insert(ByteString($0)).inserted }
  }
}
