// Counting the instructions of sections under valgrind's callgrind: the same on every run, however busy the machine.

internal import Foundation

/// What one operation of a section costs.
struct SectionCost: Codable, Equatable {
  var instructions: Double
  /// Calls of what fast paths should not need, by name; what is not called is left out.
  var calls: [String: Double]
}

/// A run of this program under callgrind.
enum Callgrind {
  /// What is counted beside instructions: reference counts, allocations, locks and copies.
  static let watched = [
    "swift_retain", "swift_allocObject", "malloc", "pthread_mutex_lock", "swift_beginAccess", "memcpy", "memmove",
    "memcmp",
  ]

  /// Runs `sections` of the store `name` on `rows` rows, all in one process, and returns what they cost.
  static func count(
    _ sections: [MeasuredSection], of name: String, rows: Int, directory: String
  ) throws -> [(section: MeasuredSection, cost: SectionCost)] {
    let output = "\(directory)/callgrind"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file=\(output)", "--instr-atstart=no",
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), "sections", "--store", name,
      "--rows", "\(rows)", "--names", sections.map(\.rawValue).joined(separator: ","), "--directory", directory,
    ]
    // Hash tables of one and the same order on every run.
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_DETERMINISTIC_HASHING": "1"]) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let printed = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    try expect(
      process.terminationStatus == 0, "callgrind failed; is valgrind installed? apt-get install valgrind")
    let operations = printed.split(separator: "\n").compactMap { Int($0) }
    try expect(operations.count == sections.count, "\(sections.count) sections ran \(operations.count) times")
    // One numbered file for each section: `Sections` asks for it.
    return try sections.indices.map { index in
      let file = "\(output).\(index + 1)"
      try expect(FileManager.default.fileExists(atPath: file), "callgrind did not count \(sections[index].rawValue)")
      let (cost, count) = (cost(inFile: file), Double(operations[index]))
      let calls = cost.calls.mapValues { $0 / count }
      return (sections[index], SectionCost(instructions: cost.instructions / count, calls: calls))
    }
  }

  /// Sums a file of callgrind's: all costs, and the calls of each watched function. A name is spelled out once, as
  /// “fn=(7) name”, and then stands for itself as “(7)”; “calls=N” belongs to the “cfn=” line before it.
  private static func cost(inFile path: String) -> (instructions: Double, calls: [String: Double]) {
    var names: [Substring: Substring] = [:]
    func name(_ text: Substring) -> Substring {
      guard let end = text.firstIndex(of: ")") else { return text }
      let (number, rest) = (text[...end], text[text.index(after: end)...].drop { $0 == " " })
      if !rest.isEmpty { names[number] = rest.prefix { $0 != "'" && $0 != "@" } }
      return names[number] ?? number
    }
    var (total, callee) = (0.0, Substring())
    var calls: [String: Double] = [:]
    for line in lines(of: path) {
      if line.hasPrefix("fn=") {
        _ = name(line.dropFirst(3))
      } else if line.hasPrefix("cfn=") {
        callee = name(line.dropFirst(4))
      } else if line.hasPrefix("calls=") {
        // The system's library has several versions of a function, such as “__memcpy_avx_unaligned_erms”.
        guard let watched = watched.first(where: { callee == $0 || callee.hasPrefix("__\($0)") }) else { continue }
        calls[watched, default: 0] += line.dropFirst(6).prefix { $0 != " " }.description.doubleValue
      } else if line.hasPrefix("totals:") {
        total = line.dropFirst(7).trimmingCharacters(in: .whitespaces).doubleValue
      }
    }
    return (total, calls)
  }
}

extension String {
  fileprivate var doubleValue: Double { Double(self) ?? 0 }
}
