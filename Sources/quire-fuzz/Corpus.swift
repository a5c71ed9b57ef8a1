// Inputs on disk: a folder for each target, a file for each input.

import ArgumentParser
import Foundation

/// Writes the inputs that fuzzing begins with.
struct MakeCorpus: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "make-corpus",
    abstract: "Writes inputs to begin with into FOLDER/TARGET, from small databases of every kind.")

  @Argument(help: "Where the folders of the targets are to be.", completion: .directory)
  var folder: String

  func run() throws {
    for target in FuzzTarget.allCases {
      let place = URL(fileURLWithPath: folder).appendingPathComponent(target.rawValue)
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      let seeds = try target.seeds()
      for (name, bytes) in seeds { try Data(bytes).write(to: place.appendingPathComponent(name)) }
      print("\(target.rawValue): \(seeds.count) inputs, \(seeds.reduce(0) { $0 + $1.bytes.count }) bytes")
    }
  }
}

/// Runs each input of a corpus once.
struct RunCorpus: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Runs each file of FOLDER/TARGET once, and says how many.",
    discussion: "Ends with status 1 if an input does what it must not do. A trap ends the run: --names says of which.")

  @Argument(help: "The corpus: folders that are named like targets.", completion: .directory)
  var folder: String
  @Flag(help: "Say the name of each file before it runs.")
  var names = false

  func run() throws {
    var (count, findings) = (0, 0)
    for target in FuzzTarget.allCases {
      let place = URL(fileURLWithPath: folder).appendingPathComponent(target.rawValue)
      let files = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
      for name in files.sorted() {
        // Not kept back as output is: a trap would take it along.
        if names { FileHandle.standardError.write(Data("\(target.rawValue)/\(name)\n".utf8)) }
        do { try target.run([UInt8](try Data(contentsOf: place.appendingPathComponent(name)))) } catch {
          print("\(target.rawValue)/\(name): \(error)")
          findings += 1
        }
        count += 1
      }
      print("\(target.rawValue): \(files.count) inputs")
    }
    print("\(count) inputs, \(findings) findings")
    // A corpus that is not there passes without having run anything.
    if findings > 0 || count == 0 { throw ExitCode.failure }
  }
}

/// Runs one file.
struct RunFile: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run-file", abstract: "Runs files as inputs of a target: what the fuzzer has left of a finding.")

  @Argument(help: "meta, log, file, row, dictionary or index.")
  var target: FuzzTarget
  @Argument(help: "The files.", completion: .file())
  var files: [String]

  func run() throws {
    var hasFinding = false
    for file in files {
      do {
        try target.run([UInt8](try Data(contentsOf: URL(fileURLWithPath: file))))
        print("\(file): nothing")
      } catch let finding as Finding {
        print("\(file): \(finding)")
        hasFinding = true
      }
    }
    if hasFinding { throw ExitCode.failure }
  }
}

extension FuzzTarget: ExpressibleByArgument {}
