// From expressions of terms to the rows that they find.

internal import QuireDatabase

/// Finds the rows of expressions in one transaction.
final class RowSearch {
  let index: TermIndex
  /// All rows of the collection, in order: also those without a token.
  private let allRows: () throws -> [RowID]
  private var known: [[UInt8]: TermPostings] = [:]

  init(_ trees: FullTextTrees, allRows: @escaping () throws -> [RowID]) {
    (index, self.allRows) = (TermIndex(trees), allRows)
  }

  var form: PostingForm { index.form }

  /// The postings of a term, looked up once.
  func postings(_ term: [UInt8]) throws -> TermPostings {
    if let postings = known[term] { return postings }
    let postings = try TermPostings(term, index)
    known[term] = postings
    return postings
  }

  // MARK: Expressions

  /// How many rows an expression finds. For a term, O(log n).
  func count(_ expression: TermExpression) throws -> Int {
    if let term = expression.singleTerm(of: form) { return try index.trees.rowCount(of: term) }
    return try rows(expression).count()
  }

  /// The rows that an expression finds, to be walked through once.
  ///
  /// Calls itself for each level of the expression, of which there are some hundred at the most.
  func rows(_ expression: TermExpression) throws -> any RowSet {
    switch expression {
    case .nothing: return ListedRows([])
    case .everything: return ListedRows(try allRows())
    case .group(let group): return try rows(group)
    case .excluding(let kept, let excluded): return RemainingRows(try rows(kept), without: try rows(excluded))
    case .all(let parts): return CommonRows(try parts.map { try rows($0) })
    case .any(let parts): return JoinedRows(try parts.map { try rows($0) })
    }
  }

  func rows(_ group: TermGroup) throws -> any RowSet {
    guard group.phrases.count == 1 else { return try near(group) }
    let phrase = group.phrases[0]
    if let term = phrase.singleTerm {
      return TermRows(TermScan(try postings(term)), fields: group.fields == form.allFields ? nil : group.fields)
    }
    guard phrase.needsPositions else {
      return ListedRows(try gathered(phrase.elements[0], group.fields, weights: nil).finished().rows)
    }
    return PhraseRows(try placed(phrase, group.fields))
  }

  /// The rows of phrases that are near each other.
  func near(_ group: TermGroup) throws -> NearRows {
    let (phrases, numbers) = group.phrases.distinct
    return NearRows(
      try phrases.map { try placed($0, group.fields) }, numbers: numbers,
      NearMatcher(tokenCounts: phrases.map(\.tokenCount), distance: group.distance))
  }

  // MARK: Several terms at one place

  /// The rows that have one of the terms of an element in some fields, and, with weights of fields, the sums of the
  /// weighted frequencies of its terms.
  func gathered(
    _ element: TermPhrase.Element, _ fields: FieldMask, weights: [Double]?
  ) throws -> RowAccumulator {
    var accumulator = RowAccumulator(hasWeights: weights != nil)
    let isWhole = fields == form.allFields
    for term in element.terms {
      try forEachBlock(of: term) { block in
        if isWhole, weights == nil { return unsafe accumulator.add(block.rows) }
        try block.readFrequencies()
        for index in 0..<block.count where block.mask(index) & fields != 0 {
          accumulator.add(block.row(index), weights.map { block.frequency(index, $0, fields) } ?? 0)
        }
      }
    }
    return accumulator
  }

  /// How often rows have any of the terms of an element, in all fields together; nil if they are too far apart for
  /// that.
  func totals(_ element: TermPhrase.Element) throws -> RowTotals? {
    let totals = RowTotals(index)
    for term in element.terms { guard try totals.add(term) else { return nil } }
    return totals
  }

  /// Calls `body` with all postings of a term, or of all that begin with it, some at a time.
  private func forEachBlock(of term: SearchTerm, _ body: (PostingBlock) throws -> Void) throws {
    if term.isPrefix { return try index.forEachBlock(ofTermsBeginningWith: term.bytes, body) }
    try TermScan(try postings(term.bytes)).forEachBlock(body)
  }

  // MARK: Places

  /// What tells where a phrase stands in the fields of rows.
  func placed(_ phrase: TermPhrase, _ fields: FieldMask) throws -> any PlacedRows {
    let single = phrase.elements.compactMap(\.singleTerm)
    if single.count == phrase.elements.count {
      return try ScannedPhrase(phrase, fields: fields) { TermScan(try postings($0)) }
    }
    // Of terms that begin alike, places are read in those rows alone that have the other terms.
    let candidates =
      single.isEmpty
      ? nil : try CommonRows(try single.map { TermRows(TermScan(try postings($0)), fields: nil) }).rowIDs()
    var (parts, offsets) = ([any PlacedRows](), [UInt32]())
    for run in phrase.runs {
      offsets.append(run.offset)
      if let element = run.phrase.elements.first, element.singleTerm == nil {
        parts.append(ListedPhrase(try places(of: element, fields, among: candidates)))
      } else {
        parts.append(try ScannedPhrase(run.phrase, fields: fields) { TermScan(try postings($0)) })
      }
    }
    if parts.count == 1, !phrase.isAtStart { return parts[0] }
    return JoinedPhrase(parts, offsets: offsets, isAtStart: phrase.isAtStart)
  }

  /// The places of the terms of an element, in some rows or in all.
  private func places(
    of element: TermPhrase.Element, _ fields: FieldMask, among candidates: [RowID]?
  ) throws -> PlaceList {
    var collector = PlaceCollector()
    for term in element.terms {
      try forEachBlock(of: term) { block in
        var next = 0
        for index in 0..<block.count {
          let row = block.row(index)
          if let candidates {
            next = candidates.firstIndex(atOrAbove: row, from: next)
            if next == candidates.count { return }
            if candidates[next] != row { continue }
          }
          try collector.add(row) { try block.appendPlaces(index, fields, to: &$0) }
        }
      }
    }
    return collector.finished()
  }
}

/// Gathers places of rows that come in any order, and several times.
struct PlaceCollector {
  private var entries: [(row: RowID, places: Range<Int>)] = []
  private var places: [FieldPlace] = []

  /// Takes the places of a row that `append` appends, in order; none are no row.
  mutating func add(_ row: RowID, _ append: (inout [FieldPlace]) throws -> Void) rethrows {
    let start = places.count
    try append(&places)
    if places.count > start { entries.append((row, start..<places.count)) }
  }

  /// The places of each row, in order.
  func finished() -> PlaceList {
    var list = PlaceList()
    let sorted = entries.sorted { $0.row < $1.row }
    var index = 0
    while index < sorted.count {
      let row = sorted[index].row
      var merged: [FieldPlace] = []
      while index < sorted.count, sorted[index].row == row {
        FieldPlaces.merge(Array(places[sorted[index].places]), into: &merged)
        index += 1
      }
      list.append(row, merged)
    }
    return list
  }
}
