// Queries that one index answers whole: there is nothing to choose, so that nothing is counted for a plan.

internal import QuireDatabase

extension IndexView {
  /// A path whose entries are those of the rows that satisfy a condition, each row's once; nil if there is none. Its
  /// entries are not counted.
  ///
  /// - Parameter orders: whether one will do that is asked for its order alone.
  private func answer(
    _ condition: ConditionNode, orders: Bool = false, where isFit: (AccessPath) -> Bool
  ) throws -> AccessPath? {
    let conjuncts = condition.conjuncts
    for number in list.indexes.indices where holds(condition, conjuncts, in: number, orders: orders) {
      guard let path = try path(number, conjuncts, counts: false), path.answered.count == conjuncts.count,
        path.isDistinct, path.isExact, isFit(path)
      else { continue }
      return path
    }
    return nil
  }

  /// The rows of a query that an index answers whole, in its order; nil for any other, and if the order of entries is
  /// not to be trusted. No way of asking reads less than this.
  func answeredRowIDs(_ terms: QueryTerms) throws -> [RowID]? {
    if terms.limit == 0 { return [] }
    guard terms.order.isEmpty else { return try orderedRowIDs(terms) }
    // All rows are no answer: they are found without an index.
    if case .all = terms.condition { return nil }
    guard let path = try answer(terms.condition, where: { _ in true }) else { return nil }
    return terms.cut(try rowIDs(path, limit: path.isOnePoint ? terms.wanted(of: .max) : .max))
  }

  private func orderedRowIDs(_ terms: QueryTerms) throws -> [RowID]? {
    var walked: OrderedPath?
    _ = try answer(terms.condition, orders: true) { path in
      walked = ordered(path, by: terms.order)
      return walked != nil
    }
    guard let walked else { return nil }
    return try rowIDs(walked, by: terms.order, from: terms.offset, limit: terms.limit ?? .max)
  }

  /// How many rows satisfy a condition that an index answers whole; nil for any other, and for none.
  func answeredCount(_ condition: ConditionNode) throws -> Int? {
    if case .all = condition { return nil }
    guard let path = try answer(condition, where: { _ in true }) else { return nil }
    try trees.noteCounted(path.spans, in: path.index)
    return try trees.count(path.spans, in: path.index)
  }
}
