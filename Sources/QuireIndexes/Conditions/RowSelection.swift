// Rows that something beside their own fields tells, as parts of conditions.

public import QuireDatabase

extension Condition {
  /// The rows of a selection.
  public static func rows(_ selection: some RowSelection) -> Self {
    Self(.selection(SelectionTest(selection), isNegated: false))
  }

  /// The rows whose numbers a closure gives, in any order. It is called once for a run of a query, if at all.
  ///
  /// ```swift
  /// let recent = Condition<Song, NoMetadata>.rows("recent") { tx in
  ///   try recentKeys.compactMap { try tx[.songs].rowID($0) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: what plans and errors call them.
  ///   - find: gives them, each once, in any order.
  public static func rows(
    _ name: String, _ find: @escaping @Sendable (ReadTransaction) throws -> [RowID]
  ) -> Self {
    rows(FoundSelection(name: name, find: find))
  }
}

/// A selection in a condition, told from all others by its identity.
final class SelectionTest: Sendable {
  let selection: any RowSelection

  init(_ selection: any RowSelection) { self.selection = selection }
}

/// Rows that a closure finds.
private struct FoundSelection: RowSelection {
  let name: String
  let find: @Sendable (ReadTransaction) throws -> [RowID]
  /// Nothing tells what the closure reads.
  var dependsOnOtherRows: Bool { true }

  func rows(in tx: ReadTransaction) throws -> any SelectedRows { FoundList(name, tx, find) }
}

private final class FoundList: SelectedRows {
  private let name: String
  private let tx: ReadTransaction
  private let find: (ReadTransaction) throws -> [RowID]

  init(_ name: String, _ tx: ReadTransaction, _ find: @escaping (ReadTransaction) throws -> [RowID]) {
    (self.name, self.tx, self.find) = (name, tx, find)
  }

  var description: String { "“\(name)”" }
  // There is no other way than to find them.
  func cost(upTo limit: Int) -> Int? { 0 }
  func rowIDs() throws -> [RowID] { try find(tx) }
}

/// Numbers of rows that are known.
///
/// Invariant: in order, each once.
struct RowIDList: Sendable {
  let rowIDs: [RowID]

  init(_ rowIDs: [RowID]) { self.rowIDs = rowIDs.distinctInOrder() }

  /// O(log n).
  func contains(_ rowID: RowID) -> Bool {
    var (low, high) = (0, rowIDs.count)
    while low < high {
      let middle = (low + high) / 2
      if rowIDs[middle] < rowID { low = middle + 1 } else { high = middle }
    }
    return low < rowIDs.count && rowIDs[low] == rowID
  }
}
