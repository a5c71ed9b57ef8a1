// The names of fields, which the rows of a collection share so that no row need spell them out.

/// The names of the fields of one collection's objects, or of its metadata; the index of a name is what rows hold.
///
/// An immutable value. Over time a collection's schema only gets longer: a name that some row may use stays.
package struct RowSchema: Sendable, Equatable {
  /// The names, in the order in which they were first used; no name twice.
  package let names: [String]

  /// A schema without names.
  package init() { names = [] }

  /// Checks names that come from disk. O(`names.count`).
  ///
  /// - Throws: `RowSchemaError` if there are too many names, one is too long, or one is there twice.
  package init(names: [String]) throws {
    guard names.count <= Limits.fieldNameCount else { throw RowSchemaError.tooManyNames(names.count) }
    var seen = Set<String>(minimumCapacity: names.count)
    for name in names {
      let byteCount = name.utf8.count
      guard byteCount <= Limits.fieldNameByteCount else { throw RowSchemaError.longName(byteCount: byteCount) }
      guard seen.insert(name).inserted else { throw RowSchemaError.repeatedName(name) }
    }
    self.names = names
  }

  /// Wraps names that `FieldNames` keeps unique and within the limits.
  init(checked names: [String]) { self.names = names }
}

/// What can be wrong with the names of a schema, which means damage or a newer format.
package enum RowSchemaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// More names than `Limits.fieldNameCount`.
  case tooManyNames(Int)
  /// A name of more than `Limits.fieldNameByteCount` bytes.
  case longName(byteCount: Int)
  /// Two fields with one name.
  case repeatedName(String)

  /// What is wrong, and what helps.
  package var description: String {
    switch self {
    case .tooManyNames(let count):
      "A schema has \(count) names of fields; at most \(Limits.fieldNameCount) are possible. Verify the database."
    case .longName(let byteCount):
      "A schema has a name of \(byteCount) bytes; at most \(Limits.fieldNameByteCount) are possible. "
        + "Verify the database."
    case .repeatedName(let name):
      "A schema has the name «\(name)» twice. Verify the database."
    }
  }
}

/// The names of fields while they are in use: a schema that grows, and by which both directions find numbers.
///
/// Numbers of fields are 1 + the index of their name, as in the rows.
///
/// Invariants:
/// - `numbers`, unless it is nil, has exactly the names, each with its number;
/// - names are unique, and within `Limits`.
final class FieldNames {
  @exclusivity(unchecked) private(set) var names: [String]
  /// Made when it is first needed: one who finds all numbers in its tables never asks.
  private var numbers: [String: UInt32]?
  /// Changes with each change of the names; what was remembered under another one must be asked anew.
  @exclusivity(unchecked) private(set) var generation = 1
  /// Whether no names are added for the fields of values that are stored without a type: new ones are spelled out.
  var isFixed = false
  private var tables: [ObjectIdentifier: KeyTable] = [:]
  /// What encoders and decoders that work with these names tell the values.
  var userInfo: CoderUserInfo?
  /// The same, as Foundation's coders take it.
  var sendableUserInfo: [CodingUserInfoKey: any Sendable] { userInfo?.values ?? [:] }
  /// The same, as coders tell it.
  var anyUserInfo: [CodingUserInfoKey: Any] {
    guard let userInfo else { return [:] }
    return userInfo.values
  }

  init(_ schema: RowSchema) { unsafe names = schema.names }

  /// The name of field `number`, or nil.
  func name(_ number: UInt32) -> String? {
    unsafe number > 0 && number <= names.count ? names[Int(number) - 1] : nil
  }

  /// The number of the field called `name`, or nil.
  func number(of name: String) -> UInt32? { currentNumbers()[name] }

  /// The number of the field called `name`, which becomes part of the schema if it is new; nil if the schema is full or
  /// the name too long, so that the key has to be written out.
  func register(_ name: String) -> UInt32? {
    if let number = number(of: name) { return number }
    guard unsafe names.count < Limits.fieldNameCount, name.utf8.count <= Limits.fieldNameByteCount else { return nil }
    unsafe names.append(name)
    unsafe generation += 1
    numbers?[name] = unsafe UInt32(names.count)
    assert(numbers.map { unsafe $0.count == names.count } ?? true, "a name has two numbers")
    return unsafe UInt32(names.count)
  }

