// Identifiers of an app's own as keys of rows.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An identifier that rows are stored under: it becomes a text, and comes back from it.
///
/// Texts are in the order of the identifiers, so that ranges and loops over keys are, too. `String`, `UUID` and all
/// integers conform; an app's own type does with its raw value, or with two lines:
///
/// ```swift
/// struct SongID: RawRepresentable, RowKeyConvertible { var rawValue: UUID }
///
/// try tx[.songs].set(song, for: SongID(rawValue: UUID()))
/// ```
public protocol RowKeyConvertible {
  /// The key.
  var rowKey: String { get }
  /// The identifier of a key; nil if it is none of such an identifier. No initializer, which would be one more answer
  /// to `UUID.init` and `String.init` in apps.
  static func fromRowKey(_ rowKey: String) -> Self?
}

extension String: RowKeyConvertible {
  public var rowKey: String { self }
  public static func fromRowKey(_ rowKey: String) -> Self? { rowKey }
}

extension RowKeyConvertible where Self: RawRepresentable, RawValue: RowKeyConvertible {
  public var rowKey: String { rawValue.rowKey }
  public static func fromRowKey(_ rowKey: String) -> Self? {
    guard let raw = RawValue.fromRowKey(rowKey) else { return nil }
    return Self(rawValue: raw)
  }
}

extension UUID: RowKeyConvertible {
  /// As `uuidString`: 36 characters, which are in the order of the bytes.
  public var rowKey: String { uuidString }
  public static func fromRowKey(_ rowKey: String) -> Self? {
    guard let uuid = UUID(uuidString: rowKey), uuid.uuidString.utf8.elementsEqual(rowKey.utf8) else { return nil }
    return uuid
  }
}

extension RowKeyConvertible where Self: FixedWidthInteger {
  /// The number of digits as a letter, and the digits: 7 is “a7”, 42 is “b42”. Below zero a “-”, the letter counted
  /// from the end of the alphabet, and each digit taken from nine: −42 is “-y57”.
  public var rowKey: String {
    let digits = String(magnitude)
    let count = UInt8(digits.utf8.count)
    if self >= 0 { return String(UnicodeScalar(IntegerKey.letter + count)) + digits }
    return "-" + String(UnicodeScalar(IntegerKey.lastLetter - count)) + IntegerKey.complement(digits)
  }

  public static func fromRowKey(_ rowKey: String) -> Self? {
    let isNegative = rowKey.utf8.first == IntegerKey.minus
    let digits = rowKey.utf8.dropFirst(isNegative ? 2 : 1)
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }), let text = String(Substring(digits)) as String?,
      let number = isNegative ? Self("-" + IntegerKey.complement(text)) : Self(text),
      // Each number has one key.
      number.rowKey.utf8.elementsEqual(rowKey.utf8)
    else { return nil }
    return number
  }
}

/// The letters of integer keys.
enum IntegerKey {
  /// The one before “a”, which stands for one digit.
  static let letter: UInt8 = 0x60
  /// The one behind “z”, which stands for one digit below zero.
  static let lastLetter: UInt8 = 0x7b
  static let minus: UInt8 = 0x2d

  /// Each digit taken from nine.
  static func complement(_ digits: String) -> String {
    String(decoding: digits.utf8.map { 0x69 - $0 }, as: UTF8.self)
  }
}

extension Int: RowKeyConvertible {}
extension Int64: RowKeyConvertible {}
extension Int32: RowKeyConvertible {}
extension Int16: RowKeyConvertible {}
extension Int8: RowKeyConvertible {}
extension UInt: RowKeyConvertible {}
extension UInt64: RowKeyConvertible {}
extension UInt32: RowKeyConvertible {}
extension UInt16: RowKeyConvertible {}
extension UInt8: RowKeyConvertible {}

// MARK: - Rows by identifiers

extension RowReading {
  /// The object under an identifier; as `get` with its key.
  public func get(_ id: some RowKeyConvertible) throws(DatabaseError) -> Object? {
    try readTransaction[collection].get(id.rowKey)
  }

  /// The row under an identifier; as `row` with its key.
  public func row(_ id: some RowKeyConvertible) throws(DatabaseError) -> Row<Object, Metadata>? {
    try readTransaction[collection].row(id.rowKey)
  }

  /// The metadata under an identifier; as `metadata` with its key.
  public func metadata(_ id: some RowKeyConvertible) throws(DatabaseError) -> Metadata? {
    try readTransaction[collection].metadata(id.rowKey)
  }

  /// Whether there is a row under an identifier. O(log n).
  public func contains(_ id: some RowKeyConvertible) throws(DatabaseError) -> Bool {
    try readTransaction[collection].contains(id.rowKey)
  }

  /// The objects under identifiers; those that have none are left out.
  public func objects<ID: RowKeyConvertible>(for ids: some Sequence<ID>) throws(DatabaseError) -> [Object] {
    try readTransaction[collection].objects(for: ids.map(\.rowKey))
  }
}

extension Row {
  /// The identifier that the row is stored under; nil if its key is none of this type.
  public func id<ID: RowKeyConvertible>(as: ID.Type = ID.self) -> ID? { ID.fromRowKey(key) }
}

extension WritableRows {
  /// Stores an object under an identifier; as `set` with its key.
  @inlinable
  public func set(_ object: Object, metadata: Metadata? = nil, for id: some RowKeyConvertible) throws {
    try set(object, metadata: metadata, for: id.rowKey)
  }

  /// Replaces the object under an identifier; as `replace` with its key.
  @discardableResult
  public func replace(_ object: Object, for id: some RowKeyConvertible) throws -> Bool {
    try replace(object, for: id.rowKey)
  }

  /// Replaces the metadata under an identifier; as `replaceMetadata` with its key.
  @discardableResult
  public func replaceMetadata(_ metadata: Metadata?, for id: some RowKeyConvertible) throws -> Bool {
    try replaceMetadata(metadata, for: id.rowKey)
  }

  /// Changes the object under an identifier; as `update` with its key.
  @discardableResult
  public func update(_ id: some RowKeyConvertible, _ body: (inout Object) throws -> Void) throws -> Bool {
    try update(id.rowKey, body)
  }

  /// Removes the row under an identifier; as `remove` with its key.
  @discardableResult
  public func remove(_ id: some RowKeyConvertible) throws -> Bool { try remove(id.rowKey) }

  /// Removes the rows under identifiers; returns how many there were.
  @discardableResult
  public func remove<ID: RowKeyConvertible>(_ ids: some Sequence<ID>) throws -> Int {
    try remove(ids.map(\.rowKey))
  }
}
