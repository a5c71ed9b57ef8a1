// What the tests of the row coders share.

import Foundation
import QuireDatabase
import Testing

/// Encodes with `coder` in `context`.
func encoded<Value>(_ value: Value, _ coder: RowCoder<Value>, _ context: RowCodingContext) throws -> [UInt8] {
  var bytes: [UInt8] = []
  try coder.encode(value, into: &bytes, context)
  context.checkInvariants()
  return bytes
}

/// Decodes with `coder` in `context`.
func decoded<Value>(_ bytes: [UInt8], _ coder: RowCoder<Value>, _ context: RowCodingContext) throws -> Value {
  defer { context.checkInvariants() }
  return try bytes.withUnsafeBytes { try coder.decode($0, context) }
}

/// What `value` becomes as a row that is read as `type`, with nothing kept between the two but the schema.
func recoded<From: Codable & Sendable, To: Codable & Sendable>(_ value: From, as type: To.Type) throws -> To {
  let context = RowCodingContext(schema: RowSchema())
  let bytes = try encoded(value, .binary, context)
  return try decoded(bytes, .binary, RowCodingContext(schema: RowSchema(names: context.schema.names)))
}

/// The value of a row that `value` was written to.
func recoded<Value: Codable & Sendable>(_ value: Value) throws -> Value { try recoded(value, as: Value.self) }
