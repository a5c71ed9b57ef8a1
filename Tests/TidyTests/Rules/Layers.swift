// Rule: the folders of a module are layers: a file names types, and calls members, of its own layer and below only.

import Testing

/// The layers of one module, from the ground up.
struct Layers {
  let module: String
  /// The folders above the ground; the files that lie in no folder are the ground.
  let folders: [String]
  /// What files name of a layer above all the same, by their paths below the module. Each entry must be needed.
  var upward: [String: Set<String>] = [:]

  /// The modules whose folders are layers.
  static let modules = [
    Layers(
      module: "QuireStorage",
      folders: [
        "Threads", "Memory", "File", "Format", "Page", "Tree", "Bulk", "Log", "Snapshot", "Transaction", "Checkpoint",
        "Engine", "Salvage",
      ]),
    // Diagnostics lie low: all work is told to them, and they ask a database through a protocol of their own. `Core`
    // is what transactions share; `Database`, what apps do with it, lies below the work that is made of whole
    // transactions.
    Layers(
      module: "QuireDatabase",
      folders: [
        "Errors", "Diagnostics", "Compression", "Coding", "Encryption", "Collections", "Changes", "ObjectCache",
        "Catalog", "Feed", "Core", "Transaction", "Extensions", "Rows", "Values", "Database", "Following",
        "Registration", "Observation", "Rewriting", "Suspending", "Control", "Salvage",
      ],
      upward: [
        // Places where `Extensions` keeps what it has of a database and of a transaction: what is registered, what
        // follows a write transaction, and the readers that were asked for. These files hold them and call nothing of
        // them but the list of a new write transaction. They are of types whose functions take transactions; a place
        // of a lower type would need a cast on the way to each change of a row.
        "Core/DatabaseCore.swift": ["ExtensionRegistry"],
        "Transaction/TransactionState.swift": ["KnownReader"],
        "Transaction/WriterState.swift": ["ExtensionSession", "RegisteredExtensions"],
      ]),
    Layers(
      module: "QuireRelationships", folders: ["Edges", "Writing", "Graph", "Relationship"]),
    Layers(
      module: "QuireIndexes",
      folders: ["Values", "Conditions", "Declaring", "Storage", "Planning", "Registering", "Querying"]),
    Layers(
      module: "QuirePostgres",
      folders: ["Telling", "Texts", "Connection", "Declaring", "Encoding", "Sink", "Mirroring", "Rows", "Hub"]),
    Layers(module: "QuireText", folders: ["Unicode", "Stemming", "Tokenizing"]),
    Layers(
      module: "QuireFullText",
      folders: [
        "Expressions", "Postings", "Declaring", "Storage", "Upkeep", "Searching", "Ranking", "Building", "Registering",
        "Results", "Families",
      ]),
    Layers(
      module: "QuireViews", folders: ["Sorting", "Storage", "Fields", "Views", "Mappings", "Changes", "Screen"]),
    Layers(module: "QuireObservation", folders: ["Queries", "Rows", "Views", "SwiftUI"]),
    // `Core` has the four types that hold each other, databases, connections, transactions and extensions, with what
    // they store; what apps call of them stands above, in extensions.
    Layers(
      module: "YapCompat",
      folders: [
        "Archives", "Queries", "Settings", "Collections", "Notifications", "Core", "Transaction", "Connection",
        "Screens", "Extensions", "Views", "SecondaryIndex", "FullText", "Database",
      ]),
    Layers(module: "YapExtensions", folders: ["Coding", "Items", "Database", "Verbs"]),
    Layers(
      module: "QuireTesting",
      folders: [
        "Schedules", "Disk", "Decoder", "Comparing", "Database", "Torture", "Rows", "Driver", "Rot", "Fixtures",
        "Footprint", "History",
      ]),
  ]

