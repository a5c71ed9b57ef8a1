// The coder that an app's class is made with.

internal import Foundation
internal import QuireArchives

/// One object of an archive, for the `init(coder:)` of its class.
///
/// What a field cannot be is noted as the failure of the whole archive, and the answer is nothing or 0: `init(coder:)`
/// has no way to throw.
final class KeyedArchiveDecoder: NSCoder {
  private let fields: ArchivedFields

  init(_ fields: ArchivedFields) {
    self.fields = fields
    super.init()
  }

  override var allowsKeyedCoding: Bool { true }
  override var requiresSecureCoding: Bool { true }
  override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
  override var error: (any Error)? { fields.archive.failure }
  override func failWithError(_ error: any Error) { fields.archive.note(error) }

  /// Runs `body`, unless something has failed before.
  private func attempt<Value>(_ fallback: Value, _ body: () throws -> Value) -> Value {
    guard fields.archive.failure == nil else { return fallback }
    do { return try body() } catch {
      fields.archive.note(error)
      return fallback
    }
  }

  private func wrong(_ key: String, _ what: String) -> ArchiveError {
    ArchiveError("The field “\(key)” of an object of the archive is no \(what).")
  }

  override func containsValue(forKey key: String) -> Bool { fields.number(key) != nil }

  // MARK: Objects

  override func decodeObject(forKey key: String) -> Any? { attempt(nil) { try fields.value(key) } }

  override func decodeObject<Decoded: NSObject & NSCoding>(of type: Decoded.Type, forKey key: String) -> Decoded? {
    attempt(nil) {
      guard let value = try fields.value(key) else { return nil }
      guard let value = value as? Decoded else { throw wrong(key, "\(type)") }
      return value
    }
  }

  override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
    attempt(nil) {
      guard let value = try fields.value(key) else { return nil }
      if classes?.contains(where: { value.isKind(of: $0) }) ?? true { return value }
      throw wrong(key, "object of its classes")
    }
  }

  override func decodePropertyList(forKey key: String) -> Any? { decodeObject(forKey: key) }

  // MARK: Numbers

  private func number(_ key: String) throws -> NSNumber? {
    guard let value = try fields.value(key) else { return nil }
    guard let number = value as? NSNumber else { throw wrong(key, "number") }
    return number
  }

  private func integer<Integer: FixedWidthInteger>(_ key: String, _: Integer.Type) -> Integer {
    attempt(0) {
      guard let number = try number(key) else { return 0 }
      let value = Integer(exactly: number.int64Value)
      guard let value, Double(number.int64Value) == number.doubleValue else { throw wrong(key, "\(Integer.self)") }
      return value
    }
  }

  override func decodeBool(forKey key: String) -> Bool { attempt(false) { try number(key)?.boolValue ?? false } }
  override func decodeCInt(forKey key: String) -> CInt { integer(key, CInt.self) }
  override func decodeInt32(forKey key: String) -> Int32 { integer(key, Int32.self) }
  override func decodeInt64(forKey key: String) -> Int64 { integer(key, Int64.self) }
  override func decodeInteger(forKey key: String) -> Int { integer(key, Int.self) }
  override func decodeFloat(forKey key: String) -> Float { attempt(0) { try number(key)?.floatValue ?? 0 } }
  override func decodeDouble(forKey key: String) -> Double { attempt(0) { try number(key)?.doubleValue ?? 0 } }

  // MARK: Bytes

  private func data(_ key: String) throws -> NSData? {
    guard let value = try fields.value(key) else { return nil }
    guard let data = value as? NSData else { throw wrong(key, "data") }
    fields.archive.keep(data)
    return data
  }

  #if canImport(ObjectiveC)
    override func decodeBytes(
      forKey key: String, returnedLength length: UnsafeMutablePointer<Int>?
    ) -> UnsafePointer<UInt8>? {
      let data = attempt(nil) { try data(key) }
      unsafe length?.pointee = data?.length ?? 0
      return unsafe data?.bytes.assumingMemoryBound(to: UInt8.self)
    }
  #else
    override func withDecodedUnsafeBufferPointer<Result>(
      forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
      guard let data = attempt(nil, { try data(key) }) else { return try body(nil) }
      return try unsafe body(
        UnsafeBufferPointer(start: data.bytes.assumingMemoryBound(to: UInt8.self), count: data.length))
    }
  #endif

  // MARK: Without keys

  private func unkeyed() { failWithError(ArchiveError("A class has asked an archive for something without a key.")) }

  override func decodeObject() -> Any? {
    unkeyed()
    return nil
  }

  override func decodeValue(ofObjCType type: UnsafePointer<Int8>, at data: UnsafeMutableRawPointer) { unkeyed() }
}
