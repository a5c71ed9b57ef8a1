// Where the phrases of a search stand in the texts of a field.

internal import QuireDatabase

/// Tokens of a text, one or some one behind the other, that were searched for: kept in few bytes, as a text may have
/// any number of them.
struct SnippetPlace {
  /// The number of the text in the field, and of the first and the last token in the text.
  let text: UInt32
  let first: UInt32
  var last: UInt32
  /// The number of the phrase in the search; of an element of phrases, 0.
  var phrase: UInt32 = 0
  /// The position of the first token in the field, over all its texts.
  let position: UInt32
  /// The bytes of the text.
  var lower: UInt32
  var upper: UInt32

  /// Takes in another token of the same text.
  mutating func take(_ other: SnippetPlace) {
    last = other.last
    (lower, upper) = (min(lower, other.lower), max(upper, other.upper))
  }
}

/// The texts of a field with what the groups of a search have there.
struct SnippetField {
  let number: Int
  let strings: [String]
  let texts: [SnippetText]
  /// For each group, whether the field has it.
  let hasGroup: [Bool]
  /// For each phrase, where it stands, in order; of phrases that have to be near each other, where they are.
  private let places: [[SnippetPlace]]

  /// - Throws: `CancellationError`.
  init(_ number: Int, _ strings: [String], _ query: SnippetQuery, _ scanner: SnippetScanner) throws {
    assert(strings.count == scanner.texts.count)
    (self.number, self.strings, self.texts) = (number, strings, scanner.texts)
    var places: [[SnippetPlace]] = []
    hasGroup = try query.groups.map { group in
      let found =
        group.fields >> FieldMask(number) & 1 == 0
        ? Array(repeating: [], count: group.phrases.count) : try Self.places(of: group, query, scanner.tokens)
      places += found
      return !found[0].isEmpty
    }
    self.places = places
  }

  /// For each text, the places that are shown, in the order of their first tokens, and of those with the same in that
  /// in which the search has the phrases.
  func places(_ shown: ShownPhrases) -> [[SnippetPlace]] {
    var byText: [[SnippetPlace]] = Array(repeating: [], count: texts.count)
    let phrases = places.indices.filter { shown.counts[$0] > 0 && !places[$0].isEmpty }
    if texts.count == 1 { byText[0].reserveCapacity(phrases.reduce(0) { $0 + places[$1].count }) }
    for phrase in phrases {
      for var place in places[phrase] {
        place.phrase = UInt32(phrase)
        byText[Int(place.text)].append(place)
      }
    }
    guard phrases.count > 1 else { return byText }
    for text in byText.indices {
      byText[text].sort {
        $0.first != $1.first
          ? $0.first < $1.first : shown.numbers[Int($0.phrase)] < shown.numbers[Int($1.phrase)]
      }
    }
    return byText
  }

  // MARK: Finding

  /// The places of the phrases of a group: none at all unless all stand where they have to.
  private static func places(
    of group: SnippetQuery.Group, _ query: SnippetQuery, _ tokens: [[SnippetPlace]]
  ) throws -> [[SnippetPlace]] {
    let phrases = group.phrases.map { places(of: query.phrases[$0], tokens) }
    guard phrases.count > 1 else { return phrases }
    let none: [[SnippetPlace]] = Array(repeating: [], count: phrases.count)
    guard phrases.allSatisfy({ !$0.isEmpty }) else { return none }
    var matcher = NearMatcher(
      tokenCounts: group.phrases.map { query.phrases[$0].tokenCount }, distance: group.distance)
    for (index, places) in phrases.enumerated() {
      matcher.set(places.map { FieldPlaces.place(field: 0, position: $0.position) }, ofPhrase: index)
    }
    guard try matcher.match() else { return none }
    return phrases.enumerated().map { index, places in
      var next = 0
      return matcher.matched(ofPhrase: index).map { place in
        while Int64(places[next].position) < FieldPlaces.position(of: place) { next += 1 }
        return places[next]
      }
    }
  }

  /// The places of a phrase, ascending.
  private static func places(
    of phrase: SnippetQuery.PhraseElements, _ tokens: [[SnippetPlace]]
  ) -> [SnippetPlace] {
    let firsts = tokens[phrase.elements[0]]
    if phrase.elements.count == 1, !phrase.isAtStart { return firsts }
    var nexts = [Int](repeating: 0, count: phrase.elements.count)
    var found: [SnippetPlace] = []
    for first in firsts {
      if phrase.isAtStart, first.position > 0 { break }
      var (place, isFound) = (first, true)
      for index in 1..<max(1, phrase.elements.count) {
        let element = phrase.elements[index]
        let wanted = UInt64(first.position) + UInt64(phrase.offsets[index])
        while nexts[index] < tokens[element].count, tokens[element][nexts[index]].position < wanted {
          nexts[index] += 1
        }
        guard nexts[index] < tokens[element].count, tokens[element][nexts[index]].position == wanted else {
          isFound = false
          break
        }
        // A phrase with a hole may go on in the next text.
        let other = tokens[element][nexts[index]]
        if other.text == first.text { place.take(other) }
      }
      if isFound { found.append(place) }
    }
    return found
  }
}
