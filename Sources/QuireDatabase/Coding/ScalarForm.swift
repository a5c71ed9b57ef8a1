// Types whose sort bytes are made of stored bytes, without a value in between.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// How the sort bytes of a type come from its stored ones.
enum ScalarForm: Equatable {
  case boolean
  case signed(byteCount: Int)
  case unsigned(byteCount: Int)
  case double
  case float
  case date
  case text
  case uuid
  case bytes

  /// Nil for other types.
  init?(_ type: Any.Type) {
    switch ObjectIdentifier(type) {
    case ObjectIdentifier(Bool.self): self = .boolean
    case ObjectIdentifier(Int.self): self = .signed(byteCount: MemoryLayout<Int>.size)
    case ObjectIdentifier(Int8.self): self = .signed(byteCount: 1)
    case ObjectIdentifier(Int16.self): self = .signed(byteCount: 2)
    case ObjectIdentifier(Int32.self): self = .signed(byteCount: 4)
    case ObjectIdentifier(Int64.self): self = .signed(byteCount: 8)
    case ObjectIdentifier(UInt.self): self = .unsigned(byteCount: MemoryLayout<UInt>.size)
    case ObjectIdentifier(UInt8.self): self = .unsigned(byteCount: 1)
    case ObjectIdentifier(UInt16.self): self = .unsigned(byteCount: 2)
    case ObjectIdentifier(UInt32.self): self = .unsigned(byteCount: 4)
    case ObjectIdentifier(UInt64.self): self = .unsigned(byteCount: 8)
    case ObjectIdentifier(Double.self): self = .double
    case ObjectIdentifier(Float.self): self = .float
    case ObjectIdentifier(Date.self): self = .date
    case ObjectIdentifier(String.self): self = .text
    case ObjectIdentifier(UUID.self): self = .uuid
    case ObjectIdentifier([UInt8].self), ObjectIdentifier(Data.self): self = .bytes
    default: return nil
    }
  }

  /// Appends the sort bytes of the value at `head`; false if it has not the form that this type is written in, whether
  /// or not the type can be read from it all the same. What was appended then is of no use.
  @inline(__always) func append(_ head: ValueHead, _ reader: ValueReader, to buffer: SortBuffer) -> Bool {
    switch self {
    case .boolean:
      guard let value = reader.boolean(head) else { return false }
      buffer.append(value ? 1 : 0)
    case .signed(let byteCount):
      guard let value: Int64 = reader.integer(head) else { return false }
      let unused = Int64(64 &- 8 &* byteCount)
      guard (value &<< unused) &>> unused == value else { return false }
      // Two's complement with the sign turned over is in order.
      buffer.append(UInt64(bitPattern: value) ^ 1 &<< UInt64(8 &* byteCount &- 1), byteCount: byteCount)
    case .unsigned(let byteCount):
      guard let value: UInt64 = reader.integer(head), value &>> UInt64(8 &* byteCount &- 1) <= 1 else { return false }
      buffer.append(value, byteCount: byteCount)
    case .double, .date:
      guard let value = reader.double(head) else { return false }
      buffer.append(value.sortWord, byteCount: 8)
    case .float:
      guard let value = reader.float(head) else { return false }
      buffer.append(Double(value).sortWord, byteCount: 8)
    case .text:
      guard head.kind == ValueKind.text, reader.isUTF8(head) else { return false }
      unsafe buffer.append(delimited: reader.content(head))
    case .uuid:
      guard head.kind == ValueKind.simple, head.argument == SimpleValue.uuid else { return false }
      unsafe buffer.append(reader.content(head))
    case .bytes:
      guard head.kind == ValueKind.bytes else { return false }
      unsafe buffer.append(delimited: reader.content(head))
    }
    return true
  }
}

extension ValueReader {
  /// Whether the text at `head` is UTF-8.
  @inline(__always) func isUTF8(_ head: ValueHead) -> Bool {
    let source = unsafe content(head)
    return unsafe isASCII(head.start, source.count) || UTF8Check.isValid(source)
  }

  /// Whether the text at `head` has characters that can be written in several ways.
  @inline(__always) func isBeyondASCII(_ head: ValueHead) -> Bool {
    unsafe !isASCII(head.start, content(head).count)
  }
}

/// Tells whether bytes are UTF-8, as `String(validating:as:)` does, without making a string.
enum UTF8Check {
  static func isValid(_ source: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    while offset < source.count {
      guard let count = unsafe scalarByteCount(source, offset) else { return false }
      offset &+= count
    }
    return true
  }

  /// How many bytes the scalar at `offset` has; nil if there is none.
  private static func scalarByteCount(_ source: UnsafeRawBufferPointer, _ offset: Int) -> Int? {
    let first = unsafe source[offset]
    if first < 0x80 { return 1 }
    let count: Int
    // What may follow the first byte: not the longer forms of shorter ones, no surrogates, nothing above U+10FFFF.
    var second: ClosedRange<UInt8> = 0x80...0xbf
    switch first {
    case 0xc2...0xdf: count = 2
    case 0xe0: (count, second) = (3, 0xa0...0xbf)
    case 0xed: (count, second) = (3, 0x80...0x9f)
    case 0xe1...0xef: count = 3
    case 0xf0: (count, second) = (4, 0x90...0xbf)
    case 0xf1...0xf3: count = 4
    case 0xf4: (count, second) = (4, 0x80...0x8f)
    default: return nil
    }
    guard offset &+ count <= source.count, unsafe second.contains(source[offset &+ 1]) else { return nil }
    for index in offset &+ 2..<offset &+ count where unsafe source[index] & 0xc0 != 0x80 { return nil }
    return count
  }
}
