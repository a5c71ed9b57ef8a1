// The rows of collections in a read transaction.

extension ReadTransaction {
  /// The rows of a collection. Costs next to nothing after the first time.
  @inlinable @inline(__always)
  public subscript<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> ReadableRows<Object, Metadata> {
    ReadableRows(handle: state.open(collection))
  }

  /// The rows of a collection as bytes, whatever their types: for tools.
  public func rawRows(_ collection: String) -> RawRows {
    RawRows(opened: OpenedCollection(state, state.open(collection)))
  }
}
