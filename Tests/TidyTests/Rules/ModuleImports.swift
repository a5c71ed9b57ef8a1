// Rule: modules import downwards only. The table is the architecture; a module that is not in it does not belong.

import Testing

/// Which of our modules each module may import.
enum ModuleImports {
  static let allowed: [String: Set<String>] = [
    "CLZ4": [],
    "CQuirePlatform": [],
    // SQLite is linked by the importer and nowhere else.
    "CSQLite3": [],
    // libpq is linked by the mirror and nowhere else.
    "CPQ": [],
    "QuireStorage": ["CQuirePlatform"],
    // Blocks of LZ4 where the system has no liblz4.
    "QuireLZ4": [],
    "QuireDatabase": ["QuireStorage", "QuireLZ4", "CLZ4", "CQuirePlatform"],
    // Extensions see what a third party sees: the public API of QuireDatabase and nothing else.
    "QuireViews": ["QuireDatabase"],
    "QuireRelationships": ["QuireDatabase"],
    "QuireIndexes": ["QuireDatabase", "QuireViews"],
    "QuireText": [],
    "QuireFullText": ["QuireDatabase", "QuireIndexes", "QuireText"],
    "Quire": [
      "QuireStorage", "QuireDatabase", "QuireFullText", "QuireIndexes", "QuireText", "QuireViews", "QuireRelationships",
    ],
    // What screens observe: beside Quire, so that nobody else imports Observation and SwiftUI.
    "QuireObservation": ["QuireDatabase", "QuireIndexes", "QuireViews"],
    // What Foundation's archives hold, for who reads rows that were stored as such.
    "QuireArchives": [],
    "YapCompat": ["Quire", "QuireArchives", "QuireDatabase", "QuireViews", "QuireRelationships"],
    "YapExtensions": ["Quire", "QuireDatabase", "YapCompat"],
    "QuireTesting": ["QuireStorage", "QuireDatabase"],
    "quiredb": ["QuireStorage", "QuireDatabase", "QuireIndexes", "QuireRelationships", "QuireViews"],
    "QuireImporting": ["CSQLite3", "QuireArchives", "QuireStorage", "QuireDatabase"],
    "quire-import": ["QuireDatabase", "QuireImporting"],
    "QuirePostgres": ["CPQ", "QuireStorage", "QuireDatabase"],
    "quire-postgres": ["QuireStorage", "QuireDatabase", "QuirePostgres", "QuireTesting"],
    "quire-torture": [
      "QuireStorage", "QuireDatabase", "QuireIndexes", "QuireRelationships", "QuireViews", "QuireText", "QuireFullText",
      "QuireTesting",
    ],
    "quire-fuzz": [
      "QuireStorage", "QuireDatabase", "QuireIndexes", "QuireRelationships", "QuireViews", "QuireTesting", "QuireLZ4",
      "CLZ4",
    ],
    "quickstart": ["Quire"],
    "quire-chat": ["Quire"],
    "planted-bugs": [],
  ]

  /// Unknown modules, and imports that point up or sideways.
  static func violations(in files: [SourceFile]) -> [Violation] {
    var found: [Violation] = []
    var unknown: Set<String> = []
    for file in files where file.root == "Sources" {
      guard let module = file.module else {
        found.append(Violation(file, nil, "lies outside every module"))
        continue
      }
      guard let imports = allowed[module] else {
        if unknown.insert(module).inserted {
          found.append(Violation(file, nil, "the module \(module) is not in the table of ModuleImports.swift"))
        }
        continue
      }
      for (name, line) in importedModules(of: file) where allowed[name] != nil && !imports.contains(name) {
        found.append(Violation(file, line, "\(module) must not import \(name): imports point downwards only"))
      }
    }
    return found
  }

  private static let kinds: Set<String> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]

  /// The modules that a file imports, with the line of each import.
  static func importedModules(of file: SourceFile) -> [(name: String, line: Int)] {
    file.tokens.indices.compactMap { index in
      guard file.tokens[index].text == "import", index + 1 < file.tokens.count else { return nil }
      let next = file.tokens[index + 1]
      let isScoped = kinds.contains(next.text) && index + 2 < file.tokens.count
      return (isScoped ? file.tokens[index + 2].text : next.text, next.line)
    }
  }
}

@Suite("Modules import downwards only")
struct ModuleImportsTests {
  @Test func repositoryObeys() throws {
    report(ModuleImports.violations(in: try SourceTree.repository().files))
  }

  @Test(
    "An import that points up or sideways is found",
    arguments: [
      ("QuireStorage", "import QuireDatabase"),
      ("QuireStorage", "internal import CLZ4"),
      ("QuireLZ4", "internal import CLZ4"),
      ("QuireDatabase", "@_exported public import QuireViews"),
      ("QuireDatabase", "@testable import QuireTesting"),
      ("QuireViews", "import struct QuireStorage.PageNumber"),
      ("QuireViews", "import QuireRelationships"),
      ("YapCompat", "import YapExtensions"),
      ("QuireDatabase", "import CSQLite3"),
      ("quiredb", "internal import CSQLite3"),
      ("quire-import", "import CSQLite3"),
      ("quire-postgres", "import CPQ"),
      ("quickstart", "import QuireDatabase"),
    ])
  func importUpwardsIsFound(module: String, line: String) {
    let file = sample("Sources/\(module)/Bad.swift", "// Purpose.\n\(line)\n")
    #expect(ModuleImports.violations(in: [file]).map(\.line) == [2])
  }

  @Test("Imports that point down, foreign modules, comments and literals are let through")
  func importDownwardsIsFine() {
    let text = """
      // import QuireViews
      import Glibc
      import QuireStorage
      let text = "import QuireViews"
      """
    #expect(ModuleImports.violations(in: [sample("Sources/QuireDatabase/Good.swift", text)]).isEmpty)
  }

  @Test("A module that is not in the table is found, once")
  func unknownModuleIsFound() {
    let files = ["A", "B"].map { sample("Sources/QuireNew/\($0).swift", "// Purpose.\n") }
    let found = ModuleImports.violations(in: files + [sample("Sources/Stray.swift", "// Purpose.\n")])
    #expect(found.map(\.path) == ["Sources/QuireNew/A.swift", "Sources/Stray.swift"])
  }
}
