// One half of a collection's rows: what untyped code hands over, and what is stored.

internal import Foundation
internal import Quire

/// How objects, or metadata, go in and come out.
struct RowHalf<Stored: Sendable>: Sendable {
  /// What is stored of a value.
  let store: @Sendable (_ value: Any, _ key: String) throws -> Stored
  /// The value of what is stored.
  let load: @Sendable (_ stored: Stored, _ key: String) throws -> Any

  /// Values of the collection's own type; `half` is what messages call them.
  static func typed(_ half: String, in collection: String) -> Self {
    Self(
      store: { value, key in
        if let typed = value as? Stored { return typed }
        throw DatabaseError.wrongType(half, type(of: value), expected: Stored.self, collection, key)
      },
      load: { stored, _ in stored })
  }
}

extension RowHalf<[UInt8]> {
  /// Values that an app's own blocks make bytes of.
  static func blocks(
    _ half: String, in collection: String, _ serializer: YapDatabaseSerializer?,
    _ deserializer: YapDatabaseDeserializer?
  ) -> Self {
    Self(
      store: { value, key in
        guard let serializer else { throw DatabaseError.notRegistered(collection, key, missing: "\(half) serializer") }
        do { return Array(try serializer(collection, key, value)) } catch {
          throw DatabaseError(
            .encodingFailed, "The serializer of the \(half) failed. Nothing was stored; see the cause.",
            collection: collection, key: key, cause: error)
        }
      },
      load: { bytes, key in
        guard let deserializer else {
          throw DatabaseError.notRegistered(collection, key, missing: "\(half) deserializer")
        }
        do {
          if let value = try deserializer(collection, key, Data(bytes)) { return value }
        } catch {
          throw DatabaseError(
            .decodingFailed, "The deserializer of the \(half) failed; see the cause.", collection: collection,
            key: key, cause: error)
        }
        throw DatabaseError(
          .decodingFailed, "The deserializer made nothing of the stored \(half). Return a value, or throw.",
          collection: collection, key: key)
      })
  }
}
