// What can be wrong with indexes and queries.

/// An error of an index or a query. One that a declaration or a changed row leads to is the cause of a
/// `DatabaseError` with the code `extensionFailed`.
public enum IndexError: Error, Equatable, CustomStringConvertible {
  /// Two rows have the same values in a unique index; the keys are those of some that do.
  case notUnique(index: String, keys: [String])
  /// An index has no columns, or too many.
  case columnCount(index: String, count: Int)
  /// An index has more than one column with an entry for each element.
  case severalLists(index: String)
  /// Two indexes of a list have the same name.
  case nameUsedTwice(index: String)
  /// The collection has indexes already.
  case severalForCollection(collection: String, other: String)
  /// A query that must be served by an index would read all rows.
  case needsScan(collection: String, plan: String)
  /// A predicate says something that no plan serves; the text says what.
  case unplannable(String)
  /// The sum of a field is more, or less, than its type can hold.
  case sumTooLarge(collection: String, type: String)
  /// The condition of an index asks for more than the fields of rows.
  case asksBeyondFields(index: String)
  /// A selection gave a row of another collection than the one that is asked.
  case foreignRow(selection: String, row: String, collection: String)
  /// What is stored of an index breaks the format, or differs from the rows.
  case damaged(index: String, detail: String)

  public var description: String {
    switch self {
    case .notUnique(let index, let keys):
      "The index “\(index)” is unique, and the rows \(keys.map { "“\($0)”" }.joined(separator: ", ")) have the same "
        + "values. Change or remove one of them in the same transaction."
    case .columnCount(let index, let count):
      "The index “\(index)” has \(count) columns. Give it 1 to \(IndexKey.columnLimit)."
    case .severalLists(let index):
      "The index “\(index)” has an entry for each element of more than one list. Make an index for each list."
    case .nameUsedTwice(let index):
      "Two indexes are called “\(index)”. Give each a name of its own."
    case .severalForCollection(let collection, let other):
      "The collection “\(collection)” has its indexes in “\(other)”. List all of them there."
    case .needsScan(let collection, let plan):
      "The query would read all rows of “\(collection)”: \(plan). Declare an index for one of its conditions, or for "
        + "its order, or leave `requireIndex` out."
    case .unplannable(let what):
      "A predicate cannot be planned: \(what). Compare fields with values, by the operators or by `contains` and "
        + "`starts(with:)`; or write the condition with find { $0.field == value }, and what is left as "
        + "$0.field.satisfies { … }."
    case .sumTooLarge(let collection, let type):
      "The sum of a field of “\(collection)” does not fit into its type, \(type). Add up what `values(_:)` gives in a "
        + "type that holds more."
    case .asksBeyondFields(let index):
      "The condition of the index “\(index)” asks for keys, or for rows that something beside their fields tells. "
        + "Leave that to queries, and compare fields in the index’s condition."
    case .foreignRow(let selection, let row, let collection):
      "“\(selection)” gave the row \(row), where “\(collection)” is asked. Give it the numbers of rows of "
        + "“\(collection)” alone."
    case .damaged(let index, let detail):
      "The index “\(index)” is damaged: \(detail). Unregister the indexes and register them again, which builds them "
        + "from the rows."
    }
  }
}
