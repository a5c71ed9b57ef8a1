// Pieces of texts with what was found in them.

/// A text of a row, and the places in it that a search has found.
public struct HighlightedText: Hashable, Sendable {
  /// The text as the row has it.
  public let text: String
  /// What was found, ascending; no range is empty, and none overlaps another one. Phrases that overlap are one range.
  public let hits: [Range<String.Index>]

  /// Makes a text with hits of its own, ascending and apart from each other.
  init(_ text: String, hits: [Range<String.Index>]) {
    assert(zip(hits, hits.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
    (self.text, self.hits) = (text, hits)
  }

  /// The text with marks around each hit, as FTS5's `highlight()` gives it. Nothing of the text is escaped: for HTML
  /// use ``hits``.
  public func marked(_ open: String = "<b>", _ close: String = "</b>") -> String {
    SnippetMarks.marked(text, hits, open, close)
  }
}

/// The piece of a row's text that shows best what a search has found.
public struct Snippet: Hashable, Sendable {
  /// The name of the field.
  public let field: String
  /// The piece, without anything that the row's text does not have.
  public let text: String
  /// What was found, as ranges of ``text``, ascending; no range is empty, and none overlaps another one.
  public let hits: [Range<String.Index>]
  /// Whether the row's text has tokens before the piece.
  public let beginsInMiddle: Bool
  /// Whether the row's text has tokens behind the piece.
  public let endsInMiddle: Bool

  init(field: String, _ text: String, hits: [Range<String.Index>], beginsInMiddle: Bool, endsInMiddle: Bool) {
    assert(zip(hits, hits.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
    (self.field, self.text, self.hits) = (field, text, hits)
    (self.beginsInMiddle, self.endsInMiddle) = (beginsInMiddle, endsInMiddle)
  }

  /// The piece with marks around each hit and an ellipsis where it begins or ends in the middle of the text, as FTS5's
  /// `snippet()` gives it. Nothing of the text is escaped: for HTML use ``hits``.
  public func marked(_ open: String = "<b>", _ close: String = "</b>", ellipsis: String = "…") -> String {
    (beginsInMiddle ? ellipsis : "") + SnippetMarks.marked(text, hits, open, close) + (endsInMiddle ? ellipsis : "")
  }
}

extension Sequence<Snippet> {
  /// The pieces, one behind the other, with marks around each hit, an ellipsis between them, and one before and behind
  /// them where they begin or end in the middle of the text.
  public func marked(_ open: String = "<b>", _ close: String = "</b>", ellipsis: String = "…") -> String {
    var marked = ""
    var isFirst = true
    var endsInMiddle = false
    for snippet in self {
      if isFirst ? snippet.beginsInMiddle : true { marked += ellipsis }
      marked += SnippetMarks.marked(snippet.text, snippet.hits, open, close)
      (isFirst, endsInMiddle) = (false, snippet.endsInMiddle)
    }
    return endsInMiddle ? marked + ellipsis : marked
  }
}

/// Marks around hits.
enum SnippetMarks {
  static func marked(_ text: String, _ hits: [Range<String.Index>], _ open: String, _ close: String) -> String {
    var marked = ""
    var index = text.startIndex
    for hit in hits {
      marked += text[index..<hit.lowerBound]
      marked += open
      marked += text[hit]
      marked += close
      index = hit.upperBound
    }
    return marked + text[index...]
  }

  /// The ranges of a text that bytes of it are.
  ///
  /// - Parameter ranges: ranges of the text's UTF-8 that begin and end where its scalars do.
  static func ranges(_ ranges: [Range<Int>], in text: String) -> [Range<String.Index>] {
    let bytes = text.utf8
    return ranges.map { range in
      let lower = bytes.index(bytes.startIndex, offsetBy: range.lowerBound)
      return lower..<bytes.index(lower, offsetBy: range.count)
    }
  }
}
