// What the sources of the modules declare as public, so that a guide can be held against it.

import Foundation

/// A public member of a type, or of none.
struct PublicSymbol: Equatable {
  /// The name without labels; `init` and `subscript` are names, too.
  let name: String
  /// The labels of a call, `_` for none; nil for what is not called.
  let labels: [String]?
  /// The type of a property, as far as it is a plain name.
  let type: String?
  /// Which of the labels may be left out, as their parameters have a default.
  var isOptional: [Bool] = []

  /// Whether it can be called by this name and these labels.
  func isCalled(_ selector: String) -> Bool {
    // Most are of another name, which is soon found out.
    guard let labels, selector.hasPrefix(name), selector.hasPrefix(name + "("), selector.hasSuffix(")") else {
      return false
    }
    var given = selector.dropFirst(name.count + 1).dropLast().split(separator: ":", omittingEmptySubsequences: false)
    guard given.popLast()?.isEmpty == true else { return false }
    var rest = given[...]
    for (label, isOptional) in zip(labels, isOptional) {
      if rest.first.map(String.init) == label { rest.removeFirst() } else if !isOptional { return false }
    }
    return rest.isEmpty
  }

  /// The name with its labels, such as `advance(_:)`.
  var selector: String { labels.map { "\(name)(\($0.map { "\($0):" }.joined()))" } ?? name }
}

/// The public symbols of some files.
///
/// Reads declarations by brackets and keywords, without types: enough to find out whether a name is there.
struct PublicSymbols {
  /// Members by the full name of the type around them; those of no type under the empty name.
  private(set) var members: [String: [PublicSymbol]] = [:]
  /// Public types by their full names, such as `Database.Options`.
  private(set) var types: Set<String> = []
  /// What types inherit and conform to, by their full names; for an alias, what it stands for.
  private var parents: [String: [String]] = [:]
  private var scopes: [Scope] = []
  /// The bytes of what may be a declaration, up to here.
  private var head: [UInt8] = []
  private var depth = 0

  /// What a pair of braces holds.
  private enum Scope {
    /// Declarations.
    case type(name: String, isPublic: Bool)
    /// Code.
    case body
  }

