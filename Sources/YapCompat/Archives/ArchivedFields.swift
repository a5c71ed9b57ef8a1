// The fields of one object of an archive, and the values without behaviour that they make.

internal import Foundation

/// The fields of an object, by their names.
struct ArchivedFields {
  private let fields: [String: Int]
  let archive: KeyedArchive

  init(_ fields: [String: Int], _ archive: KeyedArchive) {
    self.fields = fields
    self.archive = archive
  }

  /// The number of a field's object in the property list; nil if there is no such field.
  func number(_ name: String) -> Int? { fields[name] }

  /// What a field holds; nil if there is no such field, or nothing in it.
  func value(_ name: String) throws -> NSObject? { try fields[name].flatMap { try archive.value($0) } }

  private func value<Value: NSObject>(_ name: String, _: Value.Type, of className: String) throws -> Value {
    if let value = try value(name) as? Value { return value }
    throw ArchiveError.damaged("an object of the class \(className) has no “\(name)”")
  }

  private func values(_ name: String, of className: String) throws -> [NSObject] {
    if let number = fields[name] { return try archive.values(number) }
    throw ArchiveError.damaged("an object of the class \(className) has no “\(name)”")
  }

  // MARK: Values

  /// An object of one of the classes that anything may hold.
  func value(ofClass name: String) throws -> NSObject {
    switch name {
    case "NSString": return try text(name)
    case "NSMutableString": return NSMutableString(string: try copied(try text(name) as String))
    case "NSNumber": return try number(of: name)
    case "NSNull": return NSNull()
    case "NSDate":
      return NSDate(timeIntervalSinceReferenceDate: try value("NS.time", NSNumber.self, of: name).doubleValue)
    case "NSData": return NSData(data: try data(name))
    case "NSMutableData": return NSMutableData(data: try data(name))
    case "NSArray": return NSArray(array: try values("NS.objects", of: name))
    case "NSMutableArray": return NSMutableArray(array: try values("NS.objects", of: name))
    case "NSSet": return NSSet(array: try members("NS.objects", of: name))
    case "NSMutableSet": return NSMutableSet(array: try members("NS.objects", of: name))
    case "NSDictionary":
      let (keys, values) = try entries(name)
      return NSDictionary(objects: values, forKeys: keys)
    case "NSMutableDictionary":
      let (keys, values) = try entries(name)
      return NSMutableDictionary(objects: values, forKeys: keys)
    case "NSURL": return try url(name)
    case "NSUUID": return try uuid(name)
    default:
      throw ArchiveError(
        "The archive has an object of the class \(name). Name it in `defaultDeserializer(classes:named:)` to read it.")
    }
  }

  private func copied(_ text: String) throws -> String {
    try archive.charge(text.utf8.count)
    return text
  }

  private func text(_ name: String) throws -> NSString {
    if let bytes = try value("NS.bytes") as? NSData {
      guard let text = String(validating: Data(referencing: bytes), as: UTF8.self) else {
        throw ArchiveError.damaged("a text is none")
      }
      return NSString(string: text)
    }
    return try value("NS.string", NSString.self, of: name)
  }

  private func number(of name: String) throws -> NSNumber {
    for field in ["NS.intval", "NS.dblval", "NS.boolval"] {
      if let number = try value(field) as? NSNumber { return number }
    }
    throw ArchiveError.damaged("a number has no value")
  }

  private func data(_ name: String) throws -> Data {
    let data = try value("NS.bytes") as? NSData ?? value("NS.data", NSData.self, of: name)
    try archive.charge(data.length)
    return Data(referencing: data)
  }

  /// The members of a set, or the keys of a dictionary. Lists, sets and dictionaries are none: to compare two of them
  /// may take for ever.
  private func members(_ field: String, of name: String) throws -> [NSObject] {
    let members = try values(field, of: name)
    guard !members.contains(where: { $0 is NSArray || $0 is NSSet || $0 is NSDictionary }) else {
      throw ArchiveError("The archive has a list, a set or a dictionary in a set, or as a key. These are not read.")
    }
    return members
  }

  private func entries(_ name: String) throws -> (keys: [NSObject], values: [NSObject]) {
    let (keys, values) = (try members("NS.keys", of: name), try values("NS.objects", of: name))
    guard keys.count == values.count, keys.allSatisfy({ $0 is any NSCopying }) else {
      throw ArchiveError.damaged("a dictionary has not a key for each value")
    }
    return (keys, values)
  }

  private func url(_ name: String) throws -> NSURL {
    let relative = try value("NS.relative", NSString.self, of: name) as String
    let base = try value("NS.base")
    guard base == nil || base is NSURL, let url = URL(string: relative, relativeTo: (base as? NSURL) as URL?) else {
      throw ArchiveError.damaged("a URL is none")
    }
    return url as NSURL
  }

  private func uuid(_ name: String) throws -> NSUUID {
    let bytes = Array(Data(referencing: try value("NS.uuidbytes", NSData.self, of: name)))
    guard bytes.count == 16 else { throw ArchiveError.damaged("a UUID has not 16 bytes") }
    let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(Array(digits)[$0]) }
    if let uuid = NSUUID(uuidString: parts.joined(separator: "-")) { return uuid }
    throw ArchiveError.damaged("a UUID is none")
  }
}
