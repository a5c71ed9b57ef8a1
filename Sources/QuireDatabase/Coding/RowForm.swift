// The forms of rows, and what stands before the value so that a row tells how old it is.
//
//     binary                      a varint: the number of upgrades that the coder had; then the value
//     JSON, property list         the document; of a coder with upgrades: 0, a varint as above, then the document
//     timestamp, bytes, custom    the bytes; of a coder with upgrades: a varint as above, then the bytes
//
// No document begins with 0, and a row of a binary coder without upgrades does: so each is told from all others.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The two closures of a custom coder.
@usableFromInline final class CustomCoder<Value>: Sendable {
  @usableFromInline let encode: @Sendable (Value, _ collection: String, _ key: String) throws -> [UInt8]
  @usableFromInline let decode: @Sendable (RawSpan, _ collection: String, _ key: String) throws -> Value

  init(
    encode: @escaping @Sendable (Value, _ collection: String, _ key: String) throws -> [UInt8],
    decode: @escaping @Sendable (RawSpan, _ collection: String, _ key: String) throws -> Value
  ) {
    self.encode = encode
    self.decode = decode
  }
}

/// What a coder does to a value. Nothing in it is counted but the closures of a custom one.
@usableFromInline enum RowForm<Value>: Sendable {
  /// With the type itself, which carries the conformance that `Value` is not known to have.
  case binary(any (Codable & SendableMetatype).Type)
  case json(any (Codable & SendableMetatype).Type)
  case propertyList(any (Codable & SendableMetatype).Type)
  case timestamp
  /// `Value` is `[UInt8]`.
  case bytes
  /// `Value` is `Data`.
  case data
  case custom(CustomCoder<Value>)

  /// What tells the form from others in one look.
  @inlinable @inline(__always) var tag: UInt8 {
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
  @inlinable @inline(__always) var closures: CustomCoder<Value>? {
    if case .custom(let coder) = self { coder } else { nil }
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

  /// The form in which rows of the older type `Old` are.
  func form<Old: Codable & SendableMetatype>(for type: Old.Type) -> RowForm<Old> {
    switch self {
    case .json: .json(type)
    case .propertyList: .propertyList(type)
    default: .binary(type)
    }
  }

  // MARK: The value itself

  /// Appends the value without anything before it.
  @inlinable @inline(__always)
  func encode(_ value: Value, into bytes: inout [UInt8], _ context: RowCodingContext, _ key: String) throws {
    switch self {
    case .binary(let type):
      func encode<Coded: Codable & SendableMetatype>(_ type: Coded.Type) throws {
        unsafe try context.encodeBinary(reinterpret(value, as: type)) { unsafe bytes.append(contentsOf: $0) }
      }
      try encode(type)
    case .json, .propertyList: try encodeDocument(value, into: &bytes, context)
    case .timestamp:
      let bits = reinterpret(value, as: Date.self).timeIntervalSinceReferenceDate.bitPattern.littleEndian
      unsafe withUnsafeBytes(of: bits) { unsafe bytes.append(contentsOf: $0) }
    case .bytes: bytes.append(contentsOf: reinterpret(value, as: [UInt8].self))
    case .data: bytes.append(contentsOf: reinterpret(value, as: Data.self))
    case .custom(let coder):
      bytes.append(contentsOf: try coder.encode(value, context.collection, key))
    }
  }

  /// The value of bytes without anything before it.
  @inlinable @inline(__always)
  func decode(_ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String) throws -> Value {
    switch self {
    case .binary(let type):
      func decode<Coded: Codable & SendableMetatype>(_ type: Coded.Type) throws -> Value {
        unsafe reinterpret(try context.decodeBinary(type, bytes), as: Value.self)
      }
      return try decode(type)
    case .json, .propertyList: return unsafe try decodeDocument(bytes, context)
    case .timestamp:
      guard bytes.count == 8 else { throw RowFormError.timestampLength(bytes.count) }
      let bits = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
      return reinterpret(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)), as: Value.self)
    case .bytes: return unsafe reinterpret([UInt8](bytes), as: Value.self)
    case .data: return unsafe reinterpret(Data(bytes), as: Value.self)
    case .custom(let coder): return unsafe try coder.decode(bytes.bytes, context.collection, key)
    }
  }
}

extension RowForm {
  // Foundation's coders take so long that a copy of this for each type would save nothing.

  /// Appends the document of a value.
  @usableFromInline @inline(never)
  func encodeDocument(_ value: Value, into bytes: inout [UInt8], _ context: RowCodingContext) throws {
    switch self {
    case .json(let type):
      func encode<Coded: Codable & SendableMetatype>(_ type: Coded.Type) throws {
        bytes.append(contentsOf: try context.encodeJSON(reinterpret(value, as: type)))
      }
      try encode(type)
    case .propertyList(let type):
      func encode<Coded: Codable & SendableMetatype>(_ type: Coded.Type) throws {
        bytes.append(contentsOf: try context.encodePropertyList(reinterpret(value, as: type)))
      }
      try encode(type)
    default: preconditionFailure("the form is no document")
    }
  }

  /// The value of a document.
  @usableFromInline @inline(never)
  func decodeDocument(_ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext) throws -> Value {
    switch self {
    case .json(let type):
      func decode<Coded: Codable & SendableMetatype>(_ type: Coded.Type) throws -> Value {
        unsafe reinterpret(try context.decodeJSON(type, bytes), as: Value.self)
      }
      return try decode(type)
    case .propertyList(let type):
      func decode<Coded: Codable & SendableMetatype>(_ type: Coded.Type) throws -> Value {
        unsafe reinterpret(try context.decodePropertyList(type, bytes), as: Value.self)
      }
      return try decode(type)
    default: preconditionFailure("the form is no document")
    }
  }
}

