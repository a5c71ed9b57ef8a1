// The table of objects of a keyed archive.
//
// An archive is a dictionary: `$top` says which object is the outermost one, `$objects` is the table of all of them.
// An object is text, a number, bytes, or a dictionary of its fields, whose `$class` names its class. Objects name each
// other by their places in the table.

public import Foundation

/// The table of objects of a keyed archive, whose bytes may be anything.
///
/// Who makes values of objects pays for all that is copied, so that time and memory are in proportion to the bytes,
/// also where many objects share one list or one text. A value for one thread.
public struct ArchiveTable {
  /// How deep objects may be nested in each other.
  public static let depthLimit = 256

  private var list: BinaryPropertyList
  /// The table: numbers of objects of the list.
  private let table: [Int]
  /// The place of the outermost object.
  public let root: Int
  /// The keys of other objects that the archive has beside the outermost one, in their order by bytes.
  public let otherKeys: [String]
  private var names: [Int: String] = [:]
  /// How many elements, fields and bytes may still be copied out of the list.
  private var budget: Int

  /// Looks for the table, and for the outermost object. O(what names them).
  ///
  /// - Throws: ``ArchiveError`` for what is no archive.
  public init(_ data: Data) throws {
    let list = try BinaryPropertyList(data)
    guard let table = try Self(list, byteCount: data.count) else {
      throw ArchiveError.damaged("it has no table of objects")
    }
    self = table
  }

  /// The table of a list of so many bytes; nil if it has none, and is a property list of another kind.
  ///
  /// - Throws: ``ArchiveError`` for a table without an outermost object, and for what is damaged.
  public init?(_ propertyList: BinaryPropertyList, byteCount: Int) throws {
    var list = propertyList
    guard case .dictionary(let pairs) = try list.node(list.top) else { return nil }
    let fields = try list.fields(pairs)
    guard let objects = fields["$objects"], case .array(let table) = try list.node(objects) else { return nil }
    guard let top = fields["$top"], case .dictionary(let pairs) = try list.node(top) else {
      throw ArchiveError.damaged("it has no outermost object")
    }
    var tops = try list.fields(pairs)
    guard let root = tops.removeValue(forKey: "root"), case .uid(let uid) = try list.node(root) else {
      throw ArchiveError.damaged("it has no outermost object")
    }
    otherKeys = tops.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    self.list = list
    self.table = table
    self.root = uid
    budget = byteCount * 8 + (1 << 20)
  }

  /// Pays for elements, fields or bytes that are about to be copied.
  ///
  /// - Throws: ``ArchiveError`` if too much was copied.
  public mutating func charge(_ count: Int) throws {
    budget -= count
    guard budget >= 0 else { throw ArchiveError.damaged("its objects share what they hold too often") }
  }

  /// The number in the list of the object at a place.
  ///
  /// - Throws: ``ArchiveError`` for a place that is not there.
  public func number(at place: Int) throws -> Int {
    guard table.indices.contains(place) else { throw ArchiveError.damaged("object \(place) is not in its table") }
    return table[place]
  }

  /// The object of a number in the list.
  ///
  /// - Throws: ``ArchiveError`` if there is none.
  public mutating func node(_ number: Int) throws -> BinaryPropertyList.Node { try list.node(number) }

  /// The fields of an object by their names, which are paid for.
  ///
  /// - Throws: ``ArchiveError`` for a name that is no text.
  public mutating func fields(_ pairs: [(key: Int, value: Int)]) throws -> [String: Int] {
    try charge(pairs.count)
    return try list.fields(pairs)
  }

  /// The name of the class that an object's `$class` leads to.
  ///
  /// - Throws: ``ArchiveError`` if it leads to no class.
  public mutating func className(_ number: Int) throws -> String {
    guard case .uid(let place) = try list.node(number), table.indices.contains(place) else {
      throw ArchiveError.damaged("an object names no class")
    }
    if let known = names[place] { return known }
    guard case .dictionary(let pairs) = try list.node(table[place]),
      let name = try fields(pairs)["$classname"], case .string(let text) = try list.node(name)
    else { throw ArchiveError.damaged("a class has no name") }
    names[place] = text
    return text
  }
}
