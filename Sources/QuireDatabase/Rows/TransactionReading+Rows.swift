// The rows of collections for functions that both kinds of transactions call.

extension TransactionReading {
  /// The rows of a collection, for reading, in a transaction of either kind. Costs next to nothing after the first
  /// time.
  @inlinable
  public func rows<Object, Metadata>(
    of collection: RowCollection<Object, Metadata>
  ) -> ReadableRows<Object, Metadata> {
    ReadableRows(handle: handle.state.open(collection))
  }

  /// The rows of a collection as bytes, whatever their types: for tools.
  public func rawRows(_ collection: String) -> RawRows {
    let state = handle.state
    return RawRows(opened: OpenedCollection(state, state.open(collection)))
  }
}
