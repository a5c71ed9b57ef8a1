// Makes snippets and highlights of the texts of a row.

internal import QuireDatabase
internal import QuireText

/// Shows what a search has found in the texts of rows.
///
/// It cuts the texts anew, so that it needs nothing that is stored, and shows what made the search find the row:
/// phrases in their fields, NEAR's phrases where they are near, and of an alternative the parts that hold; never what
/// stands on the right of an exclusion. Of a row that the search does not find, the phrases that it has are shown where
/// that needs no other part of the search, else nothing.
///
/// It takes time for the texts that are asked for; where an alternative has parts that join several phrases, for all
/// texts of the row.
struct SnippetMaker {
  /// The texts of a field of the row.
  typealias Texts = (_ field: Int) throws -> [String]

  /// So many tokens a snippet has at the most.
  static let tokenLimit = 64
  /// So many pieces several snippets are at the most.
  static let pieceLimit = 4

  private let query: SnippetQuery
  private let fieldNames: [String]
  private let tokenizer: any Tokenizer

  /// - Parameters:
  ///   - expression: what was searched for, with the terms of this tokenizer.
  ///   - fieldNames: the names of all fields, by their numbers.
  init(_ expression: TermExpression, fieldNames: [String], tokenizer: any Tokenizer) {
    query = SnippetQuery(expression)
    (self.fieldNames, self.tokenizer) = (fieldNames, tokenizer)
  }

  // MARK: Highlights

  /// The texts of a field, each with what was found in it.
  ///
  /// - Throws: what `texts` and the tokenizer throw.
  func highlights(ofField field: Int, _ texts: Texts) throws -> [HighlightedText] {
    let row = try row([field], texts)
    return row.fields.indices.flatMap { number in
      row.fields[number].strings.enumerated().map { text, string in
        let hits = SnippetHit.hits(of: row.places[number][text], in: 0..<Int.max)
        let ranges = SnippetHit.ranges(of: hits, within: 0..<string.utf8.count)
        return HighlightedText(string, hits: SnippetMarks.ranges(ranges, in: string))
      }
    }
  }

  // MARK: Snippets

  /// The piece of some fields that shows most of what was found, as FTS5's `snippet()` chooses it: most phrases, then
  /// most places of them, then the one that begins first; a piece that begins a sentence wins over one that has more
  /// places of the same phrases.
  ///
  /// - Parameters:
  ///   - fields: the fields that are looked at. Nothing found there, the beginning of the first one is given.
  ///   - tokens: how many tokens the piece has; 1 to 64, and what is less or more is taken for these.
  /// - Throws: what `texts` and the tokenizer throw.
  func snippet(ofFields fields: some Sequence<Int>, tokens: Int, _ texts: Texts) throws -> Snippet {
    let row = try row(fields, texts)
    return snippet(row.best(Self.size(tokens), covered: []) ?? row.beginning(), row, Self.size(tokens))
  }

  /// Up to four pieces that together show as many phrases as can be, in the order of fields and texts. Each has phrases
  /// that no other one has; pieces that overlap are one.
  ///
  /// - Parameters: as of `snippet(ofFields:tokens:_:)`; each piece has so many tokens.
  /// - Throws: what `texts` and the tokenizer throw.
  func snippets(ofFields fields: some Sequence<Int>, tokens: Int, _ texts: Texts) throws -> [Snippet] {
    let row = try row(fields, texts)
    var (pieces, covered): ([SnippetPiece], Set<Int>) = ([], [])
    let size = Self.size(tokens)
    while pieces.count < Self.pieceLimit, let piece = row.best(size, covered: covered) {
      let phrases = row.phrases(of: piece, size)
      if phrases.isSubset(of: covered) { break }
      covered.formUnion(phrases)
      pieces.append(piece)
    }
    if pieces.isEmpty { pieces = [row.beginning()] }
    return SnippetPiece.joined(pieces, size: size).map { piece, size in snippet(piece, row, size) }
  }

  private static func size(_ tokens: Int) -> Int { min(max(1, tokens), tokenLimit) }

  /// The piece of a text from a token on, with its hits. A phrase that begins before the piece is no hit; of one that
  /// ends behind it, what lies in the piece is.
  private func snippet(_ piece: SnippetPiece, _ row: SnippetRow, _ size: Int) -> Snippet {
    guard piece.field < row.fields.count, piece.text < row.fields[piece.field].strings.count else {
      let field = row.fields.first.map { fieldNames[$0.number] } ?? ""
      return Snippet(field: field, "", hits: [], beginsInMiddle: false, endsInMiddle: false)
    }
    let field = row.fields[piece.field]
    let (string, text) = (field.strings[piece.text], field.texts[piece.text])
    let end = piece.start + size
    let endsInMiddle = end < text.tokenCount
    let lower = piece.start > 0 ? Int(text.begins[piece.start]) : 0
    let upper = endsInMiddle ? max(lower, Int(text.ends[end - 1])) : string.utf8.count
    let hits = SnippetHit.hits(of: row.places[piece.field][piece.text], in: piece.start..<end)
    let ranges = SnippetHit.ranges(of: hits, within: lower..<upper)
    let shown = String(string[SnippetMarks.ranges([lower..<upper], in: string)[0]])
    let shifted = ranges.map { $0.lowerBound - lower..<$0.upperBound - lower }
    return Snippet(
      field: fieldNames[field.number], shown, hits: SnippetMarks.ranges(shifted, in: shown),
      beginsInMiddle: piece.start > 0, endsInMiddle: endsInMiddle)
  }

  // MARK: Rows

  /// Cuts some fields of a row, and all others where they decide what is shown.
  private func row(_ wanted: some Sequence<Int>, _ texts: Texts) throws -> SnippetRow {
    let fields = try wanted.map { try field($0, texts) }
    guard query.dependsOnRow else { return SnippetRow(fields, query.shownPhrases) }
    var hasGroup = [Bool](repeating: false, count: query.groups.count)
    for number in fieldNames.indices {
      let field = try fields.first { $0.number == number } ?? field(number, texts)
      for group in hasGroup.indices where field.hasGroup[group] { hasGroup[group] = true }
    }
    return SnippetRow(fields, query.shownPhrases(hasGroup))
  }

  private func field(_ number: Int, _ texts: Texts) throws -> SnippetField {
    let strings = try texts(number)
    var scanner = SnippetScanner(query, field: number)
    for string in strings { try scanner.add(string, tokenizer) }
    return try SnippetField(number, strings, query, scanner)
  }
}
