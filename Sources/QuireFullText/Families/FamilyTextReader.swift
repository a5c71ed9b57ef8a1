// Searching a full text of many collections.

public import QuireDatabase

/// A full text of many collections in one transaction.
///
/// For the thread and the life of its transaction. All calls may throw `FullTextError.notReady` while it is built,
/// `unknownField` and `damaged`, and what reading throws.
public struct FamilyTextReader {
  private let stored: FullTextTrees
  private let texts: FamilyTexts

  init(_ trees: FullTextTrees, _ texts: FamilyTexts) { (stored, self.texts) = (trees, texts) }

  /// The names of the fields, in the order of their declaration.
  public var fieldNames: [String] { stored.layout.fieldNames }

  /// The trees, with everything in them that the transaction has changed so far.
  private func trees() throws -> FullTextTrees {
    try stored.storeGathered()
    try stored.checkReady()
    return stored
  }

  private func run(_ expression: SearchExpression) throws -> SearchRun {
    let texts = texts
    return try SearchRun(try trees(), expression, filter: nil) { try texts.rowIDs() }
  }

  // MARK: Searching

  /// The numbers of the rows that an expression finds, in order.
  public func rowIDs(matching expression: SearchExpression) throws -> [RowID] {
    try run(expression).rows().rowIDs()
  }

  /// Those of some rows that an expression finds, in order, without finding the others.
  public func rowIDs(matching expression: SearchExpression, among candidates: [RowID]) throws -> [RowID] {
    try run(expression).rowIDs(among: candidates)
  }

  /// How many rows an expression finds, without reading one. Of a single word, O(log n).
  public func count(matching expression: SearchExpression) throws -> Int { try run(expression).count() }

  /// The rows that an expression finds, the best one first, with scores by BM25: at least 0, and higher is better.
  ///
  /// - Parameters:
  ///   - weights: of the fields, in their order; 1 for those that it does not reach.
  ///   - limit: how many rows at the most.
  /// - Throws: also `FullTextError.badWeight` for a weight that is negative or no number.
  public func scores(
    matching expression: SearchExpression, weights: [Double] = [], limit: Int = .max
  ) throws -> [(rowID: RowID, score: Double)] {
    let all = fieldNames.indices.map { $0 < weights.count ? weights[$0] : 1 }
    try stored.layout.check(all)
    return try run(expression).best(weights: all, limit: max(0, limit), factors: nil).map { ($0.row, $0.score) }
  }

  /// Collection and key of a row that was found; nil if it is gone since.
  public func rowKey(of row: RowID) throws -> RowKey? { try stored.store.readTransaction.key(of: row) }

  // MARK: Snippets

  /// The piece of a row's texts that shows most of what an expression finds in it; nil if the row has no texts.
  ///
  /// - Parameters:
  ///   - field: the name of the field; nil for that of all fields that shows most.
  ///   - tokens: how many words the piece has, 1 to 64; if it is negative, up to four pieces have so many each.
  /// - Returns: one piece, or the pieces in their order.
  public func snippets(
    matching expression: SearchExpression, of field: String? = nil, in row: RowID, tokens: Int = 15
  ) throws -> [Snippet]? {
    guard let found = try texts.texts(of: row) else { return nil }
    var fields = Array(fieldNames.indices)
    if let field {
      guard let number = FieldChoice.number(of: field, in: fieldNames) else {
        throw FullTextError.unknownField(name: field, fields: fieldNames)
      }
      fields = [number]
    }
    let maker = SnippetMaker(
      try ExpressionResolver(stored.layout).resolve(expression), fieldNames: fieldNames,
      tokenizer: stored.layout.tokenizer)
    let source: SnippetMaker.Texts = { number in found[number].map { [$0] } ?? [] }
    if tokens < 0 { return try maker.snippets(ofFields: fields, tokens: -max(tokens, -64), source) }
    return [try maker.snippet(ofFields: fields, tokens: tokens, source)]
  }
}
