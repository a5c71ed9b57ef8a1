// Selections that tests search for.

import QuireDatabase
import Synchronization

@testable import QuireViews

/// Rows of the numbers that a closure tells, by rows alone.
struct Picked: RowSelection {
  var name = "picked"
  var storedForm: String?
  var dependsOnOtherRows = false
  /// Called with the number of rows that each call is about.
  var onAsk: @Sendable (Int) throws -> Void = { _ in }
  /// Called for each row that a whole search finds.
  var onFind: @Sendable (RowID) throws -> Void = { _ in }
  let isFound: @Sendable (Int) throws -> Bool

  func rows(in tx: ReadTransaction) throws -> any SelectedRows { PickedRows(self, tx) }

  /// Those that are divisible, of which the text tells by what.
  static func multiples(of number: Int) -> Self {
    Self(name: "multiples of \(number)", storedForm: "\(number)") { $0 % number == 0 }
  }

  /// The selection of such a text.
  static let restored: @Sendable (String) -> (any RowSelection)? = { text in
    Int(text).flatMap { $0 == 0 ? nil : multiples(of: $0) }
  }
}

private final class PickedRows: SelectedRows {
  let selection: Picked
  let tx: ReadTransaction

  init(_ selection: Picked, _ tx: ReadTransaction) { (self.selection, self.tx) = (selection, tx) }

  var description: String { selection.name }
  func cost(upTo limit: Int) -> Int? { 0 }

  func rowIDs() throws -> [RowID] {
    try tx[.numbers].rows.filter { try selection.isFound($0.object) }.map(\.rowID)
  }

  func forEachRowID(_ body: (RowID) throws -> Void) throws {
    try selection.onAsk(tx[.numbers].count)
    for rowID in try rowIDs() {
      try selection.onFind(rowID)
      try body(rowID)
    }
  }

  func filter(_ rowIDs: [RowID]) throws -> [RowID] {
    try selection.onAsk(rowIDs.count)
    return try tx[.numbers].rows(withIDs: rowIDs).filter { try selection.isFound($0.object) }.map(\.rowID)
  }
}

/// The rows with the smallest numbers: each row counts for all others.
struct Smallest: RankedSelection {
  let count: Int
  var name: String { "the \(count) smallest" }
  var dependsOnOtherRows: Bool { true }

  func rows(in tx: ReadTransaction) throws -> any SelectedRows {
    FoundNumbers(try rankedRowIDs(limit: count, in: tx).map(\.rowID))
  }

  func rankedRowIDs(limit: Int, in tx: ReadTransaction) throws -> [(rowID: RowID, score: Double)] {
    let rows = tx[.numbers].rows.map { (number: $0.object, rowID: $0.rowID) }
    return rows.sorted { ($0.number, $0.rowID) < ($1.number, $1.rowID) }.prefix(min(limit, count)).map {
      ($0.rowID, Double(-$0.number))
    }
  }
}

private final class FoundNumbers: SelectedRows {
  let found: [RowID]
  init(_ found: [RowID]) { self.found = found }
  var description: String { "found" }
  func cost(upTo limit: Int) -> Int? { 0 }
  func rowIDs() -> [RowID] { found }
}

/// Counts what happens on any thread.
final class Tally: Sendable {
  private let counts = Mutex<[Int]>([])
  func note(_ count: Int) { counts.withLock { $0.append(count) } }
  /// What was noted since the last call.
  func take() -> [Int] {
    counts.withLock { counts in
      defer { counts = [] }
      return counts
    }
  }
}
