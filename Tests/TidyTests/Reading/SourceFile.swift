// A source file, read and taken apart once, so that every rule looks at the same picture of it.

/// One source file.
struct SourceFile: Sendable {
  /// The path from the root of the repository, with `/` between the parts.
  let path: String
  /// The text line by line, without the line ends.
  let lines: [String]
  let tokens: [Token]
  let comments: [Comment]
  let declarations: [Declaration]
  /// What follows each `case`.
  let caseNames: [String]

  /// Takes `text` apart. O(n).
  init(path: String, text: String) {
    self.path = path
    // Split by bytes: a carriage return and a line feed make one character, which is not a line feed.
    let (bytes, lineFeed) = (Array(text.utf8), UInt8(ascii: "\n"))
    var (lines, start, end) = ([String](), 0, 0)
    while end <= bytes.count {
      if end == bytes.count || bytes[end] == lineFeed {
        lines.append(String(decoding: bytes[start..<end], as: UTF8.self))
        start = end + 1
      }
      end += 1
    }
    self.lines = lines
    if path.hasSuffix(".swift") {
      let lexer = Lexer(text)
      tokens = lexer.tokens
      comments = lexer.comments
      declarations = DeclarationScanner(lexer.tokens).declarations
      caseNames = zip(lexer.tokens, lexer.tokens.dropFirst()).compactMap { $0.text == "case" ? $1.text : nil }
    } else {
      tokens = []
      comments = []
      declarations = []
      caseNames = []
    }
  }

  /// The parts of the path.
  var components: [String] { path.split(separator: "/").map(String.init) }
  /// `Sources`, `Tests`, `Benchmarks`, or the name of a file at the top.
  var root: String { components[0] }
  /// The module, for files below `Sources` and `Tests`.
  var module: String? { components.count > 2 ? components[1] : nil }
  var isSwift: Bool { path.hasSuffix(".swift") }
  /// A package manifest, whose first line belongs to the package manager.
  var isManifest: Bool { components.last == "Package.swift" }

  /// The lines of the block of comments that ends directly above `line` (from 1), attributes in between allowed.
  func commentLines(above line: Int) -> [String] {
    var index = line - 2
    while index >= 0, trimmed(index).hasPrefix("@") { index -= 1 }
    var block: [String] = []
    while index >= 0, trimmed(index).hasPrefix("//") {
      block.insert(String(trimmed(index)), at: 0)
      index -= 1
    }
    return block
  }

  /// The block of comments with which the body begins whose brace ends `line` (from 1).
  func commentLines(below line: Int) -> [String] {
    guard lines[line - 1].hasSuffix("{") else { return [] }
    return lines[line...].indices.map(trimmed).prefix { $0.hasPrefix("//") }.map(String.init)
  }

  private func trimmed(_ index: Int) -> Substring { lines[index].drop { $0 == " " } }
}
