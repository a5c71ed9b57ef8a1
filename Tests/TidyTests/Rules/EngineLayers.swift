// Rule: the folders of QuireStorage are layers, and a file names types of its own layer and of those below only.

import Testing

/// The layers of the engine, from the ground up.
enum EngineLayers {
  /// The folders above the ground; the files that lie in no folder are the ground.
  static let folders = [
    "File", "Format", "Page", "Tree", "Bulk", "Log", "Snapshot", "Transaction", "Checkpoint", "Engine",
  ]

  /// Unknown folders, and names of a layer above.
  static func violations(in files: [SourceFile]) -> [Violation] {
    var found: [Violation] = []
    var layered: [(file: SourceFile, layer: Int)] = []
    for file in files where file.root == "Sources" && file.module == "QuireStorage" && file.isSwift {
      if let layer = layer(of: file) {
        layered.append((file, layer))
      } else {
        found.append(Violation(file, nil, "the folder \(file.components[2]) is not a layer of EngineLayers.swift"))
      }
    }
    let homes = homes(of: layered)
    for (file, layer) in layered {
      let own = Set(file.declarations.filter(\.namesType).map(\.name))
      var reported: Set<String> = []
      for (index, token) in file.tokens.enumerated() {
        guard let home = homes[token.text], home > layer, !own.contains(token.text) else { continue }
        guard !isLabel(index, in: file.tokens), reported.insert(token.text).inserted else { continue }
        found.append(
          Violation(file, token.line, "\(name(layer)) must not use \(token.text) of \(name(home)), a layer above"))
      }
    }
    return found
  }

  /// 0 for the ground, nil for a folder that is no layer.
  private static func layer(of file: SourceFile) -> Int? {
    if file.components.count == 3 { return 0 }
    return folders.firstIndex(of: file.components[2]).map { $0 + 1 }
  }

  private static func name(_ layer: Int) -> String { layer == 0 ? "the ground" : folders[layer - 1] }

  /// The lowest layer that declares each type name. Types nested one deep count where their name is declared once:
  /// a second `Options` or `Header` says nothing about which of them is meant.
  private static func homes(of layered: [(file: SourceFile, layer: Int)]) -> [String: Int] {
    var homes: [String: Int] = [:]
    var nested: [String: (layer: Int, count: Int)] = [:]
    for (file, layer) in layered {
      for declaration in file.declarations where declaration.namesType && !declaration.isLocal {
        // What nobody else can see cannot be what another file means.
        if declaration.modifiers.contains("private") || declaration.modifiers.contains("fileprivate") { continue }
        if declaration.typeDepth == 0 {
          homes[declaration.name] = min(layer, homes[declaration.name] ?? layer)
        } else if declaration.typeDepth == 1 {
          nested[declaration.name, default: (layer, 0)].count += 1
        }
      }
    }
    for (name, place) in nested where place.count == 1 && homes[name] == nil { homes[name] = place.layer }
    return homes
  }

  /// Whether the word at `index` is an argument label.
  private static func isLabel(_ index: Int, in tokens: [Token]) -> Bool {
    guard index > 0, index + 1 < tokens.count, tokens[index + 1].text == ":" else { return false }
    return tokens[index - 1].text == "(" || tokens[index - 1].text == ","
  }
}

@Suite("The engine's folders use downwards only")
struct EngineLayersTests {
  @Test func repositoryObeys() throws {
    report(EngineLayers.violations(in: try SourceTree.repository().files))
  }

  private let upper = sample(
    "Sources/QuireStorage/Tree/Cursor.swift",
    """
    struct Cursor { struct Position {} ; struct Options {} }
    private struct Scratch {}
    func walk() { struct Local {} }
    """)

  @Test(
    "The use of a name of a higher folder is found",
    arguments: ["let cursor: Cursor?", "extension Cursor {}", "let all: [Cursor.Position]", "_ = \"\\(Cursor())\""])
  func useOfHigherLayerIsFound(line: String) {
    for path in ["Sources/QuireStorage/Page/Bad.swift", "Sources/QuireStorage/Ground.swift"] {
      let bad = sample(path, "// Purpose.\n\(line)\n")
      let found = EngineLayers.violations(in: [bad, upper])
      #expect(found.map(\.path).contains(path))
      #expect(found.allSatisfy { $0.line == 2 })
    }
  }

  @Test(
    "Lower names, ambiguous nested names, private names, comments and literals are let through",
    arguments: [
      "// Cursor", "let text = \"Cursor\"", "struct Options {}\nlet options: Options", "let scratch: Scratch",
      "let page: Page", "let local: Local", "call(Position: 1)",
    ])
  func otherUsesAreFine(line: String) {
    let lower = sample("Sources/QuireStorage/Page/Page.swift", "struct Page {}")
    let file = sample("Sources/QuireStorage/Page/Good.swift", "// Purpose.\n\(line)\n")
    #expect(EngineLayers.violations(in: [file, lower, upper]).isEmpty)
  }

  @Test("A higher folder may use what lies below")
  func useOfLowerLayerIsFine() {
    let engine = sample("Sources/QuireStorage/Engine/Engine.swift", "// Purpose.\nlet cursor: Cursor?\n")
    #expect(EngineLayers.violations(in: [engine, upper]).isEmpty)
  }

  @Test("A folder that is no layer is found")
  func unknownFolderIsFound() {
    let file = sample("Sources/QuireStorage/Misc/Helper.swift", "// Purpose.\n")
    #expect(EngineLayers.violations(in: [file]).count == 1)
  }
}
