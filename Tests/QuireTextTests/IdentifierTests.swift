// Names in programs.

import QuireText
import Testing

@Suite("Identifiers") struct IdentifierTests {
  private let identifiers: TextTokenizer = .identifiers

  @Test("A document has the parts, and the whole at the position of the first")
  func documents() {
    #expect(identifiers.terms("parseHTTPRequest2") == ["parsehttprequest2", "+parse", "http", "request", "2"])
    #expect(identifiers.terms("snake_case.name") == ["snakecasename", "+snake", "case", "name"])
    #expect(identifiers.terms("plain PLAIN Plain 42") == ["plain", "plain", "plain", "42"])
    #expect(identifiers.terms("__init__, a--b. .x") == ["init", "ab", "+a", "b", "x"])
  }

  @Test("A query asks for the parts")
  func queries() {
    #expect(identifiers.terms("parseHTTPRequest2", .query) == ["parse", "http", "request", "2"])
    #expect(identifiers.terms("utf8", .query) == ["utf", "8"])
    #expect(identifiers.terms("parsehttp", .query) == ["parsehttp"])
  }

  @Test("Parts end at capitals, the last one of several if a small letter follows")
  func capitals() {
    #expect(identifiers.terms("HTTPServer", .query) == ["http", "server"])
    #expect(identifiers.terms("NSURLs ABC aB AÉé", .query) == ["nsur", "ls", "abc", "a", "b", "a", "ee"])
    #expect(identifiers.terms("größeÄndern Имя変数", .query) == ["grosse", "andern", "имя", "変数"])
  }

  @Test("Parts stand where they stand, the whole over all of them")
  func places() {
    let tokens = identifiers.tokens(Array("(aB_c)".utf8))
    #expect(tokens.map(\.text) == ["abc", "a", "b", "c"])
    #expect(tokens.map(\.place.range) == [1..<5, 1..<2, 2..<3, 4..<5])
    #expect(tokens.map(\.place.step) == [1, 0, 1, 1])
  }

  @Test("Capitals and accents are kept where that is wanted")
  func options() {
    #expect(identifiers.keepingCase().terms("aÉc", .query) == ["a", "Ec"])
    #expect(identifiers.keepingAccents().terms("aÉc", .query) == ["a", "éc"])
  }
}
