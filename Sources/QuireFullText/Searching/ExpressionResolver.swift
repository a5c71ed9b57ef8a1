// From what users write to the terms that are stored.

internal import QuireDatabase
internal import QuireText

/// Turns expressions of texts and names of fields into such of terms and numbers of fields.
///
/// A text of several tokens is a phrase, and several tokens at one place stand for each other. A phrase without any
/// token is left out of an alternative, a list of groups and a group of near phrases; elsewhere it finds nothing.
struct ExpressionResolver {
  let layout: TextLayout

  init(_ layout: TextLayout) { self.layout = layout }

  /// - Throws: `FullTextError.unknownField`, `needsPositions`, `tooDeep`, and what the tokenizer throws.
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
      return resolved.count < 2 ? resolved.first : .all(resolved)
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
      throw FullTextError.needsPositions(fullText: layout.name, what: what)
    }
    return fields == 0 ? .nothing : .group(resolved)
  }

  // MARK: Phrases

  /// The bytes of the last term of a text; nil if it has none.
  func lastTerm(of text: String) throws -> [UInt8]? {
    var elements: [TermPhrase.Element] = []
    try cut(text, into: &elements)
    return elements.last?.terms.first?.bytes
  }

  /// Nil for a phrase without any token.
  private func resolve(_ phrase: Phrase) throws -> TermPhrase? {
    var elements: [TermPhrase.Element] = []
    var isEndPrefix = false
    for (number, text) in phrase.texts.enumerated() {
      let count = elements.count
      try cut(text, into: &elements)
      guard let last = elements.indices.last else { continue }
      // A text without a token decides about the token before it.
      if elements.count == count, isEndPrefix, !phrase.prefixes.contains(number) {
        elements[last].setPrefix(false)
      }
      isEndPrefix = phrase.prefixes.contains(number)
      if isEndPrefix { elements[last].setPrefix(true) }
    }
    for index in elements.indices { elements[index].dropCovered() }
    return elements.isEmpty ? nil : TermPhrase(elements: elements, isAtStart: phrase.isAtStart)
  }

  private func cut(_ text: String, into elements: inout [TermPhrase.Element]) throws {
    var text = text
    try text.withUTF8 { bytes in
      var isFirst = true
      try unsafe layout.tokenizer.forEachToken(in: bytes.span.bytes, for: .query) { span, place in
        let term = SearchTerm(bytes: TermKeys.term(of: span), isPrefix: place.isPrefix)
        if term.bytes.isEmpty { return }
        defer { isFirst = false }
        guard let last = elements.last else {
          elements.append(TermPhrase.Element(terms: [term], offset: 0))
          return
        }
        if place.step == 0, !isFirst {
          if !last.terms.contains(term) { elements[elements.count - 1].terms.append(term) }
          return
        }
        let step = isFirst ? 1 : UInt32(clamping: max(1, place.step))
        let (offset, isTooFar) = last.offset.addingReportingOverflow(step)
        if !isTooFar { elements.append(TermPhrase.Element(terms: [term], offset: offset)) }
      }
    }
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
