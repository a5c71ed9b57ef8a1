// A change of one text of a row, of which most tokens stay.

internal import QuireDatabase
internal import QuireText

/// Which tokens of a document come of the part of a text that differs from what it was.
struct EditedTokens {
  private let range: Range<Int>
  /// The tokens of the part.
  private(set) var tokens = 0..<0
  /// The field of the text.
  private(set) var field = 0
  /// The position in front of the first token of the text; -1 if it is the first of its field.
  private(set) var positionBefore = -1
  private var firstToken = 0
  private var start: Int?
  private var end: Int?

  /// Those of a part of a text.
  init(_ range: Range<Int>) { self.range = range }

  /// Whether no token of the text stands in front of the part.
  var areFirst: Bool { tokens.lowerBound == firstToken }

  /// The text begins.
  mutating func begin(at index: Int, _ field: Int, _ position: Int) {
    (firstToken, self.field, positionBefore) = (index, field, position)
  }

  /// Takes in where the token with an index stands in the text.
  @inline(__always) mutating func note(_ place: Range<Int>, _ index: Int) {
    if start == nil, place.upperBound > range.lowerBound { start = index }
    if start != nil, end == nil, place.lowerBound >= range.upperBound { end = index }
  }

  /// The text ends in front of a token.
  mutating func end(at index: Int) {
    let start = start ?? index
    tokens = start..<(end ?? index)
  }
}

/// A change of one text of a row: the tokens that it has now, and those that it had before. The text before is cut only
/// where it differs; the other tokens are taken to be those of now.
///
/// That is a guess: a tokenizer may look far around. `oldRecord` tells whether it was right.
struct DocumentEdit {
  /// All tokens of now; and terms that the row had before, which stand nowhere.
  private var document: DocumentTerms
  private var edited: EditedTokens
  /// The tokens of the part as it was before.
  private var oldTokens: [DocumentTerms.Token] = []
  /// By how much the tokens behind the part had a higher position in its field.
  private var shift = 0
  /// What is stored of the row from now on; nil if it has no tokens.
  let newRecord: TextRecord?
  /// What is stored of the row, if the guess is right; nil if it had no tokens, or more than can be numbered.
  private(set) var oldRecord: TextRecord?

  /// Cuts the texts of now, and of those before what differs, in the memory of a document.
  ///
  /// - Throws: what the tokenizer throws, `FullTextError.tooManyTokens`.
  init(
    _ key: String, _ layout: TextLayout, _ texts: RowTexts, before: RowTexts, _ edit: TextEdit,
    in memory: consuming DocumentTerms
  ) throws {
    var (document, edited, number) = (memory, EditedTokens(edit.newRange), 0)
    document.begin()
    try texts.forEachText { field, text in
      let isInBounds =
        number == edit.text
        ? try document.add(text, field: field, layout.tokenizer, noting: &edited)
        : try document.add(text, field: field, layout.tokenizer)
      guard isInBounds else {
        throw FullTextError.tooManyTokens(fullText: layout.name, field: layout.fieldNames[field], row: key)
      }
      number += 1
    }
    newRecord = document.currentRecord
    (self.document, self.edited) = (document, edited)
    try before.withPart(edit.oldRange, ofText: edit.text) { try cutBefore($0, layout.tokenizer) }
  }

  /// The memory, for another document.
  consuming func takeMemory() -> DocumentTerms { document }

  /// Cuts the part as it was before.
  private mutating func cutBefore(_ part: RawSpan, _ tokenizer: some Tokenizer) throws {
    let isFirst = edited.areFirst
    let positionBefore = isFirst ? edited.positionBefore : Int(document.tokens[edited.tokens.lowerBound - 1].position)
    var (position, isInBounds, isFirstToken) = (positionBefore, true, isFirst)
    try tokenizer.forEachToken(in: part, for: .document) { token, place in
      let step = isFirstToken ? 1 : max(0, place.step)
      isFirstToken = false
      guard isInBounds, step < DocumentTerms.positionEnd, position + step < DocumentTerms.positionEnd else {
        isInBounds = false
        return
      }
      position += step
      guard let term = document.index(ofToken: token) else { return }
      oldTokens.append(
        DocumentTerms.Token(term: term, field: UInt8(edited.field), position: UInt32(position)))
    }
    let last = edited.tokens.isEmpty ? positionBefore : Int(document.tokens[edited.tokens.upperBound - 1].position)
    shift = position - last
    if isInBounds { oldRecord = recordBefore() }
  }

  /// Calls `body` with all tokens that the row had before, in order; false, and not with all, if they cannot be.
  private func forEachTokenBefore(_ body: (DocumentTerms.Token) -> Void) -> Bool {
    for token in document.tokens[..<edited.tokens.lowerBound] { body(token) }
    for token in oldTokens { body(token) }
    for var token in document.tokens[edited.tokens.upperBound...] {
      if shift != 0, Int(token.field) == edited.field {
        let position = Int(token.position) + shift
        guard position >= 0, position < DocumentTerms.positionEnd else { return false }
        token.position = UInt32(position)
      }
      body(token)
    }
    return true
  }

  private func recordBefore() -> TextRecord? {
    var hash = TextHash()
    var length: UInt64 = 0
    var last: DocumentTerms.Token?
    let isWhole = forEachTokenBefore { token in
      // Another form of a word stands where the word does.
      if last.map({ $0.field != token.field || $0.position != token.position }) ?? true { length += 1 }
      last = token
      hash.add(document.terms[Int(token.term)].hash)
      hash.add(UInt64(token.position) | UInt64(token.field) << 32)
    }
    return isWhole && length > 0 ? TextRecord(length: length, hash: hash.value) : nil
  }

  /// Puts the terms whose postings may differ, with all their tokens, into documents: as they were, and as they are.
  func copyChangedTerms(to old: inout DocumentTerms, _ new: inout DocumentTerms) {
    var isChanged = [Bool](repeating: false, count: document.terms.count)
    for token in oldTokens { isChanged[Int(token.term)] = true }
    for token in document.tokens[edited.tokens] { isChanged[Int(token.term)] = true }
    if shift != 0 {
      for token in document.tokens[edited.tokens.upperBound...] where Int(token.field) == edited.field {
        isChanged[Int(token.term)] = true
      }
    }
    old.begin()
    new.begin()
    for token in document.tokens where isChanged[Int(token.term)] { new.add(token, of: document) }
    let isWhole = forEachTokenBefore { token in
      if isChanged[Int(token.term)] { old.add(token, of: document) }
    }
    assert(isWhole, "tokens are taken that the row cannot have had")
    old.finish()
    new.finish()
  }
}
