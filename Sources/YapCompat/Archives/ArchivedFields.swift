// The fields of one object of an archive, and the values without behaviour that they make.

internal import Foundation
internal import QuireArchives

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
    case "NSIndexSet": return NSIndexSet(indexSet: try indexes())
    case "NSMutableIndexSet": return NSMutableIndexSet(indexSet: try indexes())
    case "NSTimeZone": return try timeZone(name)
    case "NSLocale": return NSLocale(localeIdentifier: try shortName("NS.identifier", of: name))
    case "NSDateComponents": return try dateComponents()
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

  // MARK: Places and times

  /// A name that the system looks something up by.
  private func shortName(_ field: String, of name: String) throws -> String {
    let text = try value(field, NSString.self, of: name) as String
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } && !text.contains("..") && !text.hasPrefix("/")
    guard isPlain, text.utf8.count <= 256 else { throw ArchiveError.damaged("the name of a \(name) is none") }
    return text
  }

  /// The zone as the system knows it: the rules that the archive has beside the name may be anything.
  private func timeZone(_ name: String) throws -> NSTimeZone {
    let text = try shortName("NS.name", of: name)
    if let zone = NSTimeZone(name: text) { return zone }
    throw ArchiveError("The archive has the time zone “\(text)”, which the system does not know.")
  }

  private func integer(_ field: String) throws -> Int? {
    guard let value = try value(field) else { return nil }
    guard let number = value as? NSNumber else { throw ArchiveError.damaged("a part of a date is no number") }
    return number.intValue
  }

  private func dateComponents() throws -> NSDateComponents {
    let components = NSDateComponents()
    let parts: [(String, ReferenceWritableKeyPath<NSDateComponents, Int>)] = [
      ("NS.era", \.era), ("NS.year", \.year), ("NS.quarter", \.quarter), ("NS.month", \.month), ("NS.day", \.day),
      ("NS.hour", \.hour), ("NS.minute", \.minute), ("NS.second", \.second), ("NS.nanosec", \.nanosecond),
      ("NS.weekday", \.weekday), ("NS.weekdayOrdinal", \.weekdayOrdinal), ("NS.weekOfMonth", \.weekOfMonth),
      ("NS.weekOfYear", \.weekOfYear), ("NS.yearForWOY", \.yearForWeekOfYear),
    ]
    for (field, part) in parts {
      if let number = try integer(field) { components[keyPath: part] = number }
    }
    if let isLeap = try integer("NS.isLeapMonth") { components.isLeapMonth = isLeap != 0 }
    if let zone = try value("NS.timezone") {
      guard let zone = zone as? NSTimeZone else { throw ArchiveError.damaged("a time zone is none") }
      components.timeZone = zone as TimeZone
    }
    if try value("NS.calendar") != nil { throw ArchiveError.damaged("a calendar is none") }
    return components
  }

  // MARK: Sets of numbers

  private func indexes() throws -> IndexSet {
    var indexes = IndexSet()
    func insert(_ start: Int, _ length: Int) throws {
      let (end, isTooLong) = start.addingReportingOverflow(length)
      guard start >= 0, length > 0, !isTooLong, end < Int.max else {
        throw ArchiveError.damaged("a range of an index set is none")
      }
      indexes.insert(integersIn: start..<end)
    }
    let count = try integer("NSRangeCount") ?? 0
    if count == 1, let start = try integer("NSLocation"), let length = try integer("NSLength") {
      try insert(start, length)
      return indexes
    }
    guard count != 0 else { return indexes }
    var numbers = try numbers(Data(referencing: value("NSRangeData", NSData.self, of: "NSIndexSet")))[...]
    guard numbers.count.isMultiple(of: 2), numbers.count / 2 == count else {
      throw ArchiveError.damaged("an index set has not as many ranges as it says")
    }
    while let start = numbers.popFirst(), let length = numbers.popFirst() { try insert(start, length) }
    return indexes
  }

  /// Numbers of seven bits a byte, the lowest ones first.
  private func numbers(_ data: Data) throws -> [Int] {
    try archive.charge(data.count)
    var (numbers, number, shift): ([Int], Int, Int) = ([], 0, 0)
    for byte in data {
      guard shift < 63 else { throw ArchiveError.damaged("a number of an index set is too long") }
      number |= Int(byte & 0x7f) << shift
      shift += 7
      guard byte & 0x80 == 0 else { continue }
      numbers.append(number)
      (number, shift) = (0, 0)
    }
    guard shift == 0 else { throw ArchiveError.damaged("a number of an index set is cut off") }
    return numbers
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
