// Reads values of the binary form from bytes of any origin. Nothing here traps, and nothing throws: what is wrong is
// nil, and who asked knows how to say it.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// How many bytes follow the first one of a value.
enum ValueLengths {
  /// So many as the next byte says, and that byte; and what is not told in so few words.
  static let withLength = 0xfe
  private static let unknown: UInt8 = 0xff

  /// By the first byte.
  // nonisolated(unsafe): safe because nobody ever writes there.
  nonisolated(unsafe) static let table: UnsafePointer<UInt8> = {
    let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
    for first in 0..<256 {
      let argument = UInt8(first & 31)
      let length: UInt8? =
        switch UInt8(first >> 5) {
        case ValueKind.unsigned, ValueKind.negative: argument < 24 ? 0 : argument - 23
        case ValueKind.text, ValueKind.bytes, ValueKind.list, ValueKind.record:
          argument < 24 ? argument : argument == 24 ? UInt8(withLength) : nil
        case ValueKind.simple: argument < 24 ? SimpleValue.byteCount(UInt64(argument)).map { UInt8($0) } : nil
        default: nil
        }
      unsafe table[first] = length ?? unknown
    }
    return unsafe UnsafePointer(table)
  }()
}

/// Bytes that values are read from. Every offset is checked against them, whatever it was when it was taken.
@safe struct ValueReader {
  let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

  @inline(__always) private func byte(_ offset: Int) -> UInt8 {
    unsafe bytes.baseAddress.unsafelyUnwrapped.load(fromByteOffset: offset, as: UInt8.self)
  }

  @inline(__always) private func load<Value: FixedWidthInteger>(_ offset: Int, as type: Value.Type) -> Value {
    unsafe Value(littleEndian: bytes.baseAddress.unsafelyUnwrapped.loadUnaligned(fromByteOffset: offset, as: type))
  }

  // MARK: Heads

  /// The head of the value at `offset`, which ends at `limit` at the latest; nil if that is none. Constant time.
  @inline(__always) func head(at offset: Int, limit: Int) -> ValueHead? {
    guard offset >= 0, offset < limit, unsafe limit <= bytes.count else { return nil }
    let first = byte(offset)
    let kind = first &>> 5
    var argument = UInt64(first & 31)
    var start = offset &+ 1
    if argument >= 24 {
      let byteCount = Int(argument) &- 23
      guard limit &- start >= byteCount else { return nil }
      argument = wideArgument(start, byteCount)
      start &+= byteCount
    }
    if kind <= ValueKind.negative { return ValueHead(kind: kind, argument: argument, start: start, end: start) }
    if kind <= ValueKind.record {
      guard argument <= UInt64(limit &- start) else { return nil }
      return ValueHead(kind: kind, argument: argument, start: start, end: start &+ Int(argument))
    }
    guard kind == ValueKind.simple, let byteCount = SimpleValue.byteCount(argument), byteCount <= limit &- start
    else { return nil }
    return ValueHead(kind: kind, argument: argument, start: start, end: start &+ byteCount)
  }

  @inline(__always) private func wideArgument(_ offset: Int, _ byteCount: Int) -> UInt64 {
    if unsafe offset &+ 8 <= bytes.count {
      return load(offset, as: UInt64.self) & (UInt64.max &>> UInt64(64 &- 8 &* byteCount))
    }
    var argument: UInt64 = 0
    for index in 0..<byteCount { argument |= UInt64(byte(offset &+ index)) &<< UInt64(8 &* index) }
    return argument
  }

  /// The head of the value that is the whole row; nil if it is none, or does not end with the row.
  func rowHead() -> ValueHead? {
    guard unsafe bytes.count > 0 else { return nil }
    switch byte(0) {
    case ValueKind.open << 5 | OpenValue.record:
      return unsafe ValueHead(kind: ValueKind.record, argument: 0, start: 1, end: bytes.count)
    case ValueKind.open << 5 | OpenValue.list:
      return unsafe ValueHead(kind: ValueKind.list, argument: 0, start: 1, end: bytes.count)
    default:
      guard let head = unsafe head(at: 0, limit: bytes.count), unsafe head.end == bytes.count else { return nil }
      return head
    }
  }

