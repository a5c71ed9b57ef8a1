// The containers that a value's `encode(to:)` writes to.

/// Fields of the innermost value of `encoder`. Stateless, so that one serves all values with these keys.
struct RowKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  /// Who made this; keeps it in a `BoxCache`, and sees to outliving it.
  unowned(unsafe) let encoder: RowEncoder
  unowned(unsafe) let table: KeyTable

  var codingPath: [any CodingKey] { unsafe encoder.codingPath }

  /// Writes the number of `key`, or its name where it has to be spelled out. Returns its step.
  @inline(__always) @discardableResult private func writeKey(_ key: Key) -> PathStep {
    let number = unsafe table.entry(key)
    // 0 and the largest are none; seven bits are one byte.
    guard number &- 1 < 127 else { return unsafe encoder.writeSlowKey(key, table) }
    unsafe encoder.noteKey(number)
    unsafe encoder.buffer.append(UInt8(truncatingIfNeeded: number))
    return .field(number)
  }

  func encodeNil(forKey key: Key) {
    writeKey(key)
    unsafe encoder.writeNil()
  }

  func encode(_ value: Bool, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: String, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Double, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Float, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Int, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Int8, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Int16, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Int32, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Int64, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: UInt, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: UInt8, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: UInt16, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: UInt32, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: UInt64, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: Int128, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode(_ value: UInt128, forKey key: Key) {
    writeKey(key)
    unsafe encoder.write(value)
  }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    let start = unsafe encoder.buffer.count
    let step = writeKey(key)
    do { unsafe try encoder.encode(value, step) } catch {
      // Who catches this may go on with other fields.
      unsafe encoder.buffer.truncate(to: start)
      throw error
    }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    unsafe encoder.child(for: key, { writeKey(key) }).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    unsafe encoder.child(for: key, { writeKey(key) }).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { unsafe encoder.child(encoder.writeSuperKey()) }

  func superEncoder(forKey key: Key) -> any Encoder { unsafe encoder.child(writeKey(key)) }
}

/// Elements of the innermost value of `encoder`.
struct RowUnkeyedEncoding: UnkeyedEncodingContainer {
  let encoder: RowEncoder
  private(set) var count = 0

  init(encoder: RowEncoder) { self.encoder = encoder }

  var codingPath: [any CodingKey] { encoder.codingPath }

  mutating func encodeNil() {
    encoder.writeNil()
    count += 1
  }

  mutating func encode(_ value: Bool) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: String) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Double) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Float) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Int) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Int8) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Int16) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Int32) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Int64) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: UInt) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: UInt8) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: UInt16) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: UInt32) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: UInt64) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: Int128) {
    encoder.write(value)
    count += 1
  }

  mutating func encode(_ value: UInt128) {
    encoder.write(value)
    count += 1
  }

  mutating func encode<Value: Encodable>(_ value: Value) throws {
    let start = unsafe encoder.buffer.count
    do { try encoder.encode(value, .element(count)) } catch {
      unsafe encoder.buffer.truncate(to: start)
      throw error
    }
    count += 1
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    child().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder { child() }

  private mutating func child() -> RowEncoder {
    defer { count += 1 }
    return encoder.child(.element(count))
  }
}

/// The innermost value of `encoder` as one that is coded as another.
struct RowSingleEncoding: SingleValueEncodingContainer {
  let encoder: RowEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() {
    encoder.decideSingle()
    encoder.writeNil()
  }

  func encode(_ value: Bool) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: String) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Double) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Float) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Int) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Int8) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Int16) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Int32) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Int64) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: UInt) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: UInt8) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: UInt16) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: UInt32) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: UInt64) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: Int128) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode(_ value: UInt128) {
    encoder.decideSingle()
    encoder.write(value)
  }

  func encode<Value: Encodable>(_ value: Value) throws {
    let start = unsafe encoder.buffer.count
    encoder.decideSingle()
    do { try encoder.encode(value, .none) } catch {
      unsafe encoder.buffer.truncate(to: start)
      encoder.forgetSingle()
      throw error
    }
  }
}
