// What coders keep between the rows of one transaction.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Scratch memory and caches of one transaction for one half, objects or metadata, of one collection.
///
/// Used by one thread at a time, and for as many rows as the transaction has, so that coding a row allocates nothing
/// beyond what the value itself needs. A coder that is called back into while it codes, because an `encode(to:)` or
/// `init(from:)` uses the database itself, codes the inner row with scratch memory of its own.
@safe package final class RowCodingContext {
  private let names: FieldNames
  /// The collection whose rows are coded.
  let collection: String
  /// Looks out for fields that types do not read.
  let watch = FieldWatch()
  private var encoder: RowEncoder?
  private var decoder: RowDecoder?
  private var jsonEncoder: JSONEncoder?
  private var jsonDecoder: JSONDecoder?
  private var propertyListEncoder: PropertyListEncoder?
  private var propertyListDecoder: PropertyListDecoder?
  /// How types are decoded directly; and the one that was asked for last, nil if it is not, without the count that
  /// taking it would cost each row.
  private var direct: [ObjectIdentifier: DirectDecoding] = [:]
  @exclusivity(unchecked) private var lastDirectType: ObjectIdentifier?
  @exclusivity(unchecked) private var lastDirect: Unmanaged<DirectDecoding>?
  private var isDecodingWhole = false

  /// Starts with the names of fields that rows on disk may use.
  package init(schema: RowSchema, of collection: String = "") {
    names = FieldNames(schema)
    self.collection = collection
  }

  deinit {
    encoder?.close()
    decoder?.close()
  }

  /// The names that rows may use which were read or written; longer once a new field has been written. Constant time.
  ///
  /// It never gets shorter but by `reset(to:)`, not even if the row that brought a new field could not be encoded. Rows
  /// must not become visible before the schema that they were written with.
  package var schema: RowSchema { unsafe RowSchema(checked: names.names) }

  /// How many names the schema has: whether it has grown, at the cost of a load.
  package var fieldNameCount: Int { unsafe names.names.count }

  /// Takes another schema: that of a newer snapshot, or of the savepoint that a transaction goes back to. Constant time
  /// if it is the same one. Not to be called while a row is being coded.
  package func reset(to schema: RowSchema) {
    watch.forget()
    names.reset(to: schema)
  }

  /// Calls `body`; while it runs, fields of values without a type get no new names if `isFixed`.
  func withNames<Result>(fixed isFixed: Bool, _ body: () throws -> Result) rethrows -> Result {
    let former = names.isFixed
    names.isFixed = isFixed
    defer { names.isFixed = former }
    return try body()
  }

  /// What encoders and decoders tell the values; nil for nothing.
  var userInfo: CoderUserInfo? {
    get { names.userInfo }
    set {
      guard names.userInfo !== newValue else { return }
      names.userInfo = newValue
      (jsonEncoder, jsonDecoder, propertyListEncoder, propertyListDecoder) = (nil, nil, nil, nil)
    }
  }

  // MARK: Binary

  /// Calls `body` with the binary form of `value`.
  func encodeBinary<Value: Encodable>(_ value: Value, _ body: (UnsafeRawBufferPointer) -> Void) throws {
    if let encoder, !encoder.isActive { return unsafe try encoder.encodeRow(value, body) }
    let fresh = RowEncoder(names)
    guard encoder != nil else {
      encoder = fresh
      return unsafe try fresh.encodeRow(value, body)
    }
    defer { fresh.close() }
    unsafe try fresh.encodeRow(value, body)
  }

  /// The value whose binary form `bytes` is.
  func decodeBinary<Value: Decodable>(
    _ type: Value.Type, _ bytes: UnsafeRawBufferPointer
  ) throws -> Value {
    if let decoder, !decoder.isActive { return unsafe try decoder.decodeRow(type, bytes) }
    let fresh = RowDecoder(names, watch)
    guard decoder != nil else {
      decoder = fresh
      return unsafe try fresh.decodeRow(type, bytes)
    }
    defer { fresh.close() }
    return unsafe try fresh.decodeRow(type, bytes)
  }

  /// Makes the value whose binary form `bytes` is at `place`, where there is none; on an error there is none
  /// afterwards.
  @inline(__always) func decodeBinary<Value: Codable>(
    _ type: Value.Type, _ bytes: UnsafeRawBufferPointer, into place: UnsafeMutableRawPointer
  ) throws {
    let isKnown = unsafe lastDirectType == ObjectIdentifier(type)
    let direct = unsafe isKnown ? lastDirect : directDecoding(of: type)
    if let direct = unsafe direct {
      let isMade = unsafe direct._withUnsafeGuaranteedRef { unsafe $0.decode(bytes, self, names, into: place) }
      if !isMade { try unsafe decodeWhole(type, bytes, direct.takeUnretainedValue(), into: place) }
    } else {
      unsafe place.initializeMemory(as: type, to: try decodeBinary(type, bytes))
    }
  }

  /// Makes the value by its `init(from:)`, and where it is time compares it with what direct decoding makes.
  @inline(never) private func decodeWhole<Value: Codable>(
    _ type: Value.Type, _ bytes: UnsafeRawBufferPointer, _ direct: DirectDecoding, into place: UnsafeMutableRawPointer
  ) throws {
    guard direct.isDue, decoder?.isActive != true else {
      unsafe place.initializeMemory(as: type, to: try decodeBinary(type, bytes))
      return
    }
    let decoder = decoder ?? RowDecoder(names, watch)
    self.decoder = decoder
    let asked = AskedNames()
    let value = try unsafe decoder.decodeRow(type, bytes, noting: asked)
    try unsafe direct.check(value, asked, bytes, self, names)
    unsafe place.initializeMemory(as: type, to: value)
  }

  /// Owned by the context, as long as it is there.
  @inline(never) private func directDecoding(of type: any Codable.Type) -> Unmanaged<DirectDecoding>? {
    if isDecodingWhole { return nil }
    let id = ObjectIdentifier(type)
    var decoding = direct[id]
    // Large values are decoded on a stack that has room for them, one at a time.
    func isPlain<Value>(_: Value.Type) -> Bool { MemoryLayout<Value>.size <= Limits.plainValueByteCount }
    if decoding == nil, type is any SynthesizedCodable.Type, _openExistential(type, do: isPlain) {
      decoding = DirectDecoding()
      direct[id] = decoding
    }
    unsafe (lastDirectType, lastDirect) = unsafe (id, decoding.map { unsafe .passUnretained($0) })
    return unsafe lastDirect
  }

  /// Calls `body`, in which all rows are decoded by the `init(from:)` of their types.
  package func decodingWhole<Result>(_ body: () throws -> Result) rethrows -> Result {
    let former = isDecodingWhole
    isDecodingWhole = true
    unsafe (lastDirectType, lastDirect) = (nil, nil)
    defer { isDecodingWhole = former }
    return try body()
  }

  /// The value at `head` in the binary form of a value around it.
  func decodeField<Value: Decodable>(
    _ type: Value.Type, _ reader: ValueReader, _ head: ValueHead, _ step: PathStep? = nil
  ) throws -> Value {
    if let decoder, !decoder.isActive { return try decoder.decodeField(type, reader, head, step) }
    let fresh = RowDecoder(names, watch)
    defer { fresh.close() }
    return try fresh.decodeField(type, reader, head, step)
  }

  /// The number of the field called `name`; nil if no row has it by number.
  func fieldNumber(of name: String) -> UInt32? { names.number(of: name) }

  // MARK: Foundation's coders

  // Dates as numbers and data as Base64, which are Foundation's defaults, come back as they were. Sorted keys make
  // equal values equal bytes, which dictionaries in JSON otherwise are not from one run to the next.

  func encodeJSON<Value: Encodable>(_ value: Value) throws -> Data {
    if let jsonEncoder { return try jsonEncoder.encode(value) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    encoder.userInfo = names.sendableUserInfo
    jsonEncoder = encoder
    return try encoder.encode(value)
  }

  func decodeJSON<Value: Decodable>(
    _ type: Value.Type, _ bytes: UnsafeRawBufferPointer
  ) throws -> Value {
    if let jsonDecoder { return unsafe try jsonDecoder.decode(type, from: Data(bytes)) }
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    decoder.userInfo = names.sendableUserInfo
    jsonDecoder = decoder
    return unsafe try decoder.decode(type, from: Data(bytes))
  }

  func encodePropertyList<Value: Encodable>(_ value: Value) throws -> Data {
    if let propertyListEncoder { return try propertyListEncoder.encode(value) }
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    encoder.userInfo = names.sendableUserInfo
    propertyListEncoder = encoder
    return try encoder.encode(value)
  }

  func decodePropertyList<Value: Decodable>(
    _ type: Value.Type, _ bytes: UnsafeRawBufferPointer
  ) throws -> Value {
    try unsafe Self.checkPropertyList(bytes)
    if let propertyListDecoder { return unsafe try propertyListDecoder.decode(type, from: Data(bytes)) }
    let decoder = PropertyListDecoder()
    decoder.userInfo = names.sendableUserInfo
    propertyListDecoder = decoder
    return unsafe try decoder.decode(type, from: Data(bytes))
  }

  /// Throws unless a property list is of the binary form, which the coder writes. Foundation reads the form in XML by
  /// calls inside one another, as deep as the list is, and the stack would not hold that.
  static func checkPropertyList(_ bytes: UnsafeRawBufferPointer) throws(RowFormError) {
    guard unsafe bytes.starts(with: "bplist".utf8) else { throw .foreignPropertyList }
  }

  /// Checks the invariants of what the context keeps.
  package func checkInvariants() {
    names.checkInvariants()
    encoder?.checkInvariants()
    decoder?.checkInvariants()
  }
}
