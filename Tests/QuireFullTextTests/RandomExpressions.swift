// Texts of searches at random, in all forms of the grammar.

import QuireTesting
import QuireText

/// Makes texts of searches over some documents: words by their frequency and by themselves, phrases that occur and
/// phrases that do not, beginnings of words, words near each other, fields, and what joins them, to some depth.
struct RandomExpressions {
  var random: SeededRandom
  private let fields: [String]
  /// The words of the documents’ fields.
  private let texts: [[String]]
  private let vocabulary: [String]

  init(seed: UInt64, fields: [String], documents: [[String]], tokenizer: some Tokenizer) throws {
    random = SeededRandom(seed: seed)
    self.fields = fields
    texts = try documents.flatMap { $0 }.compactMap { text in
      let words = try tokenizer.tokens(of: text, for: .document).map { String(decoding: $0.term, as: UTF8.self) }
      return words.isEmpty ? nil : words
    }
    vocabulary = Set(texts.joined()).sorted()
  }

  /// The text of a search with at most `depth` levels of parentheses.
  mutating func next(depth: Int = 4) -> String {
    guard depth > 0, random.below(5) > 1 else { return list() }
    switch random.below(8) {
    case 0: return list()
    case 1: return "\(fieldChoice())\(sign(":"))(\(next(depth: depth - 1)))"
    case 2, 3: return joined("AND", depth)
    case 4, 5: return joined("OR", depth)
    case 6: return joined("NOT", depth)
    default: return (0..<2 + random.below(3)).map { _ in list() }.joined(separator: random.pick([" AND ", " OR "]))
    }
  }

  private mutating func joined(_ sign: String, _ depth: Int) -> String {
    (0..<2).map { _ in random.oneIn(3) ? list() : "(\(next(depth: depth - 1)))" }.joined(separator: " \(sign) ")
  }

  /// What stands side by side.
  private mutating func list() -> String {
    let count = random.oneIn(3) ? 2 + random.below(2) : 1
    return (0..<count).map { _ in group() }.joined(separator: " ")
  }

  private mutating func group() -> String {
    let fields = random.oneIn(4) ? fieldChoice() + sign(":") : ""
    if random.oneIn(6) { return fields + near() }
    if random.oneIn(10) { return fields + "^" + (random.oneIn(2) ? phrase() : quoted([random.pick(texts)[0]])) }
    return fields + phrase()
  }

  private mutating func near() -> String {
    let text = random.pick(texts)
    let start = random.below(text.count)
    var phrases = (0..<1 + random.below(3)).map { _ in
      let place = min(text.count - 1, start + random.below(12))
      return random.oneIn(3) ? phrase() : quoted(Array(text[place..<min(text.count, place + 1 + random.below(2))]))
    }
    random.shuffle(&phrases)
    let distance = random.oneIn(3) ? "" : ", \(random.oneIn(6) ? 100 : random.below(9))"
    return "NEAR(\(phrases.joined(separator: " "))\(distance))"
  }

  private mutating func phrase() -> String {
    switch random.below(20) {
    case 0: return "\"\""
    case 1: return quoted([String(random.pick(vocabulary).reversed())])
    case 2...4:
      let word = random.pick(random.oneIn(2) ? vocabulary : random.pick(texts))
      return quoted([String(word.prefix(1 + random.below(5)))]) + sign("*")
    case 5...8:
      let text = random.pick(texts)
      let start = random.below(text.count)
      let words = Array(text[start..<min(text.count, start + 2 + random.below(3))])
      return quoted(words) + (random.oneIn(5) ? "*" : "")
    case 9: return quoted([random.pick(random.pick(texts)), random.pick(random.pick(texts))])
    case 10:
      let text = random.pick(texts)
      let start = random.below(text.count)
      return text[start..<min(text.count, start + 3)].map { word in
        random.oneIn(3) ? quoted([String(word.prefix(3))]) + "*" : quoted([word])
      }.joined(separator: sign("+"))
    case 11...14: return quoted([random.pick(vocabulary)])
    default: return quoted([random.pick(random.pick(texts))])
    }
  }

  private mutating func fieldChoice() -> String {
    let minus = random.oneIn(4) ? "-" + (random.oneIn(2) ? " " : "") : ""
    guard random.oneIn(3) else {
      let name = random.pick(fields)
      return minus + (random.oneIn(5) ? name.uppercased() : name)
    }
    return minus + "{" + (0...random.below(fields.count)).map { _ in random.pick(fields) }.joined(separator: " ") + "}"
  }

  /// Words as one phrase: between quotation marks, by `+`, or bare.
  private mutating func quoted(_ words: [String]) -> String {
    let isCapital = random.oneIn(10)
    let words = isCapital ? words.map { $0.uppercased() } : words
    let areBare = !isCapital && words.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(Self.isBare) }
    if areBare, random.below(3) > 0 { return words.joined(separator: sign("+")) }
    let text = words.joined(separator: random.pick([" ", " ", "-", ", "]))
    return "\"\(text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
  }

  private static func isBare(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte) || byte >= 0x80
  }

  private mutating func sign(_ sign: String) -> String {
    random.pick([sign, sign, " \(sign)", " \(sign) "])
  }
}

extension SeededRandom {
  /// Puts elements into any order.
  mutating func shuffle<Element>(_ elements: inout [Element]) { elements.shuffle(using: &self) }
}
