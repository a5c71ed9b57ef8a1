// Finds the declarations of a file by following its braces.

/// Walks over the tokens of one file once.
struct DeclarationScanner {
  private let tokens: [Token]
  private(set) var declarations: [Declaration] = []
  /// Which declaration's body each open brace opens; nil for any other brace.
  private var openBraces: [Int?] = []
  /// The tokens that open a body, by index.
  private var bodyOpeners: [Int: Int] = [:]

  /// Scans `tokens`. O(n).
  init(_ tokens: [Token]) {
    self.tokens = tokens
    for index in tokens.indices { visit(index) }
  }

  private mutating func visit(_ index: Int) {
    switch tokens[index].text {
    case "{":
      openBraces.append(bodyOpeners[index])
    case "}":
      guard let opened = openBraces.popLast(), let declaration = opened else { return }
      declarations[declaration].lastLine = tokens[index].line
    default:
      if tokens[index].kind == .word, isDeclared(at: index) { declare(at: index) }
    }
  }

  /// Whether the word at `index` is a keyword that declares something, and not an argument label or a pattern.
  private func isDeclared(at index: Int) -> Bool {
    let word = tokens[index].text
    let next = index + 1 < tokens.count ? tokens[index + 1] : nil
    let previous = index > 0 ? tokens[index - 1].text : ""
    if previous == "." { return false }
    if Declaration.bareKeywords.contains(word) {
      return word == "deinit" || ["(", "<", "?", "!"].contains(next?.text ?? "")
    }
    guard Declaration.namedKeywords.contains(word), let next else { return false }
    if word == "extension", next.text == "[" { return true }
    if word == "func" { return next.text != ":" && next.text != "," }
    guard next.kind == .word, !Declaration.namedKeywords.contains(next.text) else { return false }
    // `class func` and `class var` name a member; `if let`, `case let`, `for var` bind a pattern.
    if word == "class", Declaration.modifierKeywords.contains(next.text) || next.text == "init" { return false }
    if word == "let" || word == "var" {
      return !["if", "guard", "case", "while", "for", ",", "(", "inout"].contains(previous)
    }
    return true
  }

  private mutating func declare(at index: Int) {
    let word = tokens[index].text
    let first = firstTokenOfDeclaration(at: index)
    let around = openBraces.compactMap { $0 }
    let types = around.filter { declarations[$0].hasMembers }
    let isLocal = openBraces.contains { opened in
      guard let opened else { return true }
      return !declarations[opened].hasMembers
    }
    let body = bodyOpener(of: word, at: index)
    declarations.append(
      Declaration(
        keyword: word, name: name(of: word, at: index), line: tokens[index].line, firstLine: tokens[first].line,
        modifiers: tokens[first..<index].filter { $0.kind == .word }.map(\.text),
        inherits: inherited(from: index, to: body), enclosing: types.last, typeDepth: types.count, isLocal: isLocal,
        hasBody: body != nil, lastLine: tokens[index].line))
    if let body { bodyOpeners[body] = declarations.count - 1 }
  }

  /// The name after the keyword; operators are put together from their signs, qualified names keep their last part.
  private func name(of word: String, at index: Int) -> String {
    if Declaration.bareKeywords.contains(word) { return word }
    var position = index + 1
    var name = tokens[position].text
    if tokens[position].kind == .sign {
      while position + 1 < tokens.count, tokens[position + 1].touchesPrevious, tokens[position + 1].text != "(",
        tokens[position + 1].kind == .sign
      {
        position += 1
        name += tokens[position].text
      }
    } else if word == "extension" {
      while position + 2 < tokens.count, tokens[position + 1].text == ".", tokens[position + 2].kind == .word {
        position += 2
        name = tokens[position].text
      }
    }
    return name
  }

  /// What may stand in parentheses behind a modifier; anything else there is a call of a function of that name.
  private static let modifierArguments: Set<String?> = [nil, "set", "safe", "unsafe"]

  /// The first attribute or modifier in front of the keyword at `index`.
  private func firstTokenOfDeclaration(at index: Int) -> Int {
    var first = index
    while first > 0 {
      var candidate = first - 1
      var argument: String?
      if tokens[candidate].text == ")" {
        guard let opening = openingParenthesis(of: candidate), opening > 0 else { break }
        argument = tokens[opening + 1].text
        candidate = opening - 1
        // `open(path)` in front of a declaration is a call: only access levels for setting take an argument.
        if tokens[candidate].text == "open" { break }
      }
      let isAttribute = candidate > 0 && tokens[candidate - 1].text == "@" && tokens[candidate].kind == .word
      if isAttribute {
        first = candidate - 1
      } else if Declaration.modifierKeywords.contains(tokens[candidate].text),
        Self.modifierArguments.contains(argument)
      {
        first = candidate
      } else {
        break
      }
    }
    return first
  }

  private func openingParenthesis(of closing: Int) -> Int? {
    var depth = 0
    for index in stride(from: closing, through: 0, by: -1) {
      if tokens[index].text == ")" { depth += 1 }
      if tokens[index].text == "(" {
        depth -= 1
        if depth == 0 { return index }
      }
    }
    return nil
  }

  /// The brace that opens the body, or nil for a declaration without one, such as a protocol's requirement.
  private func bodyOpener(of word: String, at index: Int) -> Int? {
    if word == "let" || Declaration.aliasKeywords.contains(word) { return nil }
    var depth = 0
    for position in (index + 1)..<max(index + 1, tokens.count) {
      let token = tokens[position]
      // After a comma, a colon or an ampersand the head goes on.
      let startsLine =
        token.line > tokens[position - 1].line && ![",", ":", "&"].contains(tokens[position - 1].text)
      switch token.text {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case "{" where depth == 0: return position
      case "}" where depth == 0: return nil
      case "=" where depth == 0 && word == "var" && !isPartOfOperator(position): return nil
      default:
        guard depth == 0, startsLine, position > index + 1 else { continue }
        if word == "var" || token.text == "@" || token.text == "#" || startsDeclaration(token) { return nil }
      }
    }
    return nil
  }

  /// Whether the `=` at `position` belongs to `==` or the like.
  private func isPartOfOperator(_ position: Int) -> Bool {
    let follows = position + 1 < tokens.count && tokens[position + 1].touchesPrevious
    return tokens[position].touchesPrevious && follows && tokens[position + 1].text == "="
  }

  private func startsDeclaration(_ token: Token) -> Bool {
    Declaration.namedKeywords.contains(token.text) || Declaration.bareKeywords.contains(token.text)
      || Declaration.modifierKeywords.contains(token.text) || token.text == "case"
  }

  /// The names after the colon of a type's or an extension's head.
  private func inherited(from index: Int, to body: Int?) -> [String] {
    guard let body, Declaration.typeKeywords.contains(tokens[index].text) || tokens[index].text == "extension" else {
      return []
    }
    let head = tokens[(index + 2)..<max(body, index + 2)]
    var angles = 0
    var names: [String] = []
    var seenColon = false
    for token in head {
      if token.text == "<" { angles += 1 }
      if token.text == ">" { angles -= 1 }
      if token.text == "where" { break }
      if token.text == ":", angles == 0 { seenColon = true }
      if seenColon, token.kind == .word { names.append(token.text) }
    }
    return names
  }
}
