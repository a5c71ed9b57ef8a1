// The repository as the rules see it: found from the place of this file, read once.

import Foundation
import Testing

/// All source files of the repository.
struct SourceTree: Sendable {
  let root: URL
  let files: [SourceFile]
  /// The paths of all files that rules know of, sources and others.
  let paths: [String]

  /// The repository that holds this test; reading it may fail, and then every rule fails.
  private static let current = Result { try SourceTree(root: rootOfThisRepository) }

  /// The repository that holds this test.
  static func repository() throws -> SourceTree { try current.get() }

  private static var rootOfThisRepository: URL {
    // Tests/TidyTests/Reading/SourceTree.swift: four steps up.
    (0..<4).reduce(URL(fileURLWithPath: #filePath)) { place, _ in place.deletingLastPathComponent() }
  }

  /// Reads the manifests and what stands below `Sources`, `Tests` and `Benchmarks`.
  init(root: URL) throws {
    self.root = root
    var paths = ["Package.swift", "README.md"]
    for folder in ["Sources", "Tests", "Benchmarks", "Fixtures", ".github"] {
      paths += try Self.paths(below: folder, of: root)
    }
    self.paths = paths.sorted()
    let sources = self.paths.filter { path in
      let isBelowSources = !path.hasPrefix("Fixtures/") && !path.hasPrefix(".github/")
      return isBelowSources && (path.hasSuffix(".swift") || path.hasSuffix(".h"))
    }
    files = try sources.map { path in
      SourceFile(path: path, text: try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8))
    }
  }

  /// The names at the top of the repository.
  func topLevelNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.path).sorted()
  }

  /// The guides, the catalog's and those beside what they are about.
  func guides() throws -> [Guide] {
    try paths.filter { $0.hasSuffix(".md") }.map { path in
      Guide(path: path, text: try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8))
    }
  }

  private static func paths(below folder: String, of root: URL) throws -> [String] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
    return names.filter { name in
      // The nested package builds into a hidden folder of its own.
      !name.split(separator: "/").contains { $0.hasPrefix(".") }
    }.map { "\(folder)/\($0)" }
  }
}
