// Places of phrases, put together where they overlap.

/// Places that share tokens, as one.
struct SnippetHit {
  /// The first and the last token.
  let first: Int
  var last: Int
  /// The bytes of the text.
  var range: Range<Int>

  /// Puts places that share tokens together.
  ///
  /// - Parameters:
  ///   - places: of one text, in the order of their first tokens.
  ///   - tokens: hits that begin there alone are given.
  static func hits(of places: [SnippetPlace], in tokens: Range<Int>) -> [SnippetHit] {
    var hits: [SnippetHit] = []
    /// The last one, if it begins before the tokens.
    var before: SnippetHit?
    for place in places {
      let (first, last) = (Int(place.first), Int(place.last))
      assert(first <= last)
      let range = Int(place.lower)..<Int(place.upper)
      if let hit = hits.last, first <= hit.last {
        hits[hits.count - 1].last = max(hit.last, last)
        hits[hits.count - 1].range = union(hit.range, range)
      } else if hits.isEmpty, let hit = before, first <= hit.last {
        before?.last = max(hit.last, last)
      } else if first >= tokens.upperBound {
        break
      } else if first < tokens.lowerBound {
        before = SnippetHit(first: first, last: last, range: range)
      } else {
        hits.append(SnippetHit(first: first, last: last, range: range))
      }
    }
    return hits
  }

  /// The bytes of hits, as ranges that ascend and do not overlap: tokens that overlap are one range.
  ///
  /// - Parameter bounds: bytes that are shown; others are left out.
  static func ranges(of hits: some Sequence<SnippetHit>, within bounds: Range<Int>) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    for range in hits.map({ $0.range.clamped(to: bounds) }).sorted(by: { $0.lowerBound < $1.lowerBound })
    where !range.isEmpty {
      if let last = ranges.last, range.lowerBound < last.upperBound {
        ranges[ranges.count - 1] = union(last, range)
      } else {
        ranges.append(range)
      }
    }
    return ranges
  }

  private static func union(_ left: Range<Int>, _ right: Range<Int>) -> Range<Int> {
    min(left.lowerBound, right.lowerBound)..<max(left.upperBound, right.upperBound)
  }
}
