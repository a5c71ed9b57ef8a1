// Having the package manager read what documents show of manifests.

#if os(Linux) || os(macOS)
  import Foundation

  /// The manifest of a program that has the entries of a listing.
  struct Manifest {
    private let text: String

    init(_ listing: Listing) {
      func entries(_ kind: String) -> String {
        listing.lines.filter { $0.hasPrefix(kind) }.joined(separator: ",\n")
      }
      text = """
        // swift-tools-version: 6.2
        import PackageDescription
        let package = Package(
          name: "app", dependencies: [\(entries(".package("))],
          targets: [.executableTarget(name: "app", dependencies: [\(entries(".product("))])])

        """
    }

    /// What the package manager says of it. Nothing is fetched or built.
    func describe() throws -> (status: Int32, output: String) {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("manifest-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      try Data(text.utf8).write(to: folder.appendingPathComponent("Package.swift"))
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["swift", "package", "--package-path", folder.path, "dump-package"]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let text = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    /// The strings that follow a text in the lines of a listing, up to the end of the list.
    static func names(after text: String, in listing: Listing) -> [String] {
      listing.lines.flatMap { line -> [String] in
        guard let start = line.range(of: text)?.upperBound else { return [] }
        let list = line[start...].prefix { $0 != "]" }
        return list.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
          .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
      }
    }
  }
#endif
