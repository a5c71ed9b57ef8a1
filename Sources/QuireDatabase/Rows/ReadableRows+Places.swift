// Between keys and numbers of rows, many at once.

extension RowReading {
  /// The numbers of the rows from the key `from` up to the key `upTo`, which is not among them, in the order of the
  /// keys' bytes; nil means no bound. Touches no object.
  ///
  /// - Parameters:
  ///   - first: the first key that counts; nil for the first of all.
  ///   - end: the first that does not any more; nil for none.
  ///   - isReversed: whether the last one comes first.
  ///   - offset: so many are left out at the beginning. O(log n), however many these are.
  ///   - limit: no more than so many are read.
  public func rowIDs(
    from first: String?, upTo end: String?, isReversed: Bool = false, offset: Int = 0, limit: Int = .max
  ) throws(DatabaseError) -> [RowID] {
    try handle.opened.rowIDs(.range(first, end), isReversed: isReversed, offset: offset, limit: limit)
  }

  /// Those of some rows that are in this collection, with their keys, in the order of the numbers as given. Decodes
  /// nothing. Cost as `rows(withIDs:)`.
  public func places(
    of rowIDs: some Sequence<RowID>
  ) throws(DatabaseError) -> [(rowID: RowID, key: String)] {
    var places: [(rowID: RowID, key: String)] = []
    try handle.opened.forEachRow(withIDs: Array(rowIDs), []) { rowID, key, _ in places.append((rowID, key)) }
    return places
  }
}
