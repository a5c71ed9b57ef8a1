// One run of a query.

internal import QuireDatabase

/// A query in its transaction: what is planned, and what is read by that.
struct QueryRun<Object: Sendable, Metadata: Sendable> {
  let query: FoundRows<Object, Metadata>
  let reader: IndexReader<Object, Metadata>?
  private let planner: Planner<Object, Metadata>
  private let plan: RowPlan<Object, Metadata>
  private let ordered: OrderedPath?
  private let finder: RowFinder<Object, Metadata>

  init(_ query: FoundRows<Object, Metadata>) throws {
    self.query = query
    let rows = query.rows
    reader = try Self.reader(of: rows)
    finder = RowFinder(rows: rows, reader: reader)
    // What is counted here decides how rows are found, and not which: an observed read does not depend on it.
    (planner, plan, ordered) = try rows.readTransaction.withoutNotingReads { [reader] in
      let planner = Planner(reader: reader, rowCount: rows.count, choice: query.choice)
      let plan = try planner.plan(query.condition)
      return (planner, plan, try Self.choose(query, plan, planner, reader))
    }
    if query.needsIndex, plan.source.scans, ordered == nil {
      throw IndexError.needsScan(collection: rows.collection.name, plan: description.description)
    }
  }

  /// The indexes of a collection, if they are registered and have all rows of the snapshot.
  private static func reader(of rows: ReadableRows<Object, Metadata>) throws -> IndexReader<Object, Metadata>? {
    let (transaction, name) = (rows.readTransaction, rows.collection.name)
    let all = try transaction.registeredExtensions(Indexes<Object, Metadata>.self)
    guard let indexes = all.first(where: { $0.list.collection.name.utf8.elementsEqual(name.utf8) }) else { return nil }
    do { return try transaction.access(to: indexes) } catch {
      switch error.code {
      case .extensionNotReady, .extensionNotRegistered, .extensionMismatch: return nil
      default: throw error
      }
    }
  }

  /// A path that gives the query's order, if walking it reads less than sorting what the plan finds.
  private static func choose(
    _ query: FoundRows<Object, Metadata>, _ plan: RowPlan<Object, Metadata>, _ planner: Planner<Object, Metadata>,
    _ reader: IndexReader<Object, Metadata>?
  ) throws -> OrderedPath? {
    guard let reader, !query.order.isEmpty else { return nil }
    if case .scan = query.choice { return nil }
    if case .nothing = plan.source { return nil }
    let wanted = (query.limit ?? plan.count) + query.offset
    var best: (path: OrderedPath, cost: Int)?
    for path in try reader.paths(query.condition, orders: true) {
      guard let ordered = reader.ordered(path, by: query.order) else { continue }
      let isAnswered = path.isExact && path.answered.count == query.condition.conjuncts.count
      // Without tests the walk ends with the last row that is wanted. With tests about every count-th of what the plan
      // finds at most is let through.
      let steps = isAnswered ? wanted : wanted * max(1, path.count / max(1, plan.count))
      let cost = min(path.count, steps)
      if best.map({ cost < $0.cost }) ?? true { best = (ordered, cost) }
    }
    // Sorting reads a record for each row, and compares.
    guard let best, best.cost <= 2 * plan.count || plan.source.scans else { return nil }
    return best.path
  }

  // MARK: Results

  func count() throws -> Int {
    if case .path(let path) = plan.source, case .all = plan.tests, path.isDistinct, path.isExact, let reader {
      for span in path.spans { try reader.trees.noteCounted(span, in: path.index) }
      return path.count
    }
    if case .scan = plan.source, case .all = plan.tests { return query.rows.count }
    if case .nothing = plan.source { return 0 }
    return try finder.rowIDs(plan).count
  }

  func rowIDs() throws -> [RowID] {
    if query.limit == 0 { return [] }
    if let ordered, let reader, let found = try walk(ordered, reader) { return found }
    let found = try finder.rowIDs(plan)
    let sorted = query.order.isEmpty ? found : try finder.sort(found, query.order)
    return Array(sorted.dropFirst(query.offset).prefix(query.limit ?? .max))
  }

  /// The rows in the order of a path; nil if that order is not to be trusted.
  private func walk(_ ordered: OrderedPath, _ reader: IndexReader<Object, Metadata>) throws -> [RowID]? {
    let path = ordered.path
    let answered = path.isExact ? path.answered : []
    let rest = query.condition.conjuncts.enumerated().filter { !answered.contains($0.offset) }.map(\.element)
    let tests = rest.reduce(Condition<Object, Metadata>.Node.all) { .both($0, $1) }
    let limit = query.limit ?? .max
    var found: [RowID] = []
    if case .all = tests {
      let isTrusted = try reader.walk(ordered, by: query.order, from: query.offset) { rowID in
        found.append(rowID)
        return found.count < limit
      }
      return isTrusted ? found : nil
    }
    var (waiting, skipped, batchCount) = ([RowID](), 0, 16)
    func settle() throws {
      for rowID in try finder.filter(waiting, tests) {
        if skipped < query.offset { skipped += 1 } else if found.count < limit { found.append(rowID) }
      }
      waiting = []
      batchCount = min(256, 2 * batchCount)
    }
    let isTrusted = try reader.walk(ordered, by: query.order, from: 0) { rowID in
      waiting.append(rowID)
      if waiting.count >= batchCount { try settle() }
      return found.count < limit
    }
    guard isTrusted else { return nil }
    try settle()
    return found
  }

  /// The plan in words.
  var description: QueryPlan {
    var text = QueryPlan(source: plan.source.description(reader, rowCount: planner.rowCount))
    var tests = plan.tests.conjuncts
    if let ordered, let reader {
      let path = ordered.path
      text.source = .index(reader.names[path.index], entryCount: path.count)
      let answered = path.isExact ? path.answered : []
      tests = query.condition.conjuncts.enumerated().filter { !answered.contains($0.offset) }.map(\.element)
      text.order = .index(reader.names[path.index], isReversed: ordered.isReversed)
    } else if !query.order.isEmpty {
      text.order = .sort
    }
    text.testCount = tests.count
    text.testsRows =
      !tests.isEmpty && !(reader.map { reader in tests.allSatisfy { reader.tells($0) } } ?? false)
    return text
  }
}
