// What one transaction of a history does with rows, drawn as it goes.

import QuireDatabase
import QuireTesting

/// A transaction that reads, by its full name: the engine's has the same.
typealias RowReadTransaction = QuireDatabase.ReadTransaction
/// A transaction that writes.
typealias RowWriteTransaction = QuireDatabase.WriteTransaction

/// What a transaction that writes is for.
enum RowPurpose: Sendable {
  case change
  /// More rows than the others.
  case fill
  case touch
  case look
}

/// Something that a transaction saw and that no snapshot can show.
struct RowComplaint: Error, CustomStringConvertible {
  let description: String
}

/// Draws calls, makes them, and notes what they return.
struct ThreadedRowScript {
  /// Why a savepoint is undone.
  private struct Undo: Error {}

  let plan: ThreadedRowPlan
  let id: Int
  var random: SeededRandom
  private(set) var steps: [RowStep] = []
  private var changeCount = 0

  init(_ plan: ThreadedRowPlan, thread: Int, number: Int) {
    (self.plan, id) = (plan, thread << 16 | number)
    random = plan.random(thread, number)
  }

  static func collection(_ number: Int) -> RowCollection<MarkedObject, MarkedMetadata> {
    RowCollection(RowPlace.collectionName(number))
  }

  private mutating func place() -> RowPlace {
    RowPlace(random.below(plan.collectionCount), random.below(plan.keyCount))
  }

  private mutating func mark() -> RowMark {
    changeCount += 1
    return RowMark(transaction: id, change: changeCount)
  }

  // MARK: Writing

  /// What one transaction does. `refuse` tries what must be refused inside of it.
  mutating func write(_ tx: RowWriteTransaction, _ purpose: RowPurpose, refuse: () throws -> Void) throws {
    tx.commitInfo = id
    switch purpose {
    case .change: try change(tx, count: 1 + random.below(random.pick([2, 6, 12])), depth: 0)
    case .fill:
      for _ in 0..<40 + random.below(80) { try set(tx, place()) }
    case .touch:
      for _ in 0..<1 + random.below(3) { try touch(tx, place()) }
    case .look: break
    }
    if random.oneIn(8) { try refuse() }
    if purpose != .change || random.oneIn(3) { try look(tx, count: 1 + random.below(3)) }
  }

  private mutating func change(_ tx: RowWriteTransaction, count: Int, depth: Int) throws {
    for _ in 0..<count {
      let place = place()
      let rows = tx[Self.collection(place.collection)]
      switch random.below(26) {
      case 0...8: try set(tx, place)
      case 9...11:
        let mark = mark()
        let isThere = try rows.replace(MarkedObject(mark, longest: plan.longestText), for: place.keyName)
        steps.append(.replace(place, mark, isThere: isThere))
      case 12...14:
        let mark = random.oneIn(4) ? nil : mark()
        let isThere = try rows.replaceMetadata(mark.map { MarkedMetadata(mark: $0) }, for: place.keyName)
        steps.append(.replaceMetadata(place, mark, isThere: isThere))
      case 15, 16: try touch(tx, place)
      case 17...19: steps.append(.remove(place, isThere: try rows.remove(place.keyName)))
      case 20: steps.append(.removeAll(place.collection, count: try rows.removeAll()))
      case 21...23: if depth < 3 { try savepoint(tx, depth) }
      default: try look(tx, count: 1)
      }
    }
  }

  private mutating func set(_ tx: RowWriteTransaction, _ place: RowPlace) throws {
    let content = RowContent(object: mark(), metadata: random.oneIn(3) ? nil : mark())
    try tx[Self.collection(place.collection)].set(
      MarkedObject(content.object, longest: plan.longestText),
      metadata: content.metadata.map { MarkedMetadata(mark: $0) }, for: place.keyName)
    steps.append(.set(place, content))
  }

  private mutating func touch(_ tx: RowWriteTransaction, _ place: RowPlace) throws {
    let rows = tx[Self.collection(place.collection)]
    let isThere =
      switch random.below(3) {
      case 0: try rows.touch(place.keyName)
      case 1: try rows.touchObject(place.keyName)
      default: try rows.touchMetadata(place.keyName)
      }
    steps.append(.touch(place, isThere: isThere))
  }

  private mutating func savepoint(_ tx: RowWriteTransaction, _ depth: Int) throws {
    let (count, isUndone) = (1 + random.below(5), random.oneIn(2))
    steps.append(.savepoint)
    do {
      try tx.savepoint {
        try change(tx, count: count, depth: depth + 1)
        if isUndone { throw Undo() }
      }
      steps.append(.kept)
    } catch is Undo {
      steps.append(.undone)
    } catch let error as DatabaseError where error.code == .diskFull && plan.fault == .full && random.oneIn(2) {
      // The transaction goes on as if the savepoint had not been.
      steps.append(.undone)
    }
    if random.oneIn(2) { try look(tx, count: 1) }
  }

