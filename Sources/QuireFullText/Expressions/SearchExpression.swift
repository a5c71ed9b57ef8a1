// What is searched for, as a tree.

/// What is searched for: words, phrases, beginnings of words, and what joins them.
///
/// Words are texts as users write them: the tokenizer of the full text cuts them when the search is run, and a word of
/// several tokens is a phrase. An expression is read from text by ``init(_:fields:)``, made of what somebody types into
/// a search field by ``init(typing:in:)``, or put together:
///
/// ```swift
/// let trains: SearchExpression = (.phrase("night train") || .prefix("express")) && !.word("live", in: "title")
/// ```
///
/// A value, free of the database: it can be kept, compared and sent to other threads.
public indirect enum SearchExpression: Hashable, Sendable {
  /// Rows with these phrases, all within a stretch of text. None if no phrase has a token.
  case near(NearGroup)
  /// Rows that all of these groups find, as words that stand one behind the other are meant. A group without a token
  /// is left out; where no group has one, nothing is found.
  case groups([NearGroup])
  /// Rows that all of these find; all rows if there is none of them. One that has no token finds nothing.
  case all([SearchExpression])
  /// Rows that at least one of these finds; none if there is none of them.
  case any([SearchExpression])
  /// Rows that the first finds and the second does not.
  case excluding(SearchExpression, SearchExpression)
  /// Rows of all, also those without a token.
  case everything

  /// How many levels an expression may have.
  public static let depthLimit = 256

  /// How many levels the expression has: 1 for words, 2 for what joins these, and so on. O(size), without recursion.
  public var depth: Int {
    var deepest = 0
    var open = [(expression: self, level: 1)]
    while let (expression, level) = open.popLast() {
      deepest = max(deepest, level)
      switch expression {
      case .all(let parts), .any(let parts): open += parts.map { ($0, level + 1) }
      case .excluding(let kept, let excluded): open += [(kept, level + 1), (excluded, level + 1)]
      case .near, .groups, .everything: break
      }
    }
    return deepest
  }

  /// Throws if the expression has more than ``depthLimit`` levels, so that what walks through it may call itself.
  func checkDepth() throws(FullTextError) {
    let depth = self.depth
    if depth > Self.depthLimit { throw .tooDeep(levels: depth) }
  }
}
