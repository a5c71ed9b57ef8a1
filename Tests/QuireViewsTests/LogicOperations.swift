// Operations in the notation of the tables.

import QuireDatabase

@testable import QuireViews

/// Turns the notation into steps, following what is in each group so that a removal names its row.
struct LogicOperations {
  private(set) var steps: [ViewOperation] = []
  /// The keys in each group whose count is known.
  private(set) var keys: [String: [String]]
  private let firstGroup: String
  private var fresh = 0

  init(_ text: String, counts: [(group: String, count: Int)], firstGroup: String) throws {
    let rows = counts.map { group, count in (group, (0..<count).map { "\(group)#\($0)" }) }
    keys = Dictionary(uniqueKeysWithValues: rows)
    self.firstGroup = firstGroup
    var words = LogicTable.words(text)[...]
    while let word = words.popFirst() {
      let isEach = words.first == "each"
      if isEach { words.removeFirst() }
      try read(word, isEach: isEach)
    }
  }

  private mutating func read(_ word: String, isEach: Bool) throws {
    if let section = word.between("\"", "\"") {
      switch word.first {
      case "+": steps.append(.insertGroup(section))
      case "-": steps.append(.removeGroup(section))
      default:
        steps.append(.resetGroup(section, count: keys[section]?.count ?? 0))
        keys[section] = []
      }
      return
    }
    let halves = word.dropFirst().split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, let kind = word.first else { throw LogicError(what: word) }
    let place = halves[1].split(separator: ":")
    let group = place.count == 2 ? String(place[0]) : firstGroup
    guard let last = place.last else { throw LogicError(what: word) }
    for index in try indexes(String(last), times: halves[0].after("×").flatMap { Int($0) }, isEach: isEach) {
      step(kind, key: halves[0].hasPrefix("×") || halves[0].isEmpty ? nil : String(halves[0]), group, index)
    }
  }

  private func indexes(_ text: String, times: Int?, isEach: Bool) throws -> [Int] {
    let bounds = text.split(separator: ".").compactMap { Int($0) }
    guard let first = bounds.first, let last = bounds.last else { throw LogicError(what: text) }
    let all = Array(stride(from: first, through: last, by: first <= last ? 1 : -1))
    let repeated = isEach ? [Int](repeating: first, count: times ?? 1) : all
    guard times ?? 1 == repeated.count else { throw LogicError(what: text) }
    return repeated
  }

  private mutating func step(_ kind: Character, key: String?, _ group: String, _ index: Int) {
    let known = keys[group]
    fresh += 1
    let present = known.flatMap { $0.indices.contains(index) ? $0[index] : nil }
    let row = RowKey("c", key ?? (kind == "+" ? nil : present) ?? "new\(fresh)")
    switch kind {
    case "+":
      // One case of the original inserts a row beyond the end of its group.
      let index = known.map { min(index, $0.count) } ?? index
      keys[group]?.insert(row.key, at: index)
      steps.append(.insert(row, group: group, index: index))
    case "-":
      if present != nil { keys[group]?.remove(at: index) }
      steps.append(.remove(row, group: group, index: index))
    default:
      steps.append(.update(row, group: group, index: index, .object))
    }
  }
}

/// A table says what nobody understands.
struct LogicError: Error {
  let what: String
}
