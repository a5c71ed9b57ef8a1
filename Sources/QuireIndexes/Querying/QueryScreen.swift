// What a live query shows, and what changes of it.

internal import QuireDatabase
internal import QuireViews

/// The rows of a query in order, kept up to date by testing rows that have changed one by one.
///
/// Invariants:
/// 1. `places` are in the order of the query, each row once.
/// 2. `byKey` has the place of each of them.
struct QueryScreen<Object: Sendable, Metadata: Sendable>: Sendable {
  /// Where a row stands among those that satisfy the condition.
  private struct Place: Sendable, Comparable {
    /// The values that the order goes by.
    let order: [UInt8]
    let rowID: RowID
    let key: ByteString

    static func < (left: Self, right: Self) -> Bool {
      if left.order == right.order { return left.rowID < right.rowID }
      return left.order.lexicographicallyPrecedes(right.order)
    }

    static func == (left: Self, right: Self) -> Bool { left.rowID == right.rowID && left.order == right.order }
  }

  private let query: RowQuery<Object, Metadata>
  private var places: [Place] = []
  private var byKey: [ByteString: Place] = [:]

  init(_ query: RowQuery<Object, Metadata>) { self.query = query }

  /// The rows that the query's limit and offset leave.
  private var shown: ArraySlice<Place> {
    let start = min(query.terms.offset, places.count)
    return places[start..<min(places.count, start + min(query.terms.limit ?? places.count, places.count - start))]
  }

  /// The keys of the rows that are shown, in order.
  var keys: [String] { shown.map(\.key.string) }

  private func place(_ row: Row<Object, Metadata>) throws -> Place {
    Place(
      order: try OrderKey.bytes(query.terms.order) { column in
        column.id.half == .key ? row.key.sortBytes : try column.value(of: row.object, row.metadata)
      }, rowID: row.rowID, key: ByteString(row.key))
  }

  /// Reads all rows of the query.
  mutating func load(_ tx: ReadTransaction) throws -> ViewDiff {
    var found: [Place] = []
    let all = FoundRows(tx[query.collection], QueryTerms(condition: query.terms.condition))
    try (query.terms.needsIndex ? all.requireIndex() : all).forEach { row in found.append(try place(row)) }
    // An index that is damaged may name a row twice.
    byKey = Dictionary(found.map { ($0.key, $0) }) { $1 }
    places = byKey.values.sorted()
    assert(isSound, "the rows of a live query are out of order")
    return ViewDiff(sections: [], rows: [], isReload: true, rowCounts: [shown.count])
  }

  /// Tests rows that have changed. O(changes × log n), and the rows that are shown.
  mutating func update(_ changed: [ByteString: ViewAspects], _ tx: ReadTransaction) throws -> ViewDiff {
    let before = Array(shown)
    var (gone, new) = (Set<ByteString>(), [Place]())
    for key in changed.keys {
      let old = byKey[key]
      var now: Place?
      if let row = try tx[query.collection].row(key.string), try query.terms.condition.isTrue(row) {
        now = try place(row)
      }
      if old == now { continue }
      if old != nil { gone.insert(key) }
      if let now { new.append(now) }
      byKey[key] = now
    }
    if !gone.isEmpty { places.removeAll { gone.contains($0.key) } }
    if !new.isEmpty { merge(new.sorted()) }
    assert(isSound, "the rows of a live query are out of order")
    return diff(before, Array(shown), changed)
  }

  /// Whether the invariants hold.
  private var isSound: Bool {
    zip(places, places.dropFirst()).allSatisfy { $0 < $1 } && places.count == byKey.count
      && places.allSatisfy { byKey[$0.key] == $0 }
  }

  /// Whether rows come and go by more than changes of their own.
  var hasSelections: Bool { query.terms.condition.hasPart(where: \.isSelection) }

