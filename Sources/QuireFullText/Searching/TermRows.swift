// Rows with a term.

internal import QuireDatabase

/// Rows with a term in some fields.
final class TermRows: RowSet {
  private let scan: TermScan
  /// The fields that count; nil if all do.
  private let fields: FieldMask?

  init(_ scan: TermScan, fields: FieldMask?) { (self.scan, self.fields) = (scan, fields) }

  var limit: Int { scan.rowCount }

  func count() throws -> Int {
    if fields == nil { return scan.rowCount }
    var count = 0
    try forEachBatch { count += $0.count }
    return count
  }

  func fill(_ batch: inout [RowID], from first: RowID) throws {
    batch.removeAll(keepingCapacity: true)
    var first = first
    while batch.isEmpty, try scan.seek(first) {
      try scan.appendRows(to: &batch, fields: fields)
      guard let next = scan.block.lastRow?.next else { return }
      first = next
    }
  }

  func keep(_ batch: inout [RowID]) throws { try scan.keep(&batch, fields: fields) }
}

/// Rows in whose fields terms stand where a phrase has them: what tells the places of a phrase.
protocol PlacedRows: AnyObject {
  /// No more rows than this have the phrase.
  var limit: Int { get }
  /// Puts candidates at or above `first` in the place of those of `batch`, some or some hundred; none if there are no
  /// more. All rows with the phrase are among them.
  func fillCandidates(_ batch: inout [RowID], from first: RowID) throws
  /// Puts the places where the phrase begins in a row, in order, in the place of `places`: none if the row has it not.
  /// Rows are asked for in ascending order.
  func find(_ row: RowID, _ places: inout [FieldPlace]) throws
  /// Keeps those rows of `batch` that have the phrase. Rows are asked for in ascending order.
  func keep(_ batch: inout [RowID]) throws
  /// The same, and calls `body` with each and its places.
  func keep(_ batch: inout [RowID], _ body: (RowID, [FieldPlace]) throws -> Void) throws
}

extension PlacedRows {
  func keep(_ batch: inout [RowID]) throws { try keep(&batch) { _, _ in } }

  func keep(_ batch: inout [RowID], _ body: (RowID, [FieldPlace]) throws -> Void) throws {
    var (kept, places) = (0, [FieldPlace]())
    for row in batch {
      try find(row, &places)
      if places.isEmpty { continue }
      try body(row, places)
      batch[kept] = row
      kept += 1
    }
    batch.removeSubrange(kept...)
  }
}

/// A phrase put together of others that stand one behind the other.
final class JoinedPhrase: PlacedRows {
  private let parts: [any PlacedRows]
  private let offsets: [UInt32]
  private let isAtStart: Bool
  private let least: Int
  private var others: [FieldPlace] = []

  /// - Parameter offsets: how far each part is behind the first one.
  init(_ parts: [any PlacedRows], offsets: [UInt32], isAtStart: Bool) {
    assert(parts.count == offsets.count && offsets.first == 0, "a phrase has no first part")
    (self.parts, self.offsets, self.isAtStart) = (parts, offsets, isAtStart)
    least = parts.indices.min { parts[$0].limit < parts[$1].limit } ?? 0
  }

  var limit: Int { parts[least].limit }

  func fillCandidates(_ batch: inout [RowID], from first: RowID) throws {
    try parts[least].fillCandidates(&batch, from: first)
  }

  func find(_ row: RowID, _ places: inout [FieldPlace]) throws {
    try parts[0].find(row, &places)
    if isAtStart { FieldPlaces.keepStarts(&places) }
    for (part, offset) in zip(parts, offsets).dropFirst() where !places.isEmpty {
      try part.find(row, &others)
      FieldPlaces.keep(&places, followedBy: others, at: offset)
    }
  }
}

/// A phrase whose places were all found before.
final class ListedPhrase: PlacedRows {
  private let hits: PlaceList
  private var index = 0

  init(_ hits: PlaceList) { self.hits = hits }

  var limit: Int { hits.rows.count }

  func fillCandidates(_ batch: inout [RowID], from first: RowID) {
    let start = hits.rows.firstIndex(atOrAbove: first, from: index)
    batch.removeAll(keepingCapacity: true)
    batch += hits.rows[start..<min(hits.rows.count, start + 1024)]
  }

