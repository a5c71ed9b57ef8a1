// Edges by hand, out of a damaged database.

public import QuireDatabase

/// Salvages the edges of a relationship that were made by hand. Derived ones are made anew from their objects when the
/// relationship is registered.
///
/// An edge stands in three trees, and each of these entries tells all of it: it is lost if all three are. One whose row
/// is lost is left out and told: registering would take the row for removed, and might delete what stands at the other
/// end.
///
/// Memory: the numbers of edges' names.
public struct SalvagedEdges: SalvagedContent {
  /// The kind of relationships.
  public static let kind = RelationshipSettings.kind
  /// The version of their form.
  public static let formatVersion = Relationship<Never>.formatVersion

  private var used: Set<UInt32> = []
  private var named: Set<UInt32> = []
  private var fileCount = 0

  /// Begins with one relationship.
  public init() {}

  /// Takes an edge, or the name of edges.
  public mutating func take(
    _ entry: SalvagedContentEntry, of tree: String, into target: SalvagedContentTarget
  ) throws {
    switch tree {
    case "byName": try takeEdge(entry, .byName, target)
    case "bySource": try takeEdge(entry, .bySource, target)
    case "byDestination": try takeEdge(entry, .byDestination, target)
    case "names":
      var reader = EdgeKeyReader(bytes: entry.value)
      if let number = reader.name(), reader.isAtEnd { try takeName(entry.key, number, target) }
    case "nameTexts":
      if let number = entry.integerKey.flatMap(UInt32.init(exactly:)) { try takeName(entry.value, number, target) }
    case "files": fileCount += 1
    // What a transaction notes until it has settled, and building until it has ended: building begins anew.
    default: break
    }
  }

  private mutating func takeEdge(
    _ entry: SalvagedContentEntry, _ order: EdgeOrder, _ target: SalvagedContentTarget
  ) throws {
    guard let edge = StoredEdge(order, entry.key, entry.value), !edge.isDerived else { return }
    let rows = [edge.source, edge.destinationRow].compactMap(\.self)
    for row in rows where try row <= 0 || !target.hasRow(row) {
      // Each edge is told once, though it stands in three trees.
      if order == .byName {
        let ends = rows.map { "row \($0)" }.joined(separator: " and ")
        try target.lose("An edge by hand of “\(target.name)” is left out, as \(ends) are not both there.")
      }
      return
    }
    used.insert(edge.name)
    for order in EdgeOrder.all { try target.insert(edge.key(order), entry.value, in: Self.tree(order)) }
  }

  private static func tree(_ order: EdgeOrder) -> String {
    switch order {
    case .byName: "byName"
    case .bySource: "bySource"
    case .byDestination: "byDestination"
    }
  }

  private mutating func takeName(_ text: [UInt8], _ number: UInt32, _ target: SalvagedContentTarget) throws {
    guard number > 0, !named.contains(number), text.count <= EdgeLimits.nameByteCount,
      String(validating: text, as: UTF8.self) != nil,
      try target.insert(text, StoredEdge.prefix(number), in: "names")
    else { return }
    try target.insert(Int64(number), text, in: "nameTexts")
    named.insert(number)
  }

  /// Names the edges. The trees of edges count as damaged only if none of them is whole.
  public mutating func finish(_ damaged: Set<String>, into target: SalvagedContentTarget) throws -> Set<String> {
    for number in used.subtracting(named).sorted() {
      var name = "salvaged.\(number)"
      // Another one may be called so.
      while try !target.insert(Array(name.utf8), StoredEdge.prefix(number), in: "names") { name += "'" }
      try target.insert(Int64(number), Array(name.utf8), in: "nameTexts")
      try target.lose("The name number \(number) of edges of “\(target.name)” is lost: they are called “\(name)”.")
    }
    if fileCount > 0 {
      try target.lose("\(fileCount) files that “\(target.name)” was still to delete are left where they are.")
    }
    let orders = Set(EdgeOrder.all.map(Self.tree))
    // What one whole tree has, all have.
    return orders.isSubset(of: damaged) ? orders : []
  }
}
