// Objects whose properties are put where they belong in memory, one after the other as they are stored.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Decodes structures of one type that are `SynthesizedCodable`, without the calls that their `init(from:)` would make
/// for each field. What is not plainly as `encode(to:)` writes it is left to that.
///
/// One thread at a time, for one context. Invariant: outside of `decode` no property has been made that is not part of
/// a value.
@safe final class DirectDecoder {
  /// What of a property is asked for each row, without anything that is counted.
  private struct Slot {
    let offset: Int
    let form: DirectForm
    let isOptional: Bool
  }

  let fields: [DirectField]
  /// The same fields, in memory that costs no count.
  private let slots: UnsafeMutableBufferPointer<Slot>
  /// For each number of a field below `numberLimit`, the place of the property in `fields`; `absent` if there is none.
  private let places: UnsafeMutableBufferPointer<UInt8>
  /// A bit for each property.
  private let all: UInt64
  private static let absent = UInt8.max
  /// Numbers of fields below this one are stored in a byte.
  static let numberLimit: UInt32 = 128
  /// Of no more properties can be told in one word which have been made.
  static let mostFields = 64

  /// Nil if there are too many properties.
  init?(_ layout: StructLayout) {
    guard layout.fields.count <= Self.mostFields else { return nil }
    fields = layout.fields
    all = fields.count == Self.mostFields ? .max : 1 << UInt64(fields.count) - 1
    unsafe slots = .allocate(capacity: fields.count)
    for (index, field) in fields.enumerated() {
      let slot = Slot(offset: field.offset, form: field.form, isOptional: field.isOptional)
      unsafe slots.initializeElement(at: index, to: slot)
    }
    unsafe places = .allocate(capacity: Int(Self.numberLimit))
    unsafe places.initialize(repeating: Self.absent)
  }

  deinit {
    unsafe places.deallocate()
    unsafe slots.deallocate()
  }

  /// Takes the numbers that names have now.
  func refresh(_ number: (String) -> UInt32?) {
    unsafe places.update(repeating: Self.absent)
    for (index, field) in fields.enumerated() {
      if let number = number(field.name), number < Self.numberLimit { unsafe places[Int(number)] = UInt8(index) }
    }
  }

  // MARK: Rows

  /// Makes the value of a row at `place`, where there is none; returns false, with none made, if something is not
  /// plainly as it is written.
  func decode(_ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, into place: UnsafeMutableRawPointer) -> Bool
  {
    let reader = unsafe ValueReader(bytes)
    guard bytes.count <= Limits.valueByteCount, let head = reader.rowHead(), head.kind == ValueKind.record else {
      return false
    }
    var made: UInt64 = 0
    if unsafe makeStored(reader, head, context, place, &made) {
      if made == all { return true }
      if unsafe makeMissing(place, &made) { return true }
    }
    unsafe destroy(made, place)
    return false
  }

  @inline(__always) private func makeStored(
    _ reader: ValueReader, _ head: ValueHead, _ context: RowCodingContext, _ place: UnsafeMutableRawPointer,
    _ made: inout UInt64
  ) -> Bool {
    var offset = head.start
    while offset < head.end {
      guard let number = reader.varint(at: &offset, limit: head.end), number < Self.numberLimit,
        let value = reader.head(at: offset, limit: head.end)
      else { return false }
      let index = unsafe places[Int(number)]
      guard index != Self.absent, made >> UInt64(index) & 1 == 0,
        unsafe make(Int(index), number, value, reader, context, place)
      else { return false }
      made |= 1 << UInt64(index)
      offset = value.end
    }
    assert(made & ~all == 0, "a property was made that the type does not have")
    return true
  }

  /// Makes nil of those that are not stored; returns whether that is what they are read as.
  @inline(never) private func makeMissing(_ place: UnsafeMutableRawPointer, _ made: inout UInt64) -> Bool {
    for (index, field) in fields.enumerated() where made >> UInt64(index) & 1 == 0 {
      guard let makeNil = unsafe field.makeNil else { return false }
      unsafe makeNil(place + field.offset)
      made |= 1 << UInt64(index)
    }
    return true
  }

  @inline(never) private func destroy(_ made: UInt64, _ place: UnsafeMutableRawPointer) {
    for (index, field) in fields.enumerated() where made >> UInt64(index) & 1 == 1 {
      unsafe field.destroy(place + field.offset)
    }
  }

