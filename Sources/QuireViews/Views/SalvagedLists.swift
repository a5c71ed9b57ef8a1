// Lists that the user has ordered, out of a damaged database.

public import QuireDatabase

/// Salvages a manual view: which rows are in which group, in which order.
///
/// Two trees tell where a row stands, and two how a group is called: a place is lost if both are. Rows that are lost
/// are in no group. The numbers of groups go on behind the highest that is left.
///
/// Memory: the numbers of the rows and the groups of the view.
public struct SalvagedLists: SalvagedContent {
  /// The kind of manual views.
  public static let kind = ManualView<Never, Never>.kind
  /// The version of their form.
  public static let formatVersion = ManualView<Never, Never>.formatVersion

  private var placed: Set<Int64> = []
  private var used: Set<UInt32> = []
  private var names: [UInt32: [UInt8]] = [:]

  /// Begins with one view.
  public init() {}

  /// Takes a place of a row, or the name of a group.
  public mutating func take(
    _ entry: SalvagedContentEntry, of tree: String, into target: SalvagedContentTarget
  ) throws {
    switch tree {
    case "entries":
      if let row = RowID(orderedBytes: entry.value) { try place(row.rawValue, entry.key, target) }
    case "rows":
      // A row stands in one place, whose key has its length in front.
      guard let row = entry.integerKey, entry.value.count > 6 else { return }
      let keyCount = Int(entry.value[0]) | Int(entry.value[1]) << 8
      guard entry.value.count == 2 + keyCount else { return }
      try place(row, Array(entry.value.dropFirst(2)), target)
    case "groups": if let group = GroupID(entry.value) { note(group.rawValue, entry.key) }
    case "names": if let group = entry.integerKey.flatMap(UInt32.init(exactly:)) { note(group, entry.value) }
    default: break
    }
  }

  private mutating func place(_ row: Int64, _ key: [UInt8], _ target: SalvagedContentTarget) throws {
    guard let group = GroupID(key), row > 0, !placed.contains(row), try target.hasRow(row),
      try target.insert(key, RowID(row).orderedBytes, in: "entries")
    else { return }
    try target.insert(row, ViewTrees.encode([ViewEntry(key: key)]), in: "rows")
    placed.insert(row)
    used.insert(group.rawValue)
  }

  private mutating func note(_ group: UInt32, _ name: [UInt8]) {
    if names[group] == nil, String(validating: name, as: UTF8.self) != nil { names[group] = name }
  }

  /// Names the groups. Both trees of places count as damaged only if none of them is whole.
  public mutating func finish(_ damaged: Set<String>, into target: SalvagedContentTarget) throws -> Set<String> {
    for group in used.sorted() {
      let id = GroupID(rawValue: group)
      if let name = names[group], try target.insert(name, id.prefix, in: "groups") {
        try target.insert(Int64(group), name, in: "names")
        continue
      }
      var name = "salvaged.\(group)"
      while try !target.insert(Array(name.utf8), id.prefix, in: "groups") { name += "'" }
      try target.insert(Int64(group), Array(name.utf8), in: "names")
      try target.lose("The name of a group of “\(target.name)” is lost: it is called “\(name)”.")
    }
    let places: Set = ["entries", "rows"]
    return places.isSubset(of: damaged) ? places : []
  }
}