  /// Reads all rows of the query anew, and tells what has changed among them; the rows that have changed themselves are
  /// given.
  mutating func reload(_ changed: [ByteString: ViewAspects], _ tx: ReadTransaction) throws -> ViewDiff {
    let before = Array(shown)
    _ = try load(tx)
    return diff(before, Array(shown), changed)
  }

  private mutating func merge(_ new: [Place]) {
    var merged: [Place] = []
    merged.reserveCapacity(places.count + new.count)
    var next = 0
    for place in places {
      while next < new.count, new[next] < place {
        merged.append(new[next])
        next += 1
      }
      merged.append(place)
    }
    places = merged + new[next...]
  }

  // MARK: Changes

  /// A row that is shown before and after.
  private struct Kept {
    let old: Int
    let new: Int
    /// How many rows before it are shown before and after and have not changed.
    let oldRank: Int
    let newRank: Int
    let key: ByteString
  }

  private func diff(_ before: [Place], _ after: [Place], _ changed: [ByteString: ViewAspects]) -> ViewDiff {
    let old = Dictionary(uniqueKeysWithValues: before.enumerated().map { ($1.key, $0) })
    let new = Dictionary(uniqueKeysWithValues: after.enumerated().map { ($1.key, $0) })
    let group = query.collection.name
    func change(
      _ kind: ViewRowChange.Kind, _ old: Int?, _ new: Int?, _ key: ByteString, _ aspects: ViewAspects
    ) -> ViewRowChange {
      ViewRowChange(
        kind: kind, originalPath: old.map { ViewPath(section: 0, row: $0) },
        finalPath: new.map { ViewPath(section: 0, row: $0) }, aspects: aspects, originalGroup: old == nil ? nil : group,
        finalGroup: new == nil ? nil : group, key: RowKey(group, key.string))
    }
    var rows: [ViewRowChange] = []
    for (index, place) in before.enumerated() where new[place.key] == nil {
      rows.append(change(.delete, index, nil, place.key, []))
    }
    for (index, place) in after.enumerated() where old[place.key] == nil {
      rows.append(change(.insert, nil, index, place.key, [.object, .metadata]))
    }
    let kept = kept(before, after, old, new, changed)
    // Of rows with the same rank nobody knows without looking how they stand to each other.
    let oldRanks = Dictionary(grouping: kept, by: \.oldRank).mapValues(\.count)
    let newRanks = Dictionary(grouping: kept, by: \.newRank).mapValues(\.count)
    for row in kept {
      let staysInPlace = row.oldRank == row.newRank && oldRanks[row.oldRank] == 1 && newRanks[row.newRank] == 1
      rows.append(change(staysInPlace ? .update : .move, row.old, row.new, row.key, changed[row.key] ?? []))
    }
    assert(
      before.count + rows.count { $0.kind == .insert } - rows.count { $0.kind == .delete } == after.count,
      "the changes do not lead to the new number of rows")
    return ViewDiff(sections: [], rows: rows, isReload: false, rowCounts: [after.count])
  }

  /// The rows that have changed, and are shown before and after.
  private func kept(
    _ before: [Place], _ after: [Place], _ old: [ByteString: Int], _ new: [ByteString: Int],
    _ changed: [ByteString: ViewAspects]
  ) -> [Kept] {
    var oldRanks: [ByteString: Int] = [:]
    var rank = 0
    for place in before where new[place.key] != nil {
      if changed[place.key] != nil { oldRanks[place.key] = rank } else { rank += 1 }
    }
    var kept: [Kept] = []
    rank = 0
    for place in after {
      guard let oldIndex = old[place.key], let newIndex = new[place.key] else { continue }
      if let oldRank = oldRanks[place.key] {
        kept.append(Kept(old: oldIndex, new: newIndex, oldRank: oldRank, newRank: rank, key: place.key))
      } else {
        rank += 1
      }
    }
    assert(kept.count == oldRanks.count, "a row is shown before and after, and is not told")
    return kept
  }
}
