// How the indexes that a program declares meet those that are stored.

internal import QuireDatabase

/// For each declared index its tree, if it has one, and for each field where records have it.
///
/// Invariants:
/// 1. No two fields are at one place.
/// 2. An index that is ready has a tree; a field that is complete has a place.
struct IndexMap: Sendable {
  /// For each index the number of its tree; nil if nothing is stored of it.
  let trees: [Int?]
  /// For each index whether its tree has all entries.
  let isReady: [Bool]
  /// For each field its place; nil if it has none yet.
  let places: [Int?]
  /// For each field whether every record has it.
  let isComplete: [Bool]
  /// Whether the catalog says what the list does, so that nothing is to be adopted.
  let isCurrent: Bool
  /// The fields that have a place, in the order of the places.
  let placedFields: [(place: Int, field: Int)]
  /// For each index what the one key of a row is made of; nil where rows may have several keys, or none is known.
  let keyParts: [KeyParts?]

  /// What a key is made of, without anything that is counted.
  struct KeyParts: Sendable {
    /// Where records have the columns.
    let columns: [(place: Int, isDescending: Bool)]
    /// Where records say that the index holds a row; nil if it holds all.
    let heldPlace: Int?

    init?(_ index: IndexDeclaration, columns: [Int], held: Int?, _ places: [Int?]) {
      guard index.hasEntries, index.columns.allSatisfy({ $0.column.id.kind == .value }) else { return nil }
      var found: [(place: Int, isDescending: Bool)] = []
      for (field, column) in zip(columns, index.columns) {
        guard let place = places[field] else { return nil }
        found.append((place, column.isDescending))
      }
      self.columns = found
      heldPlace = held.flatMap { places[$0] }
      if held != nil, heldPlace == nil { return nil }
    }
  }

  /// Finds the declared indexes in the catalog: those of the same name, of which both say the same.
  ///
  /// Where a field is at two places, or a place has two fields, a declaration has changed in a way that its text does
  /// not show: none of these indexes is taken over.
  init(_ list: IndexList, _ catalog: IndexCatalog) {
    let fields = list.fields
    var trees = [Int?](repeating: nil, count: list.indexes.count)
    var isReady = [Bool](repeating: false, count: list.indexes.count)
    var places = [Int?](repeating: nil, count: fields.fields.count)
    var isComplete = [Bool](repeating: false, count: fields.fields.count)
    let found = list.indexes.indices.compactMap { Found($0, list, catalog) }
    let pairs = Set(found.flatMap(\.pairs))
    let placeCounts = pairs.reduce(into: [Int: Int]()) { $0[$1.field, default: 0] += 1 }
    let fieldCounts = pairs.reduce(into: [Int: Int]()) { $0[$1.place, default: 0] += 1 }
    for one in found where one.pairs.allSatisfy({ placeCounts[$0.field] == 1 && fieldCounts[$0.place] == 1 }) {
      trees[one.number] = one.entry.tree
      isReady[one.number] = one.entry.isReady
      for pair in one.pairs {
        places[pair.field] = pair.place
        if one.entry.isReady { isComplete[pair.field] = true }
      }
    }
    (self.trees, self.isReady, self.places, self.isComplete) = (trees, isReady, places, isComplete)
    isCurrent =
      trees == catalog.entries.map(\.tree) && list.indexes.map(\.summary) == catalog.entries.map(\.summary)
    placedFields = places.enumerated().compactMap { field, place in place.map { ($0, field) } }.sorted { $0.0 < $1.0 }
    keyParts = list.indexes.indices.map {
      KeyParts(list.indexes[$0], columns: fields.columns[$0], held: fields.held[$0], places)
    }
    assert(zip(placedFields, placedFields.dropFirst()).allSatisfy { $0.place < $1.place }, "two fields at one place")
    assert(zip(isReady, trees).allSatisfy { !$0 || $1 != nil }, "an index is ready that has no tree")
    assert(zip(isComplete, places).allSatisfy { !$0 || $1 != nil }, "a field is in every record that has no place")
    assert(!isCurrent || isWhole, "an index that is declared is not stored")
  }

  /// That of indexes which only the file describes: each has its tree, and each column its place.
  init(stored catalog: IndexCatalog, _ fields: IndexFields) {
    trees = catalog.entries.map(\.tree)
    isReady = catalog.entries.map(\.isReady)
    var places = [Int?](repeating: nil, count: fields.fields.count)
    var isComplete = [Bool](repeating: false, count: fields.fields.count)
    for (entry, columns) in zip(catalog.entries, fields.columns) {
      for (place, field) in zip(entry.places, columns) {
        places[field] = place
        if entry.isReady { isComplete[field] = true }
      }
    }
    (self.places, self.isComplete, isCurrent) = (places, isComplete, true)
    placedFields = places.enumerated().compactMap { field, place in place.map { ($0, field) } }.sorted { $0.0 < $1.0 }
    // No key is made of rows of no known type.
    keyParts = catalog.entries.map { _ in nil }
  }

  /// A declared index that is stored.
  private struct Found {
    struct Pair: Hashable {
      let field: Int
      let place: Int
    }

    let number: Int
    let entry: IndexCatalog.Entry
    /// Its fields, and where records have them.
    let pairs: [Pair]

    init?(_ number: Int, _ list: IndexList, _ catalog: IndexCatalog) {
      let (name, signature) = (list.indexes[number].name, list.indexes[number].signature)
      let known = catalog.entries.first { $0.name.utf8.elementsEqual(name.utf8) && $0.signature == signature }
      guard let known else { return nil }
      let own = list.fields.columns[number] + (list.fields.held[number].map { [$0] } ?? [])
      let stored = known.places + (known.heldPlace.map { [$0] } ?? [])
      guard own.count == stored.count else { return nil }
      self.number = number
      entry = known
      pairs = zip(own, stored).map { Pair(field: $0, place: $1) }
    }
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
  /// What is new has to be built, also where there is no record: rows may not have been handed over yet.
  ///
  /// - Parameter map: how they meet this catalog.
  mutating func adopt(_ list: IndexList, _ map: IndexMap) -> [Int] {
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
        name: list.indexes[number].name, signature: list.indexes[number].signature, tree: nextTree - 1, isReady: false,
        places: columns, heldPlace: held, summary: list.indexes[number].summary)
    }
    assert(isSound, "a tree or a place is given out twice")
    let kept = Set(entries.map(\.tree))
    return old.map(\.tree).filter { !kept.contains($0) }
  }
}
