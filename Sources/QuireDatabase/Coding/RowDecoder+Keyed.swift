// The fields of a record, as a value's `init(from:)` reads them.

/// Fields of the innermost value of `decoder`. Stateless, so that one serves all values with these keys.
struct RowKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// Who made this; keeps it in a `BoxCache`, and sees to outliving it.
  unowned(unsafe) let decoder: RowDecoder
  unowned(unsafe) let table: KeyTable

  var codingPath: [any CodingKey] { unsafe decoder.codingPath }

  var allKeys: [Key] { unsafe decoder.fieldNames().compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool {
    do { return try find(key) != nil } catch {
      unsafe decoder.hasSeenDamage = true
      return false
    }
  }

  func decodeNil(forKey key: Key) throws -> Bool { try require(key).isAbsent }

  // MARK: Finding

  /// The value of the field `key`, or nil if there is none.
  @inline(__always) private func find(_ key: Key) throws -> ValueHead? {
    let number = unsafe table.entry(key)
    // Fields are mostly asked for in the order in which they were written.
    if number &- 1 < 127, unsafe decoder.nextByte == UInt8(truncatingIfNeeded: number) {
      return unsafe try decoder.takeNext(number)
    }
    return unsafe try decoder.findField(key, table)
  }

  /// The value of the field `key`, which must be there.
  @inline(__always) private func require(_ key: Key) throws -> ValueHead {
    guard let head = try find(key) else { throw unsafe decoder.missing(key) }
    return head
  }

  /// The value of the field `key`, unless it is missing or nil.
  @inline(__always) private func present(_ key: Key) throws -> ValueHead? {
    guard let head = try find(key), !head.isAbsent else { return nil }
    return head
  }

  // MARK: Values

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    unsafe try decoder.boolean(require(key), decoder.lastStep)
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    unsafe try decoder.text(require(key), decoder.lastStep)
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    unsafe try decoder.number(require(key), decoder.lastStep)
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    unsafe try decoder.number(require(key), decoder.lastStep)
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    unsafe try decoder.integer(require(key), decoder.lastStep)
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    guard let head = try find(key) else { return unsafe try decoder.decodeMissing(type, key) }
    return unsafe try decoder.decode(type, head, decoder.lastStep)
  }

  // MARK: Optional values

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try present(key).map { unsafe try decoder.boolean($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try present(key).map { unsafe try decoder.text($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try present(key).map { unsafe try decoder.number($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try present(key).map { unsafe try decoder.number($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    try present(key).map { unsafe try decoder.integer($0, decoder.lastStep) }
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try present(key).map { unsafe try decoder.decode(type, $0, decoder.lastStep) }
  }

  // MARK: Nested containers

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    unsafe try decoder.child(require(key), decoder.lastStep).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    unsafe try decoder.child(require(key), decoder.lastStep).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    // A superclass that wrote nothing, or whose fields were added later, sees nil.
    guard let head = unsafe try decoder.findSuper() else { return unsafe try decoder.child(.absent, .none) }
    return unsafe try decoder.child(head, .none)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    unsafe try decoder.child(find(key) ?? .absent, decoder.lastStep)
  }
}
