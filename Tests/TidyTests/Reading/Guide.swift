// A guide taken apart: what it marks as code within a sentence, and the code that it shows.

/// One Markdown file.
struct Guide {
  /// Code within a sentence, between two backticks.
  struct Span {
    let text: String
    /// From 1.
    let line: Int
  }

  /// The path from the root of the repository.
  let path: String
  let lines: [String]
  let spans: [Span]
  /// The words of the listings between fences.
  let listedWords: Set<String>

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var spans: [Span] = []
    var words: Set<String> = []
    var paragraph: [String] = []
    var isListing = false
    for (index, line) in (lines + [""]).enumerated() {
      let isFence = line.drop { $0 == " " }.hasPrefix("```")
      if isListing && !isFence {
        words.formUnion(line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
      } else if isFence || line.isEmpty {
        spans += Self.spans(in: paragraph, endingAt: index)
        paragraph = []
      } else {
        paragraph.append(line)
      }
      if isFence { isListing.toggle() }
    }
    self.spans = spans
    listedWords = words
  }

  /// The spans of a paragraph, of which one may begin in one line and end in the next; `end` is the line behind it,
  /// counted from 0.
  private static func spans(in paragraph: [String], endingAt end: Int) -> [Span] {
    var line = end - paragraph.count + 1
    var found: [Span] = []
    for (index, part) in paragraph.joined(separator: "\n").split(separator: "`", omittingEmptySubsequences: false)
      .enumerated()
    {
      if index % 2 == 1, !part.isEmpty { found.append(Span(text: String(part), line: line)) }
      line += part.count { $0 == "\n" }
    }
    return found
  }
}
