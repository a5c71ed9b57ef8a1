// Where the stored properties of a structure are in memory.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// How a property is made of a stored value.
enum DirectForm: UInt8 {
  case boolean, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64
  case double, float, text, date, data, bytes, uuid, texts, ints, doubles
  /// By decoding the one value.
  case coded

  init(_ type: Any.Type) {
    self = Self.known[ObjectIdentifier(type)] ?? .coded
  }

  private static let known: [ObjectIdentifier: DirectForm] = [
    ObjectIdentifier(Bool.self): .boolean,
    ObjectIdentifier(Int.self): .int, ObjectIdentifier(Int8.self): .int8, ObjectIdentifier(Int16.self): .int16,
    ObjectIdentifier(Int32.self): .int32, ObjectIdentifier(Int64.self): .int64,
    ObjectIdentifier(UInt.self): .uint, ObjectIdentifier(UInt8.self): .uint8, ObjectIdentifier(UInt16.self): .uint16,
    ObjectIdentifier(UInt32.self): .uint32, ObjectIdentifier(UInt64.self): .uint64,
    ObjectIdentifier(Double.self): .double, ObjectIdentifier(Float.self): .float,
    ObjectIdentifier(String.self): .text, ObjectIdentifier(Date.self): .date, ObjectIdentifier(Data.self): .data,
    ObjectIdentifier([UInt8].self): .bytes, ObjectIdentifier(UUID.self): .uuid,
    ObjectIdentifier([String].self): .texts, ObjectIdentifier([Int].self): .ints,
    ObjectIdentifier([Double].self): .doubles,
  ]
}

/// How two values of a property compare that were decoded in two ways.
enum Sameness {
  case same, different
  /// They are not the same bytes, which values without an order or without an equality need not be.
  case unclear

  /// Compares values of a known type to the bit, and others by what they are written as, or else by their equality.
  init<Value: Decodable>(_ left: Value, _ right: Value, _ form: DirectForm) {
    if form != .coded {
      self = Self.areSame(left, right) ? .same : .different
    } else if let own = Self.written(left), own == Self.written(right) {
      self = .same
    } else if let left = left as? AnyHashable, let right = right as? AnyHashable, left == left, right == right {
      self = left == right ? .same : .different
    } else {
      self = .unclear
    }
  }

  /// The bytes that a value is written as; nil if it cannot be.
  private static func written(_ value: Any) -> [UInt8]? {
    guard let value = value as? any Encodable else { return nil }
    var bytes: [UInt8] = []
    // With names of its own: what is read brings no new ones.
    let context = RowCodingContext(schema: RowSchema())
    guard (try? unsafe context.encodeBinary(value, { unsafe bytes.append(contentsOf: $0) })) != nil else { return nil }
    return bytes
  }

  /// Whether two values of a known type are the same one.
  private static func areSame(_ left: Any, _ right: Any) -> Bool {
    switch (left, right) {
    // -0.0 is equal to 0.0, what is not a number to nothing, and a text to one with other bytes.
    case (let left as Double, let right as Double): left.bitPattern == right.bitPattern
    case (let left as Float, let right as Float): left.bitPattern == right.bitPattern
    case (let left as Date, let right as Date):
      left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
    case (let left as [Double], let right as [Double]): left.map(\.bitPattern) == right.map(\.bitPattern)
    case (let left as String, let right as String): left.utf8.elementsEqual(right.utf8)
    case (let left as [String], let right as [String]): left.map { Array($0.utf8) } == right.map { Array($0.utf8) }
    case (let left as AnyHashable, let right as AnyHashable): left == right
    default: false
    }
  }
}

/// A stored property, and what can be done at its place in a value.
@safe struct DirectField {
  let name: String
  let offset: Int
  let isOptional: Bool
  let form: DirectForm
  /// Decodes the value at a head, which is at a step, to a place where there is none. On an error there is none
  /// afterwards.
  let decode: (RowCodingContext, ValueReader, ValueHead, PathStep, UnsafeMutableRawPointer) throws -> Void
  /// Makes a nil at a place where there is no value; nil if the property is no optional.
  let makeNil: ((UnsafeMutableRawPointer) -> Void)?
  /// Ends the life of the value at a place.
  let destroy: (UnsafeMutableRawPointer) -> Void
  /// How the values at two places compare.
  let compare: (UnsafeRawPointer, UnsafeRawPointer) -> Sameness
}

/// The stored properties of a structure, each a value that is decoded by itself.
///
/// Their names and types are those that the mirror of a value tells. Swift puts the properties of a structure one after
/// the other, each at the next place that its alignment allows; the size and the alignment that this gives must be
/// those of the structure, and the bytes at the places those of the values that the mirror tells.
///
/// Invariant: no two properties overlap, all lie within the structure, and all of it but padding is theirs.
struct StructLayout {
  let fields: [DirectField]

