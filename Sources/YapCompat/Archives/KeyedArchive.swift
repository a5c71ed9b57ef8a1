// Keyed archives, read without `NSKeyedUnarchiver`, which ends the process for archives that it does not like.

internal import Foundation
internal import QuireArchives

/// An archive whose bytes may be anything, and the objects that were made of it.
///
/// Only classes that were named beforehand are made. Each object is made once; an object that is inside of itself, and
/// objects that are nested deeper than `ArchiveTable.depthLimit`, are errors. Time and memory are in proportion to
/// the bytes, also where many objects share one list or one text.
final class KeyedArchive {
  private var table: ArchiveTable
  private let classes: [String: any NSCoding.Type]
  private var made: [Int: NSObject] = [:]
  /// The objects that are being made.
  private var open: Set<Int> = []
  /// Data that was handed out as a pointer.
  private var kept: [NSData] = []
  /// What a decoder that could not throw has noted.
  private(set) var failure: (any Error)?

  init(_ data: Data, _ classes: [String: any NSCoding.Type]) throws {
    table = try ArchiveTable(data)
    self.classes = classes
  }

  /// The outermost object.
  func rootObject() throws -> NSObject? {
    let object = try object(table.root)
    if let failure { throw failure }
    return object
  }

  func note(_ error: any Error) {
    if failure == nil { failure = error }
  }

  /// Pays for elements, fields or bytes that are about to be copied.
  func charge(_ count: Int) throws { try table.charge(count) }

  /// Holds data until the archive goes.
  func keep(_ data: NSData) { kept.append(data) }

  // MARK: Objects

  /// The object at a place of the table; nil for the place of nothing.
  func object(_ place: Int) throws -> NSObject? {
    if let failure { throw failure }
    if place == 0 { return nil }
    if let known = made[place] { return known }
    let number = try table.number(at: place)
    guard !open.contains(place) else { throw ArchiveError("Object \(place) of the archive is inside of itself.") }
    guard open.count < ArchiveTable.depthLimit else {
      throw ArchiveError("The objects of the archive are nested deeper than \(ArchiveTable.depthLimit) times.")
    }
    open.insert(place)
    defer { open.remove(place) }
    let object = try make(number)
    made[place] = object
    return object
  }

  private func make(_ number: Int) throws -> NSObject {
    guard case .dictionary(let pairs) = try table.node(number) else { return try plain(number) }
    let fields = ArchivedFields(try table.fields(pairs), self)
    guard let name = try fields.number("$class").map({ try table.className($0) }) else {
      throw ArchiveError.damaged("an object says nothing about its class")
    }
    if let type = classes[name] ?? renamed(name) {
      guard let made = type.init(coder: KeyedArchiveDecoder(fields)) as? NSObject else {
        if let failure { throw failure }
        throw ArchiveError("The class \(name) has made nothing of its object in the archive.")
      }
      if let failure { throw failure }
      return made
    }
    return try fields.value(ofClass: name)
  }

  /// A class that may be there, and that the app has told `NSKeyedUnarchiver` to make of this name.
  private func renamed(_ name: String) -> (any NSCoding.Type)? {
    guard !classes.isEmpty, !name.hasPrefix("NS"), let type = NSKeyedUnarchiver.class(forClassName: name) else {
      return nil
    }
    return classes.values.first { ObjectIdentifier($0) == ObjectIdentifier(type) }
  }

  /// A value that stands in a field, or in the table, as itself.
  private func plain(_ number: Int) throws -> NSObject {
    switch try table.node(number) {
    case .bool(let bool): return NSNumber(value: bool)
    case .integer(let integer): return NSNumber(value: integer)
    case .unsigned(let integer): return NSNumber(value: integer)
    case .real(let real): return NSNumber(value: real)
    case .date(let seconds): return NSDate(timeIntervalSinceReferenceDate: seconds)
    case .data(let bytes):
      try charge(bytes.count)
      return NSData(data: Data(bytes))
    case .string(let text): return NSString(string: text)
    case .null, .uid, .array, .dictionary: throw ArchiveError.damaged("an object of its table is of no known kind")
    }
  }

  // MARK: Fields

  /// What a field holds: an object of the table, or a value that stands there itself.
  func value(_ number: Int) throws -> NSObject? {
    if case .uid(let place) = try table.node(number) { return try object(place) }
    return try plain(number)
  }

  /// The objects of a list, none of which may be missing.
  func values(_ number: Int) throws -> [NSObject] {
    guard case .array(let elements) = try table.node(number) else { throw ArchiveError.damaged("a list is none") }
    try charge(elements.count)
    return try elements.map { element in
      guard case .uid(let place) = try table.node(element), let value = try object(place) else {
        throw ArchiveError.damaged("an element of a list is missing")
      }
      return value
    }
  }
}
