// The instruction counts that a change may not exceed.

internal import Foundation

/// The file of thresholds.
struct Thresholds: Codable {
  /// Rows in the store that was counted: counts of other sizes do not compare.
  var rows: Int
  /// By section: what it cost when the file was written, and by how much it may cost more.
  var sections: [String: Entry]

  /// One section.
  struct Entry: Codable {
    var cost: SectionCost
    /// A share: 0.03 allows three per cent.
    var tolerance: Double
  }

  /// What a section may cost more unless the file says otherwise: room for another processor's way to copy bytes, and
  /// for what threads of the store happen to do while one writes.
  static func tolerance(_ section: MeasuredSection) -> Double { section.reads ? 0.03 : 0.06 }
  /// Calls per operation that come from the section's beginning and end, or once for many operations.
  private static let fewCalls = 0.05

  init(contentsOf path: String) throws {
    self = try JSONDecoder().decode(Thresholds.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// Thresholds from fresh counts; tolerances are kept from `old`.
  init(rows: Int, _ costs: [(section: MeasuredSection, cost: SectionCost)], keeping old: Thresholds?) {
    self.rows = rows
    sections = old?.sections ?? [:]
    for (section, cost) in costs {
      sections[section.rawValue] = Entry(
        cost: section.reads ? cost.rounded : SectionCost(instructions: cost.rounded.instructions, calls: [:]),
        tolerance: old?.sections[section.rawValue]?.tolerance ?? Self.tolerance(section))
    }
  }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try (encoder.encode(self) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
  }

  /// What is wrong with the costs of a section, and what is better than it must be.
  func judge(_ section: MeasuredSection, _ cost: SectionCost) -> (failures: [String], gains: [String]) {
    guard let entry = sections[section.rawValue] else {
      return (["\(section.rawValue): the file of thresholds does not have it"], [])
    }
    var (failures, gains): ([String], [String]) = ([], [])
    let before = entry.cost.instructions
    let change = cost.instructions / before - 1
    let text =
      "\(section.rawValue): \(number(cost.instructions)) instructions, \(number(before)) in the file "
      + "(\(String(format: "%+.1f", change * 100)) %)"
    if change > entry.tolerance { failures.append(text) }
    if change < -entry.tolerance { gains.append(text) }
    for (name, count) in cost.calls.sorted(by: { $0.key < $1.key }) where section.reads {
      let allowed = (entry.cost.calls[name] ?? 0) * (1 + entry.tolerance) + Self.fewCalls
      if count > allowed {
        failures.append(
          "\(section.rawValue): \(number(count)) calls of \(name), \(number(entry.cost.calls[name] ?? 0)) in the file")
      }
    }
    return (failures, gains)
  }
}

extension SectionCost {
  /// Rounded for a file that people read; calls that happen once in a while only are left out.
  fileprivate var rounded: SectionCost {
    SectionCost(
      instructions: (instructions * 10).rounded() / 10,
      calls: calls.mapValues { ($0 * 100).rounded() / 100 }.filter { $0.value > 0 })
  }
}