  // MARK: Looking

  /// Looks at rows in some of the ways that there are.
  mutating func look(_ tx: some TransactionReading, count: Int) throws {
    for _ in 0..<count {
      let place = place()
      let rows = tx.rows(of: Self.collection(place.collection))
      switch random.below(20) {
      case 0...5: steps.append(.object(place, try checked(rows.get(place.keyName))))
      case 6...8: steps.append(.metadata(place, try rows.metadata(place.keyName)?.mark))
      case 9, 10: try lookAtRow(rows, place)
      case 11: steps.append(.isThere(place, try rows.contains(place.keyName)))
      case 12: try lookAtMany(rows, place.collection)
      case 13...15: try lookAtCounts(tx, rows, place)
      case 16: try lookAtMetadata(rows, place.collection)
      case 17: try lookAtKeys(rows, place.collection)
      default: try lookAtAll(rows, place.collection)
      }
    }
  }

  /// Looks at everything.
  mutating func lookAtEverything(_ tx: some TransactionReading) throws {
    for number in 0..<plan.collectionCount {
      let rows = tx.rows(of: Self.collection(number))
      try lookAtAll(rows, number)
      try lookAtKeys(rows, number)
      try lookAtMetadata(rows, number)
      try lookAtCounts(tx, rows, RowPlace(number, 0))
    }
  }

  private typealias Rows = ReadableRows<MarkedObject, MarkedMetadata>

  /// What lists and counts could not throw is thrown by the next call: what they gave is noted behind that.
  private func settle(_ rows: Rows) throws { _ = try rows.contains("") }

  private func checked(_ object: MarkedObject?) throws -> RowMark? {
    guard let object else { return nil }
    guard object == MarkedObject(object.mark, longest: plan.longestText) else {
      throw RowComplaint(description: "the object of \(object.mark) has the text \(object.text.prefix(200))")
    }
    return object.mark
  }

  private func content(_ row: Row<MarkedObject, MarkedMetadata>?) throws -> RowContent? {
    guard let row, let mark = try checked(row.object) else { return nil }
    return RowContent(object: mark, metadata: row.metadata?.mark)
  }

  private mutating func lookAtRow(_ rows: Rows, _ place: RowPlace) throws {
    let row = try rows.row(place.keyName)
    steps.append(.row(place, try content(row)))
    guard let row else { return }
    // The same by its number, which the cache of objects finds in another way.
    guard let other = try rows.row(withID: row.rowID), other.key == place.keyName else {
      throw RowComplaint(description: "\(place) is not under its number \(row.rowID)")
    }
    steps.append(.row(place, try content(other)))
  }

  private mutating func lookAtMany(_ rows: Rows, _ collection: Int) throws {
    let places = (0..<2 + random.below(5)).map { _ in RowPlace(collection, random.below(plan.keyCount)) }
    var found: [String: RowContent] = [:]
    for row in try rows.rows(for: places.map(\.keyName)) { found[row.key] = try content(row) }
    for place in places { steps.append(.row(place, found[place.keyName])) }
  }

  private mutating func lookAtCounts(_ tx: some TransactionReading, _ rows: Rows, _ place: RowPlace) throws {
    let count = rows.count
    let (collections, total) = (tx.collections.map { RowPlace.collection(named: $0) ?? -1 }, tx.count)
    try settle(rows)
    steps.append(.count(place.collection, nil, count))
    steps.append(.collections(collections, total))
    let range = place.key..<place.key + random.below(plan.keyCount)
    let part = try rows.count(RowPlace.keyName(range.lowerBound)..<RowPlace.keyName(range.upperBound))
    steps.append(.count(place.collection, range, part))
  }

  private mutating func lookAtKeys(_ rows: Rows, _ collection: Int) throws {
    let isReversed = random.oneIn(2)
    let keys = Array(isReversed ? rows.keys.reversed() : rows.keys).map { RowPlace.key(named: $0) ?? -1 }
    try settle(rows)
    steps.append(.keys(collection, isReversed ? keys.reversed() : keys))
  }

  private mutating func lookAtAll(_ rows: Rows, _ collection: Int) throws {
    var all: [Int: RowContent] = [:]
    for row in rows.rows { all[RowPlace.key(named: row.key) ?? -1] = try content(row) }
    try settle(rows)
    steps.append(.rows(collection, all))
  }

  private mutating func lookAtMetadata(_ rows: Rows, _ collection: Int) throws {
    var all: [Int: RowMark?] = [:]
    for row in rows.metadata { all[RowPlace.key(named: row.key) ?? -1] = .some(row.metadata?.mark) }
    try settle(rows)
    steps.append(.allMetadata(collection, all))
  }
}
