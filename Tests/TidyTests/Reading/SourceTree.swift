// The repository as the rules see it: found from the place of this file, read once.

import Foundation
import Testing

/// All source files of the repository.
struct SourceTree: Sendable {
  let root: URL
  let files: [SourceFile]

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
    var paths = ["Package.swift"]
    for folder in ["Sources", "Tests", "Benchmarks"] {
      paths += try Self.sourcePaths(below: folder, of: root)
    }
    files = try paths.sorted().map { path in
      SourceFile(path: path, text: try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8))
    }
  }

  /// The names at the top of the repository.
  func topLevelNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.path).sorted()
  }

  private static func sourcePaths(below folder: String, of root: URL) throws -> [String] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
    return names.filter { name in
      // The nested package builds into a hidden folder of its own.
      let isHidden = name.split(separator: "/").contains { $0.hasPrefix(".") }
      return !isHidden && (name.hasSuffix(".swift") || name.hasSuffix(".h"))
    }.map { "\(folder)/\($0)" }
  }
}
