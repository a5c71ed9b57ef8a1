// Writes the databases that every later version of the format must go on to open.

import ArgumentParser
import QuireTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// `quire-torture fixtures`.
struct Fixtures: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes small databases that show all of the format, and what they hold.",
    discussion: "For a new version of the format. The files of older versions are never written again.")

  @Argument(help: "The folder to write to. Files that are there already are left alone.", completion: .directory)
  var folder: String

  func run() throws {
    var lines = "# name, CSN, next row id, next tree id, digest of the content\n"
    for fixture in FormatFixture.allCases {
      let files = try fixture.make()
      for (suffix, bytes) in files.sorted(by: { $0.key < $1.key }) {
        try write(bytes, to: "\(fixture.rawValue).db\(suffix)")
      }
      var logs: [Int: [UInt8]] = [:]
      for (suffix, bytes) in files where suffix.hasPrefix("-log") { logs[Int(suffix.dropFirst(4)) ?? 0] = bytes }
      let decoded = try DecodedDatabase(data: files[""] ?? [], logs: logs)
      lines += "\(fixture.rawValue) \(decoded.csn) \(decoded.nextRowID) \(decoded.nextTreeID) \(decoded.digest)\n"
    }
    try write(Array(lines.utf8), to: "contents.txt")
  }

  private func write(_ bytes: [UInt8], to name: String) throws {
    let descriptor = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_EXCL, 0o644)
    guard descriptor >= 0 else {
      complain("\(folder)/\(name) cannot be written: \(String(cString: strerror(errno)))")
      throw ExitCode.failure
    }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send($0, to: descriptor) }
      guard count > 0 else {
        complain("\(folder)/\(name) cannot be written: \(String(cString: strerror(errno)))")
        throw ExitCode.failure
      }
      rest = rest.dropFirst(count)
    }
  }
}

/// The system's call, which the method above hides by its name.
private func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}
