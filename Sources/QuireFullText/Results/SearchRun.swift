// One run of a search, without the types of the rows.

internal import QuireDatabase

/// Which rows may be found at all, beside the text that they have: two ways of finding out.
struct RowFilter {
  /// How many entries and rows are read to find all rows; nil if more than a limit.
  let readCount: (Int) throws -> Int?
  /// All rows, in order.
  let rowIDs: () throws -> [RowID]
  /// Those of some rows, which ascend, that may be found, in their order.
  let among: ([RowID]) throws -> [RowID]
}

/// A search in one transaction, as it is at the moment.
final class SearchRun {
  let trees: FullTextTrees
  let search: RowSearch
  let expression: TermExpression
  private let filter: RowFilter?

  /// - Parameters:
  ///   - trees: up to date with the transaction.
  ///   - allRows: all rows of the collection, in order.
  ///   - filter: nil if all rows may be found.
  init(
    _ trees: FullTextTrees, _ expression: TermExpression, filter: RowFilter?, allRows: @escaping () throws -> [RowID]
  ) {
    self.trees = trees
    self.filter = filter
    search = RowSearch(trees, allRows: allRows)
    self.expression = expression
  }

  /// The rows that are found, to be walked through once.
  func rows() throws -> any RowSet {
    let rows = try search.rows(expression)
    guard let filter else { return rows }
    // All rows of the filter are found if that reads less than testing each row of the text's.
    if try filter.readCount(rows.limit) != nil { return CommonRows([rows, ListedRows(try filter.rowIDs())]) }
    return TestedRows(rows, filter.among)
  }

  func count() throws -> Int { try filter == nil ? search.count(expression) : rows().count() }

  // MARK: Ranking

  /// Finds the best rows.
  ///
  /// - Parameters:
  ///   - weights: a weight for each field.
  ///   - documentFrequency: how much rare phrases count.
  ///   - limit: how many at the most.
  ///   - factors: what scores are multiplied by, if by anything.
  func best(
    weights: [Double], _ documentFrequency: InverseDocumentFrequency, limit: Int,
    factors: (([RowID]) throws -> [Double?])?
  ) throws -> [ScoredRow] {
    let request = TextRanking.Request(limit: limit, filter: try rankingFilter(), factors: factors)
    return try ranking(weights, documentFrequency).best(expression, request)
  }

  private func ranking(_ weights: [Double], _ documentFrequency: InverseDocumentFrequency) throws -> TextRanking {
    let lengths = try LengthTable.known(to: trees)
    let rule = RankingRule(
      weights: weights, rowCount: try trees.documentCount, totalLength: lengths.totalLength, documentFrequency)
    return TextRanking(search, rule, LengthReader(search.index, lengths))
  }

  private func rankingFilter() throws -> ((inout [RowID]) throws -> Void)? {
    guard let filter else { return nil }
    let limit = try search.rows(expression).limit
    guard try filter.readCount(limit) != nil else { return { $0 = try filter.among($0) } }
    let rows = try filter.rowIDs()
    return { candidates in candidates.removeAll { !rows.containsInOrder($0) } }
  }

  // MARK: Selecting

  /// Those of some rows that are found, in order.
  func rowIDs(among rowIDs: [RowID]) throws -> [RowID] {
    var rows: [RowID] = []
    for row in rowIDs.sorted() where rows.last != row { rows.append(row) }
    try self.rows().keep(&rows)
    return rows
  }
}

/// Rows of a set that a test lets through, some hundred at a time.
private final class TestedRows: RowSet {
  private let rows: any RowSet
  private let test: ([RowID]) throws -> [RowID]
  private var source = BatchSource()
  private static let testCount = 1024

  init(_ rows: any RowSet, _ test: @escaping ([RowID]) throws -> [RowID]) { (self.rows, self.test) = (rows, test) }

  var limit: Int { rows.limit }

  func fill(_ batch: inout [RowID], from first: RowID) throws {
    try source.fill(&batch, from: first, { try gather(&$0, from: $1) }, { $0 = try test($0) })
  }

  /// Puts some hundred rows in the place of those of `batch`.
  private func gather(_ batch: inout [RowID], from first: RowID) throws {
    batch.removeAll(keepingCapacity: true)
    var (first, part) = (first, [RowID]())
    while batch.count < Self.testCount {
      try rows.fill(&part, from: first)
      batch += part
      guard let next = part.last?.next else { return }
      first = next
    }
  }

  func keep(_ batch: inout [RowID]) throws {
    try rows.keep(&batch)
    if !batch.isEmpty { batch = try test(batch) }
  }
}
