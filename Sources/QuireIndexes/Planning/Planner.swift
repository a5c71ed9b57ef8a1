// Choosing how a query is answered, by exact counts.

internal import QuireDatabase

/// Where the rows of a query come from.
indirect enum RowSource {
  case nothing
  case scan
  case path(AccessPath)
  /// The rows whose keys are in slices, no more than so many.
  case keys([KeySlice], count: Int)
  /// Rows that were found by something else, which the text names.
  case list(RowIDList, String)
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
  let choice: PlanChoice
  let rows: any RowAccess
  let selections: Selections

  /// The number of rows of the collection: looked up for who reads them all.
  var rowCount: Int { rows.count }

  /// What could drive a conjunction.
  private struct Driver {
    let source: RowSource
    let answered: Set<Int>
    let count: Int
    /// What finding its rows costs, in entries, beyond one for each.
    var testCost = 0

    /// What finding its rows costs, in entries.
    var cost: Int { count + testCost }
  }

  /// Walking an entry costs about a quarter of a test on a record: so many times as many entries may be walked.
  static var entriesPerTest: Int { 4 }
  /// Below so many rows an intersection saves nothing.
  private static var leastForIntersection: Int { 32 }
  /// Of more keys than these it is not counted how many there are.
  private static var countedSliceLimit: Int { 64 }
  /// Alternatives further inside than these are tested on rows: planning takes about 3 KiB of the stack for each.
  private static var depthLimit: Int { 32 }

  /// The plan for a condition.
  ///
  /// - Parameters:
  ///   - count: so many rows are read if not by this condition; nil stands for all.
  ///   - paths: the ways in which indexes serve the condition, if they are known.
  ///   - depth: so many alternatives stand around it.
  func plan(
    _ node: ConditionNode, beside count: Int? = nil, known paths: [AccessPath]? = nil, depth: Int = 0
  ) throws -> RowPlan {
    switch node {
    case .none: return RowPlan(source: .nothing, tests: .all, count: 0)
    case .or(let nodes): return try union(nodes, beside: count, depth) ?? scan(node)
    default: break
    }
    if case .scan = choice { return scan(node) }
    let conjuncts = node.conjuncts
    var drivers = try indexDrivers(node, paths) + keyDrivers(conjuncts)
    lazy var least = drivers.reduce(count ?? rowCount) { min($0, $1.count) }
    for (place, part) in conjuncts.enumerated() {
      guard case .or(let nodes) = part, let plan = try union(nodes, beside: least, depth) else { continue }
      drivers.append(
        Driver(source: plan.source, answered: [place], count: plan.count, testCost: plan.source.testCost))
    }
    if conjuncts.contains(where: \.isSelection) {
      drivers += selectionDrivers(conjuncts, beside: drivers.reduce(least) { min($0, $1.count) })
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

  /// The indexes that answer a part of a condition.
  private func indexDrivers(_ node: ConditionNode, _ paths: [AccessPath]?) throws -> [Driver] {
    guard let view else { return [] }
    return try (paths ?? view.paths(node, orders: false)).filter { path in
      !path.answered.isEmpty || !view.list.indexes[path.index].filter.conjuncts.isEmpty
    }.map { Driver(source: .path($0), answered: $0.isExact ? $0.answered : [], count: $0.count) }
  }

  /// The parts that ask for keys, and those that list rows.
  private func keyDrivers(_ conjuncts: [ConditionNode]) throws -> [Driver] {
    try conjuncts.enumerated().compactMap { place, part in
      if case .listed(let list, false) = part {
        return Driver(source: .list(list, "a list"), answered: [place], count: list.rowIDs.count)
      }
      guard case .value(let column, let ranges) = part, column.id.half == .key else { return nil }
      let slices = ranges.list.map { KeySlice($0) }
      // Many keys are looked up once, when they are read: until then each counts as a row.
      let isLong = slices.count > Self.countedSliceLimit
      let count = try slices.reduce(0) { try $0 + (isLong && $1.point != nil ? 1 : rows.count($1)) }
      return Driver(source: .keys(slices, count: count), answered: [place], count: count)
    }
  }

  /// The selections whose rows are known, or are found for no more than what else would be read.
  private func selectionDrivers(_ conjuncts: [ConditionNode], beside count: Int) -> [Driver] {
    conjuncts.enumerated().compactMap { place, part in
      guard case .selection(let test, false) = part else { return nil }
      var limit = Self.entriesPerTest * max(count, Self.leastForIntersection)
      if case .driver = choice { limit = .max }
      guard let (list, text) = selections.found(test, limit: limit) else { return nil }
      return Driver(source: .list(list, text), answered: [place], count: list.rowIDs.count)
    }
  }

  /// The smallest, and those that narrow it down for less than tests would cost.
  private func choose(_ drivers: [Driver]) -> [Driver] {
    if case .driver(let place) = choice { return [drivers[place % drivers.count]] }
    var chosen = [drivers[0]]
    var answered = drivers[0].answered
    guard drivers[0].count >= Self.leastForIntersection else { return chosen }
    // All of them together may cost as much as the tests.
    var budget = Self.entriesPerTest * drivers[0].count
    for driver in drivers.dropFirst() where !driver.answered.isSubset(of: answered) {
      guard driver.cost <= budget else { continue }
      budget -= driver.cost
      chosen.append(driver)
      answered.formUnion(driver.answered)
    }
    return chosen
  }

  /// The rows of all branches together; nil if one of them would read all rows, or lies too deep inside.
  private func union(_ nodes: [ConditionNode], beside count: Int?, _ depth: Int) throws -> RowPlan? {
    guard depth < Self.depthLimit else { return nil }
    var plans: [RowPlan] = []
    for node in nodes {
      let plan = try plan(node, beside: count, depth: depth + 1)
      if plan.source.scans { return nil }
      plans.append(plan)
    }
    return RowPlan(source: .union(plans), tests: .all, count: plans.reduce(0) { $0 + $1.count })
  }
}

extension RowSource {
  /// What is tested while its rows are found, in entries.
  fileprivate var testCost: Int {
    switch self {
    case .nothing, .scan, .path, .keys, .list: 0
    case .intersection(let sources): sources.reduce(0) { $0 + $1.testCost }
    case .union(let plans):
      plans.reduce(0) { cost, plan in
        let tests = plan.tests.conjuncts.isEmpty ? 0 : Planner.entriesPerTest * plan.count
        return cost + tests + plan.source.testCost
      }
    }
  }

  /// Whether all rows are read somewhere.
  var scans: Bool {
    switch self {
    case .scan: true
    case .nothing, .path, .keys, .list: false
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
    case .keys(_, let count): .keys(count: count)
    case .list(let list, let text): .selection(text, rowCount: list.rowIDs.count)
    case .union(let plans): .union(plans.map { $0.source.description(view, rowCount: rowCount) })
    case .intersection(let sources): .intersection(sources.map { $0.description(view, rowCount: rowCount) })
    }
  }
}
