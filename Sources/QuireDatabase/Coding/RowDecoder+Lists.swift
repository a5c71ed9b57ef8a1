// The elements of a list, and values that are coded as another value, as a value's `init(from:)` reads them.

/// Elements of a list, or of bytes, each of which is a number then.
///
/// Four numbers of 32 bits, which rows never exceed, so that it fits into an existential without allocating.
struct RowUnkeyedDecoding: UnkeyedDecodingContainer {
  let decoder: RowDecoder
  private var offset: UInt32
  private let end: UInt32
  private var index: UInt32 = 0
  /// The number of elements; the top bit if they are bytes.
  private let countAndForm: UInt32

  private static let bytesForm: UInt32 = 1 << 31

  /// The elements of the value at `head`, a list or bytes. O(elements), as nothing but counting them tells their
  /// number.
  init(decoder: RowDecoder, _ head: ValueHead) {
    self.decoder = decoder
    (offset, end) = (UInt32(head.start), UInt32(head.end))
    countAndForm =
      unsafe head.kind == ValueKind.bytes
      ? UInt32(head.end - head.start) | Self.bytesForm : UInt32(decoder.reader.elementCount(head))
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { Int(countAndForm & ~Self.bytesForm) }
  var currentIndex: Int { Int(index) }
  var isAtEnd: Bool { index >= countAndForm & ~Self.bytesForm }

  /// The element that comes next.
  @inline(__always) private func next(_ type: Any.Type) throws -> ValueHead {
    guard !isAtEnd else { throw decoder.endOfList(type, Int(index)) }
    let isByte = countAndForm & Self.bytesForm != 0
    let element =
      unsafe isByte
      ? decoder.reader.byteAsValue(at: Int(offset), limit: Int(end))
      : decoder.reader.head(at: Int(offset), limit: Int(end))
    guard let element else { throw decoder.damage(.element(Int(index))) }
    return element
  }

  /// Goes on behind `element`, once it is decoded.
  @inline(__always) private mutating func advance(_ element: ValueHead) {
    offset = UInt32(truncatingIfNeeded: element.end)
    index &+= 1
  }

  mutating func decodeNil() throws -> Bool {
    let element = try next(Any?.self)
    if element.isAbsent { advance(element) }
    return element.isAbsent
  }

  // MARK: Values

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    let element = try next(type)
    let value: Bool = try decoder.boolean(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: String.Type) throws -> String {
    let element = try next(type)
    let value: String = try decoder.text(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Double.Type) throws -> Double {
    let element = try next(type)
    let value: Double = try decoder.number(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Float.Type) throws -> Float {
    let element = try next(type)
    let value: Float = try decoder.number(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Int.Type) throws -> Int {
    let element = try next(type)
    let value: Int = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Int8.Type) throws -> Int8 {
    let element = try next(type)
    let value: Int8 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Int16.Type) throws -> Int16 {
    let element = try next(type)
    let value: Int16 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Int32.Type) throws -> Int32 {
    let element = try next(type)
    let value: Int32 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Int64.Type) throws -> Int64 {
    let element = try next(type)
    let value: Int64 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: UInt.Type) throws -> UInt {
    let element = try next(type)
    let value: UInt = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    let element = try next(type)
    let value: UInt8 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
    let element = try next(type)
    let value: UInt16 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
    let element = try next(type)
    let value: UInt32 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
    let element = try next(type)
    let value: UInt64 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: Int128.Type) throws -> Int128 {
    let element = try next(type)
    let value: Int128 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
    let element = try next(type)
    let value: UInt128 = try decoder.integer(element, .element(Int(index)))
    advance(element)
    return value
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let element = try next(type)
    let value = try decoder.decode(type, element, .element(Int(index)))
    advance(element)
    return value
  }

  // MARK: Nested containers

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    try child(type).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try child([Any].self).unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try child((any Decoder).self) }

  private mutating func child(_ type: Any.Type) throws -> RowDecoder {
    let element = try next(type)
    let child = try decoder.child(element, .element(Int(index)))
    advance(element)
    return child
  }
}

/// The innermost value of `decoder` as one that is coded as another.
struct RowSingleDecoding: SingleValueDecodingContainer {
  let decoder: RowDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { unsafe decoder.head.isAbsent }

  func decode(_ type: Bool.Type) throws -> Bool { unsafe try decoder.boolean(decoder.head, .none) }

  func decode(_ type: String.Type) throws -> String { unsafe try decoder.text(decoder.head, .none) }

  func decode(_ type: Double.Type) throws -> Double { unsafe try decoder.number(decoder.head, .none) }

  func decode(_ type: Float.Type) throws -> Float { unsafe try decoder.number(decoder.head, .none) }

  func decode(_ type: Int.Type) throws -> Int { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: Int8.Type) throws -> Int8 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: Int16.Type) throws -> Int16 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: Int32.Type) throws -> Int32 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: Int64.Type) throws -> Int64 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: UInt.Type) throws -> UInt { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: UInt8.Type) throws -> UInt8 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: UInt16.Type) throws -> UInt16 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: UInt32.Type) throws -> UInt32 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: UInt64.Type) throws -> UInt64 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: Int128.Type) throws -> Int128 { unsafe try decoder.integer(decoder.head, .none) }

  func decode(_ type: UInt128.Type) throws -> UInt128 { unsafe try decoder.integer(decoder.head, .none) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    // Which fields there are is the other type's business.
    unsafe decoder.asked.noteAll()
    return unsafe try decoder.decode(type, decoder.head, .none)
  }
}
