// How values become what a transaction stores, and how bytes are made of that.

internal import Foundation
internal import Quire
internal import YapCompat

/// One half of an item's rows.
protocol StoredHalf: Sendable {
  /// What transactions take, for messages.
  var storedType: Any.Type { get }
  /// Whether values of the half exist.
  var isStored: Bool { get }
  /// Whether values are encoded by the compiler's code, with every property that they have.
  var isCodable: Bool { get }

  /// What a transaction is handed for a value.
  func store(_ value: Any) -> Any
  /// The value of what a transaction hands out; nil if that is of another type.
  func load(_ stored: Any) -> Any?

  /// What makes bytes of what is stored; `classes` are those that archives may hold besides.
  func serializer(_ classes: [AnyClass]) -> YapDatabaseSerializer
  func deserializer(_ classes: [AnyClass]) -> YapDatabaseDeserializer
}

/// Objects that archive themselves.
struct ObjectHalf<Value: NSCoding & SendableMetatype>: StoredHalf {
  var storedType: Any.Type { Value.self }
  var isStored: Bool { true }
  var isCodable: Bool { false }

  func store(_ value: Any) -> Any { value }
  func load(_ stored: Any) -> Any? { stored as? Value }
  func serializer(_ classes: [AnyClass]) -> YapDatabaseSerializer { Archives([Value.self] + classes).serializer }
  func deserializer(_ classes: [AnyClass]) -> YapDatabaseDeserializer { Archives([Value.self] + classes).deserializer }
}

/// Values that a class archives.
struct ValueHalf<Value: ValueCoding>: StoredHalf where Value.Coder: NSCoding, Value.Coder.ValueType == Value {
  var storedType: Any.Type { Value.Coder.self }
  var isStored: Bool { true }
  var isCodable: Bool { false }

  func store(_ value: Any) -> Any { (value as? Value)?.encoded ?? value }
  func load(_ stored: Any) -> Any? { Value.decode(stored) }
  func serializer(_ classes: [AnyClass]) -> YapDatabaseSerializer { Archives([Value.Coder.self] + classes).serializer }
  func deserializer(_ classes: [AnyClass]) -> YapDatabaseDeserializer {
    Archives([Value.Coder.self] + classes).deserializer
  }
}

/// A half that a typed collection can have.
protocol TypedHalf: StoredHalf {
  associatedtype Stored: Codable & Sendable
}

/// Values that are stored as they are.
struct CodableHalf<Value: Codable & Sendable>: TypedHalf {
  typealias Stored = Value
  var storedType: Any.Type { Value.self }
  var isStored: Bool { true }
  var isCodable: Bool { true }

  func store(_ value: Any) -> Any { value }
  func load(_ stored: Any) -> Any? { stored as? Value }

  // In an array: a property list of a lone number or string is none.
  func serializer(_ classes: [AnyClass]) -> YapDatabaseSerializer {
    let encode = YapDatabase.codableSerializer([Value].self)
    return { collection, key, value in try encode(collection, key, (value as? Value).map { [$0] } ?? value) }
  }
  func deserializer(_ classes: [AnyClass]) -> YapDatabaseDeserializer {
    let decode = YapDatabase.codableDeserializer([Value].self)
    return { collection, key, data in (try decode(collection, key, data) as? [Value])?.first }
  }
}

/// Nothing.
struct NoHalf: TypedHalf {
  typealias Stored = NoMetadata
  var storedType: Any.Type { Void.self }
  var isStored: Bool { false }
  var isCodable: Bool { false }

  func store(_ value: Any) -> Any { value }
  func load(_ stored: Any) -> Any? { nil }
  // Nobody has a value to hand to it.
  func serializer(_ classes: [AnyClass]) -> YapDatabaseSerializer { { _, _, _ in Data() } }
  func deserializer(_ classes: [AnyClass]) -> YapDatabaseDeserializer { { _, _, _ in nil } }
}
