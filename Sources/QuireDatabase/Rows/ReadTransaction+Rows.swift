// The rows of collections in a read transaction.

extension ReadTransaction {
  /// The rows of a collection. Costs next to nothing after the first time.
  @inlinable @inline(__always)
  public subscript<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> ReadableRows<Object, Metadata> {
    ReadableRows(handle: state.open(collection))
  }
}