  /// The byte at `offset` as a value; nil if there is none.
  func byteAsValue(at offset: Int, limit: Int) -> ValueHead? {
    guard offset >= 0, offset < limit, unsafe limit <= bytes.count else { return nil }
    return ValueHead(kind: ValueKind.unsigned, argument: UInt64(byte(offset)), start: offset, end: offset + 1)
  }

  /// How many elements the list at `head` has; one that is damaged is counted, and ends it. O(elements).
  func elementCount(_ head: ValueHead) -> Int {
    var offset = head.start
    var count = 0
    while offset < head.end {
      count &+= 1
      guard let element = self.head(at: offset, limit: head.end) else { break }
      offset = element.end
    }
    return count
  }

  /// The elements of the list at `head`, as `read` makes them; nil if one of them is damaged, or `read` gives nil.
  @inline(__always) func list<Element>(
    _ head: ValueHead, _ read: (ValueHead) throws -> Element?
  ) rethrows -> [Element]? {
    var elements: [Element] = []
    // An element takes a byte at least, so this is no length on the word of the bytes; yet what takes a byte there
    // takes more here, so that large ones grow by what is really found.
    elements.reserveCapacity(min(head.end - head.start, 8))
    var offset = head.start
    while offset < head.end {
      guard let value = self.head(at: offset, limit: head.end), let element = try read(value) else { return nil }
      elements.append(element)
      offset = value.end
    }
    return elements
  }

  /// A varint of up to 32 bits at `offset`, which moves behind it; nil if there is none.
  @inline(__always) func varint(at offset: inout Int, limit: Int) -> UInt32? {
    guard unsafe limit <= bytes.count else { return nil }
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while offset < limit, shift < 35 {
      let next = byte(offset)
      offset &+= 1
      value |= UInt64(next & 0x7f) &<< shift
      if next < 0x80 { return UInt32(exactly: value) }
      shift &+= 7
    }
    return nil
  }

  /// Where between two offsets, of which the first begins a field, the first field is that has `number`, or that is
  /// not one of those which most are: with a number in one byte, and a length in one byte more than the value's first.
  /// The end, or close before it, if there is none. `lengths` is the table of `ValueLengths`.
  @inline(__always)
  func skipPlainFields(
    before number: UInt32, from first: Int, to end: Int, _ lengths: UnsafePointer<UInt8>
  ) -> Int {
    guard first >= 0, unsafe end <= bytes.count else { return first }
    var offset = first
    while offset &+ 2 <= end {
      let name = byte(offset)
      // Neither spelled out nor longer than a byte.
      if UInt32(name) == number || name &- 1 >= 0x7f { return offset }
      var byteCount = unsafe Int(lengths[Int(byte(offset &+ 1))])
      if byteCount >= ValueLengths.withLength {
        guard byteCount == ValueLengths.withLength, offset &+ 2 < end else { return offset }
        byteCount = 1 &+ Int(byte(offset &+ 2))
      }
      guard byteCount <= end &- offset &- 2 else { return offset }
      offset &+= 2 &+ byteCount
    }
    return offset
  }

  /// Whether the field at `offset` begins with a number in one byte, and with this one.
  @inline(__always) func isField(_ number: UInt32, at offset: Int, to end: Int) -> Bool {
    unsafe offset >= 0 && offset < end && end <= bytes.count && number < 0x80 && number != 0
      && UInt32(byte(offset)) == number
  }

  // MARK: Values

