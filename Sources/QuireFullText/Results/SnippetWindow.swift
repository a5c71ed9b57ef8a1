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
  let instances: [SnippetInstance]
  /// How many tokens the window has.
  let size: Int
  let text: SnippetText
  /// Phrases that count as places alone, as they are shown already.
  let covered: Set<Int>

  /// Counts the phrases of a window that moves on.
  private struct Counter {
    /// The places whose first tokens lie in the window.
    var lower = 0
    var upper = 0
    var counts: [Int: Int] = [:]
    /// Phrases that are not covered, and places of any.
    var score = 0

    mutating func add(_ phrase: Int, _ covered: Set<Int>) {
      let count = counts[phrase, default: 0]
      score += count == 0 && !covered.contains(phrase) ? 1_000 : 1
      counts[phrase] = count + 1
    }

    mutating func remove(_ phrase: Int, _ covered: Set<Int>) {
      let count = counts[phrase, default: 0]
      assert(count > 0, "a place leaves that has not come")
      score -= count == 1 && !covered.contains(phrase) ? 1_000 : 1
      counts[phrase] = count - 1
    }
  }

  /// Has a counter count the window from `start` on, which is not before its last one.
  private func move(_ counter: inout Counter, to start: Int) {
    while counter.upper < instances.count, instances[counter.upper].first < start + size {
      counter.add(instances[counter.upper].phrase, covered)
      counter.upper += 1
    }
    while counter.lower < counter.upper, instances[counter.lower].first < start {
      counter.remove(instances[counter.lower].phrase, covered)
      counter.lower += 1
    }
  }

  /// The first of the best windows; nil if nothing was found in the text.
  func best() -> SnippetWindow? {
    var best: SnippetWindow?
    func offer(_ start: Int, _ score: Int) {
      if score > best?.score ?? 0 { best = SnippetWindow(start: start, score: score) }
    }
    var (places, starts) = (Counter(), Counter())
    var sentence = 0
    for instance in instances {
      move(&places, to: instance.first)
      offer(centred(from: instance.first, to: instances[places.upper - 1].last), places.score)
      guard text.tokenCount > size else { continue }
      while sentence + 1 < text.sentences.count, text.sentences[sentence + 1] <= instance.first { sentence += 1 }
      let start = text.sentences[sentence]
      guard start < instance.first else { continue }
      move(&starts, to: start)
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
