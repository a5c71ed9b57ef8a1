// Searching a full text of many collections.

public import QuireDatabase

/// A full text of many collections in one transaction.
///
/// For the thread and the life of its transaction. All calls may throw `FullTextError.notReady` while it is built,
/// `unknownField` and `damaged`, and what reading throws.
public struct FamilyTextReader {
  private let fullText: FamilyText
  private let stored: FullTextTrees
  private let texts: FamilyTexts

  init(_ fullText: FamilyText, _ trees: FullTextTrees, _ texts: FamilyTexts) {
    (self.fullText, stored, self.texts) = (fullText, trees, texts)
  }

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
    let trees = try trees()
    let resolved = try ExpressionResolver(trees.layout).resolve(expression)
    return SearchRun(trees, resolved, filter: nil) { try texts.rowIDs() }
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
  ///   - expression: what is searched for.
  ///   - weights: of the fields, in their order; 1 for those that it does not reach.
  ///   - limit: how many rows at the most.
  ///   - formula: how much more rare phrases count than frequent ones.
  /// - Throws: also `FullTextError.badWeight` for a weight that is negative or no number.
  public func scores(
    matching expression: SearchExpression, weights: [Double] = [], limit: Int = .max,
    inverseDocumentFrequency formula: InverseDocumentFrequency = .smooth
  ) throws -> [(rowID: RowID, score: Double)] {
    let all = fieldNames.indices.map { $0 < weights.count ? weights[$0] : 1 }
    try stored.layout.check(all)
    let best = try run(expression).best(weights: all, formula, limit: max(0, limit), factors: nil)
    return best.map { ($0.row, $0.score) }
  }

  /// Collection and key of a row that was found; nil if it is gone since.
  public func rowKey(of row: RowID) throws -> RowKey? { try stored.store.readTransaction.key(of: row) }

  // MARK: Snippets

  /// The piece of a row's texts that shows most of what an expression finds in it; nil if the row has no texts.
  ///
  /// - Parameters:
  ///   - expression: what was searched for.
  ///   - row: one that was found.
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

  // MARK: Verifying

  /// Throws `FullTextError.damaged`, with the tree and the key, if what is stored of words differs from the texts that
  /// are stored beside them, or if there are texts of rows that are gone or of other collections. The closure is not
  /// asked. Reads and cuts all texts, in bounded memory and with a temporary file where there are many.
  ///
  /// - Throws: also `FullTextError.notReady`, `damagedPage`, `inputOutput`.
  public func verify() throws {
    let trees = try trees()
    var verifier = try TextVerifier(trees)
    try texts.tree.forEach(from: nil) { row, value in
      guard let key = try rowKey(of: row), fullText.collections.contains(key.collection) else {
        throw FullTextError.damaged(
          fullText: fullText.name, tree: FamilyTexts.treeName, key: "\(row.rawValue)",
          detail: "there are texts of a row that is gone, or of another collection")
      }
      let found = try texts.texts(value.copied, of: row)
      try verifier.add(row, key.key) { body in try FamilyTexts.forEachText(found, body) }
      return true
    }
    try verifier.finish()
  }
}
