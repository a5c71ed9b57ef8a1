// From what users write to the terms that are stored.

internal import QuireDatabase
internal import QuireText

/// Turns expressions of texts and names of fields into such of terms and numbers of fields.
///
/// A text of several tokens is a phrase, and several tokens at one place stand for each other. A phrase without any
/// token is left out of an alternative, a list of groups and a group of near phrases; elsewhere it finds nothing.
struct ExpressionResolver {
  let layout: TextLayout
  /// How many tokens a phrase may have: each takes memory of its own, however little of the text it is.
  private static let phraseLimit = GroupReader.textLimit

  init(_ layout: TextLayout) { self.layout = layout }

  /// - Throws: `FullTextError.unknownField`, `needsPositions`, `tooDeep`, `phraseTooLong`, and what the tokenizer
  ///   throws.
  func resolve(_ expression: SearchExpression) throws -> TermExpression {
    try expression.checkDepth()
    return try part(expression) ?? .nothing
  }

  /// Nil for what has no token.
  private func part(_ expression: SearchExpression) throws -> TermExpression? {
    switch expression {
    case .near(let group): return try resolve(group)
    case .groups(let groups):
      let resolved = try groups.compactMap { try resolve($0) }
      return resolved.count < 2 ? resolved.first : .all(resolved.flatMap(\.factors))
    case .everything: return .everything
    case .excluding(let kept, let excluded):
      // Of nothing nothing is left, and what excludes nothing leaves all.
      guard let kept = try part(kept) else { return nil }
      guard let excluded = try part(excluded) else { return kept }
      return .excluding(kept, excluded)
    case .all(let parts):
      if parts.isEmpty { return .everything }
      let resolved = try parts.map { try part($0) ?? .nothing }
      return resolved.count < 2 ? resolved.first : .all(resolved)
    case .any(let parts):
      let resolved = try parts.compactMap { try part($0) }
      return resolved.count < 2 ? resolved.first : .any(resolved)
    }
  }

  // MARK: Groups

  private func resolve(_ group: NearGroup) throws -> TermExpression? {
    let fields = try group.fields?.mask(in: layout.fieldNames) ?? layout.form.allFields
    var phrases = try group.phrases.compactMap { try resolve($0) }
    guard !phrases.isEmpty else { return nil }
    if phrases.count > 1 { for index in phrases.indices { phrases[index].isAtStart = false } }
    let resolved = TermGroup(phrases: phrases, distance: group.distance, fields: fields)
    if !layout.form.hasPositions, let what = resolved.needOfPositions {
      if group.phrases.allSatisfy(\.isLenient) { return fields == 0 ? .nothing : .all(resolved.words) }
      throw FullTextError.needsPositions(fullText: layout.name, what: what)
    }
    return fields == 0 ? .nothing : .group(resolved)
  }

  // MARK: Phrases

  /// The bytes of the last term of a text; nil if it has none.
  func lastTerm(of text: String) throws -> [UInt8]? { try cut(text, for: .query).last?.terms.first?.bytes }

  /// Nil for a phrase without any token.
  private func resolve(_ phrase: Phrase) throws -> TermPhrase? {
    var elements: [TermPhrase.Element] = []
    var isEndPrefix = false
    for (number, new) in try cut(phrase.texts).enumerated() {
      try Self.append(new, to: &elements)
      guard let last = elements.indices.last else { continue }
      // A text without a token decides about the token before it.
      if new.isEmpty, isEndPrefix, !phrase.prefixes.contains(number) { elements[last].setPrefix(false) }
      isEndPrefix = phrase.prefixes.contains(number)
      if isEndPrefix { elements[last].setPrefix(true) }
    }
    for index in elements.indices { elements[index].dropCovered() }
    return elements.isEmpty ? nil : TermPhrase(elements: elements, isAtStart: phrase.isAtStart)
  }

