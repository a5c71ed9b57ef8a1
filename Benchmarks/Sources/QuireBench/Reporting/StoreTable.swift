// What several stores took for the same rows of a table, and how it is printed.

/// What was measured, by row and store.
struct StoreTable {
  private var rows: [(name: String, unit: String, samples: [String: [Double]])] = []

  /// Notes one measurement; rows stand in the order in which they came first.
  mutating func add(_ row: String, _ unit: String, _ store: String, _ value: Double) {
    let index = rows.firstIndex { $0.name == row } ?? rows.count
    if index == rows.count { rows.append((row, unit, [:])) }
    rows[index].samples[store, default: []].append(value)
  }

  /// Prints one line for each row: the medians, and Quire's beside each of the others'.
  func print() {
    for row in rows {
      let medians = row.samples.mapValues { $0.sorted()[$0.count / 2] }
      let text = medians.sorted { $0.key < $1.key }.map { "\($0.key) \(number($0.value))" }.joined(separator: "  ")
      var ratio = ""
      for (name, other) in medians.sorted(by: { $0.key < $1.key }) where name != "quire" {
        if let own = medians["quire"] { ratio += "  × \(number(own / other)) of \(name)" }
      }
      Swift.print("\(row.name) (\(row.unit)): \(text)\(ratio)")
    }
  }

  /// The medians as a table with a column for each of `stores`, each with the lowest and the highest sample; the best
  /// of a row is bold.
  func markdown(_ stores: [String]) -> String {
    let taken = stores.filter { name in rows.contains { $0.samples[name] != nil } }
    var text = "| row | " + taken.joined(separator: " | ") + " |\n|---|" + taken.map { _ in "--:|" }.joined() + "\n"
    for row in rows {
      let medians = row.samples.mapValues { $0.sorted()[$0.count / 2] }
      let best = medians.values.min()
      let cells = taken.map { name -> String in
        guard let samples = row.samples[name], let middle = medians[name] else { return "" }
        let figure = middle == best && medians.count > 1 ? "**\(number(middle))**" : number(middle)
        guard let low = samples.min(), let high = samples.max(), low < high else { return figure }
        return "\(figure) (\(number(low))–\(number(high)))"
      }
      text += "| `\(row.name)`, \(row.unit) | " + cells.joined(separator: " | ") + " |\n"
    }
    return text
  }

  /// Whether every sample is a number that can be.
  var isSane: Bool { rows.allSatisfy { $0.samples.values.allSatisfy { $0.allSatisfy { $0.isFinite } } } }

  /// How many rows there are.
  var count: Int { rows.count }
}
