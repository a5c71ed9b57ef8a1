// The best rows of an expression.

internal import QuireDatabase

/// Finds the rows that fit an expression best, and their scores.
final class TextRanking {
  private let search: RowSearch
  private let rule: RankingRule
  private let lengths: LengthReader

  init(_ search: RowSearch, _ rule: RankingRule, _ lengths: LengthReader) {
    (self.search, self.rule, self.lengths) = (search, rule, lengths)
  }

  /// What is wanted of a ranking.
  struct Request {
    /// So many rows at the most.
    var limit: Int
    /// Keeps those of some rows, which ascend, that may be found at all; nil if all may. It is asked several times, for
    /// rows in no order from one call to the next.
    var filter: ((inout [RowID]) throws -> Void)?
    /// What the scores of some rows are multiplied by, in their order; nil of a row takes it out. Nil if scores count
    /// alone.
    var factors: (([RowID]) throws -> [Double?])?
  }

  /// The best rows, the best one first; of rows with the same score that with the lower number.
  func best(_ expression: TermExpression, _ request: Request) throws -> [ScoredRow] {
    guard request.limit > 0 else { return [] }
    if request.factors == nil, request.filter == nil, case .group(let group) = expression,
      let totals = try totals(group)
    {
      return try best(of: totals, limit: request.limit)
    }
    if request.factors == nil, var windows = try windows(expression, request) { return try windows.run() }
    return try bestOfAll(expression, request)
  }

  // MARK: Few phrases

  /// How to rank an expression by the limits of blocks; nil for one that is more than phrases of which all or any have
  /// to be there, without those of another expression.
  private func windows(_ expression: TermExpression, _ request: Request) throws -> WindowRanking? {
    guard case .excluding(let kept, let excluded) = expression else {
      return try windows(expression, request, filter: request.filter)
    }
    var known: [RowID]?
    return try windows(kept, request) { [search] rows in
      let excludedRows = try known ?? search.rows(excluded).rowIDs()
      known = excludedRows
      rows.removeAll { excludedRows.containsInOrder($0) }
      if !rows.isEmpty { try request.filter?(&rows) }
    }
  }

  private func windows(
    _ expression: TermExpression, _ request: Request, filter: ((inout [RowID]) throws -> Void)?
  ) throws -> WindowRanking? {
    guard let (groups, needsAll) = expression.plainGroups else { return nil }
    let lists = try groups.enumerated().flatMap { index, group in
      try self.lists(group) { needsAll ? try self.candidates(groups, without: index) : nil }
    }
    return WindowRanking(lists, needsAll: needsAll, rule, lengths, limit: request.limit, filter: filter)
  }

  // MARK: All rows

  /// Scores all rows that are found.
  private func bestOfAll(_ expression: TermExpression, _ request: Request) throws -> [ScoredRow] {
    var best = BestRows(capacity: request.limit)
    try forEachScore(expression, filter: request.filter) { rows, scores in
      let factors = try request.factors?(rows)
      for (index, row) in rows.enumerated() {
        guard let factors else {
          best.offer(row, scores[index])
          continue
        }
        guard let factor = factors[index] else { continue }
        let product = scores[index] * factor
        best.offer(row, product.isNaN ? 0 : product)
      }
    }
    return best.sorted
  }

  /// Calls `body` with all rows that are found, in order, and their scores, some at a time.
  func forEachScore(
    _ expression: TermExpression, filter: ((inout [RowID]) throws -> Void)?, _ body: ([RowID], [Double]) throws -> Void
  ) throws {
    let scorer = TreeScorer(try tree(expression), rule, lengths)
    try search.rows(expression).forEachBatch { batch in
      var rows = batch
      if let filter { try filter(&rows) }
      if !rows.isEmpty { try body(rows, try scorer.scores(of: rows)) }
    }
  }

  private func tree(_ expression: TermExpression) throws -> ScoreTree {
    switch expression {
    case .nothing, .everything: .none
    case .group(let group): .lists(try lists(group))
    case .all(let parts): .all(try parts.map { try tree($0) })
    case .excluding(let kept, _): try tree(kept)
    case .any(let parts):
      .any(
        try parts.map { part in
          if case .group = part { return (nil, try tree(part)) }
          return (try search.rows(part), try tree(part))
        })
    }
  }

  // MARK: Phrases

  /// The rows of each phrase of a group.
  ///
  /// - Parameter candidates: rows of which alone it is of interest whether they are among them; nil for all. It is
  ///   asked if there are many rows.
  private func lists(_ group: TermGroup, among candidates: () throws -> [RowID]? = { nil }) throws -> [RankedList] {
    guard group.phrases.count == 1 else { return try nearLists(group) }
    let phrase = group.phrases[0]
    if let term = phrase.singleTerm, group.fields == search.form.allFields {
      return [try RankedList(try search.postings(term), rule, lengths)]
    }
    if let totals = try totals(group) { return [try list(totals, among: candidates)] }
    let (rows, frequencies) = try hits(phrase, group.fields)
    return [try RankedList(rows, frequencies, rowCount: rows.count, rule, lengths)]
  }

