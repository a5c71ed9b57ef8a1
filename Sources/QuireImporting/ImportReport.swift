// What an import has come to.

package import QuireDatabase

/// What an import has come to.
package struct ImportReport: Sendable {
  private var counts: [ByteString: Int] = [:]
  private var names: [String] = []
  /// How many values of each kind the records have, lists and records inside them not counted.
  package private(set) var kinds: [RowValue.Kind: Int] = [:]
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

  /// The rows of each collection, in the order in which their first rows came.
  package var rowCounts: [(collection: String, rows: Int)] { names.map { ($0, counts[ByteString($0)] ?? 0) } }
  /// All rows that were stored.
  package var rowCount: Int { counts.values.reduce(0, +) }

  mutating func count(_ row: SourceRow) {
    let name = ByteString(row.collection)
    if counts[name] == nil { names.append(row.collection) }
    counts[name, default: 0] += 1
    byteCount += row.byteCount
    switch row.content {
    case .record(let value): for field in value.record ?? [] { kinds[field.value.kind, default: 0] += 1 }
    case .bytes(let object, _): if object.isEmpty { emptyObjectCount += 1 }
    }
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
    var lines = rowCounts.map { "\($0.rows) rows in “\($0.collection)”" }
    for (name, count) in coercions.sorted(by: { $0.key < $1.key }) { lines.append("\(count) values became \(name)") }
    if emptyObjectCount > 0 { lines.append("\(emptyObjectCount) rows have an object without bytes") }
    for left in leftOut { lines.append("left out: \(left.name): \(left.reason)") }
    let bad = badCount == 0 ? "" : ", \(badCount) rows do not fit"
    lines.append("\(file): \(rowCount) rows\(isDryRun ? " would be stored" : "")\(bad)")
    return lines
  }
}