/// What can be wrong with a row before its value is looked at.
@usableFromInline package enum RowFormError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A timestamp that has not 8 bytes.
  case timestampLength(Int)
  /// The number of upgrades is cut off, or too large for any coder.
  case malformedVersion
  /// The row was written by a coder with more upgrades.
  case newerVersion(Int, known: Int)

  /// What is wrong, and what helps.
  @usableFromInline package var description: String {
    switch self {
    case .timestampLength(let count):
      "A stored date has \(count) bytes instead of 8. Was it written by another coder?"
    case .malformedVersion:
      "A row does not begin as this coder writes it. Was it written by another coder? Else verify the database."
    case .newerVersion(let version, let known):
      "A row was written by a coder with \(version) upgrades; this one has \(known). Use the newer program, "
        + "and never remove an upgrade."
    }
  }
}

// MARK: - Versions

extension RowCoder {
  /// Appends the bytes of `value` to `bytes`. On an error, `bytes` is as it was.
  @inlinable @inline(__always)
  package func encode(
    _ value: Value, into bytes: inout [UInt8], _ context: RowCodingContext, _ key: String = ""
  ) throws {
    let start = bytes.count
    appendVersion(to: &bytes)
    do { try form.encode(value, into: &bytes, context, key) } catch {
      bytes.removeLast(bytes.count - start)
      throw error
    }
  }

  /// The value of `bytes`, which may be any.
  @inlinable @inline(__always)
  package func decode(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String = ""
  ) throws -> Value {
    if upgrades == nil {
      // What nearly all rows are, with one look at the form.
      switch form {
      case .timestamp, .bytes, .data, .custom: return unsafe try form.decode(bytes, context, key)
      case .binary:
        if unsafe bytes.first == 0 { return unsafe try form.decode(.init(rebasing: bytes[1...]), context, key) }
      case .json, .propertyList:
        if unsafe bytes.first != 0 { return unsafe try form.decode(bytes, context, key) }
      }
    }
    return unsafe try decodeVersioned(bytes, context, key)
  }

  /// The value of a row that is not simply of the first version.
  @usableFromInline @inline(never)
  func decodeVersioned(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String
  ) throws -> Value {
    let (version, start) = unsafe try version(of: bytes)
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
    if upgrades == nil, version == 0 { return unsafe try form.decode(rest, context, key) }
    return unsafe try decodeUpgraded(rest, version, context, key)
  }

  /// The value of a row of a coder that has upgrades, or had.
  private func decodeUpgraded(
    _ rest: UnsafeRawBufferPointer, _ version: Int, _ context: RowCodingContext, _ key: String
  ) throws -> Value {
    let known = unsafe upgrades?.links.count ?? 0
    if version == known { return unsafe try form.decode(rest, context, key) }
    guard let upgrades, version < known else { throw RowFormError.newerVersion(version, known: known) }
    return unsafe try upgrades.links[version](rest, context, key)
  }

  @inlinable @inline(__always) func appendVersion(to bytes: inout [UInt8]) {
    var version = upgrades.map { $0.count } ?? 0
    switch form {
    case .binary: break
    case .json, .propertyList:
      if version == 0 { return }
      bytes.append(0)
    case .timestamp, .bytes, .data, .custom:
      if version == 0 { return }
    }
    while version >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: version) | 0x80)
      version >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: version))
  }

  /// Whether `bytes` were written by a coder with as many upgrades as this one has. Constant time.
  ///
  /// - Throws: `RowFormError` if the bytes are of no version that this coder knows.
  func isOfThisVersion(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    let version = unsafe try version(of: bytes).version
    let known = upgrades?.count ?? 0
    if version > known { throw RowFormError.newerVersion(version, known: known) }
    return version == known
  }

  /// How many upgrades the coder had that wrote `bytes`, and where the value begins.
  private func version(of bytes: UnsafeRawBufferPointer) throws -> (version: Int, start: Int) {
    var offset = 0
    switch form {
    case .binary:
      if let first = unsafe bytes.first, first < 0x80 { return (Int(first), 1) }
    case .json, .propertyList:
      guard unsafe bytes.first == 0 else { return (0, 0) }
      offset = 1
    case .timestamp, .bytes, .data, .custom:
      if upgrades == nil { return (0, 0) }
    }
    return unsafe try readVersion(bytes, offset)
  }
}

/// The number at `offset`, and where it ends.
private func readVersion(
  _ bytes: UnsafeRawBufferPointer, _ offset: Int
) throws -> (version: Int, start: Int) {
  var offset = offset
  guard let version = unsafe ValueReader(bytes).varint(at: &offset, limit: bytes.count) else {
    throw RowFormError.malformedVersion
  }
  return (Int(version), offset)
}

/// How rows of older types are read, oldest first: link n reads what was written when there were n links.
@safe @usableFromInline final class UpgradeChain<Value>: Sendable {
  typealias Link = @Sendable (UnsafeRawBufferPointer, RowCodingContext, _ key: String) throws -> Value
  let links: [Link]
  let newestOldType: ObjectIdentifier
  /// How many there are.
  @usableFromInline var count: Int { unsafe links.count }

  /// `older` and one link more.
  init<Old: Sendable>(
    _ older: UpgradeChain?, oldForm: RowForm<Old>, _ upgrade: @escaping @Sendable (Old) throws -> Value
  ) {
    unsafe links =
      (older?.links ?? []) + [{ bytes, context, key in unsafe try upgrade(oldForm.decode(bytes, context, key)) }]
    newestOldType = ObjectIdentifier(Old.self)
  }
}