  /// Takes the names of another schema.
  func reset(to schema: RowSchema) {
    guard unsafe names != schema.names else { return }
    unsafe names = schema.names
    numbers = nil
    unsafe generation += 1
  }

  /// What is remembered about the keys of type `K`.
  func table<K: CodingKey>(for type: K.Type) -> KeyTable {
    if let table = tables[ObjectIdentifier(type)] { return table }
    let table = KeyTable(
      byteCount: MemoryLayout<K>.size, hasUniqueKeys: String(reflecting: type) == "Swift._DictionaryCodingKey")
    tables[ObjectIdentifier(type)] = table
    return table
  }

  private func currentNumbers() -> [String: UInt32] {
    if let numbers { return numbers }
    let made = unsafe Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, UInt32($0 + 1)) })
    numbers = made
    return made
  }

  /// Checks the invariants, in their order.
  func checkInvariants() {
    if let numbers {
      unsafe precondition(numbers.count == names.count)
      for (index, name) in unsafe names.enumerated() { precondition(numbers[name] == UInt32(index + 1)) }
    }
    unsafe precondition(Set(names).count == names.count && names.count <= Limits.fieldNameCount)
  }
}

/// The numbers of the fields that the keys of one type stand for, by the byte that is the key.
///
/// A key of one byte is told by that byte, whatever the compiler makes it mean: it is asked for its name once, and
/// never again. Of two bytes are enumerations of more than 256 cases: they are asked every time. Anything larger may
/// hold names that come from data, as the keys of a dictionary do: those are written out and never enter the schema.
@safe final class KeyTable {
  /// What an entry means.
  static let unknown: UInt32 = 0
  static let absent = UInt32.max

  /// 0 or 1: told by the byte; 2: by its name; more: written out.
  let keyByteCount: Int
  /// Whether nobody writes one of these keys twice, as they are the keys of a dictionary.
  let hasUniqueKeys: Bool
  private let numbers: UnsafeMutablePointer<UInt32>
  @exclusivity(unchecked) private var generation = 0

  init(byteCount: Int, hasUniqueKeys: Bool = false) {
    keyByteCount = byteCount
    self.hasUniqueKeys = hasUniqueKeys
    unsafe numbers = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
    unsafe numbers.initialize(repeating: Self.unknown, count: 256)
  }

  deinit { unsafe numbers.deallocate() }

  /// Whether keys of this type are written out.
  @inline(__always) var isInline: Bool { keyByteCount > 2 }

  /// Forgets what names that have changed since may have made wrong. To be called before keys are looked up.
  @inline(__always) func refresh(_ names: FieldNames) {
    if unsafe generation != names.generation { unsafe forget(names.generation) }
  }

  private func forget(_ newest: Int) {
    unsafe numbers.update(repeating: Self.unknown, count: 256)
    unsafe generation = newest
  }

  /// The number of `key`, or what else its entry says.
  @inline(__always) func entry<K: CodingKey>(_ key: borrowing K) -> UInt32 {
    guard keyByteCount == 1 else { return unsafe keyByteCount == 0 ? numbers[0] : Self.unknown }
    return unsafe numbers[Int(withUnsafePointer(to: key) { unsafe UnsafeRawPointer($0).load(as: UInt8.self) })]
  }

  /// The number of `key` for writing: its name enters the schema; 0 if the key has to be written out.
  func register<K: CodingKey>(_ key: K, _ names: FieldNames) -> UInt32 {
    guard !isInline, let number = names.register(key.stringValue) else { return 0 }
    // The table is not up to date with a schema that has just grown, yet nothing in it has become wrong but absences,
    // which writing does not believe.
    remember(key, number)
    return number
  }

  /// The number of `key` for reading, or nil if no row can have it by number.
  func find<K: CodingKey>(_ key: K, _ names: FieldNames) -> UInt32? {
    let number = names.number(of: key.stringValue)
    remember(key, number ?? Self.absent)
    return number
  }

  private func remember<K: CodingKey>(_ key: K, _ number: UInt32) {
    guard keyByteCount <= 1 else { return }
    let byte =
      unsafe keyByteCount == 0 ? 0 : withUnsafePointer(to: key) { unsafe UnsafeRawPointer($0).load(as: UInt8.self) }
    unsafe numbers[Int(byte)] = number
  }
}