  /// Puts the elements of a text behind those of others.
  private static func append(_ new: [TermPhrase.Element], to elements: inout [TermPhrase.Element]) throws {
    guard elements.count + new.count <= phraseLimit else { throw FullTextError.phraseTooLong(limit: phraseLimit) }
    guard let last = elements.last else {
      elements = new
      return
    }
    for var element in new {
      element.offset = last.offset.saturatingSum(1).saturatingSum(element.offset)
      elements.append(element)
    }
  }

  /// The elements of each text, from the last text on, as it matters to a text whether tokens follow.
  private func cut(_ texts: [String]) throws -> [[TermPhrase.Element]] {
    var all: [[TermPhrase.Element]] = []
    var isFollowed = false
    for text in texts.reversed() {
      let elements = try cut(text, for: isFollowed ? .queryBeginning : .query)
      if !elements.isEmpty { isFollowed = true }
      all.append(elements)
    }
    return all.reversed()
  }

  private func cut(_ text: String, for purpose: TokenPurpose) throws -> [TermPhrase.Element] {
    var elements: [TermPhrase.Element] = []
    var text = text
    try text.withUTF8 { bytes in
      try unsafe layout.tokenizer.forEachToken(in: bytes.span.bytes, for: purpose) { span, place in
        let term = SearchTerm(bytes: TermKeys.term(of: span), isPrefix: place.isPrefix)
        if term.bytes.isEmpty { return }
        guard let last = elements.last else {
          elements.append(TermPhrase.Element(terms: [term], offset: 0))
          return
        }
        if place.step == 0 {
          if !last.terms.contains(term) { elements[elements.count - 1].terms.append(term) }
          return
        }
        guard elements.count < Self.phraseLimit else { throw FullTextError.phraseTooLong(limit: Self.phraseLimit) }
        let offset = last.offset.saturatingSum(UInt32(clamping: max(1, place.step)))
        elements.append(TermPhrase.Element(terms: [term], offset: offset))
      }
    }
    return elements
  }
}

extension UInt32 {
  /// The sum of two offsets. One that is too great is `.max`, where no token of a field is: the phrase finds nothing.
  fileprivate func saturatingSum(_ other: Self) -> Self {
    let (sum, isTooGreat) = addingReportingOverflow(other)
    return isTooGreat ? .max : sum
  }
}

extension TermPhrase.Element {
  /// Says whether the terms stand for all that begin with them.
  fileprivate mutating func setPrefix(_ isPrefix: Bool) {
    for index in terms.indices { terms[index].isPrefix = isPrefix }
  }
}

extension TermPhrase.Element {
  /// Takes out the terms that another one stands for, too, so that each term counts once.
  fileprivate mutating func dropCovered() {
    guard terms.count > 1 else { return }
    let prefixes = terms.filter(\.isPrefix).map(\.bytes)
    terms.removeAll { term in
      prefixes.contains { $0.count < term.bytes.count + (term.isPrefix ? 0 : 1) && term.bytes.starts(with: $0) }
    }
    assert(!terms.isEmpty, "all terms are beginnings of each other")
  }
}

extension TermGroup {
  /// What of the group positions decide; nil if nothing.
  fileprivate var needOfPositions: String? {
    if phrases.count > 1 { return "NEAR" }
    if phrases.contains(where: \.isAtStart) { return "the beginning of a field" }
    return phrases.contains { $0.elements.count > 1 } ? "a phrase" : nil
  }
}

extension TermGroup {
  /// What has the tokens of all phrases, wherever they stand.
  fileprivate var words: [TermExpression] {
    phrases.flatMap(\.elements).map { element in
      let word = TermPhrase(elements: [TermPhrase.Element(terms: element.terms, offset: 0)])
      return .group(TermGroup(phrases: [word], distance: distance, fields: fields))
    }
  }
}

extension TermExpression {
  /// What all has to be there.
  fileprivate var factors: [TermExpression] { if case .all(let parts) = self { parts } else { [self] } }
}
