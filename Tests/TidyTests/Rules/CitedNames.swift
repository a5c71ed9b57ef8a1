// Rule: the guides that comments and guides name, and the types, calls and files that guides name, are there.

import Testing

/// What may be named, and where it must stand.
struct CitedNames {
  /// Words that guides mark as code and that are names of RocksDB, of UIKit, of JavaScript, or bytes in the file.
  static let foreignNames: Set<String> = [
    "MultiGet", "NaN", "QuireLog", "applicationProtectedDataDidBecomeAvailable",
    "applicationProtectedDataWillBecomeUnavailable", "memoryCommits",
  ]
  /// Guides in which names of other databases, or former names, stand beside those of today.
  static let translatingGuides: Set<String> = [
    "Changelog.md", "ComingFromCoreData.md", "ComingFromGRDB.md", "ComingFromRealm.md", "ComingFromYapDatabase.md",
    "ComingFromYapDatabaseExtensions.md", "OriginalPages.md", "PortingExtensions.md",
  ]

  /// What the paths of all files end with, without the extension of sources as well, and all parts of the paths of
  /// folders.
  private let places: Set<String>
  /// All words of the sources, the tests and the benchmarks.
  let words: Set<String>

  /// The names that a repository has.
  init(_ repository: SourceTree) {
    self.init(paths: repository.paths, files: repository.files)
  }

  init(paths: [String], files: [SourceFile]) {
    places = Set(paths.flatMap(Self.places))
    var words: Set<String> = []
    for file in files {
      for token in file.tokens where token.kind == .word { words.insert(token.text) }
    }
    self.words = words
  }

  private static func places(in path: String) -> [String] {
    let parts = path.split(separator: "/")
    var found: [String] = []
    for first in parts.indices {
      let end = parts[first...].joined(separator: "/")
      found.append(end)
      if end.hasSuffix(".swift") { found.append(String(end.dropLast(".swift".count))) }
      for last in first..<(parts.count - 1) { found.append(parts[first...last].joined(separator: "/")) }
    }
    return found
  }

  /// Markdown files that comments name and that are not there.
  func missingGuides(in files: [SourceFile]) -> [Violation] {
    files.flatMap { file in
      file.comments.flatMap { comment in
        missingGuides(in: comment.text).map { Violation(file, comment.line, "\($0) is not there") }
      }
    }
  }

  /// Markdown files, types, calls and files that guides name and that are not there.
  func violations(in guides: [Guide], foreign: Set<String> = foreignNames) -> [Violation] {
    guides.flatMap { guide in
      let missing = guide.lines.enumerated().flatMap { index, line in
        missingGuides(in: line).map { Violation(path: guide.path, line: index + 1, message: "\($0) is not there") }
      }
      let isTranslating = Self.translatingGuides.contains { guide.path.hasSuffix("/\($0)") }
      let spans = isTranslating ? [] : guide.spans
      return missing
        + spans.filter { span in
          !isThere(span.text) { words.contains($0) || guide.listedWords.contains($0) || foreign.contains($0) }
        }.map { Violation(path: guide.path, line: $0.line, message: "\($0.text) is no name of the sources") }
    }
  }

  /// Exceptions that no guide needs.
  func staleExceptions(_ guides: [Guide], foreign: Set<String> = foreignNames) -> [Violation] {
    let texts = Set(guides.flatMap { $0.spans.map(\.text) })
    return foreign.sorted().filter { name in words.contains(name) || !texts.contains { $0.contains(name) } }
      .map { Violation(path: "CitedNames.swift", message: "\($0) needs no exception") }
  }

  private func missingGuides(in text: String) -> [String] {
    // Most comments name no guide, and are soon let through.
    guard text.contains(".md") else { return [] }
    return text.matches(of: /([A-Za-z0-9_\/.-]*[A-Za-z0-9_-])\.md\b/).map { "\($0.1).md" }.filter { cited in
      !places.contains(cited.split(separator: "/").last.map(String.init) ?? cited)
    }
  }

  /// Whether a span names something that is there, or is no name at all.
  private func isThere(_ text: String, _ isKnown: (String) -> Bool) -> Bool {
    if text.wholeMatch(of: /[A-Z][A-Za-z0-9_+.\/-]*/) != nil, text.contains("/") || text.contains("+") {
      return isFile(text)
    }
    if text.hasSuffix(".swift") { return isFile(text) }
    guard let match = text.wholeMatch(of: /@?([A-Za-z][A-Za-z0-9.]*)(\([^ ]*\))?/) else { return true }
    return match.1.split(separator: ".").map(String.init).filter(Self.isCompound).allSatisfy {
      isKnown($0) || isFile($0)
    }
  }

