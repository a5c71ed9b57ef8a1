// The table as the documentation has it.

internal import Foundation

extension Report {
  /// The table: a line per row and a column per store, the best in bold, and what Quire is against the best peer.
  var markdown: String {
    let names = stores.map(\.name)
    var text = """
      \(machine.summary); load \(number(machine.loadAverage)) at the beginning and \(number(loadAverageAtTheEnd)) \
      at the end. \(stores.map { "\($0.name) \($0.version)" }.joined(separator: ", ")). \
      \(plan.count) rows of 24 + 150 bytes, \(plan.cacheSize >> 20) MiB of cache, median of \(plan.runs) runs.

      ```
      quire-bench \(arguments.joined(separator: " "))
      ```


      """
    for group in RowGroup.allCases {
      let rows = rows.filter { $0.first?.group == group }
      if rows.isEmpty { continue }
      text += "### \(group.title)\n\n"
      text += "| row | \(names.joined(separator: " | ")) | Quire / best peer |\n"
      text += "|---|\(names.map { _ in "--:" }.joined(separator: "|"))|--:|\n"
      for results in rows { text += line(results, names) }
      text += "\n"
    }
    if unquietMeasurements > 0 {
      text += "\(unquietMeasurements) measurements began although a store was still at work.\n\n"
    }
    text += losses
    return text
  }

  private func line(_ results: [RowResult], _ names: [String]) -> String {
    guard let first = results.first else { return "" }
    let medians = results.map(\.median)
    let best = first.higherIsBetter ? medians.max() : medians.min()
    let cells = names.map { name in
      guard let result = results.first(where: { $0.store == name }) else { return "–" }
      let text = number(result.median)
      return result.median == best ? "**\(text)**" : text
    }
    let own = results.first { $0.store == QuireStore.name }
    let ratio = own.flatMap { ratioToBestPeer(of: $0, in: results) }.map(number) ?? "–"
    return "| `\(first.row)`, \(first.unit) | \(cells.joined(separator: " | ")) | \(ratio) |\n"
  }

  /// The rows in which a peer is better, and by how much.
  private var losses: String {
    let lost = rows.compactMap { results -> String? in
      guard let own = results.first(where: { $0.store == QuireStore.name }) else { return nil }
      let peers = results.filter { $0.store != QuireStore.name }
      let better = peers.filter { own.higherIsBetter ? $0.median > own.median : $0.median < own.median }
      let ranked = better.sorted { own.higherIsBetter ? $0.median > $1.median : $0.median < $1.median }
      if ranked.isEmpty { return nil }
      let names = ranked.map { "\($0.store) \(number($0.median))" }.joined(separator: ", ")
      return "- `\(own.row)`: \(number(own.median)) \(own.unit) against \(names)."
    }
    return lost.isEmpty
      ? "Quire loses no row of this run.\n" : "Rows that we lose:\n\n\(lost.joined(separator: "\n"))\n"
  }
}
