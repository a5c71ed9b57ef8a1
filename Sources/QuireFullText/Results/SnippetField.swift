// Where the phrases of a search stand in the texts of a field.

internal import QuireDatabase

/// A place at which a text has a phrase.
struct SnippetInstance {
  /// The number of the text in the field, and of the first and the last token in the text.
  let text: Int
  let first: Int
  let last: Int
  /// The number of the phrase in the search.
  let phrase: Int
  /// The position of the first token in the field.
  let position: UInt32
  /// The bytes of the text.
  let range: Range<Int>
}

/// The texts of a field with what the groups of a search have there.
struct SnippetField {
  let number: Int
  let strings: [String]
  let texts: [SnippetText]
  /// For each group, whether the field has it.
  let hasGroup: [Bool]
  /// For each group, its phrases; of phrases that have to be near each other, those that are.
  private let instances: [[SnippetInstance]]

  init(_ number: Int, _ strings: [String], _ query: SnippetQuery, _ scanner: SnippetScanner) {
    assert(strings.count == scanner.texts.count)
    (self.number, self.strings, self.texts) = (number, strings, scanner.texts)
    var hasGroup: [Bool] = []
    instances = query.groups.map { group in
      let found = Self.instances(of: group, query, scanner.tokens)
      hasGroup.append(!found.isEmpty)
      return found
    }
    self.hasGroup = hasGroup
  }

  /// The places of the groups that are shown in one text, in the order of their first tokens and of phrases.
  func instances(inText text: Int, ofGroups isShown: [Bool]) -> [SnippetInstance] {
    var found: [SnippetInstance] = []
    for (group, instances) in instances.enumerated() where isShown[group] {
      found += instances.lazy.filter { $0.text == text }
    }
    return found.sorted { ($0.first, $0.phrase) < ($1.first, $1.phrase) }
  }

  // MARK: Finding

  private static func instances(
    of group: SnippetQuery.Group, _ query: SnippetQuery, _ tokens: [[SnippetToken]]
  ) -> [SnippetInstance] {
    let phrases = group.phrases.map { instances(ofPhrase: $0, query.phrases[$0], tokens) }
    guard phrases.count > 1 else { return phrases[0] }
    guard phrases.allSatisfy({ !$0.isEmpty }) else { return [] }
    var matcher = NearMatcher(
      tokenCounts: group.phrases.map { query.phrases[$0].tokenCount }, distance: group.distance)
    for (index, instances) in phrases.enumerated() {
      matcher.set(instances.map { FieldPlaces.place(field: 0, position: $0.position) }, ofPhrase: index)
    }
    guard matcher.match() else { return [] }
    var found: [SnippetInstance] = []
    for (index, instances) in phrases.enumerated() {
      let matched = matcher.matched(ofPhrase: index)
      var next = 0
      for place in matched {
        while Int64(instances[next].position) < FieldPlaces.position(of: place) { next += 1 }
        found.append(instances[next])
      }
    }
    return found
  }

  /// The places of a phrase, ascending.
  private static func instances(
    ofPhrase number: Int, _ phrase: SnippetQuery.PhraseElements, _ tokens: [[SnippetToken]]
  ) -> [SnippetInstance] {
    var nexts = [Int](repeating: 0, count: phrase.elements.count)
    var found: [SnippetInstance] = []
    for first in tokens[phrase.elements.lowerBound] {
      if phrase.isAtStart, first.position > 0 { break }
      var (last, range, isFound) = (first.token, first.range, true)
      for index in 1..<max(1, phrase.elements.count) {
        let others = tokens[phrase.elements.lowerBound + index]
        let wanted = UInt64(first.position) + UInt64(phrase.offsets[index])
        while nexts[index] < others.count, others[nexts[index]].position < wanted { nexts[index] += 1 }
        guard nexts[index] < others.count, others[nexts[index]].position == wanted else {
          isFound = false
          break
        }
        let other = others[nexts[index]]
        // A phrase with a hole may go on in the next text.
        guard other.text == first.text else { continue }
        last = other.token
        range = min(range.lowerBound, other.range.lowerBound)..<max(range.upperBound, other.range.upperBound)
      }
      guard isFound else { continue }
      found.append(
        SnippetInstance(
          text: first.text, first: first.token, last: last, phrase: number, position: first.position, range: range))
    }
    return found
  }
}
