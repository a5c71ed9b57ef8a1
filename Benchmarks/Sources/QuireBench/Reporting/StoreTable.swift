// What several stores took for the same rows of a table, and how it is printed.

/// What was measured, by row and store.
struct StoreTable {
  private var rows: [Row] = []

  /// A row of the table.
  private struct Row {
    let name: String
    let unit: String
    var samples: [String: [Double]] = [:]
    /// What is said of a store beside its figure, or in its place.
    var remarks: [String: String] = [:]

    var medians: [String: Double] { samples.mapValues { $0.sorted()[$0.count / 2] } }
  }

  /// Notes one measurement; rows stand in the order in which they came first.
  mutating func add(_ row: String, _ unit: String, _ store: String, _ value: Double) {
    rows[place(row, unit)].samples[store, default: []].append(value)
  }

  /// Says something of what was measured, or why it was not.
  mutating func remark(_ row: String, _ unit: String, _ store: String, _ text: String) {
    rows[place(row, unit)].remarks[store] = text
  }

  private mutating func place(_ row: String, _ unit: String) -> Int {
    if let index = rows.firstIndex(where: { $0.name == row }) { return index }
    rows.append(Row(name: row, unit: unit))
    return rows.count - 1
  }

  /// Prints one line for each row: the medians, and Quire's beside each of the others'.
  func print() {
    for row in rows {
      let medians = row.medians
      let text = medians.sorted { $0.key < $1.key }.map { "\($0.key) \(number($0.value))" }.joined(separator: "  ")
      var ratio = ""
      for (name, other) in medians.sorted(by: { $0.key < $1.key }) where name != "quire" {
        if let own = medians["quire"] { ratio += "  × \(number(own / other)) of \(name)" }
      }
      Swift.print("\(row.name) (\(row.unit)): \(text)\(ratio)")
    }
  }

  /// The medians as a table with a column for each of `stores`, each with the lowest and the highest sample; the best
  /// of a row is bold, unless nobody is to win.
  func markdown(_ stores: [String], marksBest: Bool = true) -> String {
    let taken = stores.filter { name in rows.contains { $0.samples[name] != nil || $0.remarks[name] != nil } }
    var text = "| row | " + taken.joined(separator: " | ") + " |\n|---|" + taken.map { _ in "--:|" }.joined() + "\n"
    for row in rows {
      let medians = row.medians
      let best = medians.values.min()
      let cells = taken.map { name -> String in
        let remark = row.remarks[name] ?? ""
        guard let samples = row.samples[name], let middle = medians[name] else { return remark }
        let isBest = marksBest && middle == best && medians.count > 1
        var figure = isBest ? "**\(number(middle))**" : number(middle)
        if let low = samples.min(), let high = samples.max(), low < high {
          figure += " (\(number(low))–\(number(high)))"
        }
        return remark.isEmpty ? figure : "\(figure) \(remark)"
      }
      text += "| `\(row.name)`, \(row.unit) | " + cells.joined(separator: " | ") + " |\n"
    }
    return text
  }

  /// The rows in which a store is better than Quire, those first in which Quire has no figure and then the largest
  /// losses: one line for each.
  var losses: [String] {
    let lost = rows.compactMap { row -> (ratio: Double, line: String)? in
      let peers = row.medians.filter { $0.key != "quire" }
      guard let best = peers.min(by: { $0.value < $1.value }) else { return nil }
      let other = "\(best.key)'s \(number(best.value)) \(row.unit)"
      guard let own = row.medians["quire"] else {
        return row.remarks["quire"].map { (.infinity, "- `\(row.name)`: \($0), beside \(other).") }
      }
      guard best.value < own else { return nil }
      guard best.value > 0 else {
        return (.greatestFiniteMagnitude, "- `\(row.name)`: \(number(own)), beside \(other).")
      }
      return (own / best.value, "- `\(row.name)`: \(number(own)), \(number(own / best.value)) × \(other).")
    }
    return lost.sorted { $0.ratio > $1.ratio }.map(\.line)
  }

  /// Whether every sample is a number that can be.
  var isSane: Bool { rows.allSatisfy { $0.samples.values.allSatisfy { $0.allSatisfy { $0.isFinite } } } }

  /// How many rows there are.
  var count: Int { rows.count }
}
