// The text form of expressions: that of SQLite’s FTS5.

extension SearchExpression {
  /// Reads the text of a search, in the form that SQLite’s FTS5 has.
  ///
  /// | written | finds rows |
  /// |---|---|
  /// | `night` | with the word |
  /// | `"night train"`, `night + train` | with the words one behind the other |
  /// | `expr*`, `"night tr" *` | with a word, or a last word, that begins so |
  /// | `^night` | where a field begins with it |
  /// | `NEAR(night "last train", 5)` | with both, at most 5 words between them; 10 without the number |
  /// | `title : night`, `{title lyrics} : night` | with the word in this field, or in one of these |
  /// | `- title : night`, `- {title lyrics} : night` | with the word in another field |
  /// | `title : (night OR day)` | with one of both there |
  /// | `night train`, `night AND train` | with both words |
  /// | `night OR day` | with at least one of both |
  /// | `night NOT day` | with the first and without the second |
  ///
  /// What stands side by side binds most, then `NOT`, then `AND`, then `OR`; these three are written in capitals. Words
  /// without quotation marks consist of letters and digits, `_`, and characters beyond ASCII; between quotation marks
  /// anything is text, and `""` is a quotation mark.
  ///
  /// Beyond FTS5, where that has an error:
  /// - `night -day`, `night -"last train"`, `night -(day OR noon)` excludes what follows the minus from what stands
  ///   beside it, or from all rows. `-title : day` is FTS5’s: day in another field.
  /// - `*` where a word should stand means all rows: `* NOT day`.
  /// - `{} : night` searches in no field.
  ///
  /// - Parameters:
  ///   - text: the text of the search. A NUL outside of quotation marks is an error; FTS5 ends there.
  ///   - fields: the names of all fields, which names in the text have to be among; nil if that is to be seen later.
  /// - Throws: an error that names the place. Texts with more than ``depthLimit`` levels of parentheses or `NOT`, or
  ///   with more than 65,536 words, are refused.
  public init(_ text: String, fields: [String]? = nil) throws(SearchSyntaxError) {
    if SyntaxScanner.isWord(text) {
      self = .near(NearGroup([Phrase([text])]))
    } else {
      var parser = try SyntaxParser(text, fields: fields)
      self = try parser.parse()
    }
  }
}

extension SearchExpression: CustomStringConvertible {
  /// The expression in the form that ``init(_:fields:)`` reads, and finds the same by.
  ///
  /// What is read from it equals this expression, unless that has something that no text says: lists of less than two
  /// parts, groups without a phrase, phrases without a text, a distance of a single phrase. O(size), without recursion.
  public var description: String { SyntaxWriter.text(of: self) }
}

/// Writes expressions as text.
private struct SyntaxWriter {
  /// How much binds what stands there.
  private enum Level: Int { case any, all, excluding, operand }

  private enum Piece {
    case text(String)
    case expression(SearchExpression, Level)
  }

  private static let nothing = SearchExpression.excluding(.everything, .everything)

  static func text(of expression: SearchExpression) -> String {
    var text = ""
    // Written from the last one.
    var open = [Piece.expression(expression, .any)]
    while let piece = open.popLast() {
      switch piece {
      case .text(let part): text += part
      case .expression(let part, let level): open += pieces(of: part, at: level).reversed()
      }
    }
    return text
  }

  /// What an expression consists of, in parentheses where it binds less than `level`.
  private static func pieces(of expression: SearchExpression, at level: Level) -> [Piece] {
    switch expression {
    case .everything: return [.text("*")]
    case .near(let group): return [.text(text(group))]
    case .groups(let groups):
      if groups.isEmpty { return [.expression(nothing, level)] }
      return [.text(groups.map(text).joined(separator: " "))]
    case .excluding(let kept, let excluded):
      return enclosed(
        [.expression(kept, .excluding), .text(" NOT "), .expression(excluded, .operand)], .excluding, in: level)
    case .all(let parts):
      if parts.count < 2 { return [.expression(parts.first ?? .everything, level)] }
      return enclosed(joined(parts, " AND ", .excluding), .all, in: level)
    case .any(let parts):
      if parts.count < 2 { return [.expression(parts.first ?? nothing, level)] }
      return enclosed(joined(parts, " OR ", .all), .any, in: level)
    }
  }

  private static func joined(_ parts: [SearchExpression], _ sign: String, _ level: Level) -> [Piece] {
    var pieces: [Piece] = []
    for part in parts {
      if !pieces.isEmpty { pieces.append(.text(sign)) }
      pieces.append(.expression(part, level))
    }
    return pieces
  }

  private static func enclosed(_ pieces: [Piece], _ own: Level, in level: Level) -> [Piece] {
    own.rawValue >= level.rawValue ? pieces : [.text("(")] + pieces + [.text(")")]
  }

  // MARK: Groups

  private static func text(_ group: NearGroup) -> String {
    let fields = group.fields.map(text) ?? ""
    guard group.phrases.count > 1 else {
      guard let phrase = group.phrases.first else { return fields + "\"\"" }
      return fields + (phrase.isAtStart ? "^" : "") + text(phrase)
    }
    let distance = group.distance == NearGroup.defaultDistance ? "" : ", \(max(0, group.distance))"
    return "\(fields)NEAR(\(group.phrases.map(text).joined(separator: " "))\(distance))"
  }

  private static func text(_ phrase: Phrase) -> String {
    if phrase.texts.isEmpty { return "\"\"" }
    return phrase.texts.enumerated().map { number, text in
      quoted(text) + (phrase.prefixes.contains(number) ? "*" : "")
    }.joined(separator: " + ")
  }

  private static func text(_ choice: FieldChoice) -> String {
    let names = choice.names.sorted().map(quoted)
    let list = names.count == 1 ? names[0] : "{\(names.joined(separator: " "))}"
    return (choice.isComplement ? "- " : "") + list + " : "
  }

  /// A text as a word, or between quotation marks where it is none.
  private static func quoted(_ text: String) -> String {
    if SyntaxScanner.isWord(text), text != "NEAR" { return text }
    return "\"\(text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
  }
}
