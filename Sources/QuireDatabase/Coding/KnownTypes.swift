// Types of the standard library and of Foundation that are written and read without the detour through their own
// `encode(to:)`. The bytes are the same ones, but for Data, [UInt8] and UUID, which have shorter ones; where such a
// value is read as what its own coding would have written, a list of numbers or a text, it is given as that.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// `value` as what it is. The types must be the same one.
@inline(__always) func reinterpret<From, To>(_ value: From, as type: To.Type) -> To {
  unsafe unsafeBitCast(value, to: type)
}

extension RowEncoder {
  /// Writes `value` if it is of a known type.
  @inline(__always) func writeKnown<Value>(_ value: Value) -> Bool {
    if Value.self == Date.self {
      write(reinterpret(value, as: Date.self).timeIntervalSinceReferenceDate)
    } else if Value.self == [String].self {
      writeList(reinterpret(value, as: [String].self)) { write($0) }
    } else if Value.self == String.self {
      write(reinterpret(value, as: String.self))
    } else if Value.self == Int.self {
      write(reinterpret(value, as: Int.self))
    } else if Value.self == [UInt8].self {
      unsafe reinterpret(value, as: [UInt8].self).withUnsafeBytes { unsafe buffer.append(ValueKind.bytes, $0) }
    } else if Value.self == Data.self {
      unsafe reinterpret(value, as: Data.self).withUnsafeBytes { unsafe buffer.append(ValueKind.bytes, $0) }
    } else if Value.self == UUID.self {
      let uuid = reinterpret(value, as: UUID.self).uuid
      unsafe buffer.append(ValueKind.simple << 5 | UInt8(SimpleValue.uuid))
      unsafe withUnsafeBytes(of: uuid) { unsafe buffer.append($0) }
    } else if Value.self == [Int].self {
      writeList(reinterpret(value, as: [Int].self)) { write($0) }
    } else if Value.self == [Double].self {
      writeList(reinterpret(value, as: [Double].self)) { write($0) }
    } else {
      return false
    }
    return true
  }

  @inline(__always) private func writeList<Element>(_ elements: [Element], _ write: (Element) -> Void) {
    let start = unsafe buffer.count
    unsafe buffer.appendOpenHead(ValueKind.list)
    for element in elements { write(element) }
    unsafe buffer.closeHead(at: start)
  }

  // MARK: Scalars

  @inline(__always) func write(_ value: String) {
    var text = value
    text.withUTF8 { unsafe buffer.append(ValueKind.text, UnsafeRawBufferPointer($0)) }
  }

  @inline(__always) func write(_ value: Bool) {
    unsafe buffer.append(ValueKind.simple << 5 | UInt8(value ? SimpleValue.yes : SimpleValue.no))
  }

  @inline(__always) func write(_ value: Double) { unsafe buffer.appendSimple(SimpleValue.double, value.bitPattern) }

  @inline(__always) func write(_ value: Float) { unsafe buffer.appendSimple(SimpleValue.float, value.bitPattern) }

  @inline(__always) func writeNil() { unsafe buffer.append(ValueKind.simple << 5 | UInt8(SimpleValue.absent)) }

  /// Writes an integer of up to 64 bits.
  @inline(__always) func write<Value: FixedWidthInteger>(_ value: Value) {
    if Value.isSigned {
      let word = Int64(truncatingIfNeeded: value)
      let mask = word &>> 63
      unsafe buffer.appendHead(UInt8(truncatingIfNeeded: mask & 1), UInt64(bitPattern: word ^ mask))
    } else {
      unsafe buffer.appendHead(ValueKind.unsigned, UInt64(truncatingIfNeeded: value))
    }
  }

  func write(_ value: Int128) {
    if let word = Int64(exactly: value) { return write(word) }
    if let word = UInt64(exactly: value) { return write(word) }
    unsafe buffer.appendSimple(SimpleValue.int128, value)
  }