  func find(_ row: RowID, _ places: inout [FieldPlace]) {
    places.removeAll(keepingCapacity: true)
    index = hits.rows.firstIndex(atOrAbove: row, from: index)
    if index < hits.rows.count, hits.rows[index] == row { places += hits.places(at: index) }
  }
}

/// Rows with the places where a phrase begins in each.
///
/// Invariant: rows ascend, each has a place, and the places of each ascend.
struct PlaceList {
  private(set) var rows: [RowID] = []
  private var ends: [Int] = []
  private var places: [FieldPlace] = []

  func places(at index: Int) -> ArraySlice<FieldPlace> { places[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }

  mutating func append(_ row: RowID, _ places: some Collection<FieldPlace>) {
    assert(rows.last.map { $0 < row } ?? true, "a row comes too late")
    assert(!places.isEmpty, "a row has no place")
    rows.append(row)
    self.places += places
    ends.append(self.places.count)
  }
}

/// Rows with a phrase.
final class PhraseRows: RowSet {
  private let phrase: any PlacedRows
  private var source = BatchSource()

  init(_ phrase: any PlacedRows) { self.phrase = phrase }

  var limit: Int { phrase.limit }

  func fill(_ batch: inout [RowID], from first: RowID) throws {
    try source.fill(&batch, from: first, { try phrase.fillCandidates(&$0, from: $1) }, { try keep(&$0) })
  }

  /// Calls `body` with all rows and the places of the phrase in each; for a set that was not walked through.
  func forEachHit(_ body: (RowID, [FieldPlace]) throws -> Void) throws {
    try forEachCandidates({ try phrase.fillCandidates(&$0, from: $1) }) { try phrase.keep(&$0, body) }
  }

  func keep(_ batch: inout [RowID]) throws {
    try phrase.keep(&batch)
  }
}

/// Rows in which phrases are near each other.
final class NearRows: RowSet {
  /// The phrases that differ from each other.
  private let phrases: [any PlacedRows]
  /// For each phrase of the group, its number among those.
  private let numbers: [Int]
  private let order: [Int]
  private var matcher: NearMatcher
  private var places: [FieldPlace] = []
  private var source = BatchSource()

  init(_ phrases: [any PlacedRows], numbers: [Int], _ matcher: NearMatcher) {
    (self.phrases, self.numbers, self.matcher) = (phrases, numbers, matcher)
    order = phrases.indices.sorted { phrases[$0].limit < phrases[$1].limit }
  }

  var limit: Int { phrases[order[0]].limit }

  func fill(_ batch: inout [RowID], from first: RowID) throws {
    try source.fill(&batch, from: first, { try phrases[order[0]].fillCandidates(&$0, from: $1) }, { try keep(&$0) })
  }

  func keep(_ batch: inout [RowID]) throws {
    var kept = 0
    for row in batch where try find(row) {
      batch[kept] = row
      kept += 1
    }
    batch.removeSubrange(kept...)
  }

  /// Whether the phrases are near each other in a row. Rows are asked for in ascending order.
  func find(_ row: RowID) throws -> Bool {
    for phrase in order {
      try phrases[phrase].find(row, &places)
      if places.isEmpty { return false }
      matcher.set(places, ofPhrase: phrase)
    }
    return try matcher.match()
  }

  /// Calls `body` with all rows, and lets it ask for the places that count in each; for a set that was not walked
  /// through.
  func forEachHit(_ body: (RowID) throws -> Void) throws {
    try forEachCandidates({ try phrases[order[0]].fillCandidates(&$0, from: $1) }) { batch in
      for row in batch where try find(row) { try body(row) }
    }
  }

  /// The places of a phrase of the group that count in the row that was found last.
  func matched(ofPhrase phrase: Int) -> [FieldPlace] { matcher.matched(ofPhrase: numbers[phrase]) }
}

extension RowSet {
  /// Calls `body` with candidates that `next` gives, some at a time.
  fileprivate func forEachCandidates(
    _ next: (inout [RowID], RowID) throws -> Void, _ body: (inout [RowID]) throws -> Void
  ) throws {
    var pulse = SearchPulse()
    var (batch, first) = ([RowID](), RowID(.min))
    while true {
      try next(&batch, first)
      guard let last = batch.last else { return }
      try pulse.beat(batch.count)
      try body(&batch)
      guard let behind = last.next else { return }
      first = behind
    }
  }
}
