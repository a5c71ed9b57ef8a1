// The forms of rows, and what stands before the value so that a row tells how old it is.
//
//     binary                      a varint: the number of upgrades that the coder had; then the value
//     JSON, property list         the document; of a coder with upgrades: 0, a varint as above, then the document
//     timestamp, bytes, custom    the bytes; of a coder with upgrades: a varint as above, then the bytes
//
// No document begins with 0, and a row of a binary coder without upgrades does: so each is told from all others.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The two closures of a custom coder, for code that does not know the type of the values.
///
/// Sendable: safe because nothing changes here, and what inherits holds two closures that are `Sendable`.
@usableFromInline class CustomCoder: @unchecked Sendable {
  /// The type of the values.
  var valueType: Any.Type { preconditionFailure("only what inherits is ever made") }

  /// The bytes of the value at `value`.
  func encode(_ value: UnsafeRawPointer, _ collection: String, _ key: String) throws -> [UInt8] {
    preconditionFailure("only what inherits is ever made")
  }

  /// Makes the value of `bytes` at `place`, where there is none; on an error there is none afterwards.
  func decode(_ bytes: RawSpan, _ collection: String, _ key: String, into place: UnsafeMutableRawPointer) throws {
    preconditionFailure("only what inherits is ever made")
  }
}

/// The closures with their types.
final class TypedCustomCoder<Value>: CustomCoder, @unchecked Sendable {
  // Sendable: safe because both closures are.
  private let encode: @Sendable (Value, _ collection: String, _ key: String) throws -> [UInt8]
  private let decode: @Sendable (RawSpan, _ collection: String, _ key: String) throws -> Value

  init(
    encode: @escaping @Sendable (Value, _ collection: String, _ key: String) throws -> [UInt8],
    decode: @escaping @Sendable (RawSpan, _ collection: String, _ key: String) throws -> Value
  ) {
    self.encode = encode
    self.decode = decode
  }

  override var valueType: Any.Type { Value.self }

  override func encode(_ value: UnsafeRawPointer, _ collection: String, _ key: String) throws -> [UInt8] {
    try unsafe encode(value.assumingMemoryBound(to: Value.self).pointee, collection, key)
  }

  override func decode(
    _ bytes: RawSpan, _ collection: String, _ key: String, into place: UnsafeMutableRawPointer
  ) throws {
    unsafe place.initializeMemory(as: Value.self, to: try decode(bytes, collection, key))
  }
}

/// What writes and reads its JSON by itself, exactly, and not by Foundation's coders.
protocol JSONCoded {
  /// Appends the value as a document. On an error, `bytes` is as it was.
  func appendJSON(to bytes: inout [UInt8]) throws
  /// Reads a document, which may be any bytes.
  init(jsonDocument bytes: UnsafeRawBufferPointer) throws
}

/// What a coder does to a value, whose type only the form knows. Nothing in it is counted: who has a custom one keeps
/// its closures.
///
/// Values are handed over by their place in memory. Whoever does so knows that the value there is of the form's type:
/// `isForm(of:)`.
///
/// Sendable: safe because a form is made of types only whose metatypes may be sent, which each coder asks for. Here
/// they are not asked again: code that is inlined into apps must not derive `SendableMetatype` from `Sendable`. An app
/// in Swift 5 mode may leave out the latter, and the optimizer of Swift 6.3 crashes on what is derived from it.
@safe @usableFromInline enum RowForm: @unchecked Sendable {
  /// With the type itself, which carries its conformance.
  case binary(any Codable.Type)
  case json(any Codable.Type)
  case propertyList(any Codable.Type)
  /// Of `Date`.
  case timestamp
  /// Of `[UInt8]`.
  case bytes
  /// Of `Data`.
  case data
  case custom(Unmanaged<CustomCoder>)

  /// What tells the form from others in one look.
  @inline(__always) var tag: UInt8 {
    switch self {
    case .binary: 1
    case .json: 2
    case .propertyList: 3
    case .timestamp: 4
    case .bytes, .data: 5
    case .custom: 6
    }
  }

  /// What holds the closures of a custom form.
  @inline(__always) var closures: Unmanaged<CustomCoder>? {
    if case .custom(let coder) = self { unsafe coder } else { nil }
  }

  var kind: CoderIdentity.Kind {
    switch self {
    case .binary: .binary
    case .json: .json
    case .propertyList: .propertyList
    case .timestamp: .timestamp
    case .bytes, .data: .bytes
    case .custom: .custom
    }
  }

  /// Whether the values are of `type`.
  func isForm(of type: Any.Type) -> Bool {
    switch self {
    case .binary(let own), .json(let own), .propertyList(let own): own == type
    case .timestamp: type == Date.self
    case .bytes: type == [UInt8].self
    case .data: type == Data.self
    case .custom(let coder): unsafe coder._withUnsafeGuaranteedRef { $0.valueType } == type
    }
  }

  /// The form in which rows of the older type `Old` are.
  func form<Old: Codable>(for type: Old.Type) -> RowForm {
    switch self {
    case .json: .json(type)
    case .propertyList: .propertyList(type)
    default: .binary(type)
    }
  }

  // MARK: The value itself

