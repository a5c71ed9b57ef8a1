// Making archives of objects, and reading them.

internal import Foundation
internal import Quire
internal import YapCompat

/// What makes archives of objects of some classes, and reads those.
///
/// Bytes from disk must not choose which classes run, and Foundation ends the process on Linux for much that an archive
/// should not hold: so archives are looked through before they are read. What was just written is, too: what cannot be
/// read again must not be stored.
struct Archives: Sendable {
  /// The names in archives of the classes that may be there.
  private let names: Set<String>
  private let classes: Set<ObjectIdentifier>

  /// Those of these classes, and of Foundation's own that hold data.
  init(_ types: [Any.Type]) {
    let classes = types.compactMap { $0 as? AnyClass }
    names = Set(classes.compactMap(Self.name)).union(Self.plainNames)
    self.classes = Set(classes.map { ObjectIdentifier($0) })
  }

  private static let plainNames: Set<String> = [
    "NSString", "NSMutableString", "NSNumber", "NSDate", "NSData", "NSMutableData", "NSArray", "NSMutableArray",
    "NSDictionary", "NSMutableDictionary", "NSSet", "NSMutableSet", "NSURL", "NSUUID", "NSNull", "NSIndexSet",
    "NSMutableIndexSet", "NSTimeZone", "NSLocale", "NSDateComponents",
  ]

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
      try check(data, .encodingFailed, collection, key)
      return data
    }
  }

  // MARK: Reading

  var deserializer: YapDatabaseDeserializer {
    { collection, key, data in
      try check(data, .decodingFailed, collection, key)
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.requiresSecureCoding = false
      unarchiver.decodingFailurePolicy = .setErrorAndReturn
      defer { unarchiver.finishDecoding() }
      let object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
      // With an object, an error is a key that its class asked for in vain, and could do without.
      if object == nil, let error = unarchiver.error { throw error }
      return object
    }
  }

  // MARK: Looking through

  private static func error(
    _ code: DatabaseError.Code, _ message: String, _ collection: String, _ key: String
  ) -> DatabaseError {
    DatabaseError(code, message, collection: collection, key: key)
  }

  /// Throws unless Foundation survives an archive, and all its classes are permitted.
  private func check(_ data: Data, _ code: DatabaseError.Code, _ collection: String, _ key: String) throws {
    guard let objects = ArchiveObjects(data) else {
      throw Self.error(
        code, "The bytes are no archive of an object, or of one that holds itself, or too many in each other.",
        collection, key)
    }
    for name in objects.classNames.sorted() where !isPermitted(name) {
      throw Self.error(
        code,
        """
        The archive holds an object of \(name), which is neither the registered class nor one of Foundation's that \
        hold data. Name it in `database.register(_:classes:)`.
        """, collection, key)
    }
  }

  private func isPermitted(_ name: String) -> Bool {
    if names.contains(name) { return true }
    // A class that has been renamed, and is registered under its old name.
    return NSKeyedUnarchiver.class(forClassName: name).map { classes.contains(ObjectIdentifier($0)) } ?? false
  }
}