  /// The rows of a phrase in some fields, with weighted frequencies.
  private func hits(_ phrase: TermPhrase, _ fields: FieldMask) throws -> (rows: [RowID], frequencies: [Double]) {
    guard phrase.needsPositions else {
      let (rows, weights) = try search.gathered(phrase.elements[0], fields, weights: rule.weights).finished()
      return (rows, weights)
    }
    let placed = try search.placed(phrase, fields)
    let phraseRows = PhraseRows(placed)
    var (rows, frequencies): ([RowID], [Double]) = ([], [])
    try phraseRows.forEachHit { row, places in
      rows.append(row)
      frequencies.append(weight(of: places))
    }
    return (rows, frequencies)
  }

  /// The rows in which phrases are near each other, for each of them; how rare they are is told by all of their rows.
  private func nearLists(_ group: TermGroup) throws -> [RankedList] {
    let near = try search.near(group)
    var rows: [RowID] = []
    var frequencies: [[Double]] = Array(repeating: [], count: group.phrases.count)
    try near.forEachHit { row in
      rows.append(row)
      for phrase in group.phrases.indices { frequencies[phrase].append(weight(of: near.matched(ofPhrase: phrase))) }
    }
    return try group.phrases.enumerated().map { index, phrase in
      let count = try search.count(.group(TermGroup(phrases: [phrase], distance: 0, fields: group.fields)))
      return try RankedList(rows, frequencies[index], rowCount: count, rule, lengths)
    }
  }

  // MARK: Terms that begin alike

  /// How often rows have the terms of a group that is nothing but terms at one place, where all fields count the same;
  /// nil for any other.
  private func totals(_ group: TermGroup) throws -> RowTotals? {
    guard group.phrases.count == 1, group.fields == search.form.allFields, rule.evenWeight != nil else { return nil }
    let phrase = group.phrases[0]
    return phrase.needsPositions || phrase.singleTerm != nil ? nil : try search.totals(phrase.elements[0])
  }

  /// The best of such rows.
  private func best(of totals: RowTotals, limit: Int) throws -> [ScoredRow] {
    let (rarity, weight) = (rule.rarity(rowCount: totals.rowCount), rule.evenWeight ?? 1)
    var (best, lengths, pulse) = (BestRows(capacity: limit), lengths, SearchPulse())
    var (known, least) = (-Double.infinity, UInt32(1))
    try totals.forEach { row, total in
      try pulse.beat(1)
      let norm = rule.norm(length: try lengths.length(of: row))
      let score = rule.score(rarity, weight * Double(total), norm: norm)
      if score < known { return least }
      best.offer(row, score)
      if best.threshold != known {
        known = best.threshold
        let frequency = rule.leastFrequency(rarity, score: known) / weight
        // Rounded down: a row more is looked at.
        least = frequency < Double(UInt32.max) ? UInt32(frequency) : .max
      }
      return least
    }
    return best.sorted
  }

  /// A list of such rows.
  private func list(_ totals: RowTotals, among candidates: () throws -> [RowID]?) throws -> RankedList {
    let (count, weight) = (totals.rowCount, rule.evenWeight ?? 1)
    var (rows, frequencies): ([RowID], [Double]) = ([], [])
    if count > Self.manyRows, let candidates = try candidates() {
      for row in candidates {
        let total = totals.total(of: row)
        if total == 0 { continue }
        rows.append(row)
        frequencies.append(weight * Double(total))
      }
    } else {
      rows.reserveCapacity(count)
      frequencies.reserveCapacity(count)
      totals.forEach { row, total in
        rows.append(row)
        frequencies.append(weight * Double(total))
        return 1
      }
    }
    return try RankedList(rows, frequencies, rowCount: count, rule, lengths)
  }

  /// Of more rows than these, those alone are listed that others allow.
  private static let manyRows = 2048

  /// The rows that have all of some groups but one and those of terms that begin alike; nil if none are left.
  private func candidates(_ groups: [TermGroup], without excluded: Int) throws -> [RowID]? {
    var others: [TermExpression] = []
    for (index, group) in groups.enumerated() where index != excluded && group.phrases.allSatisfy(\.isOfSingleTerms) {
      others.append(.group(group))
    }
    guard let first = others.first else { return nil }
    return try search.rows(others.count > 1 ? .all(others) : first).rowIDs()
  }

  /// The sum of the weights of the fields of places.
  private func weight(of places: [FieldPlace]) -> Double {
    places.reduce(0) { $0 + rule.weights[FieldPlaces.field(of: $1)] }
  }
}

extension TermPhrase {
  /// Whether each element is one term, and none the beginning of others.
  fileprivate var isOfSingleTerms: Bool { elements.allSatisfy { $0.singleTerm != nil } }
}

extension TermExpression {
  /// The groups of an expression that is nothing but groups, and whether all of them have to be there; nil for any
  /// other.
  fileprivate var plainGroups: (groups: [TermGroup], needsAll: Bool)? {
    func groups(_ parts: [TermExpression]) -> [TermGroup]? {
      var groups: [TermGroup] = []
      for part in parts {
        guard case .group(let group) = part else { return nil }
        groups.append(group)
      }
      return groups
    }
    switch self {
    case .group(let group): return ([group], true)
    case .all(let parts): return groups(parts).map { ($0, true) }
    case .any(let parts):
      // The phrases of a group are in the same rows, and those of several groups would have to be told apart.
      guard let groups = groups(parts), groups.allSatisfy({ $0.phrases.count == 1 }) else { return nil }
      return (groups, false)
    case .excluding, .everything, .nothing: return nil
    }
  }
}
