// Rule: what others can use says what it is, and every file says what it is for.

import Testing

/// Documentation comments and purpose lines.
enum Documentation {
  /// Members whose meaning the standard library's protocols give.
  static let standardWitnesses: Set<String> = [
    "description", "debugDescription", "errorDescription", "<", "==", "hash", "hashValue", "encode", "next",
    "makeIterator", "deinit",
  ]

  /// Undocumented public and package declarations, and files without a purpose line.
  static func violations(in files: [SourceFile]) -> [Violation] {
    let requirements = requirements(of: files)
    return files.flatMap { purpose(of: $0) + undocumented(in: $0, requirements: requirements) }
  }

  private static func purpose(of file: SourceFile) -> [Violation] {
    guard file.isSwift, !file.isManifest else { return [] }
    let first = file.lines.first ?? ""
    guard !first.hasPrefix("// ") || first.hasPrefix("// swift-") else { return [] }
    return [Violation(file, 1, "begins without a comment that tells what the file is for")]
  }

  private static func undocumented(in file: SourceFile, requirements: [String: Set<String>]) -> [Violation] {
    guard file.root == "Sources" else { return [] }
    return file.declarations.compactMap { declaration in
      guard isOffered(declaration), declaration.keyword != "extension" else { return nil }
      if file.commentLines(above: declaration.firstLine).contains(where: { $0.hasPrefix("///") }) { return nil }
      if isWitness(declaration, in: file, requirements: requirements) || isField(declaration, in: file) { return nil }
      let isBare = Declaration.bareKeywords.contains(declaration.keyword)
      let name = isBare ? declaration.name : "\(declaration.keyword) \(declaration.name)"
      return Violation(file, declaration.line, "\(name) has no documentation comment")
    }
  }

  /// Whether other modules see it.
  private static func isOffered(_ declaration: Declaration) -> Bool {
    !Set(declaration.modifiers).isDisjoint(with: ["public", "package", "open"])
  }

  /// Whether it is a stored property of a type that no user sees: the type's own comment may explain all of its fields.
  private static func isField(_ declaration: Declaration, in file: SourceFile) -> Bool {
    guard declaration.isStored, let index = declaration.enclosing else { return false }
    let enclosing = file.declarations[index]
    return enclosing.keyword != "extension" && !enclosing.modifiers.contains("public")
  }

  /// Whether a protocol says what the member does: a standard one, or one of ours that the type around it, or the
  /// extension around it, names.
  private static func isWitness(
    _ declaration: Declaration, in file: SourceFile, requirements: [String: Set<String>]
  ) -> Bool {
    guard let enclosing = declaration.enclosing else { return false }
    if standardWitnesses.contains(declaration.name) { return true }
    let type = file.declarations[enclosing]
    // The extension of a protocol itself has what its requirements do by default.
    let protocols = type.inherits + (type.keyword == "extension" ? [type.name] : [])
    return protocols.contains { requirements[$0]?.contains(declaration.name) ?? false }
  }

  /// The names of the requirements of each protocol of ours, with those that it inherits.
  private static func requirements(of files: [SourceFile]) -> [String: Set<String>] {
    var names: [String: Set<String>] = [:]
    for file in files {
      for declaration in file.declarations {
        guard let enclosing = declaration.enclosing.map({ file.declarations[$0] }) else { continue }
        if enclosing.keyword == "protocol" { names[enclosing.name, default: []].insert(declaration.name) }
      }
    }
    let protocols = files.flatMap(\.declarations).filter { $0.keyword == "protocol" }
    var isSettled = false
    while !isSettled {
      isSettled = true
      for one in protocols {
        let inherited = one.inherits.reduce(into: Set<String>()) { $0.formUnion(names[$1] ?? []) }
        guard !inherited.isSubset(of: names[one.name] ?? []) else { continue }
        names[one.name, default: []].formUnion(inherited)
        isSettled = false
      }
    }
    return names
  }
}

@Suite("What others use is documented")
struct DocumentationTests {
  @Test func repositoryObeys() throws {
    report(Documentation.violations(in: try SourceTree.repository().files))
  }

  @Test(
    "An undocumented declaration is found",
    arguments: [
      "public struct S {}", "package func f() {}", "@inlinable public static func f() {}", "public init(a: Int) {}",
      "public private(set) var count = 0", "package let a = 1", "open class C {}",
      "// Not a documentation comment.\npublic let a = 1", "/// Of another declaration.\n\npublic let a = 1",
      "public typealias T = Int", "public func == (a: Int) {}", "/// S.\npublic struct S {\n  package let a = 1\n}",
      "/// S.\npackage struct S {\n  package var a: Int { 1 }\n}", "/// S.\npackage struct S {\n  package init() {}\n}",
    ])
  func undocumentedDeclarationIsFound(text: String) {
    let file = sample("Sources/QuireStorage/Bad.swift", "// Purpose.\n\n\(text)\n")
    #expect(Documentation.violations(in: [file]).count == 1)
  }

  @Test(
    "Documented and inner declarations, imports and witnesses are let through",
    arguments: [
      "/// It is.\npublic struct S {}", "/// It is.\n@inlinable\n@frozen\npublic struct S {}", "public import Glibc",
      "struct S { let a = 1 }", "func f() {\n  open(a)\n  let b = 1\n}",
      "private(set) var a = 1", "/// S.\npublic struct S: P {\n  public func go() {}\n}",
      "extension S: P {\n  package func go() {}\n}", "extension [S]: P {\n  package func go() {}\n}",
      "extension S {\n  public var description: String { \"\" }\n}",
      "extension S {\n  public static func < (a: S, b: S) -> Bool { true }\n}", "public extension S {}",
      "/// S.\npackage struct S {\n  package let a: Int\n  package private(set) var b = 1\n}",
    ])
  func otherDeclarationIsFine(text: String) {
    let requirement = sample("Sources/QuireStorage/P.swift", "// P.\nprotocol P {\n  func go()\n}\n")
    let file = sample("Sources/QuireStorage/Good.swift", "// Purpose.\n\n\(text)\n")
    #expect(Documentation.violations(in: [requirement, file]).isEmpty)
  }

  @Test(
    "What a protocol does by default, and what an inherited one asks for, is let through",
    arguments: ["extension P {\n  public func go() {}\n}", "/// S.\npublic struct S: Q {\n  public func go() {}\n}"])
  func defaultIsFine(text: String) {
    let requirement = sample("Sources/QuireStorage/P.swift", "// P.\nprotocol P {\n  func go()\n}\nprotocol Q: P {}\n")
    let file = sample("Sources/QuireStorage/Good.swift", "// Purpose.\n\n\(text)\n")
    #expect(Documentation.violations(in: [requirement, file]).isEmpty)
    let other = sample("Sources/QuireStorage/Bad.swift", "// Purpose.\n\nextension P {\n  public func stay() {}\n}\n")
    #expect(Documentation.violations(in: [requirement, other]).count == 1)
  }

  @Test(
    "A file without a purpose line is found",
    arguments: ["", "\n// Late.", "import A", "/// S.\nstruct S {}", "//"])
  func missingPurposeIsFound(text: String) {
    #expect(Documentation.violations(in: [sample("Tests/SomeTests/Bad.swift", text)]).map(\.line) == [1])
  }

  @Test("A manifest begins with its tools version")
  func manifestNeedsNoPurpose() {
    let manifest = sample("Benchmarks/Package.swift", "// swift-tools-version: 6.2\n")
    #expect(Documentation.violations(in: [manifest]).isEmpty)
  }
}
