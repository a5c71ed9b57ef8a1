// What a rule finds, and how it is reported: one issue per place, with the place first.

import Testing

/// A place that breaks a rule.
struct Violation: Equatable, CustomStringConvertible {
  let path: String
  /// From 1; nil where the whole file, or no file, is meant.
  let line: Int?
  let message: String

  init(_ file: SourceFile, _ line: Int?, _ message: String) {
    path = file.path
    self.line = line
    self.message = message
  }

  init(path: String, line: Int? = nil, message: String) {
    self.path = path
    self.line = line
    self.message = message
  }

  var description: String { line.map { "\(path):\($0): \(message)" } ?? "\(path): \(message)" }
}

/// Reports each of `violations` as an issue of the running test.
func report(_ violations: [Violation], sourceLocation: SourceLocation = #_sourceLocation) {
  for violation in violations { Issue.record("\(violation.description)", sourceLocation: sourceLocation) }
}

/// A planted file for a rule's own test.
func sample(_ path: String, _ text: String) -> SourceFile { SourceFile(path: path, text: text) }
