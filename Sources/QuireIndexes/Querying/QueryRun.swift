// One run of a query.

internal import QuireDatabase

/// A query in its transaction: what is planned, and what is read by that.
struct QueryRun {
  let terms: QueryTerms
  let choice: PlanChoice
  let view: IndexView?
  private let rows: any RowAccess
  private let planner: Planner
  private let plan: RowPlan
  private let ordered: OrderedPath?
  private let finder: RowFinder
  /// What was read since the plan was made.
  let cost = QueryCost()

  /// Plans a query.
  ///
  /// - Parameter readLimit: no more than this is read to find the rows of a selection for the plan. With a limit the
  ///   plan need not be the best, and none is refused for reading all rows.
  init<Object, Metadata>(_ query: FoundRows<Object, Metadata>, readLimit: Int = .max) throws {
    try self.init(query, try Self.view(of: query.rows), readLimit: readLimit)
  }

  private init<Object, Metadata>(_ query: FoundRows<Object, Metadata>, _ view: IndexView?, readLimit: Int) throws {
    let rows = query.rows
    try self.init(
      query.terms, query.choice, view, TypedRows(rows: rows), rows.readTransaction, rows.collectionName, readLimit)
  }

  /// The numbers of the rows of a query.
  static func rowIDs<Object, Metadata>(of query: FoundRows<Object, Metadata>) throws -> [RowID] {
    let view = try view(of: query.rows)
    if case .best = query.choice, let found = try view?.answeredRowIDs(query.terms) { return found }
    return try Self(query, view, readLimit: .max).rowIDs()
  }

  /// The number of rows of a query, without its limit and offset.
  static func count<Object, Metadata>(of query: FoundRows<Object, Metadata>) throws -> Int {
    let view = try view(of: query.rows)
    if case .best = query.choice, let count = try view?.answeredCount(query.condition) { return count }
    return try Self(query, view, readLimit: .max).count()
  }

  /// Plans a query over rows of any types.
  init(
    _ terms: QueryTerms, _ choice: PlanChoice, _ view: IndexView?, _ rows: any RowAccess, _ tx: ReadTransaction,
    _ collection: String, _ readLimit: Int
  ) throws {
    (self.terms, self.choice, self.view, self.rows) = (terms, choice, view, rows)
    let selections = Selections(rows, cost, readLimit: readLimit)
    finder = RowFinder(rows: rows, view: view, cost: cost, selections: selections)
    var made: (Planner, RowPlan, OrderedPath?)
    repeat {
      // What is counted here decides how rows are found, and not which: an observed read does not depend on it. On what
      // is found for selections it does.
      made = try tx.withoutNotingReads {
        let planner = Planner(view: view, choice: choice, rows: rows, selections: selections)
        let paths = terms.order.isEmpty ? nil : try view?.paths(terms.condition, orders: true)
        let plan = try planner.plan(terms.condition, known: paths)
        return (planner, plan, try Self.choose(terms, choice, plan, view, paths ?? []))
      }
    } while try selections.findWanted()
    (planner, plan, ordered) = made
    // The walk through all keys in their order reads no row.
    let isWalk = terms.keyOrder != nil && walksKeys
    if terms.needsIndex, readLimit == .max, plan.source.scans, ordered == nil, !isWalk {
      throw IndexError.needsScan(collection: collection, plan: description.description)
    }
  }

  /// The indexes of a collection, if they are registered and have all rows of the snapshot.
  private static func view<Object, Metadata>(of rows: ReadableRows<Object, Metadata>) throws -> IndexView? {
    try rows.readTransaction.access(Indexes<Object, Metadata>.self, serving: rows.collectionName)?.view
  }

  /// A path that gives the query's order, if walking it reads less than sorting what the plan finds.
  private static func choose(
    _ query: QueryTerms, _ choice: PlanChoice, _ plan: RowPlan, _ view: IndexView?, _ paths: [AccessPath]
  ) throws -> OrderedPath? {
    guard let view, !query.order.isEmpty else { return nil }
    if case .scan = choice { return nil }
    if case .nothing = plan.source { return nil }
    let wanted = query.wanted(of: plan.count)
    var best: (path: OrderedPath, cost: Int)?
    for path in paths {
      guard let ordered = view.ordered(path, by: query.order) else { continue }
      let isAnswered = path.isExact && path.answered.count == query.condition.conjuncts.count
      // Without tests the walk ends with the last row that is wanted. With tests about every count-th of what the plan
      // finds at most is let through.
      let (product, isTooMuch) = wanted.multipliedReportingOverflow(by: max(1, path.count / max(1, plan.count)))
      let steps = isAnswered ? wanted : isTooMuch ? .max : product
      let cost = min(path.count, steps)
      if best.map({ cost < $0.cost }) ?? true { best = (ordered, cost) }
    }
    // Sorting reads a record for each row, and compares.
    guard let best, best.cost <= 2 * plan.count || plan.source.scans else { return nil }
    return best.path
  }

