// Blocks that make bytes of values and read them.

public import Foundation
internal import Quire

extension YapDatabase {
  /// Makes property lists of a `Codable` type. New call: `RowCoder.propertyList`.
  ///
  /// The block throws for an object of another type, where the original stored no bytes.
  @preconcurrency public static func codableSerializer<Value: Codable & SendableMetatype>(
    _ type: Value.Type
  ) -> YapDatabaseSerializer {
    { collection, key, object in
      guard let value = object as? Value else {
        throw DatabaseError.wrongType(
          "object", Swift.type(of: object), expected: Value.self, collection, key)
      }
      let encoder = PropertyListEncoder()
      encoder.outputFormat = .binary
      return try encoder.encode(value)
    }
  }

  /// Reads property lists of a `Codable` type. New call: `RowCoder.propertyList`.
  @preconcurrency public static func codableDeserializer<Value: Codable & SendableMetatype>(
    _ type: Value.Type
  ) -> YapDatabaseDeserializer {
    { _, _, data in try PropertyListDecoder().decode(Value.self, from: data) }
  }

  /// Makes a property list of strings, numbers, dates, data, and arrays and dictionaries of them. New call:
  /// `RowCoder.propertyList`, with a `Codable` type.
  public static func propertyListSerializer() -> YapDatabaseSerializer {
    { _, _, object in try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0) }
  }

  /// Reads any property list. New call: `RowCoder.propertyList`, with a `Codable` type.
  public static func propertyListDeserializer() -> YapDatabaseDeserializer {
    { _, _, data in try unsafe PropertyListSerialization.propertyList(from: data, options: [], format: nil) }
  }

  /// Makes 8 bytes of a date. New call: `RowCoder.timestamp`.
  public static func timestampSerializer() -> YapDatabaseSerializer {
    { collection, key, object in
      guard let date = object as? Date else {
        throw DatabaseError.wrongType("object", type(of: object), expected: Date.self, collection, key)
      }
      let bits = date.timeIntervalSinceReferenceDate.bitPattern
      return Data((0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(8 * $0)) })
    }
  }

  /// Reads a date of 8 bytes. New call: `RowCoder.timestamp`.
  public static func timestampDeserializer() -> YapDatabaseDeserializer {
    { _, _, data in
      guard data.count == 8 else { return nil }
      let bits = data.reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      return Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
    }
  }

  /// Makes bytes of objects that archive themselves. New call: a `Codable` type with any `RowCoder`.
  @available(*, deprecated, message: "Archives are slow and can make any class at reading: use `Codable` types.")
  public static func defaultSerializer() -> YapDatabaseSerializer { archiveSerializer }

  static let archiveSerializer: YapDatabaseSerializer = { _, _, object in
    try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
  }

  /// Reads strings, numbers, dates, data, URLs, UUIDs, index sets, time zones, locales and parts of dates, and arrays,
  /// dictionaries and sets of them, from archives in their binary form. New call: a `Codable` type with any `RowCoder`.
  ///
  /// Bytes from disk do not choose which classes run: an archive with another class, or one that is damaged in whatever
  /// way, is an error. `NSKeyedUnarchiver` takes no part, which on Linux ends the process for some of them.
  @available(*, deprecated, message: "Archives are slow and can make any class at reading: use `Codable` types.")
  public static func defaultDeserializer() -> YapDatabaseDeserializer { archiveDeserializer([:]) }

  /// Reads the same, and objects of an app's own classes. New call: a `Codable` type with any `RowCoder`.
  ///
  /// An object is made by the `init(coder:)` of its class, which is handed a coder with keys. What an object is inside
  /// of cannot be decoded by itself, as it is not made yet: that is an error, and so are objects that are nested deeper
  /// than 256 times. Whatever the bytes are, only these classes run; their `init(coder:)` must bear all
  /// values, and any thread.
  ///
  /// - Parameters:
  ///   - classes: those that archives may name, by the names that `NSKeyedArchiver` writes: `Module.Class`.
  ///   - named: those that archives name otherwise, such as classes that were renamed since. What the app has told
  ///     `NSKeyedUnarchiver.setClass(_:forClassName:)` of these classes holds, too.
  public static func defaultDeserializer(
    classes: [any NSCoding.Type],
    named: [String: any NSCoding.Type] = [:]
  ) -> YapDatabaseDeserializer {
    var all = named
    for type in classes {
      let name = String(reflecting: type)
      // Foundation's own are written without their module.
      all[name.hasPrefix("Foundation.") ? String(name.dropFirst(11)) : name] = type
    }
    return archiveDeserializer(all)
  }

  static func archiveDeserializer(
    _ classes: [String: any NSCoding.Type]
  ) -> YapDatabaseDeserializer {
    // nonisolated(unsafe): safe because types do not change; that the classes may be made anywhere is asked of apps.
    nonisolated(unsafe) let classes = classes
    return { _, _, data in try KeyedArchive(data, unsafe classes).rootObject() }
  }
}
