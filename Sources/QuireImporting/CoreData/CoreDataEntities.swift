// What a store of Core Data's says of its entities.

import QuireDatabase

/// The entities of a store, by the table `Z_PRIMARYKEY`: a number and a name each, and the number of the parent.
///
/// An entity shares the table of the outermost of its parents, `ZNAME` in capitals, where `Z_ENT` tells whose a row is.
struct CoreDataEntities {
  /// The names of all entities, by their numbers.
  private(set) var names: [Int64: String] = [:]
  private var parents: [Int64: Int64] = [:]
  private var roots: [Int64: Int64] = [:]

  init(_ database: SQLiteDatabase) throws(ImportError) {
    let list = try database.statement("SELECT Z_ENT, Z_NAME, Z_SUPER FROM main.Z_PRIMARYKEY ORDER BY Z_ENT")
    while try list.step("Z_PRIMARYKEY") {
      guard let name = list.text(1), !name.isEmpty else {
        throw ImportError("\(database.path) has an entity whose name is empty, or no UTF-8.")
      }
      names[list.integer(0)] = name
      parents[list.integer(0)] = list.integer(2)
    }
    for number in names.keys { try findRoot(of: number, database.path) }
  }

  private mutating func findRoot(of number: Int64, _ path: String) throws(ImportError) {
    var (way, current): ([Int64], Int64) = ([], number)
    var seen: Set<Int64> = []
    while roots[current] == nil {
      guard seen.insert(current).inserted else {
        throw ImportError("\(path) is damaged: the entity “\(names[number] ?? "")” is its own parent.")
      }
      way.append(current)
      guard let parent = parents[current], names[parent] != nil else { break }
      current = parent
    }
    let root = roots[current] ?? current
    for number in way { roots[number] = root }
  }

  /// The entities that have tables, each with all that share it, in the order of their numbers: Core Data's own, which
  /// begin at 16001 and may be called as the app's, come last.
  var families: [(root: Int64, members: Set<Int64>)] {
    var families: [Int64: Set<Int64>] = [:]
    for (number, root) in roots { families[root, default: []].insert(number) }
    return families.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
