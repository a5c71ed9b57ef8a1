// Which terms of a phrase stand where.

/// A phrase of single terms: each term once, and where it stands.
struct PhraseShape {
  /// The terms that differ, in the order in which they come first.
  let distinctTerms: [[UInt8]]
  /// For each element the number of its term among those.
  let terms: [Int]
  /// How far each element is behind the first one.
  let offsets: [UInt32]
  /// Whether the first token of the field has to be the first element.
  let isAtStart: Bool
  /// Finds the phrase if terms repeat in it.
  let matcher: SequenceMatcher?

  /// The shape of a phrase whose elements are single terms.
  init(_ phrase: TermPhrase) {
    var (distinct, known) = ([[UInt8]](), [[UInt8]: Int]())
    let terms = phrase.elements.map { element -> Int in
      let term = element.terms[0].bytes
      assert(element.singleTerm != nil, "a place of a phrase has several terms")
      if let number = known[term] { return number }
      known[term] = distinct.count
      distinct.append(term)
      return distinct.count - 1
    }
    (distinctTerms, self.terms, offsets) = (distinct, terms, phrase.elements.map(\.offset))
    isAtStart = phrase.isAtStart
    matcher = SequenceMatcher(terms, offsets: offsets)
  }
}

extension TermPhrase {
  /// The parts of the phrase, and how far each is behind the first one: single terms that follow each other together,
  /// other elements each by itself.
  var runs: [(phrase: TermPhrase, offset: UInt32)] {
    var (runs, start) = ([(phrase: TermPhrase, offset: UInt32)](), 0)
    for index in elements.indices {
      let isLast = index + 1 == elements.count
      if !isLast, elements[index].singleTerm != nil, elements[index + 1].singleTerm != nil { continue }
      let first = elements[start].offset
      var run = Array(elements[start...index])
      for place in run.indices where place == 0 || run[place].offset != .max { run[place].offset -= first }
      runs.append((TermPhrase(elements: run), first))
      start = index + 1
    }
    return runs
  }
}