  func write(_ value: UInt128) {
    if let word = UInt64(exactly: value) { return write(word) }
    unsafe buffer.appendSimple(SimpleValue.uint128, value)
  }
}

extension RowDecoder {
  /// The value at `head`, which is at `step` of the value around it.
  ///
  /// Data, [UInt8] and UUID that were written in another form than the short one are read by the type itself. No
  /// optional of `Value` is made here: its metadata would have to be looked up each time.
  func decode<Value: Decodable>(_ type: Value.Type, _ head: ValueHead, _ step: PathStep) throws -> Value {
    if Value.self == Date.self {
      let seconds: Double = try number(head, step)
      return reinterpret(Date(timeIntervalSinceReferenceDate: seconds), as: type)
    } else if Value.self == [String].self {
      if head.kind == ValueKind.list { return reinterpret(try strings(head, step), as: type) }
    } else if Value.self == String.self {
      return reinterpret(try text(head, step), as: type)
    } else if Value.self == Int.self {
      return reinterpret(try integer(head, step) as Int, as: type)
    } else if Value.self == [UInt8].self {
      if head.kind == ValueKind.bytes { return unsafe reinterpret([UInt8](reader.content(head)), as: type) }
    } else if Value.self == Data.self {
      if head.kind == ValueKind.bytes { return unsafe reinterpret(Data(reader.content(head)), as: type) }
    } else if Value.self == UUID.self {
      if let uuid = unsafe reader.uuid(head) { return reinterpret(uuid, as: type) }
    } else if Value.self == [Int].self {
      if head.kind == ValueKind.list { return reinterpret(try integers(head, step), as: type) }
    } else if Value.self == [Double].self {
      if head.kind == ValueKind.list { return reinterpret(try doubles(head, step), as: type) }
    }
    return try decodeUnknown(type, head, step)
  }

  // Lists have functions of their own, so that what a call of `decode` takes of the stack stays small.

  @inline(never) private func strings(_ head: ValueHead, _ step: PathStep) throws -> [String] {
    try list(head, step) { try text($0, $1) }
  }

  @inline(never) private func integers(_ head: ValueHead, _ step: PathStep) throws -> [Int] {
    try list(head, step) { try integer($0, $1) }
  }

  @inline(never) private func doubles(_ head: ValueHead, _ step: PathStep) throws -> [Double] {
    try list(head, step) { try number($0, $1) }
  }

  /// The elements of the list at `head`.
  @inline(__always) private func list<Element>(
    _ head: ValueHead, _ step: PathStep, _ read: (ValueHead, PathStep) throws -> Element
  ) throws -> [Element] {
    // On an error the path ends at the list: keeping the index, too, would cost every element.
    guard let elements = unsafe try reader.list(head, { try read($0, step) }) else { throw damage(step) }
    return elements
  }
}

extension RowDecoder {
  // MARK: Scalars

  @inline(__always) func text(_ head: ValueHead, _ step: PathStep) throws -> String {
    guard let value = unsafe reader.text(head) else { throw mismatch(String.self, head, step) }
    return value
  }

  @inline(__always) func boolean(_ head: ValueHead, _ step: PathStep) throws -> Bool {
    guard let value = unsafe reader.boolean(head) else { throw mismatch(Bool.self, head, step) }
    return value
  }

  @inline(__always) func integer<Value: FixedWidthInteger>(_ head: ValueHead, _ step: PathStep) throws -> Value {
    guard let value: Value = unsafe reader.integer(head) else { throw mismatch(Value.self, head, step) }
    return value
  }

  @inline(__always) func number(_ head: ValueHead, _ step: PathStep) throws -> Double {
    guard let value = unsafe reader.double(head) else { throw mismatch(Double.self, head, step) }
    return value
  }

  @inline(__always) func number(_ head: ValueHead, _ step: PathStep) throws -> Float {
    guard let value = unsafe reader.float(head) else { throw mismatch(Float.self, head, step) }
    return value
  }
}
