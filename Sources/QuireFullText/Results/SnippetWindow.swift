// The tokens of a text that show best what was found in it.

/// Tokens one behind the other, and how much of a search they show.
struct SnippetWindow {
  /// The first token.
  let start: Int
  /// 1,000 for each phrase that begins in them, 1 for each more place of one, and something for beginning a sentence.
  let score: Int
}

/// Looks at all windows of a text that begin with a phrase or with the sentence of one, as FTS5's `snippet()` does.
///
/// The windows are taken in the order in which they begin, so that finding the best one takes time for the places and
/// the sentences of the text, not for each place in each window.
struct SnippetWindows {
  /// In the order of their first tokens.
  let places: [SnippetPlace]
  /// How many tokens the window has.
  let size: Int
  let text: SnippetText
  let shown: ShownPhrases
  /// Phrases that count as places alone, as they are shown already.
  let covered: Set<Int>

  /// Counts the phrases of a window that moves on.
  private struct Counter {
    /// The places whose first tokens lie in the window.
    var lower = 0
    var upper = 0
    var counts: [Int]
    /// Phrases that are not covered, and places of any, each as often as the search has them.
    var score = 0

    init(_ shown: ShownPhrases) { counts = Array(repeating: 0, count: shown.counts.count) }

    mutating func add(_ phrase: Int, first value: Int, others: Int) {
      score += counts[phrase] == 0 ? value : others
      counts[phrase] += 1
    }

    mutating func remove(_ phrase: Int, first value: Int, others: Int) {
      assert(counts[phrase] > 0, "a place leaves that has not come")
      counts[phrase] -= 1
      score -= counts[phrase] == 0 ? value : others
    }
  }

  /// What the first place of each phrase in a window is worth.
  private var values: [Int] {
    shown.counts.enumerated().map { phrase, count in count * (covered.contains(phrase) ? 1 : 1_000) }
  }

  /// Has a counter count the window from `start` on, which is not before its last one.
  private func move(_ counter: inout Counter, to start: Int, _ values: [Int]) {
    while counter.upper < places.count, Int(places[counter.upper].first) < start + size {
      let phrase = Int(places[counter.upper].phrase)
      counter.add(phrase, first: values[phrase], others: shown.counts[phrase])
      counter.upper += 1
    }
    while counter.lower < counter.upper, Int(places[counter.lower].first) < start {
      let phrase = Int(places[counter.lower].phrase)
      counter.remove(phrase, first: values[phrase], others: shown.counts[phrase])
      counter.lower += 1
    }
  }

  /// The first of the best windows; nil if nothing was found in the text.
  func best() -> SnippetWindow? {
    if places.isEmpty { return nil }
    var best: SnippetWindow?
    func offer(_ start: Int, _ score: Int) {
      if score > best?.score ?? 0 { best = SnippetWindow(start: start, score: score) }
    }
    let values = values
    var (counter, starts) = (Counter(shown), Counter(shown))
    var sentence = 0
    for place in places {
      let first = Int(place.first)
      move(&counter, to: first, values)
      offer(centred(from: first, to: Int(places[counter.upper - 1].last)), counter.score)
      guard text.tokenCount > size else { continue }
      while sentence + 1 < text.sentences.count, Int(text.sentences[sentence + 1]) <= first { sentence += 1 }
      let start = Int(text.sentences[sentence])
      guard start < first else { continue }
      move(&starts, to: start, values)
      offer(start, starts.score + (start == 0 ? 120 : 100))
    }
    return best
  }

  /// Where a window begins that has these tokens in its middle, as far as the text goes.
  private func centred(from first: Int, to last: Int) -> Int {
    let start = first - (size - (last + 1 - first)) / 2
    return max(0, min(start, text.tokenCount - size))
  }
}
