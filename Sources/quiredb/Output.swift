// What the subcommands have in common: the argument, warnings, and how things are written down.

import ArgumentParser
import QuireDatabase
import QuireStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The file to look at.
struct DatabaseArgument: ParsableArguments {
  @Argument(help: "The data file of the database.", completion: .file()) var file: String

  /// Opens the files for a look; says so if an engine has them.
  func inspect(warns: Bool = true) throws -> Inspector {
    let inspector = try describing { try Inspector(at: file) }
    if warns, inspector.isInUse {
      let who = inspector.holder.map { "process \($0)" } ?? "another process"
      complain("\(file) is open in \(who): what follows may be changing.")
    }
    return inspector
  }
}

/// Shows on standard error how far long work has come: on a terminal in one line that is written anew, and elsewhere,
/// if that is asked for, in a line for each step.
final class ProgressReporter {
  private let isShown: Bool
  private var last = ""

  init(isShown: Bool) { self.isShown = isShown }

  deinit { end() }

  /// One line for each percent of what an app tells.
  func show(_ phase: String, _ done: Int, _ total: Int) {
    show("\(phase), \(total == 0 ? 100 : Int(Double(done) / Double(max(done, total)) * 100)) %")
  }

  /// One line for each percent.
  func show(_ progress: StorageProgress) { show("\(progress.phase), \(Int(progress.fraction * 100)) %") }

  /// Shows a text, unless it is the one before.
  func show(_ text: String) {
    guard text != last else { return }
    last = text
    if ErrorOutput.isTerminal { ErrorOutput.write(ErrorOutput.clearing + text) } else if isShown { complain(text) }
  }

  /// The work is done: takes the line off the terminal.
  func end() {
    if ErrorOutput.isTerminal, !last.isEmpty { ErrorOutput.write(ErrorOutput.clearing) }
    last = ""
  }
}

/// Standard error. Not through stdio: its streams are shared mutable variables of the C library.
enum ErrorOutput {
  static let isTerminal = isatty(2) == 1
  /// What takes a line off a terminal.
  static let clearing = "\r\u{1b}[K"

  static func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { systemWrite(2, $0) }
  }
}

/// Writes a line to standard error, whatever is in the text: it may name what stands in a file.
func complain(_ text: String) {
  ErrorOutput.write("\(ErrorOutput.isTerminal ? ErrorOutput.clearing : "")quiredb: \(visible(text))\n")
}

/// Runs `body`; an error of the database's becomes one line and exit code 1.
func describing<Result>(_ body: () throws -> Result) throws -> Result {
  do { return try body() } catch let error where error is StorageError || error is DatabaseError || error is FileError {
    complain("\(error)")
    throw ExitCode.failure
  }
}

/// A number as JSON has it.
func count(_ value: some BinaryInteger) -> RowValue { .integer(Int128(value)) }

/// `text`, filled with spaces to `width`.
func padded(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}

/// `value` in `width` columns, at their right.
func aligned(_ value: some CustomStringConvertible, _ width: Int) -> String {
  let text = value.description
  return String(repeating: " ", count: max(0, width - text.count)) + text
}

/// Bytes as two hexadecimal digits each; what is beyond `limit` is only counted.
func hexadecimalBytes(_ bytes: some Swift.Collection<UInt8>, limit: Int = 64) -> String {
  let digits = bytes.prefix(limit).map { byte in
    let text = String(byte, radix: 16)
    return text.count == 1 ? "0" + text : text
  }
  return digits.joined() + (bytes.count > limit ? "… (\(bytes.count) bytes)" : "")
}

/// A key in quotes if it is printable ASCII, in hexadecimal if it is not.
func readable(_ key: [UInt8]) -> String {
  let isText = !key.isEmpty && key.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
  return isText ? "\"" + String(decoding: key.prefix(64), as: UTF8.self) + "\"" : "x" + hexadecimalBytes(key)
}

/// A part of a whole in percent.
func percent(_ part: Int, of whole: Int) -> String {
  whole == 0 ? "-" : "\((part * 100 + whole / 2) / whole) %"
}
