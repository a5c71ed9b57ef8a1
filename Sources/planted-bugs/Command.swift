// Running a program with a limit of time.

internal import Foundation

/// A program to be run.
struct Command {
  /// How it ended.
  struct End {
    let status: Int32
    let output: String
    let seconds: Double
    let hung: Bool
  }

  private let program: String
  private let arguments: [String]
  private let folder: URL

  init(_ program: String, _ arguments: [String], in folder: URL) {
    self.program = program
    self.arguments = arguments
    self.folder = folder
  }

  /// Runs it; what has not ended after so many seconds is ended, with all that it has started.
  ///
  /// - Parameter showing: whether its output is shown and not kept.
  func run(limit: Int, environment: [String: String] = [:], showing: Bool = false) throws -> End {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // It leads a group of processes, which it ends as one.
    process.arguments = ["timeout", "--kill-after=10", "\(limit)", program] + arguments
    process.currentDirectoryURL = folder
    process.environment = ProcessInfo.processInfo.environment
      .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }.merging(environment) { $1 }
    let log = FileManager.default.temporaryDirectory.appendingPathComponent("planted-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: log) }
    if !showing {
      guard FileManager.default.createFile(atPath: log.path, contents: nil) else {
        throw PlantedBug.Fault(description: "no file can be made in the temporary folder")
      }
      let handle = try FileHandle(forWritingTo: log)
      process.standardOutput = handle
      process.standardError = handle
    }
    let began = ContinuousClock.now
    try process.run()
    process.waitUntilExit()
    let took = ContinuousClock.now - began
    let output = showing ? "" : String(decoding: (try? Data(contentsOf: log)) ?? Data(), as: UTF8.self)
    let wasSignalled = process.terminationReason == .uncaughtSignal
    let status = wasSignalled ? -process.terminationStatus : process.terminationStatus
    return End(
      status: status, output: output, seconds: took / .seconds(1), hung: status == 124 || status == 137)
  }
}
