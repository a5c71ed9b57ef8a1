// Expressions as Swift values, their text form, and what is typed into search fields.

@testable import QuireFullText
import QuireTesting
import Testing

@Suite("Expressions as values")
struct ExpressionTests {
  @Test(
    "Values say the same as texts",
    arguments: [
      (SearchExpression.word("night"), "night"), (.word("night", in: "title"), "title : night"),
      (.words("night train"), "night train"), (.phrase("night train"), "\"night train\""),
      (.phrase("night", isAtStart: true, in: ["a", "b"]), "{a b} : ^night"),
      (.prefix("expr", in: .except("title")), "- title : expr*"),
      (.near("a", "b c", within: 3, in: "title"), "title : NEAR(a \"b c\", 3)"),
      (.word("a") && .word("b") && .word("c"), "a AND b AND c"),
      (.word("a") || .word("b") || .word("c"), "a OR b OR c"),
      (.word("a") && !.word("b"), "a NOT b"), (!.word("b") && .word("a"), "a NOT b"),
      (!.word("b"), "* NOT b"), (!(!.word("b")), "b"), (.not("b c"), "* NOT \"b c\""),
      (.word("a") && (.word("b") || .word("c")), "a AND (b OR c)"),
      (!(.word("a") || .word("b")), "* NOT (a OR b)"),
      (.all(.word("a"), .prefix("b"), .not("c"), in: "title"), "(title : a AND title : b*) NOT title : c"),
      (.any(.word("a"), .word("b", in: ["t", "u"]), in: "T"), "T : a OR T : b"),
      (.all(.not("a"), .not("b")), "* NOT a NOT b"), (.words("AND NEAR a\"b"), "\"AND\" \"NEAR\" \"a\"\"b\""),
      (.word("a", in: []), "{} : a"), (.word("a", in: .except()), "- {} : a"),
      (.near(NearGroup([Phrase(["a", "b", ""], prefixes: [0])])), "a* + b + \"\""),
    ])
  func saysTheSame(expression: SearchExpression, text: String) throws {
    #expect(expression.description == text)
  }

  @Test(
    "What no text says is written as what finds the same",
    arguments: [
      (SearchExpression.all([]), "*"), (.any([]), "* NOT *"), (.groups([]), "* NOT *"), (.all([.word("a")]), "a"),
      (.near(NearGroup([])), "\"\""),
      (.all([.any([]), .word("a")]), "* NOT * AND a"), (.near(NearGroup([Phrase(["a"])], distance: 3)), "a"),
    ])
  func findsTheSame(expression: SearchExpression, text: String) throws {
    #expect(expression.description == text)
    #expect(throws: Never.self) { try SearchExpression(text) }
  }

  @Test(
    "An expression that a text says is read from its description", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [UInt64](1...8))
  func descriptionIsRead(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<TestSize.trials(10_000, divisor: 20) {
      let expression = random.searchExpression(depth: 5)
      #expect(try SearchExpression(expression.description) == expression, "\(expression)")
    }
  }

  @Test("Fields are limited to those that both choices have")
  func choicesIntersect() throws {
    let fields = ["Title", "text", "note"]
    let choices: [FieldChoice] = [
      "title", ["text", "Title"], [], .except("note"), .except("Text", "note"), .except(), .except("title"),
    ]
    for (left, right) in choices.flatMap({ left in choices.map { (left, $0) } }) {
      let both = try left.mask(in: fields) & right.mask(in: fields)
      #expect(try left.intersection(right).mask(in: fields) == both, "\(left) \(right)")
    }
    #expect(try FieldChoice.except().mask(in: fields) == 7)
    #expect(try FieldChoice.except("x0").mask(in: (0..<64).map { "x\($0)" }) == ~1)
    #expect(throws: FullTextError.unknownField(name: "body", fields: fields)) {
      try FieldChoice(["text", "body"]).mask(in: fields)
    }
  }

  @Test("A name with its own case wins over others")
  func exactNameWins() throws {
    #expect(try FieldChoice("a").mask(in: ["A", "a"]) == 2)
    #expect(try FieldChoice("A").mask(in: ["a", "A"]) == 2)
    #expect(try FieldChoice("É").mask(in: ["É"]) == 1)
    #expect(throws: FullTextError.self) { try FieldChoice("é").mask(in: ["É"]) }
  }

  @Test("Too many levels are an error with a remedy, without a recursion")
  func depthIsChecked() throws {
    var deep = SearchExpression.word("a")
    for _ in 0..<300 { deep = .excluding(.word("b"), deep) }
    #expect(deep.depth == 301)
    let error = #expect(throws: FullTextError.tooDeep(levels: 301)) { try deep.checkDepth() }
    #expect(error?.description.contains("256 are the most") == true)
    #expect(throws: SearchSyntaxError.self) { try SearchExpression(deep.description) }
    try SearchExpression.all([.word("a"), .word("b")]).checkDepth()
  }

  @Test("A prefix is set and taken from the last text")
  func prefixIsOfLastText() {
    var phrase = Phrase(["a", "b"])
    phrase.isPrefix = true
    #expect(phrase.prefixes == [1])
    phrase.isPrefix = false
    #expect(phrase == Phrase(["a", "b"]))
    var empty = Phrase([], isPrefix: true)
    empty.isPrefix = true
    #expect(!empty.isPrefix && empty.prefixes.isEmpty)
  }
}

