// Choosing how a query is answered, by exact counts.

internal import Quire

/// Where the rows of a query come from.
enum SecondaryIndexSource {
  case nothing
  /// Every row of the index.
  case all
  /// Rows by their numbers: ranges in order, none of which touches another.
  case numbers([ClosedRange<Int64>])
  /// The entries of a column in some ranges of keys.
  case column(Int, KeyRanges)
  case union([SecondaryIndexPlan])
}

/// A source, and what is to be asked of each of its rows.
struct SecondaryIndexPlan {
  var source: SecondaryIndexSource
  var tests: [QueryExpression]
  /// No more rows than these.
  var count: Int

  static var nothing: SecondaryIndexPlan { SecondaryIndexPlan(source: .nothing, tests: [], count: 0) }

  /// Whether it reads every row of the index somewhere.
  var readsAll: Bool {
    switch source {
    case .all: true
    case .union(let plans): plans.contains(where: \.readsAll)
    default: false
    }
  }
}

/// Plans for queries in one transaction.
///
/// Every part of a condition that is about one column is ranges of keys, whose entries two descents each count. The
/// smallest of them gives the rows, and the other parts are asked of these.
struct SecondaryIndexPlanner {
  let trees: SecondaryIndexTrees

  /// What could give the rows.
  private struct Candidate {
    var source: SecondaryIndexSource
    /// The parts of the condition that it answers.
    var answered: Set<Int> = []
    /// How many look-ups its count takes.
    var cost: Int

    var column: Int? {
      if case .column(let column, _) = source { return column }
      return nil
    }
  }

  func plan(_ condition: QueryExpression?) throws -> SecondaryIndexPlan {
    var parts: [QueryExpression] = []
    for part in condition?.conjuncts ?? [] {
      guard let constant = part.constant else {
        parts.append(part)
        continue
      }
      // What is false or unknown of every row.
      guard constant.truth == true else { return .nothing }
    }
    var best = SecondaryIndexPlan(source: .all, tests: parts, count: try trees.rows.count)
    for candidate in columns(parts) + numbers(parts) {
      // Counting it would cost as much as reading what is known to be enough.
      guard candidate.cost < best.count else { continue }
      assert(candidate.answered.allSatisfy(parts.indices.contains), "a part is answered that is not asked")
      let count = try count(candidate.source)
      let tests = parts.indices.filter { !candidate.answered.contains($0) }.map { parts[$0] }
      // One row after the other is read faster than the same number of rows here and there.
      let isBetter = best.readsAll && !tests.isEmpty ? count < best.count / 2 : count <= best.count
      if isBetter { best = SecondaryIndexPlan(source: candidate.source, tests: tests, count: count) }
    }
    for (index, part) in parts.enumerated() {
      guard case .any(let branches) = part, best.count > branches.count,
        let union = try union(branches, below: best.count)
      else { continue }
      assert(union.count < best.count && !union.readsAll, "a union reads more than what it takes the place of")
      best = union
      best.tests = parts.indices.filter { $0 != index }.map { parts[$0] }
    }
    return best
  }

  private func count(_ source: SecondaryIndexSource) throws -> Int {
    switch source {
    case .column(let column, let ranges): return try trees.count(ranges, in: column)
    case .numbers(let ranges):
      return try ranges.reduce(0) { count, range in
        let start = try trees.rows.rank(of: RowID(range.lowerBound))
        let end = range.upperBound == .max ? nil : RowID(range.upperBound + 1)
        return count + (try end.map { try trees.rows.rank(of: $0) } ?? trees.rows.count) - start
      }
    default: return 0
    }
  }

  /// For each column the ranges of all parts that are about it, those first that are counted fast.
  private func columns(_ parts: [QueryExpression]) -> [Candidate] {
    var found: [Int: (ranges: KeyRanges, exact: Set<Int>)] = [:]
    for (index, part) in parts.enumerated() {
      guard let one = part.ranges(trees.columns) else { continue }
      var known = found[one.column] ?? (.all, [])
      known.ranges = known.ranges.intersection(one.ranges)
      if one.isExact { known.exact.insert(index) }
      found[one.column] = known
    }
    return found.map { column, known in
      let cut = known.ranges.cut(to: SecondaryIndexTrees.valueByteCount)
      return Candidate(
        source: .column(column, cut.ranges), answered: cut.isExact ? known.exact : [], cost: cut.ranges.list.count)
    }.sorted { ($0.cost, $0.column ?? 0) < ($1.cost, $1.column ?? 0) }
  }

  /// The row's numbers that all parts about them leave.
  private func numbers(_ parts: [QueryExpression]) -> [Candidate] {
    var left: [ClosedRange<Int64>]?
    var answered: Set<Int> = []
    for (index, part) in parts.enumerated() {
      guard let ranges = part.rowIDRanges.map(Self.merged) else { continue }
      answered.insert(index)
      left = left.map { Self.intersection($0, ranges) } ?? ranges
    }
    return left.map { [Candidate(source: .numbers($0), answered: answered, cost: $0.count)] } ?? []
  }

  private static func merged(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
    var merged: [ClosedRange<Int64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      guard let last = merged.last, range.lowerBound <= last.upperBound else {
        merged.append(range)
        continue
      }
      merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
    }
    assert(areApart(merged), "ranges of numbers overlap")
    return merged
  }

  private static func intersection(
    _ one: [ClosedRange<Int64>], _ two: [ClosedRange<Int64>]
  ) -> [ClosedRange<Int64>] {
    var common: [ClosedRange<Int64>] = []
    var (left, right) = (0, 0)
    while left < one.count, right < two.count {
      if one[left].overlaps(two[right]) { common.append(one[left].clamped(to: two[right])) }
      if one[left].upperBound < two[right].upperBound { left += 1 } else { right += 1 }
    }
    assert(areApart(common), "ranges of numbers overlap")
    return common
  }

  /// Whether ranges are in order, and no number is in two of them.
  private static func areApart(_ ranges: [ClosedRange<Int64>]) -> Bool {
    zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
  }

  /// The rows of all branches together; nil if one of them would read every row, or all together `limit` and more.
  private func union(_ branches: [QueryExpression], below limit: Int) throws -> SecondaryIndexPlan? {
    var plans: [SecondaryIndexPlan] = []
    var count = 0
    for branch in branches {
      let plan = try plan(branch)
      count += plan.count
      if plan.readsAll || count >= limit { return nil }
      plans.append(plan)
    }
    return SecondaryIndexPlan(source: .union(plans), tests: [], count: count)
  }
}
