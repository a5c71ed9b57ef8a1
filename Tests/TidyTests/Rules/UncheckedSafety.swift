// Rule: where the compiler's data race checks are switched off, a comment says why that is safe.

import Testing

/// `@unchecked Sendable` and `nonisolated(unsafe)` with their reasons.
enum UncheckedSafety {
  static let phrase = "safe because"

  /// Unchecked places without a reason directly above, or at the very beginning of the type's body.
  static func violations(in files: [SourceFile]) -> [Violation] {
    files.flatMap { file in
      uncheckedLines(of: file).compactMap { line, what in
        let above = file.commentLines(above: firstLine(of: line, in: file))
        let reason = (above + file.commentLines(below: line)).joined(separator: " ")
        // The phrase may be broken over two lines of comment.
        let words = reason.split { $0 == " " || $0 == "/" }.joined(separator: " ")
        if words.lowercased().contains(phrase) { return nil }
        return Violation(file, line, "\(what) needs a comment beside it that says “\(phrase) …”")
      }
    }
  }

  private static func uncheckedLines(of file: SourceFile) -> [(line: Int, what: String)] {
    let tokens = file.tokens
    return tokens.indices.compactMap { index in
      if tokens[index].text == "unchecked", index > 0, tokens[index - 1].text == "@" {
        // `@exclusivity(unchecked)` and the like have no `@` of their own.
        return (tokens[index].line, "@unchecked")
      }
      if tokens[index].text == "nonisolated", index + 2 < tokens.count, tokens[index + 1].text == "(",
        tokens[index + 2].text == "unsafe"
      {
        return (tokens[index].line, "nonisolated(unsafe)")
      }
      return nil
    }
  }

  /// The first line of the declaration whose head contains `line`.
  private static func firstLine(of line: Int, in file: SourceFile) -> Int {
    let heads = file.declarations.filter { $0.firstLine <= line && line <= max($0.lastLine, $0.line) }
    return heads.map(\.firstLine).max() ?? line
  }
}

@Suite("Unchecked concurrency gives its reason")
struct UncheckedSafetyTests {
  @Test func repositoryObeys() throws {
    report(UncheckedSafety.violations(in: try SourceTree.repository().files))
  }

  @Test(
    "An unchecked place without a reason is found",
    arguments: [
      "final class C: @unchecked Sendable {}", "extension C: @unchecked Sendable {}", "nonisolated(unsafe) var a = 1",
      "// It is safe.\nnonisolated(unsafe) var a = 1",
      "// Safe because: far away.\n\nextension C: @unchecked Sendable {}",
      "final class C: @unchecked Sendable {\n  let a = 1\n  // Safe because: too late.\n}",
      "// Safe because of the lock.\nclass D {\n  nonisolated(unsafe) var a = 1\n}",
    ])
  func missingReasonIsFound(text: String) {
    let file = sample("Sources/QuireStorage/Bad.swift", "// Purpose.\n\n\(text)\n")
    #expect(UncheckedSafety.violations(in: [file]).count == 1)
  }

  @Test(
    "A reason directly above, or first in the body, is enough",
    arguments: [
      "// Safe because of the lock.\nextension C: @unchecked Sendable {}",
      "/// A table.\n///\n/// It is safe\n/// because nothing changes.\nfinal class C: P,\n  @unchecked Sendable {}",
      "// Safe because set once.\n@usableFromInline\nnonisolated(unsafe) var a = 1",
      "let text = \"@unchecked Sendable\"",
      "final class C: @unchecked Sendable {\n  // Safe because of the lock.\n  let a = 1\n}",
      "@exclusivity(unchecked) var a = 1", "nonisolated func f() {}",
    ])
  func reasonIsEnough(text: String) {
    let file = sample("Sources/QuireStorage/Good.swift", "// Purpose.\n\n\(text)\n")
    #expect(UncheckedSafety.violations(in: [file]).isEmpty)
  }
}
