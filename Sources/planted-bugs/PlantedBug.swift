// What a planted bug is.

internal import Foundation

/// A mutation of one line, as a list has it.
struct PlantedBug: Codable {
  /// Where the lists are, below the package.
  static let folder = "Fixtures/PlantedBugs"
  /// What stands for “this bug is on” in a mutation.
  static let mark = "PLANTED"

  /// Says what is wrong; no other bug has it.
  var name: String
  /// The part of the store that it is in.
  var area: String
  /// What a user would see or lose, and when.
  var harm: String
  /// The path of the file, below the package.
  var file: String
  /// The line, without the spaces around it.
  var line: String
  /// The line above it, where the file has `line` more than once.
  var after: String?
  /// What stands there instead. Does what the line does where `mark` is false.
  var mutated: String
  /// What is to notice: `crashes`, `rot`, `threads` (schedules first, then threads of the system's), `postgres`
  /// (`Tests/postgres`, and nothing else), or the name of a suite of tests.
  var killer: String

  /// What chooses the bug in the environment: of its name alone, so that other bugs may come and go.
  var number: Int { Int(name.utf8.reduce(0x811c_9dc5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }) }

  /// Whether the line is one of the engine's.
  var isOfEngine: Bool { file.hasPrefix("Sources/QuireStorage/") }

  /// Something that is wrong with the lists or with the sources, in words.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  /// The bugs of all lists of a folder, in the order of the lists' names.
  static func all(in folder: URL) throws -> [PlantedBug] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
    let bugs = try names.sorted().flatMap { name in
      let data = try Data(contentsOf: folder.appendingPathComponent(name))
      return try JSONDecoder().decode([PlantedBug].self, from: data)
    }
    let counts = Dictionary(bugs.map { ($0.name, 1) }, uniquingKeysWith: +)
    if let twice = counts.first(where: { $0.value > 1 }) {
      throw Fault(description: "two bugs are called \(twice.key)")
    }
    guard Set(bugs.map(\.number)).count == bugs.count else { throw Fault(description: "two names have one number") }
    if let bug = bugs.first(where: { !$0.mutated.contains(mark) }) {
      throw Fault(description: "\(bug.name) is never off: its mutation has no \(mark)")
    }
    return bugs
  }
}
