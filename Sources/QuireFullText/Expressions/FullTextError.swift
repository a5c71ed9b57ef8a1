// What can be wrong with a full text and what is asked of it.

/// An error of a full text or a search. One that a declaration or a changed row leads to is the cause of a
/// `DatabaseError` with the code `extensionFailed`. What is wrong with the text of a search is a ``SearchSyntaxError``.
public enum FullTextError: Error, Equatable, CustomStringConvertible {
  /// The old texts of a row have other tokens than those that are stored for it.
  case foreignTokens(fullText: String, row: String)
  /// A full text is being built and cannot be asked yet.
  case notReady(fullText: String)
  /// No full text that is registered serves a collection.
  case notServed(collection: String)
  /// What is stored breaks the format, or differs from the rows; names the tree or value and the key, where there is
  /// one.
  case damaged(fullText: String, tree: String, key: String?, detail: String)
  /// A search names a field that is not declared.
  case unknownField(name: String, fields: [String])
  /// A search needs to know where tokens stand, and that is not kept; says what needs it, such as `"a phrase"`.
  case needsPositions(fullText: String, what: String)
  /// An expression has too many levels.
  case tooDeep(levels: Int)
  /// A phrase of a search has more tokens than `limit`.
  case phraseTooLong(limit: Int)
  /// A document has more tokens in a field than can be numbered.
  case tooManyTokens(fullText: String, field: String, row: String)
  /// A full text has no fields, or too many.
  case fieldCount(fullText: String, count: Int)
  /// Two fields of a full text have the same name, or names that differ in case alone.
  case nameUsedTwice(fullText: String, field: String)
  /// The weight of a field is negative or no number.
  case badWeight(fullText: String, field: String, weight: Double)

  public var description: String {
    switch self {
    case .foreignTokens(let fullText, let row): Self.foreignTokens(fullText, row)
    case .notReady(let fullText):
      "The full text “\(fullText)” is still being built from the rows. Search when its registration has ended."
    case .notServed(let collection):
      "No full text of “\(collection)” is registered. Declare one with FullText(…, over: .\(collection)) and register "
        + "it before the search."
    case .damaged(let fullText, let tree, let key, let detail):
      "The full text “\(fullText)” is damaged in “\(tree)”\(key.map { ", at “\($0)”" } ?? ""): \(detail). Unregister "
        + "it and register it again, which builds it from the rows."
    case .unknownField(let name, let fields): Self.unknownField(name, fields)
    case .needsPositions(let fullText, let what):
      "The full text “\(fullText)” does not keep where words stand, and \(what) needs that. Declare it with the detail "
        + ".positions, or search for single words."
    case .tooDeep(let levels):
      "The expression has \(levels) levels, and \(SearchExpression.depthLimit) are the most. Join many parts by one "
        + ".all or .any instead of one within the other."
    case .phraseTooLong(let limit):
      "A phrase has more than \(limit) tokens. Search for a part of it."
    case .tooManyTokens(let fullText, let field, let row):
      "The field “\(field)” of the row \(row) has more tokens than the full text “\(fullText)” can number. Give the "
        + "field a shorter text."
    case .fieldCount(let fullText, let count):
      "The full text “\(fullText)” has \(count) fields. Give it 1 to 64."
    case .nameUsedTwice(let fullText, let field):
      "Two fields of the full text “\(fullText)” are called “\(field)”, as far as searches can tell. Give each a name "
        + "that differs in more than the case of letters."
    case .badWeight(let fullText, let field, let weight):
      "The field “\(field)” of the full text “\(fullText)” has the weight \(weight). Give it one of 0 or more."
    }
  }

  private static func foreignTokens(_ fullText: String, _ row: String) -> String {
    "The row \(row) had other tokens when “\(fullText)” stored them than its old texts have now: a field’s closure or "
      + "the tokenizer is not what it was, or gives something else each time. Declare the full text with another "
      + "version, which builds it anew."
  }

  /// The message for a field that is not there; also that of the syntax error.
  static func unknownField(_ name: String, _ fields: [String]) -> String {
    "There is no field “\(name)”. Search in \(fields.map { "“\($0)”" }.joined(separator: ", ")), or leave the field "
      + "out."
  }
}