  /// Unknown folders, names of a layer above, and exceptions that nothing needs.
  func violations(in files: [SourceFile]) -> [Violation] {
    var found: [Violation] = []
    var layered: [(file: SourceFile, layer: Int)] = []
    for file in files where file.root == "Sources" && file.module == module && file.isSwift {
      if let layer = layer(of: file) {
        layered.append((file, layer))
      } else {
        found.append(Violation(file, nil, "the folder \(file.components[2]) is not a layer of Layers.swift"))
      }
    }
    let homes = homes(of: layered)
    let memberHomes = memberHomes(of: layered, homes, in: files)
    let modules = Set(files.compactMap(\.module))
    for (file, layer) in layered {
      let own = Set(file.declarations.filter(\.namesType).map(\.name))
      let excepted = upward[String(file.path.dropFirst("Sources/\(module)/".count))] ?? []
      var used: Set<String> = []
      for (index, token) in file.tokens.enumerated() {
        guard let home = homes[token.text], home > layer, !own.contains(token.text) else { continue }
        guard !isLabel(index, in: file.tokens), !isForeign(index, in: file.tokens, modules) else { continue }
        guard used.insert(token.text).inserted, !excepted.contains(token.text) else { continue }
        found.append(
          Violation(file, token.line, "\(name(layer)) must not use \(token.text) of \(name(home)), a layer above"))
      }
      for name in excepted.subtracting(used).sorted() {
        found.append(Violation(file, nil, "does not use \(name): take it out of Layers.swift"))
      }
      found += memberUses(in: file, layer, memberHomes)
    }
    return found
  }

  /// Calls of members that only a layer above gives to types.
  private func memberUses(in file: SourceFile, _ layer: Int, _ homes: [String: Int]) -> [Violation] {
    var found: [Violation] = []
    var used: Set<String> = []
    for (index, token) in file.tokens.enumerated() {
      guard let home = homes[token.text], home > layer, isMemberUse(index, in: file.tokens) else { continue }
      guard used.insert(token.text).inserted else { continue }
      found.append(
        Violation(
          file, token.line, "\(name(layer)) must not call \(token.text), which \(name(home)) adds, a layer above"))
    }
    return found
  }

  /// Whether the word at `index` stands behind a dot, or is called as a function.
  private func isMemberUse(_ index: Int, in tokens: [Token]) -> Bool {
    guard index > 0, tokens[index - 1].text != "func" else { return false }
    if tokens[index - 1].text == "." { return true }
    return index + 1 < tokens.count && tokens[index + 1].text == "(" && tokens[index + 1].touchesPrevious
  }

  /// Names of members that types of the system have, too: their uses say nothing.
  private static let systemMembers: Set<String> = ["boolValue", "doubleValue", "removeValue", "resume"]

  /// The lowest layer that declares a member, for members that extensions alone add to types of lower layers.
  ///
  /// A name counts if nothing else of that name is declared in any module, as its uses do not tell the type: no
  /// property, no function, no case, no type.
  private func memberHomes(
    of layered: [(file: SourceFile, layer: Int)], _ homes: [String: Int], in files: [SourceFile]
  ) -> [String: Int] {
    var added: [String: (layer: Int, count: Int)] = [:]
    for (file, layer) in layered {
      for declaration in file.declarations where declaration.isVisibleMember && declaration.typeDepth == 1 {
        guard let outer = declaration.enclosing.map({ file.declarations[$0] }), outer.keyword == "extension",
          let home = homes[outer.name], home < layer, !outer.isHidden
        else { continue }
        let known = added[declaration.name] ?? (layer, 0)
        added[declaration.name] = (min(known.layer, layer), known.count + 1)
      }
    }
    for name in Self.systemMembers { added[name] = nil }
    var counts: [String: Int] = [:]
    for file in files where file.root == "Sources" && file.isSwift {
      for declaration in file.declarations where !declaration.isLocal && added[declaration.name] != nil {
        if declaration.keyword != "extension" { counts[declaration.name, default: 0] += 1 }
      }
      for name in file.caseNames where added[name] != nil { counts[name, default: 0] += 1 }
    }
    return added.filter { $0.value.count == counts[$0.key] }.mapValues(\.layer)
  }