@Suite("What is typed into search fields")
struct TypingTests {
  @Test(
    "Whatever is typed has a meaning",
    arguments: [
      ("nigh", "nigh*"), ("nigh tra", "nigh tra*"), ("nigh ", "nigh"), ("  night \n train\u{a0}", "night train"),
      ("", "*"), ("   ", "*"), ("\"", "*"), ("\" \"", "*"), ("\"night tr", "\"night tr\"*"),
      ("\"night train\"", "\"night train\""), ("\"night train\" li", "\"night train\" li*"),
      ("\"night ", "\"night \""), ("“night train” „a b”", "\"night train\" \"a b\""), ("ab\"cd\"ef", "ab cd ef*"),
      ("a AND b", "a \"AND\" b*"), ("-a* (b", "\"-a*\" \"(b\"*"), ("title:a", "\"title:a\"*"), ("it's", "\"it's\"*"),
      ("日本", "日本*"), ("a\u{0}b", "\"a\u{0}b\"*"),
    ])
  func hasMeaning(typed: String, text: String) throws {
    #expect(SearchExpression(typing: typed).description == text)
  }

  @Test("Fields limit what is typed")
  func fieldsLimit() {
    #expect(SearchExpression(typing: "a b", in: "title").description == "title : a title : b*")
  }

  @Test("The first 256 words count")
  func wordsAreLimited() throws {
    let typed = SearchExpression(typing: String(repeating: "word ", count: 100_000))
    #expect(typed.description == SearchExpression.words(String(repeating: "word ", count: 256)).description)
  }

  @Test("The first 4,096 characters count, and a word that is cut there may go on")
  func lengthIsLimited() {
    let word = String(repeating: "w", count: 4_094)
    #expect(SearchExpression(typing: "a " + word + "www").description == "a \(word)*")
    #expect(SearchExpression(typing: "a " + word).description == "a \(word)*")
    #expect(SearchExpression(typing: "a \"" + word + " b c").description == "a \(word.dropLast())*")
  }
}

extension SeededRandom {
  /// An expression that a text says.
  mutating func searchExpression(depth: Int) -> SearchExpression {
    guard depth > 1, below(4) > 0 else { return searchOperand() }
    switch below(4) {
    case 0: return .excluding(searchExpression(depth: depth - 1), searchExpression(depth: depth - 1))
    case 1: return .any((0..<2 + below(3)).map { _ in searchExpression(depth: depth - 1) })
    case 2: return .all((0..<2 + below(3)).map { _ in searchExpression(depth: depth - 1) })
    default: return searchOperand()
    }
  }

  private mutating func searchOperand() -> SearchExpression {
    switch below(8) {
    case 0: .everything
    case 1, 2: .groups((0..<2 + below(3)).map { _ in nearGroup() })
    default: .near(nearGroup())
    }
  }

  private mutating func nearGroup() -> NearGroup {
    let fields: FieldChoice? = oneIn(3) ? FieldChoice(Set((0..<below(3)).map { _ in searchText() })) : nil
    let choice = oneIn(2) ? fields : fields.map { FieldChoice($0.names, isComplement: true) }
    guard oneIn(4) else { return NearGroup([searchPhrase(isAtStart: oneIn(4))], fields: choice) }
    return NearGroup(
      (0..<2 + below(3)).map { _ in searchPhrase(isAtStart: false) }, distance: below(12), fields: choice)
  }

  private mutating func searchPhrase(isAtStart: Bool) -> Phrase {
    let texts = (0...(oneIn(3) ? below(3) : 0)).map { _ in searchText() }
    return Phrase(texts, prefixes: Set(texts.indices.filter { _ in oneIn(4) }), isAtStart: isAtStart)
  }

  private mutating func searchText() -> String {
    pick([
      "a", "night", "", "AND", "OR", "NOT", "NEAR", "a b", "\"", "a\"b\"", "é", "x-y", "*", "5", "^a", "日本", "a\u{0}",
    ])
  }
}
