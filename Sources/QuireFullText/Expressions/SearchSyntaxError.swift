// What is wrong with the text of a search.

/// An error in the text of a search: what is wrong, where, and what helps.
public struct SearchSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text of the search.
  public let text: String
  /// The part of the text that is wrong; empty where something is missing.
  public let range: Range<String.Index>
  /// What is wrong there, as a clause without a full stop.
  public let problem: String
  /// What to write instead, as a sentence.
  public let remedy: String

  init(_ text: String, _ range: Range<String.Index>, _ problem: String, _ remedy: String) {
    assert(range.upperBound <= text.endIndex, "the place lies in the text")
    (self.text, self.range, self.problem, self.remedy) = (text, range, problem, remedy)
  }

  /// The number of the character where the error is, from 1. O(text).
  public var column: Int { text[..<range.lowerBound].count + 1 }

  /// The message for whoever wrote the search: problem, column, and remedy.
  public var description: String {
    "The search “\(excerpt)” cannot be read: \(problem), at column \(column). \(remedy)"
  }

  /// The text, or what of a long one is around the error.
  private var excerpt: String {
    let reach = 40
    let start = text.index(range.lowerBound, offsetBy: -reach, limitedBy: text.startIndex) ?? text.startIndex
    let end = text.index(range.lowerBound, offsetBy: reach, limitedBy: text.endIndex) ?? text.endIndex
    return (start > text.startIndex ? "…" : "") + text[start..<end] + (end < text.endIndex ? "…" : "")
  }
}
