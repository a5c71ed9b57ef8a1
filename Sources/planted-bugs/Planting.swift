// Planting bugs in a copy of the package.

internal import Foundation

/// The copy of a package with bugs in it. No bug is on where the environment chooses none.
struct Planting {
  /// The variable of the environment that chooses a bug by its number.
  static let variable = "QUIRE_PLANTED_BUG"

  let bugs: [PlantedBug]

  // MARK: Text

  /// The text of a file with its bugs in it.
  ///
  /// - Throws: `PlantedBug.Fault` unless the file has each line exactly once.
  static func plant(_ bugs: [PlantedBug], in text: String) throws -> String {
    var lines = text.components(separatedBy: "\n")
    let original = lines.map { $0.trimmingCharacters(in: .whitespaces) }
    var taken: [Int: String] = [:]
    for bug in bugs {
      let places = original.indices.filter { index in
        guard original[index] == bug.line else { return false }
        return bug.after == nil || (index > 0 && original[index - 1] == bug.after)
      }
      guard places.count == 1, let place = places.first else {
        throw PlantedBug.Fault(description: "\(bug.name): \(bug.file) has its line \(places.count) times: \(bug.line)")
      }
      if let other = taken[place] {
        throw PlantedBug.Fault(description: "\(bug.name) and \(other) are in the same line of \(bug.file)")
      }
      taken[place] = bug.name
      let indentation = lines[place].prefix { $0 == " " }
      lines[place] = bug.mutated
        .replacingOccurrences(of: PlantedBug.mark, with: "PlantedBug.isOn(\(bug.number))")
        .components(separatedBy: "\n").map { indentation + $0 }.joined(separator: "\n")
    }
    return lines.joined(separator: "\n")
  }

  /// The files that have bugs, with these in them, by their paths.
  func plantedFiles(of root: URL) throws -> [String: String] {
    var files: [String: String] = [:]
    for (file, bugs) in Dictionary(grouping: bugs, by: \.file) {
      let url = root.appendingPathComponent(file)
      guard let text = try? String(contentsOf: url, encoding: .utf8) else {
        throw PlantedBug.Fault(description: "\(bugs[0].name): there is no \(file)")
      }
      files[file] = try Self.plant(bugs, in: text)
    }
    return files
  }

  /// What tells the code of a module which bug is on.
  static let chooser = """
    internal import Foundation

    /// The bug that is on.
    @usableFromInline enum PlantedBug {
      @usableFromInline static let chosen = ProcessInfo.processInfo.environment["\(variable)"].flatMap { Int($0) }

      @inlinable static func isOn(_ number: Int) -> Bool { chosen == number }
    }

    """

  // MARK: The copy

  /// Brings the copy of a package up to date. Files that are as they must be are not written, so that a build has
  /// little to do. Returns how many were written.
  func copy(_ root: URL, to target: URL) throws -> Int {
    var wanted: [String: Data] = [:]
    for name in ["Package.swift", "Package.resolved", "README.md", "Sources", "Tests", "Fixtures"] {
      for path in Self.files(at: name, below: root) {
        wanted[path] = try Data(contentsOf: root.appendingPathComponent(path))
      }
    }
    for (file, text) in try plantedFiles(of: root) {
      wanted[file] = Data(text.utf8)
      let module = file.split(separator: "/").prefix(2).joined(separator: "/")
      wanted["\(module)/PlantedBug.swift"] = Data(Self.chooser.utf8)
    }
    let manager = FileManager.default
    for name in ["Sources", "Tests", "Fixtures"] {
      for path in Self.files(at: name, below: target) where wanted[path] == nil {
        try manager.removeItem(at: target.appendingPathComponent(path))
      }
    }
    var written = 0
    for (path, data) in wanted {
      let url = target.appendingPathComponent(path)
      let isUpToDate = (try? Data(contentsOf: url)) == data
      if isUpToDate, isExecutable(url) == isExecutable(root.appendingPathComponent(path)) { continue }
      try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try data.write(to: url)
      let isProgram = isExecutable(root.appendingPathComponent(path))
      try manager.setAttributes([.posixPermissions: isProgram ? 0o755 : 0o644], ofItemAtPath: url.path)
      written += 1
    }
    return written
  }

  private func isExecutable(_ url: URL) -> Bool { FileManager.default.isExecutableFile(atPath: url.path) }

  /// The paths of all files of a folder, or of a file; none if there is no such thing.
  private static func files(at name: String, below root: URL) -> [String] {
    func isFile(_ path: String) -> Bool {
      let attributes = try? FileManager.default.attributesOfItem(atPath: root.appendingPathComponent(path).path)
      return attributes?[.type] as? FileAttributeType == .typeRegular
    }
    if isFile(name) { return [name] }
    let inside = try? FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(name).path)
    return (inside ?? []).map { "\(name)/\($0)" }.filter(isFile)
  }
}
