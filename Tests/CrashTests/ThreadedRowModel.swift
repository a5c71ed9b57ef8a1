// What rows are after the steps of a transaction, and what each step should have returned.

/// All rows that there are.
typealias RowState = [RowPlace: RowContent]

/// Goes through the steps of a transaction beside the state that it began with.
struct RowReplay {
  /// The rows as the transaction sees them.
  private(set) var rows: RowState
  /// The rows that have changed or were touched, as far as that was not undone.
  private(set) var reported: Set<RowPlace> = []
  /// Those of them that were touched, and not removed since.
  private(set) var touched: Set<RowPlace> = []
  /// The rows that have changed, even if that was undone.
  private(set) var written: Set<RowPlace> = []
  private var savepoints: [(rows: RowState, reported: Set<RowPlace>, touched: Set<RowPlace>)] = []

  init(_ rows: RowState) { self.rows = rows }

  /// Takes a step; returns what is wrong with what it returned, in words.
  mutating func take(_ step: RowStep) -> String? {
    switch step {
    case .set, .replace, .replaceMetadata, .touch, .remove, .removeAll: return change(step)
    case .savepoint:
      savepoints.append((rows, reported, touched))
      return nil
    case .kept:
      savepoints.removeLast()
      return nil
    case .undone:
      (rows, reported, touched) = savepoints.removeLast()
      return nil
    default: return look(step)
    }
  }

  // MARK: Changes

  private mutating func change(_ step: RowStep) -> String? {
    switch step {
    case .set(let place, let content): return put(content, place)
    case .replace(let place, let mark, let isThere):
      let old = rows[place]
      if let old { _ = put(RowContent(object: mark, metadata: old.metadata), place) }
      return compare(isThere, old != nil, "replacing \(place) found a row")
    case .replaceMetadata(let place, let mark, let isThere):
      let old = rows[place]
      if let old { _ = put(RowContent(object: old.object, metadata: mark), place) }
      return compare(isThere, old != nil, "replacing the metadata of \(place) found a row")
    case .touch(let place, let isThere):
      if rows[place] != nil {
        reported.insert(place)
        touched.insert(place)
      }
      return compare(isThere, rows[place] != nil, "touching \(place) found a row")
    case .remove(let place, let isThere): return compare(isThere, remove(place), "removing \(place) found a row")
    case .removeAll(let collection, let count):
      let all = places(of: collection)
      for place in all { _ = remove(place) }
      return compare(count, all.count, "rows removed from collection \(collection)")
    default: return nil
    }
  }

  private mutating func put(_ content: RowContent, _ place: RowPlace) -> String? {
    rows[place] = content
    reported.insert(place)
    written.insert(place)
    return nil
  }

  private mutating func remove(_ place: RowPlace) -> Bool {
    guard rows.removeValue(forKey: place) != nil else { return false }
    reported.insert(place)
    touched.remove(place)
    written.insert(place)
    return true
  }

  /// The rows that are not as they were.
  func differences(from old: RowState) -> [RowPlace] { written.filter { rows[$0] != old[$0] } }

  // MARK: Looks

  private func look(_ step: RowStep) -> String? {
    switch step {
    case .object(let place, let mark): return compareAny(mark, rows[place]?.object, "the object of \(place)")
    case .metadata(let place, let mark): return compareAny(mark, rows[place]?.metadata, "the metadata of \(place)")
    case .row(let place, let content): return compareAny(content, rows[place], "the row \(place)")
    case .isThere(let place, let isThere): return compare(isThere, rows[place] != nil, "whether there is \(place)")
    case .count(let collection, let range, let count):
      let expected = rows.keys.count { $0.collection == collection && (range?.contains($0.key) ?? true) }
      return compare(count, expected, "rows of collection \(collection)")
    case .keys(let collection, let keys):
      return compare(keys, places(of: collection).map(\.key).sorted(), "keys of collection \(collection)")
    case .rows(let collection, let content):
      return compareAll(content, all(of: collection) { $0 }, "in collection \(collection)")
    case .allMetadata(let collection, let marks):
      return compareAll(marks, all(of: collection, \.metadata), "as metadata in collection \(collection)")
    case .collections(let numbers, let count):
      let expected = Set(rows.keys.map(\.collection)).sorted()
      return compare(numbers, expected, "collections") ?? compare(count, rows.count, "rows of all collections")
    default: return nil
    }
  }

  private func places(of collection: Int) -> [RowPlace] { rows.keys.filter { $0.collection == collection } }

  private func all<Part>(of collection: Int, _ part: (RowContent) -> Part) -> [Int: Part] {
    var all: [Int: Part] = [:]
    for (place, content) in rows where place.collection == collection { all[place.key] = part(content) }
    return all
  }

  private func compare<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) -> String? {
    found == expected ? nil : "\(what): \(found), and should be \(expected)"
  }

  private func compareAny<Value: Equatable>(_ found: Value?, _ expected: Value?, _ what: String) -> String? {
    func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "nothing" }
    return found == expected ? nil : "\(what): \(text(found)), and should be \(text(expected))"
  }

  private func compareAll<Value: Equatable>(
    _ found: [Int: Value], _ expected: [Int: Value], _ what: String
  ) -> String? {
    guard found != expected else { return nil }
    let wrong = Set(found.keys).union(expected.keys).sorted().filter { found[$0] != expected[$0] }
    let texts = wrong.prefix(3).map { key in
      "\(RowPlace.keyName(key)) \(what): \(found[key].map { "\($0)" } ?? "nothing"), and should be "
        + "\(expected[key].map { "\($0)" } ?? "nothing")"
    }
    return texts.joined(separator: ", ")
  }
}
