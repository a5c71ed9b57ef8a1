// Why an import cannot be done.

/// Why an import cannot be done.
package struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, where, and what helps.
  package let description: String

  init(_ description: String) { self.description = description }
}
