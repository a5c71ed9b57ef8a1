// The fields of a record, as a value's `init(from:)` reads them.

/// Fields of the innermost value of `decoder`. Stateless, so that one serves all values with these keys.
@safe struct RowKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// Who made this; keeps it in a `BoxCache`, and sees to outliving it. Not counted, here and in what follows: that
  /// would cost each field more than reading it.
  private let decoder: Unmanaged<RowDecoder>
  private let table: Unmanaged<KeyTable>

  init(decoder: RowDecoder, table: KeyTable) {
    unsafe self.decoder = unsafe .passUnretained(decoder)
    unsafe self.table = unsafe .passUnretained(table)
  }

  @inline(__always) private func with<Result>(_ body: (RowDecoder, KeyTable) throws -> Result) rethrows -> Result {
    try unsafe decoder._withUnsafeGuaranteedRef { decoder in
      try unsafe table._withUnsafeGuaranteedRef { table in try body(decoder, table) }
    }
  }

  var codingPath: [any CodingKey] { with { decoder, _ in decoder.codingPath } }

  var allKeys: [Key] { with { decoder, _ in decoder.fieldNames().compactMap { Key(stringValue: $0) } } }

  func contains(_ key: Key) -> Bool {
    with { decoder, table in
      do { return try decoder.find(key, table) != nil } catch {
        unsafe decoder.hasSeenDamage = true
        return false
      }
    }
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    try with { decoder, table in try decoder.require(key, table).isAbsent }
  }

  // MARK: Values

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try with { decoder, table in unsafe try decoder.boolean(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try with { decoder, table in unsafe try decoder.text(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try with { decoder, table in unsafe try decoder.number(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try with { decoder, table in unsafe try decoder.number(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try with { decoder, table in unsafe try decoder.integer(decoder.require(key, table), decoder.lastStep) }
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try with { decoder, table in
      guard let head = try decoder.find(key, table) else { return try decoder.decodeMissing(type, key) }
      return unsafe try decoder.decode(type, head, decoder.lastStep)
    }
  }

  // MARK: Optional values

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.boolean($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.text($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.number($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.number($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.integer($0, decoder.lastStep) }
    }
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try with { decoder, table in
      try decoder.present(key, table).map { unsafe try decoder.decode(type, $0, decoder.lastStep) }
    }
  }

  // MARK: Nested containers

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try with { decoder, table in
      unsafe try decoder.child(decoder.require(key, table), decoder.lastStep).container(keyedBy: type)
    }
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try with { decoder, table in
      unsafe try decoder.child(decoder.require(key, table), decoder.lastStep).unkeyedContainer()
    }
  }

  func superDecoder() throws -> any Decoder {
    // A superclass that wrote nothing, or whose fields were added later, sees nil.
    try with { decoder, _ in try decoder.child(decoder.findSuper() ?? .absent, .none) }
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    try with { decoder, table in
      unsafe try decoder.child(decoder.find(key, table) ?? .absent, decoder.lastStep)
    }
  }
}
