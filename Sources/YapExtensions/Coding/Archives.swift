// Making archives of objects, and reading them.

internal import Foundation
internal import Quire
internal import YapCompat

/// What makes archives of objects of some classes, and reads those.
///
/// Bytes from disk must not choose which classes run, and Foundation ends the process on Linux for much that an archive
/// should not hold: so they are read by `YapCompat`. What was just written is, too: what cannot be read again must not
/// be stored.
struct Archives: Sendable {
  /// Reads archives of the classes that may be there.
  private let read: YapDatabaseDeserializer

  /// Those of these classes, and of Foundation's own that hold data.
  init(_ types: [Any.Type]) {
    var classes: [String: any NSCoding.Type] = [:]
    for type in types {
      guard let name = (type as? AnyClass).flatMap(Self.name), let type = type as? any NSCoding.Type else { continue }
      classes[name] = type
    }
    read = YapDatabase.defaultDeserializer(classes: [], named: classes)
  }

  /// The name of a class in archives; nil if Foundation has none for it, and would end the process.
  static func name(_ type: AnyClass) -> String? {
    if let renamed = NSKeyedArchiver.classNameForClass(type) { return renamed }
    #if !canImport(ObjectiveC)
      guard String(reflecting: type).split(separator: ".").count == 2 else { return nil }
    #endif
    return NSStringFromClass(type)
  }

  // MARK: Writing

  var serializer: YapDatabaseSerializer {
    { collection, key, object in
      guard let archived = object as? any NSCoding & AnyObject else {
        throw Self.error(
          .encodingFailed, "A value of type \(type(of: object)) is no `NSCoding` object.", collection, key)
      }
      let dynamicType: AnyClass = type(of: archived)
      guard Self.name(dynamicType) != nil else {
        throw Self.error(
          .encodingFailed,
          "Foundation archives no class that is private or inside of another type, like "
            + "\(String(reflecting: dynamicType)). Move it to the top of its file.", collection, key)
      }
      let data = try NSKeyedArchiver.archivedData(withRootObject: archived, requiringSecureCoding: false)
      do { _ = try read(collection, key, data) } catch {
        throw Self.error(.encodingFailed, "\(error) \(Self.remedy)", collection, key)
      }
      return data
    }
  }

  // MARK: Reading

  var deserializer: YapDatabaseDeserializer {
    { collection, key, data in
      do { return try read(collection, key, data) } catch {
        throw Self.error(.decodingFailed, "\(error) \(Self.remedy)", collection, key)
      }
    }
  }

  private static let remedy = "Classes other than the registered one are named in `database.register(_:classes:)`."

  private static func error(
    _ code: DatabaseError.Code, _ message: String, _ collection: String, _ key: String
  ) -> DatabaseError {
    DatabaseError(code, message, collection: collection, key: key)
  }
}
