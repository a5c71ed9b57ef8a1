// The ways in which an index serves a condition.

internal import QuireDatabase

/// Spans of one index that hold all rows of a condition, and how many entries they have.
struct AccessPath {
  let index: Int
  /// In the order of the keys.
  let spans: KeySpans
  /// The number of entries in the spans; the largest number there is where they were not counted.
  let count: Int
  /// Which parts of the condition the spans answer, by their places among the conjuncts.
  let answered: Set<Int>
  /// How many columns at the front have one value in all spans.
  let fixedColumns: Int
  /// With what these columns have all keys of the spans begin.
  let fixedPrefix: [UInt8]
  /// Whether the entries, from one span to the next, are in order of the columns behind the fixed ones.
  let isOrdered: Bool
  /// Whether no row has two entries in the spans.
  let isDistinct: Bool
  /// Whether all columns have one value, so that entries are in the order of the rows' numbers.
  let isOnePoint: Bool

  /// Whether the entries were counted.
  var isCounted: Bool { count < .max }

  /// Whether every entry is one of a row that the answered parts let through.
  var isExact: Bool { spans.isExact }
}

extension IndexView {
  /// At most so many values are put in front of further columns; with more the columns behind do not count.
  private static var pointLimit: Int { 256 }
  /// With more ranges behind all values in front of them than these, the column does not count.
  private static var spanLimit: Int { 1 << 16 }

  /// The ways in which an index answers some of the parts of a condition; nil if it answers none.
  ///
  /// - Parameter counts: whether the entries are counted.
  func path(_ number: Int, _ conjuncts: [ConditionNode], counts: Bool) throws -> AccessPath? {
    let index = list.indexes[number]
    var (prefixes, spans) = ([[UInt8]()], KeySpans?.none)
    var (answered, isExact, isDistinct) = (Set<Int>(), true, true)
    var (fixedColumns, pointColumns, fixedPrefix) = (0, 0, [UInt8]())
    for column in index.columns {
      guard spans == nil, let (place, ranges) = Self.part(column.column.id, conjuncts) else { break }
      if prefixes.count > 1, prefixes.count * ranges.count > Self.spanLimit { break }
      answered.insert(place)
      if column.column.id.kind == .elements, ranges.count > 1 || !ranges.arePoints { isDistinct = false }
      guard ranges.arePoints, prefixes.count * ranges.count <= Self.pointLimit else {
        spans = KeySpans(ranges, behind: prefixes, isDescending: column.isDescending, isExact: isExact)
        break
      }
      let points = ranges.list
      if points.contains(where: { $0.lower.count > IndexKey.columnByteCount }) { isExact = false }
      if prefixes.count == 1, points.count == 1 {
        prefixes[0] += column.keyBytes(points[0].lower)
        fixedPrefix = prefixes[0]
        fixedColumns += 1
        pointColumns += 1
        continue
      }
      prefixes = prefixes.flatMap { prefix in points.map { prefix + column.keyBytes($0.lower) } }
      // Values that are too long for a key may be the same as far as it has them.
      if !isExact { prefixes = prefixes.distinctInOrder() }
      pointColumns += 1
    }
    // Rows without elements have no entry, and others have several.
    for column in index.columns where column.column.id.kind == .elements {
      guard Self.part(column.column.id, conjuncts).map({ answered.contains($0.place) }) ?? false else { return nil }
    }
    let all = spans ?? KeySpans(prefixes.map { KeySpan(prefix: $0, isExact: isExact) })
    let count = counts ? try trees.count(all, in: number) : .max
    return AccessPath(
      index: number, spans: all, count: count, answered: answered,
      fixedColumns: fixedColumns, fixedPrefix: fixedPrefix,
      isOrdered: fixedColumns == pointColumns || spans == nil && pointColumns == fixedColumns + 1,
      isDistinct: isDistinct, isOnePoint: spans == nil && prefixes.count == 1 && pointColumns == index.columns.count)
  }

  /// The rows of the entries in a path's spans, in the order of their numbers, each once.
  ///
  /// - Parameter limit: so many are enough; only where all entries are of one value.
  func rowIDs(_ path: AccessPath, limit: Int = .max) throws -> [RowID] {
    var found: [RowID] = []
    if path.isCounted { found.reserveCapacity(min(path.count, limit, RowFinder.mostReserved)) }
    try trees.rowIDs(path.spans, in: path.index, limit: limit) {
      found.append($0)
      return found.count < limit
    }
    return path.isOnePoint ? found : found.distinctInOrder()
  }

  /// The part of a condition that an index's column answers.
  private static func part(
    _ column: ColumnID, _ conjuncts: [ConditionNode]
  ) -> (place: Int, ranges: ByteRanges)? {
    for (place, node) in conjuncts.enumerated() {
      switch node {
      case .value(let other, let ranges) where other.id == column: return (place, ranges)
      case .elements(let other, let ranges, false) where other.id == column: return (place, ranges)
      default: continue
      }
    }
    return nil
  }

  /// The indexes that hold every row of the condition, with what they answer of it.
  ///
  /// - Parameter orders: whether those that answer nothing and hold all rows are wanted, for their order.
  func paths(_ condition: ConditionNode, orders: Bool) throws -> [AccessPath] {
    let conjuncts = condition.conjuncts
    return try list.indexes.indices.compactMap { number in
      guard holds(condition, conjuncts, in: number, orders: orders) else { return nil }
      return try path(number, conjuncts, counts: true)
    }
  }

  /// Whether an index holds every row of the condition, and answers some of it.
  ///
  /// - Parameter orders: whether it need not answer any of it, as its order is wanted.
  func holds(_ condition: ConditionNode, _ conjuncts: [ConditionNode], in number: Int, orders: Bool) -> Bool {
    let index = list.indexes[number]
    guard index.hasEntries, map.isReady[number] else { return false }
    if !orders, index.filter.conjuncts.isEmpty, Self.part(index.columns[0].column.id, conjuncts) == nil { return false }
    return index.filter.holds(wherever: condition)
  }
}