  /// Whether a file or a folder has this path, or a path that ends like this; the extension of sources may be left out.
  private func isFile(_ name: String) -> Bool { places.contains(name) }

  /// Whether a word is written as types and calls are: letters of both cases, and not just the first one large.
  private static func isCompound(_ word: String) -> Bool {
    word.contains(where: \.isLowercase) && word.dropFirst().contains(where: \.isUppercase)
  }
}

@Suite("Names that are cited are there")
struct CitedNameTests {
  @Test func repositoryObeys() throws {
    let repository = try SourceTree.repository()
    let names = CitedNames(repository)
    let guides = try repository.guides()
    #expect(guides.count > 20)
    report(names.missingGuides(in: repository.files) + names.violations(in: guides) + names.staleExceptions(guides))
  }

  private static let source = sample(
    "Sources/QuireStorage/Page/PageStore.swift",
    """
    // The purpose, see Format.md and nowhere.md.
    struct PageStore { func readPage(at place: Int) {} }
    """)
  private let names = CitedNames(
    paths: [
      source.path, "Sources/QuireStorage/Page/PageStore+Run.swift", "Sources/A/PageRoom.swift",
      "Sources/Quire/Quire.docc/Format.md",
    ],
    files: [source])

  @Test("A guide that a comment or a guide names must be there")
  func missingGuideIsFound() {
    #expect(names.missingGuides(in: [Self.source]).map(\.message) == ["nowhere.md is not there"])
    let guide = Guide(path: "README.md", text: "[one](Sources/Quire/Quire.docc/Format.md) and\n[two](Lost.md)")
    #expect(names.violations(in: [guide]).map(\.description) == ["README.md:2: Lost.md is not there"])
  }

  @Test(
    "A name that is nowhere is found",
    arguments: [
      "PageShop", "PageStore.readPlace(at:)", "PageStore.Lost.MoreLost", "Page/PageShop", "PageStore+Walk",
      "Log/PageStore", "PageShop.swift", "readPlace", "@LostWrapper",
    ])
  func missingNameIsFound(name: String) {
    let guide = Guide(path: "A.md", text: "A sentence\nwith `\(name)` in it.")
    #expect(names.violations(in: [guide]).map(\.line) == [2])
    #expect(names.violations(in: [Guide(path: "Quire.docc/Changelog.md", text: "`\(name)`")]).isEmpty)
  }

  @Test(
    "Names that are there, and what is no name, are let through",
    arguments: [
      "PageStore", "PageStore.readPage(at:)", "readPage", "Page/PageStore", "PageStore+Run", "Sources/QuireStorage",
      "PageStore.swift", "PageRoom", "Quire.docc/Format.md", "NAME-log0", "u16", "swift test --filter NoTests",
      "O_DIRECT",
      "shown in aListing", "aListedName",
    ])
  func otherTextIsFine(text: String) {
    let guide = Guide(path: "A.md", text: "`\(text)`\n\n```swift\nlet aListedName = 1\n```\n")
    #expect(names.violations(in: [guide]).isEmpty)
  }

  @Test("A name of others needs an exception, and an exception a name")
  func exceptionsHold() {
    let guide = Guide(path: "A.md", text: "It is `MultiGet` there.")
    #expect(names.violations(in: [guide], foreign: []).count == 1)
    #expect(names.violations(in: [guide], foreign: ["MultiGet"]).isEmpty)
    #expect(names.staleExceptions([guide], foreign: ["MultiGet"]).isEmpty)
    #expect(names.staleExceptions([guide], foreign: ["PageStore", "OtherGet"]).count == 2)
  }

  @Test("A span may begin in one line and end in the next, and listings have none")
  func spansAreRead() {
    let guide = Guide(path: "A.md", text: "One `two\nthree` and `four`.\n```\n`no` span\n```\n| `five` |\n")
    #expect(guide.spans.map(\.text) == ["two\nthree", "four", "five"])
    #expect(guide.spans.map(\.line) == [1, 2, 6])
    #expect(guide.listedWords == ["no", "span"])
  }
}