  /// 0 for the ground, nil for a folder that is no layer.
  private func layer(of file: SourceFile) -> Int? {
    if file.components.count == 3 { return 0 }
    return folders.firstIndex(of: file.components[2]).map { $0 + 1 }
  }

  private func name(_ layer: Int) -> String { layer == 0 ? "the ground" : folders[layer - 1] }

  /// The lowest layer that declares each type name.
  ///
  /// A nested type is named within the type around it, or together with it, so that the outer name tells enough;
  /// unless an extension in a higher layer has declared it. Such a name counts where it is declared once: a second
  /// `Options` or `Header` says nothing about which of them is meant.
  private func homes(of layered: [(file: SourceFile, layer: Int)]) -> [String: Int] {
    var homes: [String: Int] = [:]
    var nested: [String: (layer: Int, outer: Declaration, count: Int)] = [:]
    for (file, layer) in layered {
      for declaration in file.declarations where declaration.namesType && !declaration.isLocal {
        // What nobody else can see cannot be what another file means.
        if declaration.modifiers.contains("private") || declaration.modifiers.contains("fileprivate") { continue }
        if declaration.typeDepth == 0 {
          homes[declaration.name] = min(layer, homes[declaration.name] ?? layer)
        } else if declaration.typeDepth == 1, let outer = declaration.enclosing {
          nested[declaration.name, default: (layer, file.declarations[outer], 0)].count += 1
        }
      }
    }
    for (name, place) in nested where place.count == 1 && homes[name] == nil && place.outer.keyword == "extension" {
      if let home = homes[place.outer.name], home < place.layer { homes[name] = place.layer }
    }
    return homes
  }

  /// Whether the word at `index` is an argument label.
  private func isLabel(_ index: Int, in tokens: [Token]) -> Bool {
    guard index > 0, index + 1 < tokens.count, tokens[index + 1].text == ":" else { return false }
    return tokens[index - 1].text == "(" || tokens[index - 1].text == ","
  }

  /// Whether the word at `index` is a name of another module, which stands in front of it.
  private func isForeign(_ index: Int, in tokens: [Token], _ modules: Set<String>) -> Bool {
    guard index > 1, tokens[index - 1].text == "." else { return false }
    return modules.contains(tokens[index - 2].text) && tokens[index - 2].text != module
  }
}

extension Declaration {
  /// Whether other files do not see it.
  fileprivate var isHidden: Bool { modifiers.contains("private") || modifiers.contains("fileprivate") }
  /// Whether it is a function or a property that other files can use.
  fileprivate var isVisibleMember: Bool { ["func", "var", "let"].contains(keyword) && !isLocal && !isHidden }
}

@Suite("Folders use downwards only")
struct LayersTests {
  @Test func repositoryObeys() throws {
    let files = try SourceTree.repository().files
    for layers in Layers.modules { report(layers.violations(in: files)) }
  }

  private let layers = Layers(module: "M", folders: ["Low", "High"])
  private let upper = sample(
    "Sources/M/High/Cursor.swift",
    """
    struct Cursor { struct Position {} ; struct Options {} }
    private struct Scratch {}
    func walk() { struct Local {} }
    extension Page { struct Fold {} }
    """)
  private let lower = sample("Sources/M/Low/Page.swift", "struct Page {}")

  @Test(
    "The use of a name of a higher folder is found",
    arguments: [
      "let cursor: Cursor?", "extension Cursor {}", "let all: [Cursor.Position]", "_ = \"\\(Cursor())\"",
      "let cursor: M.Cursor", "let fold: Page.Fold",
    ])
  func useOfHigherLayerIsFound(line: String) {
    for path in ["Sources/M/Low/Bad.swift", "Sources/M/Low/Deeper/Bad.swift"] {
      let bad = sample(path, "// Purpose.\n\(line)\n")
      let found = layers.violations(in: [bad, lower, upper])
      #expect(found.map(\.path).contains(path))
      #expect(found.allSatisfy { $0.line == 2 })
    }
    let ground = sample("Sources/M/Ground.swift", "// Purpose.\n\(line)\n")
    #expect(!layers.violations(in: [ground, lower, upper]).isEmpty)
  }

