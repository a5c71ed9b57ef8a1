// What the tests of suspensions share. In async tests these are the calls that block.

import QuireDatabase

/// The error that `body` throws, or nil.
func errorOf(_ body: () throws -> Void) -> (any Error)? {
  do { try body() } catch { return error }
  return nil
}

extension Database {
  /// Suspends it on this thread.
  func suspendHere() throws(DatabaseError) { try suspend() }

  /// Resumes it on this thread.
  @discardableResult
  func resumeHere() throws -> Bool { try resume() }

  /// Registers an extension on this thread.
  func registerHere(_ one: some DatabaseExtension) throws { try register(one) }

  /// Stores a text of the collection “t”.
  func store(_ text: String, for key: String) throws {
    try write { tx throws in try tx[.texts("t")].set(text, for: key) }
  }

  /// A text of the collection “t”.
  func text(_ key: String) throws -> String? { try read { tx in try tx[.texts("t")].get(key) } }

  /// All texts of the collection “t”.
  func allTexts() throws -> [String: String] {
    try read { tx in Dictionary(uniqueKeysWithValues: tx[.texts("t")].rows.map { ($0.key, $0.object) }) }
  }
}

extension PinnedSnapshot {
  /// A text of the collection “t”.
  func text(_ key: String) throws -> String? { try read { tx in try tx[.texts("t")].get(key) } }
}
