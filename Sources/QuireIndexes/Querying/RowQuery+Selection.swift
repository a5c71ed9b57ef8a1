// A query as what a search view, or a part of another condition, shows.

public import QuireDatabase

extension RowQuery: RowSelection {
  public var name: String { "query of “\(collection.name)”" }
  /// Whether it has a limit or an offset, or a part that depends on other rows.
  public var dependsOnOtherRows: Bool {
    if terms.limit != nil || terms.offset > 0 { return true }
    return terms.condition.hasPart { part in
      guard case .selection(let test, _) = part else { return false }
      return test.selection.dependsOnOtherRows
    }
  }

  public func rows(in tx: ReadTransaction) throws -> any SelectedRows { QueriedRows(tx.find(self)) }
}

/// The rows of a query in one transaction.
private final class QueriedRows<Object: Sendable, Metadata: Sendable>: SelectedRows {
  private let found: FoundRows<Object, Metadata>

  init(_ found: FoundRows<Object, Metadata>) { self.found = found }

  var description: String { "a query of “\(found.collection.name)”" }
  func cost(upTo limit: Int) throws -> Int? { try found.readCount(upTo: limit) }
  func rowIDs() throws -> [RowID] { try found.rowIDs }
  func filter(_ rowIDs: [RowID]) throws -> [RowID] { try found.rowIDs(among: rowIDs) }
}
