// What must not be: the one thing that a run of the fuzzer looks for, beside traps.

import QuireDatabase
import QuireIndexes
import QuireStorage

/// Something that an input made a database do, and that it must not do.
struct Finding: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Errors that hostile bytes may end in.
enum Refusal {
  /// Whether an error is one of ours, or of coding.
  static func isKnown(_ error: any Error) -> Bool {
    switch error {
    case is StorageError, is DatabaseError, is IndexError: true
    case is CompressionError, is RowFormError, is RowSchemaError: true
    case is DecodingError, is EncodingError: true
    default: false
    }
  }
}

/// The result of a step; nil if it was refused with an error that may be.
///
/// - Parameter isSound: whether all that was read so far verifies: then nothing may be refused.
/// - Throws: `Finding`.
@discardableResult
func step<Result>(_ what: String, isSound: Bool = false, _ body: () throws -> Result) throws -> Result? {
  do { return try body() } catch let finding as Finding { throw finding } catch {
    guard !isSound, Refusal.isKnown(error) else { throw Finding("\(what): \(type(of: error)): \(error)") }
    return nil
  }
}

/// Throws a finding unless something holds.
func demand(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  if !holds { throw Finding(what()) }
}