  /// The layout of a type, as one value tells it; nil if it is no structure of values that can be decoded alone.
  init?<Value>(of value: Value) {
    guard !(value is any CustomReflectable), !(Value.self is AnyClass) else { return nil }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .struct, mirror.superclassMirror == nil, !mirror.children.isEmpty else { return nil }
    var fields: [DirectField] = []
    var (end, alignment) = (0, 1)
    for child in mirror.children {
      // Wrapped and lazy properties are stored under names that are none of the type's.
      guard let name = child.label, let first = name.utf8.first, first != UInt8(ascii: "_"), first != UInt8(ascii: "$")
      else { return nil }
      let type = Swift.type(of: child.value)
      let (size, own) = Self.measure(type)
      let offset = (end + own - 1) / own * own
      guard let field = DirectField(name, type, at: offset) else { return nil }
      (end, alignment) = (offset + size, max(alignment, own))
      guard end <= MemoryLayout<Value>.size, Self.hasBytes(value, child.value, field) else { return nil }
      fields.append(field)
    }
    guard end == MemoryLayout<Value>.size, alignment == MemoryLayout<Value>.alignment else { return nil }
    self.fields = fields
    checkInvariants(size: end)
  }

  private static func measure(_ type: Any.Type) -> (Int, Int) {
    func sizes<Value>(_: Value.Type) -> (Int, Int) { (MemoryLayout<Value>.size, MemoryLayout<Value>.alignment) }
    let found: (Int, Int) = _openExistential(type, do: sizes)
    return found
  }

  /// Whether the bytes of a property are in a value where the field says, if they can be told: if it is not nil, and of
  /// a type that has no padding.
  private static func hasBytes<Value>(_ value: Value, _ property: Any, _ field: DirectField) -> Bool {
    guard field.form != .coded else { return true }
    func isThere<Property>(_ property: Property) -> Bool {
      unsafe withUnsafeBytes(of: value) { all in
        unsafe withUnsafeBytes(of: property) { own in
          let place = field.offset..<field.offset + own.count
          return unsafe place.upperBound <= all.count && all[place].elementsEqual(own)
        }
      }
    }
    // The bytes of an optional that is not nil begin with those of what it holds.
    guard let held = field.isOptional ? (property as? any AnyOptional)?.held : property else { return true }
    return _openExistential(held, do: isThere)
  }

  func checkInvariants(size: Int) {
    for (field, next) in zip(fields, fields.dropFirst()) { precondition(field.offset <= next.offset) }
    precondition(fields.allSatisfy { $0.offset >= 0 && $0.offset <= size })
  }
}

extension DirectField {
  /// A property of this name and type; nil if what it holds cannot be decoded by itself.
  fileprivate init?(_ name: String, _ type: Any.Type, at offset: Int) {
    let wrapped = wrappedType(type)
    let own = wrapped ?? type
    // What refers to an object may be weak, which is something else in memory than its type says.
    guard !(own is AnyClass), wrappedType(own) == nil, let decodable = own as? any Decodable.Type else { return nil }
    func make<Value: Decodable>(_ own: Value.Type) -> DirectField {
      wrapped == nil ? .plain(name, own, at: offset) : .optional(name, own, at: offset)
    }
    self = make(decodable)
  }

  private static func plain<Value: Decodable>(_ name: String, _ type: Value.Type, at offset: Int) -> DirectField {
    let form = DirectForm(type)
    return unsafe DirectField(
      name: name, offset: offset, isOptional: false, form: form,
      decode: { context, reader, head, step, place in
        unsafe place.initializeMemory(as: type, to: try context.decodeField(type, reader, head, step))
      },
      makeNil: nil, destroy: { unsafe $0.assumingMemoryBound(to: type).deinitialize(count: 1) },
      compare: { left, right in
        unsafe Sameness(
          left.assumingMemoryBound(to: type).pointee, right.assumingMemoryBound(to: type).pointee, form)
      })
  }

  private static func optional<Value: Decodable>(_ name: String, _ type: Value.Type, at offset: Int) -> DirectField {
    let form = DirectForm(type)
    return unsafe DirectField(
      name: name, offset: offset, isOptional: true, form: form,
      decode: { context, reader, head, step, place in
        unsafe place.initializeMemory(as: Value?.self, to: try context.decodeField(type, reader, head, step))
      },
      makeNil: { unsafe $0.initializeMemory(as: Value?.self, to: nil) },
      destroy: { unsafe $0.assumingMemoryBound(to: Value?.self).deinitialize(count: 1) },
      compare: { left, right in
        let (left, right) = unsafe (
          left.assumingMemoryBound(to: Value?.self).pointee, right.assumingMemoryBound(to: Value?.self).pointee
        )
        guard let left, let right else { return left == nil && right == nil ? .same : .different }
        return Sameness(left, right, form)
      })
  }
}