  /// Appends the value at `value` without anything before it.
  @inline(__always)
  func encode(
    _ value: UnsafeRawPointer, into bytes: inout [UInt8], _ context: RowCodingContext, _ key: String
  ) throws {
    switch self {
    case .binary(let type):
      func encode<Coded: Codable>(_ type: Coded.Type) throws {
        unsafe try context.encodeBinary(value.assumingMemoryBound(to: type).pointee) {
          unsafe bytes.append(contentsOf: $0)
        }
      }
      try encode(type)
    case .json, .propertyList: try unsafe encodeDocument(value, into: &bytes, context)
    case .timestamp:
      let seconds = unsafe value.assumingMemoryBound(to: Date.self).pointee.timeIntervalSinceReferenceDate
      unsafe withUnsafeBytes(of: seconds.bitPattern.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    case .bytes: unsafe bytes.append(contentsOf: value.assumingMemoryBound(to: [UInt8].self).pointee)
    case .data: unsafe bytes.append(contentsOf: value.assumingMemoryBound(to: Data.self).pointee)
    case .custom(let coder):
      let encoded = try unsafe coder._withUnsafeGuaranteedRef { coder in
        try unsafe coder.encode(value, context.collection, key)
      }
      bytes.append(contentsOf: encoded)
    }
  }

  /// Makes the value of bytes without anything before it at `place`, where there is none; on an error there is none
  /// afterwards.
  @inline(__always)
  func decode(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String, into place: UnsafeMutableRawPointer
  ) throws {
    switch self {
    case .binary(let type):
      func decode<Coded: Codable>(_ type: Coded.Type) throws {
        try unsafe context.decodeBinary(type, bytes, into: place)
      }
      try decode(type)
    case .json, .propertyList: try unsafe decodeDocument(bytes, context, into: place)
    case .timestamp:
      unsafe place.initializeMemory(as: Date.self, to: try Self.timestamp(bytes))
    case .bytes: unsafe place.initializeMemory(as: [UInt8].self, to: [UInt8](bytes))
    case .data: unsafe place.initializeMemory(as: Data.self, to: Data(bytes))
    case .custom(let coder):
      try unsafe coder._withUnsafeGuaranteedRef { coder in
        try unsafe coder.decode(bytes.bytes, context.collection, key, into: place)
      }
    }
  }

  /// The date that a timestamp says.
  static func timestamp(_ bytes: UnsafeRawBufferPointer) throws -> Date {
    guard bytes.count == 8 else { throw RowFormError.timestampLength(bytes.count) }
    let bits = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    return Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
  }

  /// Appends the document of a value.
  @inline(never)
  private func encodeDocument(
    _ value: UnsafeRawPointer, into bytes: inout [UInt8], _ context: RowCodingContext
  ) throws {
    switch self {
    case .json(let type):
      func encode<Coded: Codable>(_ type: Coded.Type) throws {
        let value = unsafe value.assumingMemoryBound(to: type).pointee
        if type is any JSONCoded.Type, let own = value as? any JSONCoded { return try own.appendJSON(to: &bytes) }
        bytes.append(contentsOf: try context.encodeJSON(value))
      }
      try encode(type)
    case .propertyList(let type):
      func encode<Coded: Codable>(_ type: Coded.Type) throws {
        unsafe bytes.append(contentsOf: try context.encodePropertyList(value.assumingMemoryBound(to: type).pointee))
      }
      try encode(type)
    default: preconditionFailure("the form is no document")
    }
  }

  /// Makes the value of a document.
  @inline(never)
  private func decodeDocument(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, into place: UnsafeMutableRawPointer
  ) throws {
    switch self {
    case .json(let type):
      func decode<Coded: Codable>(_ type: Coded.Type) throws {
        if let own = type as? any JSONCoded.Type, let value = try unsafe own.init(jsonDocument: bytes) as? Coded {
          unsafe place.initializeMemory(as: type, to: value)
          return
        }
        unsafe place.initializeMemory(as: type, to: try context.decodeJSON(type, bytes))
      }
      try decode(type)
    case .propertyList(let type):
      func decode<Coded: Codable>(_ type: Coded.Type) throws {
        unsafe place.initializeMemory(as: type, to: try context.decodePropertyList(type, bytes))
      }
      try decode(type)
    default: preconditionFailure("the form is no document")
    }
  }
}

/// What can be wrong with a row before its value is looked at.
package enum RowFormError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A timestamp that has not 8 bytes.
  case timestampLength(Int)
  /// The number of upgrades is cut off, or too large for any coder.
  case malformedVersion
  /// A property list that is not of the binary form.
  case foreignPropertyList
  /// The row was written by a coder with more upgrades.
  case newerVersion(Int, known: Int)

  /// What is wrong, and what helps.
  package var description: String {
    switch self {
    case .timestampLength(let count):
      "A stored date has \(count) bytes instead of 8. Was it written by another coder?"
    case .malformedVersion:
      "A row does not begin as this coder writes it. Was it written by another coder? Else verify the database."
    case .foreignPropertyList:
      "A stored property list is not of the binary form, the only one that is read. Was it written by another coder?"
    case .newerVersion(let version, let known):
      "A row was written by a coder with \(version) upgrades; this one has \(known). Use the newer program, "
        + "and never remove an upgrade."
    }
  }
}
