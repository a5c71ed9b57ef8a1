// Rule: how the bytes of leaves and branches are laid out is known to few files, so that a format can change.

import Testing

/// Which files may name the arrays and offsets inside of pages; all others read and write pages through these.
struct PageBytesUse {
  let module = "QuireStorage"
  /// By their paths below the module. Each must need its entry.
  var allowed: Set<String> = [
    "Format/PageLayout.swift", "Format/LeafLayout.swift", "Format/PageValidation.swift",
    "Tree/PageSearch.swift", "Tree/PageOrder.swift",
    "Tree/LeafWriter.swift", "Tree/BranchWriter.swift", "Tree/BranchPacker.swift",
  ]

  private static let names: Set<String> = [
    "leafSlots", "branchSlots", "heads32", "heads64", "cellStart", "prefixOffset", "garbage",
    "leafCellHeader", "branchCellHeader", "leafArraysEnd", "branchArraysEnd", "uniformKeyCount", "headOnlyCount",
  ]

  /// Files that know too much, and entries that nothing needs.
  func violations(in files: [SourceFile]) -> [Violation] {
    var found: [Violation] = []
    var unused = allowed
    for file in files where file.root == "Sources" && file.module == module && file.isSwift {
      guard let token = file.tokens.first(where: { Self.names.contains($0.text) }) else { continue }
      let path = String(file.path.dropFirst("Sources/\(module)/".count))
      if unused.remove(path) != nil || allowed.contains(path) { continue }
      found.append(Violation(file, token.line, "names \(token.text), which is inside of pages"))
    }
    return found
      + unused.sorted().map { Violation(path: "Sources/\(module)/\($0)", message: "need not be in PageBytesUse.swift") }
  }
}

@Suite("Few files know what pages look like inside")
struct PageBytesUseTests {
  @Test func repositoryObeys() throws {
    report(PageBytesUse().violations(in: try SourceTree.repository().files))
  }

  @Test("A file that looks into pages is found, and so is an entry that nothing needs")
  func looksAreFound() {
    let rule = PageBytesUse(allowed: ["Tree/A.swift", "Tree/B.swift"])
    let look = "let offset = page.leafSlots[0]\n"
    let files = [
      sample("Sources/QuireStorage/Tree/A.swift", look), sample("Sources/QuireStorage/Bulk/C.swift", look),
      sample("Sources/QuireViews/D.swift", look), sample("Tests/QuireStorage/E.swift", look),
    ]
    #expect(
      rule.violations(in: files).map(\.path) == [
        "Sources/QuireStorage/Bulk/C.swift", "Sources/QuireStorage/Tree/B.swift",
      ])
  }
}
