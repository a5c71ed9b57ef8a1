// The scores of all rows that an expression of any form finds.

internal import QuireDatabase

/// What of an expression counts for the score of a row.
indirect enum ScoreTree {
  /// The phrases of a group, which has the rows of each of these lists.
  case lists([RankedList])
  case all([ScoreTree])
  /// Each with its rows, which are asked in order; nil where lists tell them.
  case any([(rows: (any RowSet)?, tree: ScoreTree)])
  /// Nothing counts.
  case none
}

/// Scores rows that an expression finds, in ascending order.
///
/// A phrase counts in a row if all parts of the expression that it is in find the row: of `a OR (b AND c)`, b counts
/// where c is, too.
final class TreeScorer {
  /// Where in a list, which no other place is in, the last row was found.
  @safe private struct Place {
    var entry = 0
    var blockEntry = -1
    var rows = unsafe UnsafeBufferPointer<RowID>(start: nil, count: 0)
    /// Nil before they are asked for.
    var frequencies: UnsafePointer<Double>?
    var index = 0

    /// The weighted frequency of a row; nil if the list does not have it.
    mutating func frequency(of row: RowID, in list: RankedList) throws -> Double? {
      if blockEntry < 0 || list.entries[blockEntry].lastRow < row {
        entry = list.firstEntry(endingAtOrAbove: row, from: entry)
        guard entry < list.entries.count, list.entries[entry].firstRow <= row else { return nil }
        (blockEntry, index) = (entry, 0)
        unsafe (rows, frequencies) = try unsafe (list.rows(at: entry), nil)
      }
      index = unsafe rows.firstIndex(atOrAbove: row, from: index)
      guard unsafe index < rows.count && rows[index] == row else { return nil }
      let known = try unsafe frequencies ?? list.frequencies(at: blockEntry)
      unsafe frequencies = unsafe known
      return unsafe known[index]
    }
  }

  private let tree: ScoreTree
  private let rule: RankingRule
  private var lengths: LengthReader
  private var places: [ObjectIdentifier: Place] = [:]
  private var rows: [RowID] = []
  private var norms: [Double] = []
  private var scores: [Double] = []

  init(_ tree: ScoreTree, _ rule: RankingRule, _ lengths: LengthReader) {
    (self.tree, self.rule, self.lengths) = (tree, rule, lengths)
  }

  /// The scores of some rows, which are above those of the calls before.
  func scores(of rows: [RowID]) throws -> [Double] {
    self.rows = rows
    norms = try rows.map { rule.norm(length: try lengths.length(of: $0)) }
    scores = Array(repeating: 0, count: rows.count)
    try add(tree, Array(rows.indices))
    return scores
  }

  /// Adds what a part of the tree counts in some of the rows.
  private func add(_ tree: ScoreTree, _ indices: [Int]) throws {
    switch tree {
    case .none: break
    case .lists(let lists): for list in lists { try add(list, indices) }
    case .all(let parts): for part in parts { try add(part, indices) }
    case .any(let parts):
      for (set, part) in parts {
        guard let set else {
          try add(part, indices)
          continue
        }
        var found = indices.map { rows[$0] }
        try set.keep(&found)
        try add(part, indices.filter { found.containsInOrder(rows[$0]) })
      }
    }
  }

  private func add(_ list: RankedList, _ indices: [Int]) throws {
    var place = places[ObjectIdentifier(list)] ?? Place()
    for index in indices {
      guard let frequency = try place.frequency(of: rows[index], in: list) else { continue }
      scores[index] += rule.score(list.rarity, frequency, norm: norms[index])
    }
    places[ObjectIdentifier(list)] = place
  }
}
