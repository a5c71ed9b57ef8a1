// The rows that a search finds, by how well they fit.

public import QuireDatabase

/// The rows of a search, the best one first: ranked anew with each call.
///
/// ```swift
/// for hit in try tx[.songs].search("night train").ranked().limit(10) { print(hit.score, hit.object.title) }
/// ```
///
/// Scores are those of BM25 over all fields together, by exact counts of the transaction's own state, with
/// `InverseDocumentFrequency.smooth` unless another formula is asked for. The weights of fields are those of the
/// declaration, unless others are given. Rows with the same score come in the order of their numbers. A limit is what
/// makes ranking fast: rows that cannot be among the best are not read.
///
/// Threads and errors as of ``MatchedRows``.
public struct RankedRows<Object: Sendable, Metadata: Sendable> {
  let matched: MatchedRows<Object, Metadata>
  private var limit: Int?
  private var offset = 0
  private var weights: [String: Double] = [:]
  private var documentFrequency = InverseDocumentFrequency.smooth
  private var factor: ((Object) throws -> Double)?

  init(_ matched: MatchedRows<Object, Metadata>) { self.matched = matched }

  // MARK: The ranking

  private func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }

  /// The first `count` of these rows.
  public func limit(_ count: Int) -> Self { with { $0.limit = Swift.max(0, count) } }

  /// These rows without the first `count`. With a limit, the limit counts from there.
  public func offset(_ count: Int) -> Self { with { $0.offset = Swift.max(0, count) } }

  /// The same rows, ranked with other weights for the fields that are named; those of the others stay. Results throw
  /// `FullTextError.unknownField` for a name that no field has, and `badWeight` for a weight that is negative or no
  /// number.
  public func weights(_ weights: [String: Double]) -> Self { with { $0.weights.merge(weights) { $1 } } }

  /// The same rows, ranked with another formula for how much rare phrases count: with `.fts5`, scores are those of
  /// FTS5's `bm25()` with the other sign.
  public func inverseDocumentFrequency(_ formula: InverseDocumentFrequency) -> Self {
    with { $0.documentFrequency = formula }
  }

  /// The same rows by the product of their scores and of what a closure gives for their objects. Reads all rows that
  /// are found. A product that is no number counts as 0.
  public func ranked(multipliedBy factor: @escaping (Object) throws -> Double) -> Self { with { $0.factor = factor } }

  /// The same rows by the product of their scores and a field. Reads all rows that are found.
  public func ranked<Value: BinaryFloatingPoint>(multipliedBy path: KeyPath<Object, Value>) -> Self {
    ranked { Double($0[keyPath: path]) }
  }

  /// The same rows by the product of their scores and a field. Reads all rows that are found.
  public func ranked<Value: BinaryInteger>(multipliedBy path: KeyPath<Object, Value>) -> Self {
    ranked { Double($0[keyPath: path]) }
  }

  // MARK: Results

  /// The numbers of the rows with their scores, the best one first. Reads no row, unless scores are multiplied by
  /// something of the rows, or a condition needs it.
  public var scores: [(rowID: RowID, score: Double)] {
    get throws { try ranking().scored.map { ($0.row, $0.score) } }
  }

  /// The hits, all at once.
  public var hits: [SearchHit<Object, Metadata>] {
    get throws {
      let ranking = try ranking()
      return try hits(of: ranking.scored[...], ranking.texts)
    }
  }

  /// How many rows there are, with the limit and the offset. Ranks none.
  public var count: Int {
    get throws { Swift.max(0, Swift.min(try matched.count - offset, limit ?? .max)) }
  }

  /// The best rows, and what shows the search in their texts.
  fileprivate func ranking() throws -> (scored: [ScoredRow], texts: ShownTexts<Object, Metadata>) {
    let run = try matched.run()
    // Where all are wanted, as many as there are.
    let (sum, isTooMuch) = (limit ?? .max).addingReportingOverflow(offset)
    let wanted = isTooMuch ? Int.max : sum
    let best = try run.best(
      weights: try fieldWeights(), documentFrequency, limit: wanted,
      factors: factor.map { factor in { try factors(of: $0, factor) } })
    return (offset == 0 ? best : Array(best.dropFirst(offset)), ShownTexts(run.expression, matched.reader.fullText))
  }

  private func fieldWeights() throws -> [Double] {
    let names = matched.reader.fieldNames
    var list = matched.reader.fullText.layout.weights
    for (name, weight) in weights {
      guard let field = FieldChoice.number(of: name, in: names) else {
        throw FullTextError.unknownField(name: name, fields: names)
      }
      guard weight >= 0, weight.isFinite else {
        throw FullTextError.badWeight(fullText: matched.reader.fullText.layout.name, field: name, weight: weight)
      }
      list[field] = weight
    }
    return list
  }

  private func factors(of rowIDs: [RowID], _ factor: (Object) throws -> Double) throws -> [Double?] {
    var factors: [RowID: Double] = [:]
    try matched.rows.forEachObject(withIDs: rowIDs) { rowID, object in factors[rowID] = try factor(object) }
    return rowIDs.map { factors[$0] }
  }

  fileprivate func hits(
    of scored: ArraySlice<ScoredRow>, _ texts: ShownTexts<Object, Metadata>
  ) throws -> [SearchHit<Object, Metadata>] {
    var next = scored.startIndex
    return try matched.rows.rows(withIDs: scored.map(\.row)).map { row in
      while scored[next].row != row.rowID { next += 1 }
      return SearchHit(row, score: scored[next].score, texts)
    }
  }
}

extension RankedRows: Sequence {
  /// Steps through the hits, some fetched ahead. A step cannot throw: an error ends the loop, and is thrown by the
  /// transaction's next call, at the latest at its end.
  public struct Iterator: IteratorProtocol {
    private let ranked: RankedRows
    private var scored: ArraySlice<ScoredRow>
    private let texts: ShownTexts<Object, Metadata>?
    private var fetched: ArraySlice<SearchHit<Object, Metadata>> = []

    fileprivate init(_ ranked: RankedRows, _ scored: [ScoredRow], _ texts: ShownTexts<Object, Metadata>?) {
      (self.ranked, self.scored, self.texts) = (ranked, scored[...], texts)
    }

    /// The next hit; nil behind the last one, and after an error.
    public mutating func next() -> SearchHit<Object, Metadata>? {
      while fetched.isEmpty, !scored.isEmpty, let texts {
        let batch = scored.prefix(64)
        scored = scored.dropFirst(64)
        fetched = ranked.matched.reader.stored.store.noting([]) { try ranked.hits(of: batch, texts) }[...]
      }
      return fetched.popFirst()
    }
  }

  public func makeIterator() -> Iterator {
    let ranking: (scored: [ScoredRow], texts: ShownTexts<Object, Metadata>)? =
      matched.reader.stored.store.noting(nil) { try self.ranking() }
    return Iterator(self, ranking?.scored ?? [], ranking?.texts)
  }
}