  // MARK: Results

  func count() throws -> Int {
    if case .path(let path) = plan.source, case .all = plan.tests, path.isDistinct, path.isExact, let view {
      try view.trees.noteCounted(path.spans, in: path.index)
      return path.count
    }
    if case .scan = plan.source, case .all = plan.tests { return rows.count }
    if case .keys(let slices, _) = plan.source, case .all = plan.tests {
      return try slices.reduce(0) { try $0 + rows.count($1) }
    }
    if case .nothing = plan.source { return 0 }
    if case .scan = plan.source, let count = try finder.countByRecords(plan.tests) { return count }
    return try finder.rowIDs(plan).count
  }

  func rowIDs() throws -> [RowID] {
    if terms.limit == 0 { return [] }
    if let ordered, let view, let found = try walk(ordered, view) { return found }
    if let keyed = try rowIDsByKey() { return keyed }
    let found = try finder.rowIDs(plan, limit: terms.order.isEmpty ? terms.wanted(of: .max) : .max)
    return terms.cut(terms.order.isEmpty ? found : try finder.sort(found, terms.order))
  }

  /// Whether all rows whose keys are in some ranges, or all there are, are the answer.
  private var walksKeys: Bool {
    switch (plan.source, plan.tests) {
    case (.scan, .all), (.keys, .all): true
    default: false
    }
  }

  /// The rows in the order of their keys, where they are found by these; nil for any other query.
  private func rowIDsByKey() throws -> [RowID]? {
    guard let key = terms.keyOrder, walksKeys else { return nil }
    var slices = [KeySlice(.all)]
    if case .keys(let known, _) = plan.source { slices = key.isDescending ? known.reversed() : known }
    var found: [RowID] = []
    var part = KeySlicePart(isReversed: key.isDescending, offset: terms.offset, limit: terms.limit ?? .max)
    for slice in slices where part.limit > 0 {
      // Of one slice alone nobody has to know how many it has.
      if part.offset > 0, slices.count > 1, case let count = try rows.count(slice), count <= part.offset {
        part.offset -= count
        continue
      }
      found += try rows.rowIDs(slice, part)
      part.offset = 0
      part.limit = terms.limit.map { $0 - found.count } ?? .max
    }
    assert(found.count <= terms.limit ?? .max, "more keys are walked over than are wanted")
    cost.entries += found.count
    return found
  }

  /// The rows in the order of a path; nil if that order is not to be trusted.
  private func walk(_ ordered: OrderedPath, _ view: IndexView) throws -> [RowID]? {
    let path = ordered.path
    let answered = path.isExact ? path.answered : []
    let rest = terms.condition.conjuncts.enumerated().filter { !answered.contains($0.offset) }.map(\.element)
    let tests = rest.reduce(ConditionNode.all) { .both($0, $1) }
    let limit = terms.limit ?? .max
    if case .all = tests {
      let found = try view.rowIDs(ordered, by: terms.order, from: terms.offset, limit: limit)
      cost.entries += found?.count ?? 0
      return found
    }
    var found: [RowID] = []
    var (waiting, skipped, batchCount) = ([RowID](), 0, 16)
    // One for all batches: what it has found out of the first rows holds for the others.
    let filter = FinderFilter(finder, tests)
    func settle() throws {
      for rowID in try filter.rowIDs(among: waiting) {
        if skipped < terms.offset { skipped += 1 } else if found.count < limit { found.append(rowID) }
      }
      waiting = []
      batchCount = min(256, 2 * batchCount)
    }
    let isTrusted = try view.walk(ordered, by: terms.order, from: 0) { rowID in
      waiting.append(rowID)
      cost.entries += 1
      if waiting.count >= batchCount { try settle() }
      return found.count < limit
    }
    guard isTrusted else { return nil }
    try settle()
    return found
  }

  /// The plan in words.
  var description: QueryPlan {
    var text = QueryPlan(source: plan.source.description(view, rowCount: planner.rowCount))
    var tests = plan.tests.conjuncts
    if let ordered, let view {
      let path = ordered.path
      text.source = .index(view.names[path.index], entryCount: path.count)
      let answered = path.isExact ? path.answered : []
      tests = terms.condition.conjuncts.enumerated().filter { !answered.contains($0.offset) }.map(\.element)
      text.order = .index(view.names[path.index], isReversed: ordered.isReversed)
    } else if let key = terms.keyOrder, walksKeys {
      text.order = .keys(isReversed: key.isDescending)
    } else if !terms.order.isEmpty {
      text.order = .sort
    }
    tests = tests.filter { part in
      guard case .selection(let test, _) = part else { return true }
      text.testedSelections.append(finder.selections.text(test))
      return false
    }
    text.testCount = tests.count
    text.testsRows =
      !tests.isEmpty && !(view.map { view in tests.allSatisfy { $0.asksKey || view.tells($0) } } ?? false)
    return text
  }
}