  @Test(
    "Lower names, nested names alone, private names, other modules, comments and literals are let through",
    arguments: [
      "// Cursor", "let text = \"Cursor\"", "struct Options {}\nlet options: Options", "let scratch: Scratch",
      "let page: Page", "let local: Local", "call(Cursor: 1)", "let position: Position", "let other: N.Cursor",
    ])
  func otherUsesAreFine(line: String) {
    let other = sample("Sources/N/Cursor.swift", "struct Cursor {}")
    let file = sample("Sources/M/Low/Good.swift", "// Purpose.\n\(line)\n")
    #expect(layers.violations(in: [file, lower, upper, other]).isEmpty)
  }

  private let additions = sample(
    "Sources/M/High/Page+Walk.swift",
    """
    extension Page { func walk() {} ; var steps: Int { 0 } ; private func hop() {} ; func open() {} }
    extension String { func turned() {} }
    """)

  @Test(
    "The use of a member that a higher folder adds to a lower type is found",
    arguments: ["page.walk()", "extension Page { func go() { walk() } }", "_ = \\Page.steps"])
  func useOfHigherMemberIsFound(line: String) {
    let low = sample("Sources/M/Low/Bad.swift", "// Purpose.\nfunc run() {\n\(line)\n}\n")
    #expect(layers.violations(in: [low, lower, additions]).map(\.line) == [3])
    let high = sample("Sources/M/High/Good.swift", "// Purpose.\nfunc run() {\n\(line)\n}\n")
    #expect(layers.violations(in: [high, lower, additions]).isEmpty)
  }

  @Test(
    "Members of names that others have, hidden ones, those of the system's types, and other words are let through",
    arguments: ["file.open()", "page.hop()", "text.turned()", "let steps = 1", "func walk() {}"])
  func otherMembersAreFine(line: String) {
    let file = sample("Sources/N/File.swift", "struct File { func open() {} }")
    let low = sample("Sources/M/Low/Good.swift", "// Purpose.\nfunc run() {\n\(line)\n}\n")
    #expect(layers.violations(in: [low, lower, additions, file]).isEmpty)
  }

  @Test("A higher folder may use what lies below")
  func useOfLowerLayerIsFine() {
    let file = sample("Sources/M/High/Walk.swift", "// Purpose.\nlet cursor: Cursor?\nlet page: Page\n")
    #expect(layers.violations(in: [file, lower, upper]).isEmpty)
  }

  @Test("A folder that is no layer is found")
  func unknownFolderIsFound() {
    #expect(layers.violations(in: [sample("Sources/M/Misc/Helper.swift", "// Purpose.\n")]).count == 1)
  }

  @Test("An exception lets its name through in its file, and is found when nothing needs it")
  func exceptionsAreNeeded() {
    let excepting = Layers(module: "M", folders: ["Low", "High"], upward: ["Low/A.swift": ["Cursor"]])
    let file = sample("Sources/M/Low/A.swift", "// Purpose.\nlet cursor: Cursor?\n")
    #expect(excepting.violations(in: [file, upper, lower]).isEmpty)
    let second = sample("Sources/M/Low/B.swift", "// Purpose.\nlet cursor: Cursor?\n")
    #expect(excepting.violations(in: [file, second, upper, lower]).map(\.path) == [second.path])
    let idle = sample("Sources/M/Low/A.swift", "// Purpose.\nlet page: Page?\n")
    #expect(excepting.violations(in: [idle, upper, lower]).map(\.line) == [nil])
  }
}
