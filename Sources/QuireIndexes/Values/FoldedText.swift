// Text without regard to case, accents and width.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#endif
internal import Foundation
public import QuireDatabase

/// A text that is compared, found and sorted without regard to case, accents and the width of characters.
///
/// ```swift
/// Index("title", \.title.folded)
/// ```
/// ```swift
/// tx[.songs].find { $0.title.folded == "émile" }  // also Emile and ÉMILE
/// ```
public struct FoldedText: SortKey, Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
  /// The text in lower case, without accents, in plain width.
  public let text: String

  /// Folds a text. O(length).
  public init(_ text: String) {
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      self.text = text.lowercased()
    } else {
      self.text = text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }
  }

  /// Folds a text.
  public init(stringLiteral text: String) { self.init(text) }

  public func append(to bytes: inout [UInt8]) { text.append(to: &bytes) }

  public static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
  public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
  public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}

extension String {
  /// The text without regard to case, accents and width.
  public var folded: FoldedText { FoldedText(self) }
}