  // MARK: Properties

  /// Makes one property; returns whether it was made.
  @inline(__always) private func make(
    _ index: Int, _ number: UInt32, _ head: ValueHead, _ reader: ValueReader, _ context: RowCodingContext,
    _ value: UnsafeMutableRawPointer
  ) -> Bool {
    let slot = unsafe slots[index]
    let (place, isOptional) = unsafe (value + slot.offset, slot.isOptional)
    switch slot.form {
    case .boolean: if let value = reader.boolean(head) { return unsafe put(value, isOptional, place) }
    case .int: if let value: Int = reader.integer(head) { return unsafe put(value, isOptional, place) }
    case .double: if let value = reader.double(head) { return unsafe put(value, isOptional, place) }
    case .text: if let value = reader.text(head) { return unsafe put(value, isOptional, place) }
    case .date:
      if let seconds = reader.double(head) {
        return unsafe put(Date(timeIntervalSinceReferenceDate: seconds), isOptional, place)
      }
    case .coded: break
    default: if unsafe makeRare(slot, head, reader, place) { return true }
    }
    return unsafe makeSlowly(index, number, head, reader, context, place)
  }

  /// Makes a property of one of the types that are less common.
  @inline(never) private func makeRare(
    _ slot: Slot, _ head: ValueHead, _ reader: ValueReader, _ place: UnsafeMutableRawPointer
  ) -> Bool {
    let isOptional = slot.isOptional
    func integer<Value: FixedWidthInteger>(_: Value.Type) -> Bool {
      guard let value: Value = reader.integer(head) else { return false }
      return unsafe put(value, isOptional, place)
    }
    switch slot.form {
    case .int8: return integer(Int8.self)
    case .int16: return integer(Int16.self)
    case .int32: return integer(Int32.self)
    case .int64: return integer(Int64.self)
    case .uint: return integer(UInt.self)
    case .uint8: return integer(UInt8.self)
    case .uint16: return integer(UInt16.self)
    case .uint32: return integer(UInt32.self)
    case .uint64: return integer(UInt64.self)
    case .float: if let value = reader.float(head) { return unsafe put(value, isOptional, place) }
    case .uuid: if let value = reader.uuid(head) { return unsafe put(value, isOptional, place) }
    case .data:
      if head.kind == ValueKind.bytes { return unsafe put(Data(reader.content(head)), isOptional, place) }
    case .bytes:
      if head.kind == ValueKind.bytes { return unsafe put([UInt8](reader.content(head)), isOptional, place) }
    case .texts: return unsafe putList(head, reader, isOptional, place, reader.text)
    case .ints: return unsafe putList(head, reader, isOptional, place) { reader.integer($0) as Int? }
    case .doubles: return unsafe putList(head, reader, isOptional, place, reader.double)
    case .boolean, .int, .double, .text, .date, .coded: break
    }
    return false
  }

  /// Makes a property that is nil, or that its type decodes itself.
  @inline(never) private func makeSlowly(
    _ index: Int, _ number: UInt32, _ head: ValueHead, _ reader: ValueReader, _ context: RowCodingContext,
    _ place: UnsafeMutableRawPointer
  ) -> Bool {
    let field = fields[index]
    if head.isAbsent {
      guard let makeNil = unsafe field.makeNil else { return false }
      unsafe makeNil(place)
      return true
    }
    // What is no value of its type is told by `init(from:)`.
    return unsafe (try? field.decode(context, reader, head, .field(number), place)) != nil
  }

  /// Makes a list; returns whether it was made.
  private func putList<Element>(
    _ head: ValueHead, _ reader: ValueReader, _ isOptional: Bool, _ place: UnsafeMutableRawPointer,
    _ read: (ValueHead) -> Element?
  ) -> Bool {
    guard head.kind == ValueKind.list, let elements = reader.list(head, read) else { return false }
    return unsafe put(elements, isOptional, place)
  }

  /// Makes a value where there is none; true, always.
  @inline(__always) private func put<Value>(
    _ value: Value, _ isOptional: Bool, _ place: UnsafeMutableRawPointer
  ) -> Bool {
    if isOptional {
      unsafe place.initializeMemory(as: Value?.self, to: value)
    } else {
      unsafe place.initializeMemory(as: Value.self, to: value)
    }
    return true
  }
}
