// What an archive holds, found out without having Foundation read it.

internal import Foundation

/// The objects of an archive of a `NSKeyedArchiver`: a binary property list in which an array lists all objects, and
/// references by number stand for them.
///
/// Foundation ends the process on Linux for property lists with sets, for references that lead nowhere, or to what is
/// no object, and for objects that hold themselves. Archives with any of these have no `ArchiveObjects`.
struct ArchiveObjects {
  /// The names of the classes of all objects.
  private(set) var classNames: Set<String> = []

  /// How deep objects may lie in each other: reading them goes down once for each level.
  private static let depthLimit = 1000

  private let entries: [BinaryPropertyList.Entry]
  /// The entries of the archive's objects.
  private var objects: [Int] = []
  /// How deep what an entry holds lies below it; nil for those that are not known yet.
  private var heights: [Int?]
  private var isAbove: [Bool]

  /// Nil for bytes that are none, or that Foundation might not survive.
  init?(_ data: Data) {
    guard let list = BinaryPropertyList(data) else { return nil }
    entries = list.entries
    heights = Array(repeating: nil, count: entries.count)
    isAbove = Array(repeating: false, count: entries.count)
    guard let top = dictionary(list.top), let objects = top["$objects"], case .array(let all) = entries[objects],
      let roots = top["$top"].flatMap(dictionary), roots["root"].flatMap(reference) != nil
    else { return nil }
    self.objects = all
    guard height(list.top, depth: 0) != nil else { return nil }
    for object in all {
      guard noteClass(of: object) else { return nil }
    }
  }

  // MARK: Entries

  /// The entries under the keys of a dictionary; nil if it is none, or if a key is no string or there twice.
  private func dictionary(_ entry: Int) -> [String: Int]? {
    guard case .dictionary(let pairs) = entries[entry] else { return nil }
    var values: [String: Int] = [:]
    for pair in pairs {
      guard case .string(let key) = entries[pair.key], values.updateValue(pair.value, forKey: key) == nil else {
        return nil
      }
    }
    return values
  }

  private func reference(_ entry: Int) -> Int? {
    if case .reference(let number) = entries[entry] { return number }
    return nil
  }

  // MARK: Rules

  /// Whether what an object holds can be reached in few enough steps, without coming back to it.
  private mutating func height(_ entry: Int, depth: Int) -> Int? {
    if let known = heights[entry] { return depth + known <= Self.depthLimit ? known : nil }
    guard !isAbove[entry], depth <= Self.depthLimit else { return nil }
    isAbove[entry] = true
    defer { isAbove[entry] = false }
    var below = 0
    for child in children(entry) {
      guard let child, let height = height(child, depth: depth + 1) else { return nil }
      below = max(below, height + 1)
    }
    heights[entry] = below
    return below
  }

  /// The entries that an entry leads to; nil among them for a reference that leads nowhere.
  private func children(_ entry: Int) -> [Int?] {
    switch entries[entry] {
    case .array(let elements): elements
    case .dictionary(let pairs): pairs.flatMap { [$0.key, $0.value] }
    case .reference(let number): [objects.indices.contains(number) ? objects[number] : nil]
    case .string, .other: []
    }
  }

  /// Notes the class of an object. Returns false if there is none, or if the object is a class that is used as a value.
  private mutating func noteClass(of object: Int) -> Bool {
    guard case .dictionary = entries[object] else { return !isContainer(object) }
    guard let values = dictionary(object) else { return false }
    // A class itself: looked at where it is referred to.
    if values["$classname"] != nil { return values["$class"] == nil }
    guard let type = values["$class"].flatMap(reference), let description = dictionary(objects[type]),
      let name = description["$classname"], case .string(let name) = entries[name],
      let ancestors = description["$classes"], case .array(let ancestors) = entries[ancestors],
      ancestors.allSatisfy({ if case .string = entries[$0] { true } else { false } })
    else { return false }
    classNames.insert(name)
    if name == "NSDictionary" || name == "NSMutableDictionary", !hasPairs(values) { return false }
    return values.allSatisfy { key, value in key == "$class" || !leadsToClass(value) }
  }

  /// Whether a dictionary has as many keys as objects, and none that is nothing: of what is missing on one side,
  /// Foundation reads beyond the end.
  private func hasPairs(_ values: [String: Int]) -> Bool {
    guard let keys = values["NS.keys"], case .array(let keys) = entries[keys], let objects = values["NS.objects"],
      case .array(let objects) = entries[objects]
    else { return false }
    // Object 0 stands for nil.
    return keys.count == objects.count && (keys + objects).allSatisfy { reference($0).map { $0 > 0 } ?? false }
  }

  private func isContainer(_ entry: Int) -> Bool {
    switch entries[entry] {
    case .array, .dictionary, .reference: true
    case .string, .other: false
    }
  }

  private func leadsToClass(_ entry: Int) -> Bool {
    switch entries[entry] {
    case .reference(let number): dictionary(objects[number])?["$classname"] != nil
    case .array(let elements): elements.contains(where: leadsToClass)
    case .dictionary(let pairs): pairs.contains { leadsToClass($0.value) }
    case .string, .other: false
    }
  }
}
