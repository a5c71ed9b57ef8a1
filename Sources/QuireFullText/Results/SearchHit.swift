// A row that a search has found, and where in its texts.

public import QuireDatabase

/// A row that a search has found, and how well it fits.
public struct SearchHit<Object: Sendable, Metadata: Sendable> {
  /// The row.
  public let row: Row<Object, Metadata>
  /// How well it fits: at least 0, and higher is better. Comparable within one search alone.
  public let score: Double
  private let texts: ShownTexts<Object, Metadata>

  init(_ row: Row<Object, Metadata>, score: Double, _ texts: ShownTexts<Object, Metadata>) {
    (self.row, self.score, self.texts) = (row, score, texts)
  }

  /// The key of the row.
  public var key: String { row.key }
  /// The number of the row.
  public var rowID: RowID { row.rowID }
  /// The object.
  public var object: Object { row.object }
  /// The metadata, if the row has some.
  public var metadata: Metadata? { row.metadata }

  // MARK: Texts

  /// The piece of a field's texts that shows most of what was found. Cuts the texts anew: O(their length).
  ///
  /// What begins before the piece is not marked in it, nor what overlaps that: a word that is repeated more often than
  /// the piece has words may stand in it without a mark, where a phrase of it was searched for.
  ///
  /// - Parameters:
  ///   - field: the name of the field; nil for that of all fields that shows most.
  ///   - tokens: how many words the piece has, 1 to 64.
  /// - Throws: `FullTextError.unknownField`, and what closures of fields throw.
  public func snippet(of field: String? = nil, tokens: Int = 15) throws -> Snippet {
    try texts.snippet(of: field, tokens, row)
  }

  /// Up to four pieces of a field's texts that together show as many of the phrases as can be.
  ///
  /// - Parameters:
  ///   - field: the name of the field; nil for all fields.
  ///   - tokens: how many words each piece has, 1 to 64.
  /// - Throws: as `snippet(of:tokens:)`.
  public func snippets(of field: String? = nil, tokens: Int = 15) throws -> [Snippet] {
    try texts.snippets(of: field, tokens, row)
  }

  /// The texts of a field, each with the places of what was found in it; of a field of one text, one.
  ///
  /// - Throws: as `snippet(of:tokens:)`.
  public func highlights(of field: String) throws -> [HighlightedText] { try texts.highlights(of: field, row) }
}

/// Shows in the texts of rows what a search has found; made once for all hits of a search.
struct ShownTexts<Object: Sendable, Metadata: Sendable> {
  private let maker: SnippetMaker
  private let fullText: FullText<Object, Metadata>

  init(_ expression: TermExpression, _ fullText: FullText<Object, Metadata>) {
    self.fullText = fullText
    maker = SnippetMaker(expression, fieldNames: fullText.fieldNames, tokenizer: fullText.layout.tokenizer)
  }

  func snippet(of field: String?, _ tokens: Int, _ row: Row<Object, Metadata>) throws -> Snippet {
    try maker.snippet(ofFields: numbers(of: field), tokens: tokens) { try texts(ofField: $0, row) }
  }

  func snippets(of field: String?, _ tokens: Int, _ row: Row<Object, Metadata>) throws -> [Snippet] {
    try maker.snippets(ofFields: numbers(of: field), tokens: tokens) { try texts(ofField: $0, row) }
  }

  func highlights(of field: String, _ row: Row<Object, Metadata>) throws -> [HighlightedText] {
    try maker.highlights(ofField: number(of: field)) { try texts(ofField: $0, row) }
  }

  private func texts(ofField number: Int, _ row: Row<Object, Metadata>) throws -> [String] {
    try fullText.fields.texts(ofField: number, row.object, row.metadata)
  }

  private func numbers(of field: String?) throws -> [Int] {
    try field.map { [try number(of: $0)] } ?? Array(fullText.fieldNames.indices)
  }

  private func number(of field: String) throws -> Int {
    guard let number = FieldChoice.number(of: field, in: fullText.fieldNames) else {
      throw FullTextError.unknownField(name: field, fields: fullText.fieldNames)
    }
    return number
  }
}

extension MatchedRows {
  /// The piece of the texts of a row that shows most of what the search finds in it; see
  /// ``SearchHit/snippet(of:tokens:)``.
  public func snippet(of field: String? = nil, in row: Row<Object, Metadata>, tokens: Int = 15) throws -> Snippet {
    try shownTexts().snippet(of: field, tokens, row)
  }

  /// The texts of a field of a row, each with the places of what the search finds in it.
  public func highlights(of field: String, in row: Row<Object, Metadata>) throws -> [HighlightedText] {
    try shownTexts().highlights(of: field, row)
  }

  private func shownTexts() throws -> ShownTexts<Object, Metadata> {
    let layout = reader.fullText.layout
    return ShownTexts(try ExpressionResolver(layout).resolve(expression), reader.fullText)
  }
}
