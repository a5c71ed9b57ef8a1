// Hits as attributes of Foundation's texts.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#elseif canImport(Foundation)
  public import Foundation
#endif

#if canImport(FoundationEssentials) || canImport(Foundation)
  extension HighlightedText {
    /// The text with attributes at each hit.
    public func attributed(_ attributes: AttributeContainer) -> AttributedString {
      SnippetMarks.attributed(text, hits, attributes)
    }
  }

  extension Snippet {
    /// The piece with attributes at each hit, and an ellipsis where it begins or ends in the middle of the text.
    public func attributed(_ attributes: AttributeContainer, ellipsis: String = "…") -> AttributedString {
      var attributed = AttributedString(beginsInMiddle ? ellipsis : "")
      attributed += SnippetMarks.attributed(text, hits, attributes)
      if endsInMiddle { attributed += AttributedString(ellipsis) }
      return attributed
    }
  }

  extension SnippetMarks {
    fileprivate static func attributed(
      _ text: String, _ hits: [Range<String.Index>], _ attributes: AttributeContainer
    ) -> AttributedString {
      var attributed = AttributedString()
      var index = text.startIndex
      for hit in hits {
        attributed += AttributedString(text[index..<hit.lowerBound])
        attributed += AttributedString(text[hit], attributes: attributes)
        index = hit.upperBound
      }
      return attributed + AttributedString(text[index...])
    }
  }
#endif
