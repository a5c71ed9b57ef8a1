// Conditions on keys and selections at random, each with what plain Swift makes of it.

import QuireDatabase
@testable import QuireIndexes
import QuireTesting

/// The rows whose keys satisfy a closure, as a selection that says what finding them costs.
struct KeySelection: RowSelection {
  let name: String
  /// What it says that finding all rows costs: beyond that it is asked about rows.
  let cost: Int
  /// Whether it gives rows of another collection, too.
  var spansCollections = false
  let isSelected: @Sendable (String) -> Bool

  func rows(in tx: ReadTransaction) throws -> any SelectedRows { Selected(selection: self, tx: tx) }

  final class Selected: SelectedRows {
    private let selection: KeySelection
    private let tx: ReadTransaction
    private var isAllowed = false

    init(selection: KeySelection, tx: ReadTransaction) { (self.selection, self.tx) = (selection, tx) }

    struct TooDear: Error {}

    var description: String { "“\(selection.name)”" }

    func cost(upTo limit: Int) -> Int? {
      if selection.cost <= limit { isAllowed = true }
      return selection.cost <= limit ? selection.cost : nil
    }

    func rowIDs() throws -> [RowID] {
      guard isAllowed else { throw TooDear() }
      var found: [RowID] = []
      for key in tx[.tracks].keys where selection.isSelected(key) {
        if let rowID = try tx[.tracks].rowID(key) { found += [rowID, rowID] }
      }
      // One that no row has, and, if they may be among them, rows of other collections.
      return found.reversed() + [RowID(.max)] + (selection.spansCollections ? try tx[.otherTracks].rowIDs : [])
    }

    func filter(_ rowIDs: [RowID]) throws -> [RowID] {
      try tx[.tracks].places(of: rowIDs).filter { selection.isSelected($0.key) }.map(\.rowID).reversed()
    }
  }
}

extension RowCollection where Object == Track, Metadata == Plays {
  static var otherTracks: Self { .init("otherTracks") }
}

extension SeededRandom {
  /// A key of the model's rows: most are alike, some at the ends of ranges of bytes.
  mutating func key() -> String {
    if below(6) > 0 { return "k\(below(150))" }
    return pick([
      "", "\0", "k", "k\0", "k1\0", "k1\0\0", "k1\u{1}", "k1\u{7f}", "k1\u{7f}b", "k1\u{80}", "é", "\u{d7ff}",
      "\u{d7ff}z", "\u{e000}", "\u{10ffff}", "\u{10ffff}\u{10ffff}",
    ])
  }

  /// A condition on the keys of rows, or on the rows of a selection.
  mutating func keyComparison() -> RandomCondition {
    let (key, term) = (key(), Fields<Track, Plays>().key)
    func compared(
      _ name: String, _ condition: TrackCondition, _ isTrue: @escaping (String) -> Bool
    ) -> RandomCondition {
      RandomCondition(text: "key \(name) \(key.debugDescription)", condition: condition) { isTrue($0.key) }
    }
    func isBelow(_ one: String, _ other: String) -> Bool { one.utf8.lexicographicallyPrecedes(other.utf8) }
    switch below(10) {
    case 0: return compared("=", term == key) { $0.utf8.elementsEqual(key.utf8) }
    case 1: return compared("!=", term != key) { !$0.utf8.elementsEqual(key.utf8) }
    case 2: return compared("<", term < key) { isBelow($0, key) }
    case 3: return compared("<=", term <= key) { !isBelow(key, $0) }
    case 4: return compared(">", term > key) { isBelow(key, $0) }
    case 5: return compared(">=", term >= key) { !isBelow($0, key) }
    case 6: return compared("^", term.hasPrefix(key)) { $0.utf8.starts(with: key.utf8) }
    case 7:
      let keys = (0..<(below(8) == 0 ? 100 : below(6))).map { _ in self.key() }
      return compared("in \(keys)", term.isIn(keys)) { own in keys.contains { $0.utf8.elementsEqual(own.utf8) } }
    default:
      let (rest, cost, spans) = (below(3), pick([0, 10, 1000, 1 << 40]), below(2) == 0)
      let isSelected: @Sendable (String) -> Bool = { $0.utf8.reduce(0) { $0 + Int($1) } % 3 == rest }
      let selection = KeySelection(name: "sum \(rest)", cost: cost, spansCollections: spans, isSelected: isSelected)
      return compared("sum \(rest) for \(cost)", .rows(selection), isSelected)
    }
  }
}
