// What a file declares, as far as the rules ask: types, functions, properties, and where each begins and ends.

/// One declaration of a file.
struct Declaration {
  /// The keyword: `struct`, `func`, `init`, `var` and so on.
  let keyword: String
  /// The name; for `init`, `deinit` and `subscript` the keyword itself, for an extension the extended type.
  let name: String
  /// The line of the keyword, from 1.
  let line: Int
  /// The line of the first attribute or modifier, from 1.
  let firstLine: Int
  /// The modifiers and attributes in front, without their arguments.
  let modifiers: [String]
  /// For types and extensions: what stands after the colon.
  let inherits: [String]
  /// The index of the type or extension around it, if any.
  let enclosing: Int?
  /// How many types and extensions stand around it.
  let typeDepth: Int
  /// Whether it stands in the body of a function or closure, where nobody else sees it.
  let isLocal: Bool
  /// Whether braces follow: a body, accessors or observers.
  let hasBody: Bool
  /// The line of the brace that closes its body; `line` as long as it has none.
  var lastLine: Int

  /// Whether it makes a type of this name known, which an extension does not.
  var namesType: Bool { Self.typeKeywords.contains(keyword) || Self.aliasKeywords.contains(keyword) }
  /// Whether other declarations can be its members.
  var hasMembers: Bool { Self.typeKeywords.contains(keyword) || keyword == "extension" }
  /// Whether it has a body of statements.
  var isCallable: Bool { !hasMembers && !Self.aliasKeywords.contains(keyword) && keyword != "let" }

  /// Whether it is a property that is kept rather than computed.
  var isStored: Bool { keyword == "let" || (keyword == "var" && !hasBody) }

  static let typeKeywords: Set<String> = ["struct", "class", "enum", "actor", "protocol"]
  static let aliasKeywords: Set<String> = ["typealias", "associatedtype"]
  static let namedKeywords = typeKeywords.union(aliasKeywords).union(["extension", "func", "var", "let", "macro"])
  static let bareKeywords: Set<String> = ["init", "deinit", "subscript"]
  static let modifierKeywords: Set<String> = [
    "public", "package", "internal", "fileprivate", "private", "open", "static", "class", "final", "override", "lazy",
    "weak", "unowned", "mutating", "nonmutating", "borrowing", "consuming", "indirect", "required", "convenience",
    "dynamic", "optional", "nonisolated", "isolated", "distributed", "prefix", "postfix", "infix", "unsafe",
  ]
}
