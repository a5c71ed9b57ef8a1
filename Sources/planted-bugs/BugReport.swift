// What came of looking for bugs, as a table.

internal import Foundation

/// The bugs that were looked for, and what noticed them.
struct BugReport {
  private var rows: [(bug: PlantedBug, outcome: Battery.Outcome)] = []

  mutating func add(_ bug: PlantedBug, _ outcome: Battery.Outcome) { rows.append((bug, outcome)) }

  private var noticed: Int {
    rows.count { if case .noticed = $0.outcome { true } else { false } }
  }

  /// The share that was noticed, from 0 to 1; 1 if there is nothing to notice.
  var noticedShare: Double { rows.isEmpty ? 1 : Double(noticed) / Double(rows.count) }

  private static func words(_ outcome: Battery.Outcome) -> (by: String, seconds: String) {
    switch outcome {
    case .noticed(let name, let seconds, let hung):
      ("\(name)\(hung ? ", which did not end" : "")", String(format: "%.1f", seconds))
    case .survived(let seconds): ("nothing", String(format: "%.1f", seconds))
    }
  }

  /// What came of the last one.
  var lastLine: String {
    guard let last = rows.last else { return "" }
    let (by, seconds) = Self.words(last.outcome)
    return "\(last.bug.area)/\(last.bug.name): \(by), \(seconds) s"
  }

  var summary: String {
    let survivors = rows.filter { if case .survived = $0.outcome { true } else { false } }.map(\.bug.name)
    let share = String(format: "%.1f", noticedShare * 100)
    let rest = survivors.isEmpty ? "" : "; not: \(survivors.joined(separator: ", "))"
    return "\(noticed) of \(rows.count) bugs noticed, \(share) %\(rest)"
  }

  /// All of them, in Markdown.
  var table: String {
    var text = "| area | bug | what it does | noticed by | s |\n|---|---|---|---|--:|\n"
    for (bug, outcome) in rows {
      let (by, seconds) = Self.words(outcome)
      let harm = bug.harm.replacingOccurrences(of: "|", with: "\\|")
      text += "| \(bug.area) | `\(bug.name)` | \(harm) | \(by) | \(seconds) |\n"
    }
    return text
  }
}
