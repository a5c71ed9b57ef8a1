// Rule: words that must not stand in the sources: promises for later, calls that trap on what the world may do, output
// from libraries, and other projects' names for what has a name here.

import Testing

/// What must not be written.
enum Words {
  /// Marks that belong into an issue.
  static let marks: Set<String> = ["TODO", "FIXME", "XXX", "HACK"]
  /// Words that have a better one in the glossary, as parts of names in any case.
  static let foreignTerms = ["journal", "freelist", "superblock", "pgno", "txid", "watermark"]
  /// Modules that spell another project's names on purpose.
  static let translatingModules: Set<String> = ["YapCompat"]
  /// Modules with a terminal of their own.
  static let printingModules: Set<String> = [
    "quiredb", "quire-torture", "quire-fuzz", "quickstart", "quire-chat", "quire-postgres", "planted-bugs",
  ]
  /// Files outside the tests that may call `fatalError`, each with the reason.
  static let fatalErrorAllowed: [String: String] = [:]

  /// Every banned word.
  static func violations(
    in files: [SourceFile], fatalErrorAllowed: [String: String] = Words.fatalErrorAllowed
  ) -> [Violation] {
    files.flatMap { file in
      marks(in: file) + calls(in: file, fatalErrorAllowed: fatalErrorAllowed) + terms(in: file)
    } + staleExceptions(files, fatalErrorAllowed)
  }

  /// Marks in comments and as names; what a string literal says is its own business.
  private static func marks(in file: SourceFile) -> [Violation] {
    let inComments = file.comments.filter { hasCapitals($0.text) }.flatMap { comment in
      comment.text.split { !$0.isLetter }.filter { marks.contains(String($0)) }.map { (String($0), comment.line) }
    }
    let inCode = file.tokens.filter { marks.contains($0.text) }.map { ($0.text, $0.line) }
    return (inComments + inCode).map { Violation(file, $1, "\($0): open an issue instead") }
  }

  /// Whether three capitals stand side by side, as in all marks: bytes are looked at in less time than characters.
  private static func hasCapitals(_ text: String) -> Bool {
    let (first, last) = (UInt8(ascii: "A"), UInt8(ascii: "Z"))
    var count = 0
    for byte in text.utf8 {
      count = byte >= first && byte <= last ? count + 1 : 0
      if count == 3 { return true }
    }
    return false
  }

  private static func calls(in file: SourceFile, fatalErrorAllowed: [String: String]) -> [Violation] {
    let isLibrary = file.root == "Sources" && !printingModules.contains(file.module ?? "")
    return file.tokens.indices.compactMap { index in
      let token = file.tokens[index]
      // `try !isDone` asks and negates; `try!` traps.
      let following = index + 1 < file.tokens.count ? file.tokens[index + 1] : nil
      let next = following.map { $0.text == "!" && !$0.touchesPrevious ? "" : $0.text } ?? ""
      let previous = index > 0 ? file.tokens[index - 1].text : ""
      switch (token.text, next) {
      case ("try", "!"), ("as", "!"):
        return Violation(file, token.line, "\(token.text)! traps: handle the failure")
      case ("fatalError", "(") where file.root != "Tests" && fatalErrorAllowed[file.path] == nil:
        return Violation(file, token.line, "fatalError takes the process down: throw, or use precondition")
      case ("print", "(") where isLibrary && previous != "." && previous != "func":
        return Violation(file, token.line, "a library does not print")
      default: return nil
      }
    }
  }

  private static func terms(in file: SourceFile) -> [Violation] {
    guard file.root == "Sources", !translatingModules.contains(file.module ?? "") else { return [] }
    let words = file.tokens.filter { $0.kind == .word }
    // Each word of the file is looked at once.
    var found: [String: String] = [:]
    for text in Set(words.map(\.text)) {
      let word = text.lowercased()
      if let term = foreignTerms.first(where: word.contains) { found[text] = term }
    }
    if found.isEmpty { return [] }
    return words.compactMap { token in
      found[token.text].map { term in
        Violation(file, token.line, "\(token.text): the glossary has another word for \(term)")
      }
    }
  }

  /// Exceptions for files that are gone, or that no longer need one.
  private static func staleExceptions(_ files: [SourceFile], _ allowed: [String: String]) -> [Violation] {
    allowed.keys.sorted().compactMap { path in
      let uses = files.first { $0.path == path }?.tokens.contains { $0.text == "fatalError" } ?? false
      return uses ? nil : Violation(path: path, message: "needs no exception for fatalError any more")
    }
  }
}

@Suite("Banned words are absent")
struct WordsTests {
  @Test func repositoryObeys() throws {
    report(Words.violations(in: try SourceTree.repository().files))
  }

  @Test(
    "A banned word is found",
    arguments: [
      "// TODO: later", "/* one\n FIXME */", "call() // XXX", "let HACK = 1", "try! call()", "_ = a as! B",
      "fatalError(\"no\")", "print(1)", "let freeList = 1", "var lastTxID = 0", "struct Superblock {}",
      "_ = \"\\(try! call())\"",
    ])
  func bannedWordIsFound(line: String) {
    let file = sample("Sources/QuireStorage/Bad.swift", "// Purpose.\n\(line)\n")
    #expect(Words.violations(in: [file]).count == 1)
  }

  @Test(
    "Other words are let through",
    arguments: [
      "// SQLite calls it a journal.", "let text = \"TODO, try! and print(1)\"", "_ = try? call()", "_ = a as? B",
      "stream.print(1)", "preconditionFailure()", "_ = try !call()", "let pages = 1", "let raw = #\"print(\"1\")\"#",
    ])
  func otherWordIsFine(line: String) {
    #expect(Words.violations(in: [sample("Sources/QuireStorage/Good.swift", line)]).isEmpty)
  }

  @Test("Tests may stop, tools may print, and an exception holds for its file while it is needed")
  func exceptionsHold() {
    let stop = "fatalError()\n"
    #expect(Words.violations(in: [sample("Tests/SomeTests/Good.swift", stop)]).isEmpty)
    #expect(Words.violations(in: [sample("Sources/quiredb/Good.swift", "print(1)\n")]).isEmpty)
    #expect(Words.violations(in: [sample("Sources/YapCompat/Good.swift", "var pragmaJournalSizeLimit = 0\n")]).isEmpty)
    let file = sample("Sources/QuireStorage/Bad.swift", stop)
    #expect(Words.violations(in: [file], fatalErrorAllowed: [file.path: "a reason"]).isEmpty)
    let mended = sample("Sources/QuireStorage/Bad.swift", "")
    #expect(Words.violations(in: [mended], fatalErrorAllowed: [file.path: "a reason"]).count == 1)
  }
}
