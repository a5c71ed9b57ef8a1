// What an import has come to.

package import QuireDatabase

/// What an import has come to.
package struct ImportReport: Sendable {
  /// How many rows each collection got, in the order in which their first rows came.
  package private(set) var rowCounts: [(collection: String, rows: Int)] = []
  /// Where in `rowCounts` a collection stands.
  private var places: [ByteString: Int] = [:]
  /// The place of the last row's collection.
  private var place = 0
  private var kindCounts = [Int](repeating: 0, count: RowValue.Kind.allCases.count)
  /// How many rows have an object without bytes, which is what a failed encoding leaves.
  package private(set) var emptyObjectCount = 0
  /// How many bytes the rows had in the source, about.
  package private(set) var byteCount = 0
  /// How many rows were passed over.
  package internal(set) var badCount = 0
  /// The row that has ended the import.
  package internal(set) var stopped: BadRow?
  /// What is not carried over.
  package internal(set) var leftOut: [LeftOut] = []
  /// How many values were made something else than their storage class says.
  package internal(set) var coercions: [String: Int] = [:]

  /// All rows that were stored.
  package var rowCount: Int { rowCounts.reduce(0) { $0 + $1.rows } }
  /// How many values of each kind the records have, lists and records inside them not counted.
  package var kinds: [RowValue.Kind: Int] {
    var kinds: [RowValue.Kind: Int] = [:]
    for kind in RowValue.Kind.allCases where kindCounts[kind.place] > 0 { kinds[kind] = kindCounts[kind.place] }
    return kinds
  }

  mutating func count(_ row: SourceRow) {
    if rowCounts.isEmpty || ByteString(rowCounts[place].collection) != ByteString(row.collection) {
      place = findPlace(row.collection)
    }
    rowCounts[place].rows += 1
    byteCount += row.byteCount
    switch row.content {
    case .record(let value), .values(let value, _):
      for field in value.record ?? [] { kindCounts[field.value.kind.place] += 1 }
      if value.bytes?.isEmpty == true { emptyObjectCount += 1 }
    case .bytes(let object, _): if object.isEmpty { emptyObjectCount += 1 }
    }
  }

  private mutating func findPlace(_ collection: String) -> Int {
    if let place = places[ByteString(collection)] { return place }
    places[ByteString(collection)] = rowCounts.count
    rowCounts.append((collection, 0))
    return rowCounts.count - 1
  }

  /// Counts rows of collections anew, of which nothing else is known, and the bytes that they had.
  mutating func count(_ rows: [(collection: String, rows: Int)], byteCount: Int) {
    rowCounts = rows
    self.byteCount = byteCount
  }

  /// The report as one JSON record.
  package func json(file: String, isDryRun: Bool) -> String {
    func numbers(_ pairs: [(String, Int)]) -> RowValue {
      .record(pairs.sorted { $0.0 < $1.0 }.map { RowValue.Field($0.0, .integer(Int128($0.1))) })
    }
    let collections = rowCounts.map { count -> RowValue in
      ["collection": .text(count.collection), "rows": .integer(Int128(count.rows))]
    }
    let left = leftOut.map { left -> RowValue in ["name": .text(left.name), "reason": .text(left.reason)] }
    let record: RowValue = [
      "file": .text(file), "rows": .integer(Int128(rowCount)), "bytes": .integer(Int128(byteCount)),
      "bad rows": .integer(Int128(badCount)), "empty objects": .integer(Int128(emptyObjectCount)),
      "dry run": .bool(isDryRun), "stopped": stopped.map { .text($0.description) } ?? nil,
      "collections": .list(collections), "kinds": numbers(kinds.map { ($0.key.rawValue, $0.value) }),
      "coercions": numbers(coercions.map { ($0.key, $0.value) }), "left out": .list(left),
    ]
    return record.json
  }

  /// The report as lines for people.
  package func lines(file: String, isDryRun: Bool) -> [String] {
    var lines = rowCounts.map { "\(counted($0.rows, "row")) in “\($0.collection)”" }
    for (name, count) in coercions.sorted(by: { $0.key < $1.key }) {
      lines.append("\(counted(count, "value")) became \(name)")
    }
    if emptyObjectCount > 0 { lines.append("\(counted(emptyObjectCount, "row")) without bytes of an object") }
    for left in leftOut { lines.append("left out: \(left.name): \(left.reason)") }
    let bad = badCount == 0 ? "" : ", \(counted(badCount, "row")) \(badCount == 1 ? "does" : "do") not fit"
    lines.append("\(file): \(counted(rowCount, "row"))\(isDryRun ? " would be stored" : "")\(bad)")
    return lines
  }
}

extension RowValue.Kind {
  /// Its place among all kinds.
  fileprivate var place: Int {
    switch self {
    case .null: 0
    case .bool: 1
    case .integer: 2
    case .float: 3
    case .double: 4
    case .text: 5
    case .bytes: 6
    case .uuid: 7
    case .date: 8
    case .list: 9
    case .record: 10
    }
  }
}

/// A number of things, in words.
private func counted(_ count: Int, _ thing: String) -> String { count == 1 ? "1 \(thing)" : "\(count) \(thing)s" }
