// How the indexes that a program declares meet those that are stored.

internal import QuireDatabase

/// For each declared index its tree, if it has one, and for each field where records have it.
struct IndexMap: Sendable {
  /// For each index the number of its tree; nil if nothing is stored of it.
  let trees: [Int?]
  /// For each index whether its tree has all entries.
  let isReady: [Bool]
  /// For each field its place; nil if it has none yet.
  let places: [Int?]
  /// For each field whether every record has it.
  let isComplete: [Bool]
  /// The fields that have a place, in the order of the places.
  let placedFields: [(place: Int, field: Int)]

  /// Finds the declared indexes in the catalog: those of the same name, of which both say the same.
  init(_ list: IndexList, _ catalog: IndexCatalog) {
    let fields = list.fields
    var trees = [Int?](repeating: nil, count: list.indexes.count)
    var isReady = [Bool](repeating: false, count: list.indexes.count)
    var places = [Int?](repeating: nil, count: fields.fields.count)
    var isComplete = [Bool](repeating: false, count: fields.fields.count)
    for (number, signature) in list.signatures.enumerated() {
      let name = list.indexes[number].name
      guard
        let entry = catalog.entries.first(where: { $0.name.utf8.elementsEqual(name.utf8) && $0.signature == signature })
      else { continue }
      let own = fields.columns[number] + (fields.held[number].map { [$0] } ?? [])
      let stored = entry.places + (entry.heldPlace.map { [$0] } ?? [])
      // The same field at two places: then the declaration has changed in a way that its text does not show.
      guard own.count == stored.count, zip(own, stored).allSatisfy({ places[$0] == nil || places[$0] == $1 }) else {
        continue
      }
      trees[number] = entry.tree
      isReady[number] = entry.isReady
      for (field, place) in zip(own, stored) {
        places[field] = place
        if entry.isReady { isComplete[field] = true }
      }
    }
    (self.trees, self.isReady, self.places, self.isComplete) = (trees, isReady, places, isComplete)
    placedFields = places.enumerated().compactMap { field, place in place.map { ($0, field) } }.sorted { $0.0 < $1.0 }
  }

  /// Whether every index has a tree.
  var isWhole: Bool { trees.allSatisfy { $0 != nil } }

  /// The indexes that are being built.
  var unready: [Int] { isReady.indices.filter { !isReady[$0] } }
}

extension IndexCatalog {
  /// Takes in the declared indexes: those that are stored stay, others get a tree and places, and those that are not
  /// declared any more go. Returns the numbers of the trees that are nobody's now.
  ///
  /// - Parameter isEmpty: whether there is no row, so that a new index is ready at once.
  mutating func adopt(_ list: IndexList, isEmpty: Bool) -> [Int] {
    let map = IndexMap(list, self)
    let old = entries
    var places = map.places
    func place(_ field: Int) -> Int {
      if let place = places[field] { return place }
      places[field] = nextPlace
      nextPlace += 1
      return nextPlace - 1
    }
    entries = list.indexes.indices.map { number in
      let (columns, held) = (list.fields.columns[number].map(place), list.fields.held[number].map(place))
      if let tree = map.trees[number], var known = old.first(where: { $0.tree == tree }) {
        known.summary = list.indexes[number].summary
        return known
      }
      nextTree += 1
      return Entry(
        name: list.indexes[number].name, signature: list.signatures[number], tree: nextTree - 1, isReady: isEmpty,
        places: columns, heldPlace: held, summary: list.indexes[number].summary)
    }
    let kept = Set(entries.map(\.tree))
    return old.map(\.tree).filter { !kept.contains($0) }
  }
}