  /// Reads all sources below some folders.
  init(below folders: [URL]) throws {
    for folder in folders {
      let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
      for name in names { read(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)) }
    }
  }

  init(_ text: String) { read(text) }

  /// Everything that is a member of some type, or of none.
  var all: [PublicSymbol] { members.values.flatMap { $0 } }

  /// The members of a type, with those that it inherits.
  func members(of type: String) -> [PublicSymbol] {
    var (found, open, seen) = ([PublicSymbol](), [type], Set<String>())
    while let next = open.popLast() {
      guard seen.insert(next).inserted else { continue }
      found += members[next] ?? []
      open += parents[next] ?? []
    }
    return found
  }

  // MARK: Reading

  private static let lineFeed = UInt8(ascii: "\n")

  /// How many brackets each byte opens; -1 for one that closes.
  private static let openedCounts: [Int] = {
    var counts = Array(repeating: 0, count: 256)
    for byte in "([{".utf8 { counts[Int(byte)] = 1 }
    for byte in ")]}".utf8 { counts[Int(byte)] = -1 }
    return counts
  }()

  private mutating func read(_ text: String) {
    (scopes, head, depth) = ([], [], 0)
    let (leftBrace, rightBrace) = (UInt8(ascii: "{"), UInt8(ascii: "}"))
    let (lineFeed, semicolon, space) = (Self.lineFeed, UInt8(ascii: ";"), UInt8(ascii: " "))
    let openedCounts = Self.openedCounts
    // Code declares nothing that is looked for.
    var isInCode = false
    for byte in Self.code(text) {
      switch byte {
      case leftBrace where depth == 0:
        open()
        isInCode = isInBody
      case rightBrace where depth == 0:
        declare()
        _ = scopes.popLast()
        isInCode = isInBody
      case lineFeed where depth == 0: endLine()
      case semicolon where depth == 0: declare()
      default:
        depth += openedCounts[Int(byte)]
        if !isInCode { head.append(byte == lineFeed ? space : byte) }
      }
    }
  }

  /// The text without comments and without what stands in quotes.
  private static func code(_ text: String) -> [UInt8] {
    let (quote, backslash, slash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"))
    let lineFeed = Self.lineFeed
    let bytes = Array(text.utf8)
    var code: [UInt8] = []
    code.reserveCapacity(bytes.count + 1)
    // How many quotation marks end what is quoted; none outside of quotes.
    var (place, quoteCount) = (0, 0)
    func isThere(_ byte: UInt8, _ distance: Int) -> Bool {
      place + distance < bytes.count && bytes[place + distance] == byte
    }
    while place < bytes.count {
      let byte = bytes[place]
      if byte == lineFeed {
        if quoteCount == 1 { quoteCount = 0 }
        code.append(byte)
        place += 1
      } else if quoteCount > 0 {
        // What is interpolated is of no matter: no declaration stands there.
        if byte == backslash {
          place += isThere(lineFeed, 1) ? 1 : 2
        } else if byte == quote, quoteCount == 1 || isThere(quote, 1) && isThere(quote, 2) {
          place += quoteCount
          quoteCount = 0
        } else {
          place += 1
        }
      } else if byte == slash, isThere(slash, 1) {
        while place < bytes.count, bytes[place] != lineFeed { place += 1 }
      } else if byte == quote {
        quoteCount = isThere(quote, 1) && isThere(quote, 2) ? 3 : 1
        place += quoteCount
      } else {
        code.append(byte)
        place += 1
      }
    }
    return code + [lineFeed]
  }

  private static let typeWords: Set<String> = ["struct", "class", "enum", "protocol", "extension", "actor"]
  private static let memberWords: Set<String> = ["func", "var", "let", "init", "subscript", "case", "typealias"]

  /// The word that says what is declared, those in front of it, and what follows.
  private func declaration() -> (word: String, before: [String], rest: String)? {
    var before: [String] = []
    var rest = String(decoding: head, as: UTF8.self)[...]
    while true {
      rest = rest.drop { $0 == " " }
      guard !rest.isEmpty else { return nil }
      let word = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
      if Self.typeWords.contains(word) || Self.memberWords.contains(word) {
        return (word, before, String(rest.dropFirst(word.count)).trimmingCharacters(in: .whitespaces))
      }
      let whole = rest.prefix { $0 != " " }
      before.append(String(whole))
      rest = rest.dropFirst(whole.count)
    }
  }

  private mutating func endLine() {
    // The head of a type may go on in the next line.
    if !isInBody, let (word, _, _) = declaration(), Self.typeWords.contains(word) {
      head.append(UInt8(ascii: " "))
    } else {
      declare()
    }
  }

  private var isInBody: Bool { if case .body = scopes.last { true } else { false } }

  private mutating func open() {
    defer { head = [] }
    guard !isInBody, let (word, before, rest) = declaration(), Self.typeWords.contains(word) else {
      declare()
      scopes.append(.body)
      return
    }
    let (name, inherited) = Self.typeHead(rest, isExtension: word == "extension")
    let full = fullName(name)
    let isPublic = before.contains("public") || before.contains("open")
    if isPublic, word != "extension" { types.insert(full) }
    parents[full, default: []] += inherited
    scopes.append(.type(name: full, isPublic: isPublic && ["enum", "protocol", "extension"].contains(word)))
  }

  private func fullName(_ name: String) -> String {
    if case .type(let around, _) = scopes.last { "\(around).\(name)" } else { name }
  }

  /// Takes apart what follows the word of a type.
  private static func typeHead(_ text: String, isExtension: Bool) -> (name: String, inherited: [String]) {
    let parts = text.components(separatedBy: " where ")
    // `extension Sequence where Element == Commit` is what the guides call `[Commit]`.
    if isExtension, parts.count == 2, parts[1].hasPrefix("Element == ") {
      return ("[\(parts[1].dropFirst(11).trimmingCharacters(in: .whitespaces))]", [])
    }
    let name = String(parts[0].prefix { $0.isLetter || $0.isNumber || "_.".contains($0) })
    guard let colon = split(parts[0].dropFirst(name.count), at: ":").dropFirst().first else { return (name, []) }
    let inherited = split(colon, at: ",").map { part in
      String(part.trimmingCharacters(in: .whitespaces).prefix { $0.isLetter || $0.isNumber || "_.".contains($0) })
    }
    return (name, inherited)
  }

  /// Notes the member that `head` declares, if it is public.
  private mutating func declare() {
    defer { head = [] }
    guard !isInBody, let (word, before, rest) = declaration(), Self.memberWords.contains(word) else { return }
    var (owner, isPublic) = ("", before.contains("public") || before.contains("open"))
    if case .type(let name, let isOpen) = scopes.last {
      owner = name
      isPublic = isPublic || isOpen && !before.contains { ["private", "fileprivate", "internal"].contains($0) }
    }
    guard isPublic else { return }
    switch word {
    case "func": add(rest, nil, to: owner)
    case "init", "subscript": add(rest, word, to: owner)
    case "case":
      for one in Self.split(rest[...], at: ",") { add(one.trimmingCharacters(in: .whitespaces), nil, to: owner) }
    case "typealias":
      let sides = rest.components(separatedBy: "=")
      let name = fullName(Self.name(sides[0]))
      types.insert(name)
      parents[name] = [Self.name(sides.last ?? "")]
    default:
      let sides = Self.split(Self.split(rest[...], at: "=")[0], at: ":")
      let type = sides.count > 1 ? Self.name(String(sides[1])) : nil
      members[owner, default: []].append(PublicSymbol(name: Self.name(String(sides[0])), labels: nil, type: type))
    }
  }

  private static func name(_ text: String) -> String {
    let bare = text.trimmingCharacters(in: .whitespaces).drop { $0 == "`" }
    return String(bare.prefix { $0.isLetter || $0.isNumber || "_.".contains($0) })
  }

  /// Notes a call with its labels.
  private mutating func add(_ text: String, _ fixedName: String?, to owner: String) {
    let name = fixedName ?? Self.name(text)
    let parts = Self.split(text[...], at: "(")
    guard parts.count > 1 else {
      members[owner, default: []].append(PublicSymbol(name: name, labels: nil, type: nil))
      return
    }
    let inside = Self.inside(text[parts[1].startIndex...])
    let parameters = Self.split(inside, at: ",").filter { !$0.allSatisfy(\.isWhitespace) }
    let words = parameters.map { String($0.split(separator: " ").first?.prefix { $0 != ":" } ?? "") }
    // Without names: the values of a case.
    let labels = zip(words, parameters).map { $1.contains(":") ? $0 : "_" }
    let isOptional = parameters.map { Self.split($0, at: "=").count > 1 }
    // The place in the code is never written in a call.
    let written = zip(labels, isOptional).filter { $0.0 != "fileID" && $0.0 != "line" }
    members[owner, default: []].append(
      PublicSymbol(name: name, labels: written.map(\.0), type: nil, isOptional: written.map(\.1)))
  }

  /// What stands in front of the bracket that closes.
  private static func inside(_ text: Substring) -> Substring {
    var depth = 0
    for index in text.indices {
      if "([{".contains(text[index]) { depth += 1 }
      if ")]}".contains(text[index]) {
        if depth == 0 { return text[..<index] }
        depth -= 1
      }
    }
    return text
  }

  /// Takes a text apart where a character stands outside of all brackets.
  private static func split(_ text: Substring, at separator: Character) -> [Substring] {
    var (parts, depth, start) = ([Substring](), 0, text.startIndex)
    var previous: Character = " "
    for index in text.indices {
      let character = text[index]
      defer { previous = character }
      if character == separator, depth == 0 {
        parts.append(text[start..<index])
        start = text.index(after: index)
        if separator == "(" { break }
        continue
      }
      if "([{<".contains(character) { depth += 1 }
      if ")]}".contains(character) || character == ">" && previous != "-" { depth -= 1 }
    }
    return parts + [text[start...]]
  }
}
