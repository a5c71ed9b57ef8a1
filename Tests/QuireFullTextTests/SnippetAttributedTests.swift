// Snippets and highlights as attributed texts.

import Foundation
import QuireText
import Testing

@testable import QuireFullText

@Suite struct SnippetAttributedTests {
  private func maker() throws -> SnippetMaker {
    let resolver = try SnippetSamples.resolver(["text"], .unicode61())
    let expression = try resolver.resolve(try SearchExpression("zug"))
    return SnippetMaker(expression, fieldNames: ["text"], tokenizer: .unicode61())
  }

  private var attributes: AttributeContainer {
    var attributes = AttributeContainer()
    attributes.link = URL(string: "hit:")
    return attributes
  }

  /// The pieces of a text, those with attributes in brackets.
  private func runs(_ text: AttributedString) -> [String] {
    text.runs.map { run in
      let piece = String(text[run.range].characters)
      return run.link == nil ? piece : "[\(piece)]"
    }
  }

  @Test("A highlighted text has attributes at its hits")
  func highlights() throws {
    let found = try maker().highlights(ofField: 0) { _ in ["Zug, ein Zug"] }
    #expect(runs(found[0].attributed(attributes)) == ["[Zug]", ", ein ", "[Zug]"])
  }

  @Test("A snippet has attributes at its hits and ellipses without them")
  func snippets() throws {
    let snippet = try maker().snippet(ofFields: [0], tokens: 3) { _ in ["a b c Zug d e f"] }
    #expect(runs(snippet.attributed(attributes, ellipsis: "~")) == ["~c ", "[Zug]", " d~"])
  }
}
