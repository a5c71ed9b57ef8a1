// What the subcommands have in common: warnings, and how tables are written.

import ArgumentParser
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

/// Writes a line to standard error.
func complain(_ text: String) {
  // Not through stdio: its streams are shared mutable variables of the C library.
  let line = Array("quire-torture: \(text)\n".utf8)
  _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}

/// Runs `body`; an error of the engine becomes one line and exit code 1.
func describing<Result>(_ body: () throws -> Result) throws -> Result {
  do { return try body() } catch let error as StorageError {
    complain(error.description)
    throw ExitCode.failure
  }
}

/// `text`, filled with spaces to `width`.
func padded(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}

/// `value` in `width` columns, at their right.
func aligned(_ value: some CustomStringConvertible, _ width: Int) -> String {
  let text = value.description
  return String(repeating: " ", count: max(0, width - text.count)) + text
}
