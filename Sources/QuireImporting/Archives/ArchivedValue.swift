// What the bytes of Foundation's archives and property lists hold, as values without types.

import Foundation
import QuireArchives
package import QuireDatabase

/// Reads a keyed archive, or a property list in the binary form, as a value. No class is made of it.
///
/// Texts, numbers, decimals, dates, data, UUIDs, URLs, lists, sets and dictionaries of Foundation's become plain
/// values, and a dictionary with a key that is no text, or with one text twice, a list of pairs. An object of any other
/// class becomes a record of its fields, in the order of their names, behind a field `$class` with the name of the
/// class.
package struct ArchivedValue {
  /// What bytes are.
  package enum Kind: String, Sendable {
    case archive = "records of archives"
    case propertyList = "records of property lists"
  }

  private var list: BinaryPropertyList
  /// The table of objects; nil of a property list that is no archive.
  private var table: ArchiveTable?
  /// The values of numbers of the list, with what they have cost.
  private var made: [Int: (value: RowValue, cost: Int)] = [:]
  /// The numbers that a value is being made of.
  private var open: Set<Int> = []
  private var spent = 0
  /// How much all values together may take, those that are shared each time: in proportion to the bytes.
  private let budget: Int

  private init(_ bytes: [UInt8]) throws {
    list = try BinaryPropertyList(Data(bytes))
    table = try ArchiveTable(list, byteCount: bytes.count)
    budget = bytes.count * 8 + (64 << 10)
  }

  /// The value that bytes hold, what they are, and how many values and bytes it has, those that are shared each time;
  /// bytes that begin as neither stay bytes.
  ///
  /// - Throws: ``ArchiveError`` for what is damaged, inside of itself, or nested too deep.
  package static func read(_ bytes: [UInt8]) throws -> (value: RowValue, kind: Kind?, cost: Int) {
    guard bytes.starts(with: BinaryPropertyList.beginning) else { return (.bytes(bytes), nil, bytes.count) }
    var reader = try ArchivedValue(bytes)
    guard let root = reader.table?.root else {
      let value = try reader.value(reader.list.top)
      return (value, .propertyList, reader.spent)
    }
    if let others = reader.table?.otherKeys, !others.isEmpty {
      throw ArchiveError("The archive has other objects beside the outermost one, under \(ImportMap.shown(others)).")
    }
    let value = try reader.object(root)
    return (value, .archive, reader.spent)
  }

  private mutating func charge(_ cost: Int) throws {
    spent += cost
    guard spent <= budget else { throw ArchiveError.damaged("its objects share what they hold too often") }
  }

  // MARK: Values

  /// The object at a place of the table; the first place is that of nothing.
  private mutating func object(_ place: Int) throws -> RowValue {
    if place == 0, table != nil { return .null }
    guard let number = try table?.number(at: place) else {
      throw ArchiveError.damaged("a property list has a place in a table")
    }
    if case .uid = try list.node(number) { throw ArchiveError.damaged("an object of its table is a place") }
    return try value(number)
  }

  /// The value of a number of the list.
  private mutating func value(_ number: Int) throws -> RowValue {
    if let known = made[number] {
      try charge(known.cost)
      return known.value
    }
    let before = spent
    try charge(1)
    let value: RowValue
    switch try list.node(number) {
    case .uid(let place): return try object(place)
    case .array(let elements): value = .list(try inside(number) { reader in try reader.values(elements) })
    case .dictionary(let pairs): value = try inside(number) { reader in try reader.record(pairs) }
    case .null: value = .null
    case .bool(let bool): value = .bool(bool)
    case .integer(let integer): value = .integer(Int128(integer))
    case .unsigned(let integer): value = .integer(Int128(integer))
    case .real(let real): value = .double(real)
    case .date(let seconds): value = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .data(let bytes):
      try charge(bytes.count)
      value = .bytes(bytes)
    case .string(let text):
      try charge(text.utf8.count)
      value = .text(text)
    }
    made[number] = (value, spent - before)
    return value
  }

  /// Makes a value of what is inside of a number.
  private mutating func inside<Value>(
    _ number: Int, _ body: (inout ArchivedValue) throws -> Value
  ) throws -> Value {
    guard open.insert(number).inserted else { throw ArchiveError("An object of the archive is inside of itself.") }
    defer { open.remove(number) }
    guard open.count <= ArchiveTable.depthLimit else {
      throw ArchiveError("The objects of the archive are nested deeper than \(ArchiveTable.depthLimit) times.")
    }
    return try body(&self)
  }

  private mutating func values(_ numbers: [Int]) throws -> [RowValue] {
    var values: [RowValue] = []
    for number in numbers { values.append(try value(number)) }
    return values
  }

  // MARK: Objects

  private mutating func record(_ pairs: [(key: Int, value: Int)]) throws -> RowValue {
    try charge(pairs.count)
    if table != nil {
      let fields = try list.fields(pairs)
      if let number = fields["$class"], let name = try table?.className(number) { return try object(name, fields) }
    }
    var (keys, values): ([RowValue], [RowValue]) = ([], [])
    for (key, number) in pairs {
      guard case .string(let name) = try list.node(key) else { throw ArchiveError.damaged("a key is no text") }
      try charge(name.utf8.count)
      keys.append(.text(name))
      values.append(try value(number))
    }
    return try dictionary(keys, values)
  }

  /// An object of a class.
  private mutating func object(_ name: String, _ fields: [String: Int]) throws -> RowValue {
    switch name {
    case "NSString", "NSMutableString":
      guard let bytes = try field("NS.bytes", fields)?.bytes else { return try needed("NS.string", fields, name) }
      guard let text = String(validating: bytes, as: UTF8.self) else { throw ArchiveError.damaged("a text is none") }
      return .text(text)
    case "NSNumber":
      for part in ["NS.intval", "NS.dblval", "NS.boolval"] { if let value = try field(part, fields) { return value } }
      throw ArchiveError.damaged("a number has no value")
    case "NSDecimalNumber": return try decimal(fields)
    case "NSNull": return .null
    case "NSDate":
      guard let seconds = try needed("NS.time", fields, name).double else {
        throw ArchiveError.damaged("a date is none")
      }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case "NSData", "NSMutableData":
      return try field("NS.bytes", fields) ?? needed("NS.data", fields, name)
    case "NSUUID":
      let bytes = try needed("NS.uuidbytes", fields, name)
      guard let uuid = ColumnHint.uuid.coerced(bytes) else { throw ArchiveError.damaged("a UUID has not 16 bytes") }
      return uuid
    case "NSURL": return try url(fields)
    case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet": return .list(try elements("NS.objects", fields, name))
    case "NSOrderedSet", "NSMutableOrderedSet":
      var values: [RowValue] = []
      while let value = try field("NS.object.\(values.count)", fields) { values.append(value) }
      return .list(values)
    case "NSDictionary", "NSMutableDictionary":
      return try dictionary(elements("NS.keys", fields, name), elements("NS.objects", fields, name))
    default: return try unknown(name, fields)
    }
  }

  private mutating func field(_ name: String, _ fields: [String: Int]) throws -> RowValue? {
    try fields[name].map { try value($0) }
  }

  private mutating func needed(_ field: String, _ fields: [String: Int], _ name: String) throws -> RowValue {
    if let value = try self.field(field, fields) { return value }
    throw ArchiveError.damaged("an object of the class \(name) has no “\(field)”")
  }

  private mutating func elements(_ field: String, _ fields: [String: Int], _ name: String) throws -> [RowValue] {
    // The list is a part of its object, and no object within it.
    if let number = fields[field], case .array(let numbers) = try list.node(number) {
      try charge(1)
      return try values(numbers)
    }
    if let elements = try needed(field, fields, name).list { return elements }
    throw ArchiveError.damaged("“\(field)” of an object of the class \(name) is no list")
  }

  private func dictionary(_ keys: [RowValue], _ values: [RowValue]) throws -> RowValue {
    guard keys.count == values.count else { throw ArchiveError.damaged("a dictionary has not a key for each value") }
    let names = keys.compactMap(\.text)
    // A record with a name twice would have one of them only.
    let isRecord = names.count == keys.count && Set(names.map { ByteString($0) }).count == names.count
    if isRecord { return .record(zip(names, values).map { RowValue.Field($0, $1) }) }
    return .list(zip(keys, values).map { ["key": $0, "value": $1] })
  }

  /// A decimal: its words of 16 bits, the lowest one first, and the power of ten that they count.
  private mutating func decimal(_ fields: [String: Int]) throws -> RowValue {
    let name = "NSDecimalNumber"
    let sign = try field("NS.negative", fields)
    let isNegative = sign?.bool ?? (sign?.integer.map { $0 != 0 } ?? false)
    let isBig = try field("NS.mantissa.bo", fields)?.integer == 2
    guard let bytes = try needed("NS.mantissa", fields, name).bytes, bytes.count == 16,
      let exponent = try needed("NS.exponent", fields, name).integer
    else { throw ArchiveError.damaged("a decimal is none") }
    let length = try field("NS.length", fields)?.integer ?? 8
    var mantissa = UInt128(0)
    for word in (0..<8).reversed() where word < length {
      let (first, second) = (UInt128(bytes[2 * word]), UInt128(bytes[2 * word + 1]))
      mantissa = mantissa << 16 | (isBig ? first << 8 | second : second << 8 | first)
    }
    // Not a number is written as a negative one without words.
    guard !(isNegative && mantissa == 0), let exponent = Int8(exactly: exponent) else {
      throw ArchiveError.damaged("a decimal is not a number, or larger than any")
    }
    return ColumnHint.decimal(mantissa, exponent: Int(exponent), isNegative: isNegative)
  }

  private mutating func url(_ fields: [String: Int]) throws -> RowValue {
    let base = try field("NS.base", fields)?.text.flatMap { URL(string: $0) }
    guard let text = try needed("NS.relative", fields, "NSURL").text else {
      throw ArchiveError.damaged("a URL is none")
    }
    return .text(URL(string: text, relativeTo: base)?.absoluteString ?? text)
  }

  /// An object of a class that only its app knows.
  private mutating func unknown(_ name: String, _ fields: [String: Int]) throws -> RowValue {
    var record = [RowValue.Field("$class", .text(name))]
    try charge(name.utf8.count)
    for (field, number) in fields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
    where field != "$class" {
      try charge(field.utf8.count)
      record.append(RowValue.Field(field, try value(number)))
    }
    return .record(record)
  }
}