  /// What follows `head`; nothing if the head is not of these bytes.
  @inline(__always) func content(_ head: ValueHead) -> UnsafeRawBufferPointer {
    guard head.start >= 0, head.start <= head.end, unsafe head.end <= bytes.count else {
      return unsafe .init(start: nil, count: 0)
    }
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[head.start..<head.end])
  }

  /// A text, which a UUID is as well; nil for other values, and for what is not UTF-8.
  @inline(__always) func text(_ head: ValueHead) -> String? {
    guard head.kind == ValueKind.text else { return uuid(head)?.uuidString }
    return unsafe String(storedUTF8: content(head))
  }

  /// Whether `count` bytes from `offset`, which are there, are ASCII.
  @inline(__always) func isASCII(_ offset: Int, _ count: Int) -> Bool {
    let end = offset &+ count
    var next = offset
    var bits: UInt64 = 0
    while next &+ 8 <= end {
      bits |= load(next, as: UInt64.self)
      next &+= 8
    }
    while next < end {
      bits |= UInt64(byte(next))
      next &+= 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  /// Whether the value is `text`.
  func isText(_ head: ValueHead, _ text: String) -> Bool {
    var text = text
    return head.kind == ValueKind.text && text.withUTF8 { unsafe content(head).elementsEqual($0) }
  }

  /// A Boolean.
  @inline(__always) func boolean(_ head: ValueHead) -> Bool? {
    guard head.kind == ValueKind.simple else { return nil }
    return head.argument == SimpleValue.yes ? true : head.argument == SimpleValue.no ? false : nil
  }

  /// A number that `Value` can hold exactly.
  @inline(__always) func integer<Value: FixedWidthInteger>(_ head: ValueHead) -> Value? {
    if head.kind == ValueKind.unsigned { return Value(exactly: head.argument) }
    if head.kind == ValueKind.negative, head.argument < 1 << 63 {
      return Value(exactly: ~Int64(bitPattern: head.argument))
    }
    return rareInteger(head)
  }

  @inline(never) private func rareInteger<Value: FixedWidthInteger>(_ head: ValueHead) -> Value? {
    if head.kind == ValueKind.negative { return Value(exactly: -1 - Int128(head.argument)) }
    guard head.kind == ValueKind.simple, unsafe head.end <= bytes.count else { return nil }
    switch head.argument {
    case SimpleValue.double: return Value(exactly: Double(bitPattern: load(head.start, as: UInt64.self)))
    case SimpleValue.float: return Value(exactly: Float(bitPattern: load(head.start, as: UInt32.self)))
    case SimpleValue.int128: return Value(exactly: load(head.start, as: Int128.self))
    case SimpleValue.uint128: return Value(exactly: load(head.start, as: UInt128.self))
    default: return nil
    }
  }

  /// A `Double` to the bit, or another number that one can hold exactly.
  @inline(__always) func double(_ head: ValueHead) -> Double? {
    guard head.kind == ValueKind.simple, head.argument == SimpleValue.double, unsafe head.end <= bytes.count else {
      return rareFloat(head)
    }
    return Double(bitPattern: load(head.start, as: UInt64.self))
  }

  /// A `Float` to the bit, or another number that one can hold exactly.
  @inline(__always) func float(_ head: ValueHead) -> Float? {
    guard head.kind == ValueKind.simple, head.argument == SimpleValue.float, unsafe head.end <= bytes.count else {
      return rareFloat(head)
    }
    return Float(bitPattern: load(head.start, as: UInt32.self))
  }

  @inline(never) private func rareFloat<Value: BinaryFloatingPoint>(_ head: ValueHead) -> Value? {
    switch head.kind {
    case ValueKind.unsigned: return Value(exactly: head.argument)
    case ValueKind.negative: return Value(exactly: -1 - Int128(head.argument))
    case ValueKind.simple: break
    default: return nil
    }
    guard unsafe head.end <= bytes.count else { return nil }
    switch head.argument {
    case SimpleValue.double: return narrowed(Double(bitPattern: load(head.start, as: UInt64.self)))
    case SimpleValue.float: return narrowed(Float(bitPattern: load(head.start, as: UInt32.self)))
    case SimpleValue.int128: return Value(exactly: load(head.start, as: Int128.self))
    case SimpleValue.uint128: return Value(exactly: load(head.start, as: UInt128.self))
    default: return nil
    }
  }

  /// The same number in another width. No number is equal to NaN, which stays NaN.
  private func narrowed<From: BinaryFloatingPoint, To: BinaryFloatingPoint>(_ value: From) -> To? {
    value.isNaN ? To.nan : To(exactly: value)
  }

  /// A UUID.
  func uuid(_ head: ValueHead) -> UUID? {
    guard head.kind == ValueKind.simple, head.argument == SimpleValue.uuid else { return nil }
    let source = unsafe content(head)
    guard source.count == 16 else { return nil }
    return unsafe UUID(uuid: source.loadUnaligned(as: uuid_t.self))
  }
}
