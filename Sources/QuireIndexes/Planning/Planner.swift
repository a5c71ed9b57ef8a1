// Choosing how a query is answered, by exact counts.

internal import QuireDatabase

/// Where the rows of a query come from.
indirect enum RowSource {
  case nothing
  case scan
  case path(AccessPath)
  case union([RowPlan])
  case intersection([RowSource])
}

/// A source, and what is to be tested on each of its rows.
struct RowPlan {
  var source: RowSource
  var tests: ConditionNode
  /// No more rows than these.
  var count: Int
}

/// What to choose where there is a choice: for tests, in which every choice has to give the same rows.
enum PlanChoice {
  /// What reads least.
  case best
  /// No index.
  case scan
  /// The source of this place among those that could drive, if there are so many; without any intersection.
  case driver(Int)
}

/// Plans for one query in one transaction.
///
/// Every part of a condition that an index answers is spans of keys whose sizes two descents each tell exactly. The
/// smallest source drives; others are intersected with it where walking their entries costs less than testing rows.
struct Planner {
  let view: IndexView?
  let rows: any RowAccess
  let choice: PlanChoice

  /// The number of rows of the collection: looked up for who reads them all.
  var rowCount: Int { rows.count }

  /// What could drive a conjunction.
  private struct Driver {
    let source: RowSource
    let answered: Set<Int>
    let count: Int
  }

  /// Walking an entry costs about a quarter of a test on a record: so many times as many entries may be walked.
  static var entriesPerTest: Int { 4 }
  /// Below so many rows an intersection saves nothing.
  private static var leastForIntersection: Int { 32 }

  /// - Parameter paths: the ways in which indexes serve the condition, if they are known.
  func plan(_ node: ConditionNode, known paths: [AccessPath]? = nil) throws -> RowPlan {
    switch node {
    case .none: return RowPlan(source: .nothing, tests: .all, count: 0)
    case .or(let nodes): return try union(nodes) ?? scan(node)
    default: break
    }
    guard let view else { return scan(node) }
    if case .scan = choice { return scan(node) }
    let conjuncts = node.conjuncts
    var drivers = try (paths ?? view.paths(node, orders: false)).filter { path in
      !path.answered.isEmpty || !view.list.indexes[path.index].filter.conjuncts.isEmpty
    }.map { Driver(source: .path($0), answered: $0.isExact ? $0.answered : [], count: $0.count) }
    for (place, part) in conjuncts.enumerated() {
      guard case .or(let nodes) = part, let plan = try union(nodes) else { continue }
      drivers.append(Driver(source: plan.source, answered: [place], count: plan.count))
    }
    guard !drivers.isEmpty else { return scan(node) }
    drivers.sort { ($0.count, -$0.answered.count) < ($1.count, -$1.answered.count) }
    let chosen = choose(drivers)
    let answered = chosen.reduce(into: Set<Int>()) { $0.formUnion($1.answered) }
    let rest = conjuncts.enumerated().filter { !answered.contains($0.offset) }.map(\.element)
    return RowPlan(
      source: chosen.count == 1 ? chosen[0].source : .intersection(chosen.map(\.source)),
      tests: rest.reduce(.all) { .both($0, $1) }, count: chosen[0].count)
  }

  private func scan(_ node: ConditionNode) -> RowPlan { RowPlan(source: .scan, tests: node, count: rowCount) }

  /// The smallest, and those that narrow it down for less than tests would cost.
  private func choose(_ drivers: [Driver]) -> [Driver] {
    if case .driver(let place) = choice { return [drivers[place % drivers.count]] }
    var chosen = [drivers[0]]
    var answered = drivers[0].answered
    guard drivers[0].count >= Self.leastForIntersection else { return chosen }
    // All of them together may cost as much as the tests.
    var budget = Self.entriesPerTest * drivers[0].count
    for driver in drivers.dropFirst() where !driver.answered.isSubset(of: answered) {
      guard driver.count <= budget else { break }
      budget -= driver.count
      chosen.append(driver)
      answered.formUnion(driver.answered)
    }
    return chosen
  }

  /// The rows of all branches together; nil if one of them would read all rows.
  private func union(_ nodes: [ConditionNode]) throws -> RowPlan? {
    var plans: [RowPlan] = []
    for node in nodes {
      let plan = try plan(node)
      if plan.source.scans { return nil }
      plans.append(plan)
    }
    return RowPlan(source: .union(plans), tests: .all, count: plans.reduce(0) { $0 + $1.count })
  }
}

extension RowSource {
  /// Whether all rows are read somewhere.
  var scans: Bool {
    switch self {
    case .scan: true
    case .nothing, .path: false
    case .union(let plans): plans.contains { $0.source.scans }
    case .intersection(let sources): sources.contains(where: \.scans)
    }
  }

  /// In words.
  func description(_ view: IndexView?, rowCount: Int) -> QueryPlan.Source {
    switch self {
    case .nothing: .nothing
    case .scan: .scan(rowCount: rowCount)
    case .path(let path): .index(view?.names[path.index] ?? "", entryCount: path.count)
    case .union(let plans): .union(plans.map { $0.source.description(view, rowCount: rowCount) })
    case .intersection(let sources): .intersection(sources.map { $0.description(view, rowCount: rowCount) })
    }
  }
}
