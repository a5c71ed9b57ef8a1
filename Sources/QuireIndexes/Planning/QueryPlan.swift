// How a query is answered, in words.

/// How a query is answered: what was chosen, and what each step counted.
public struct QueryPlan: Sendable, CustomStringConvertible {
  /// What the rows come from.
  public enum Source: Hashable, Sendable {
    /// No row can satisfy the condition.
    case nothing
    /// All rows of the collection, decoded one by one.
    case scan(rowCount: Int)
    /// Entries of an index.
    case index(String, entryCount: Int)
    /// Rows by their keys.
    case keys(count: Int)
    /// Rows that a selection gave.
    case selection(String, rowCount: Int)
    /// The rows of several sources together.
    case union([Source])
    /// The rows that all of several sources have.
    case intersection([Source])
  }

  /// What the order comes from.
  public enum Order: Hashable, Sendable {
    /// The numbers of rows.
    case rowIDs
    /// An index, walked in its order, or backwards.
    case index(String, isReversed: Bool)
    /// The keys of rows, walked in their order, or backwards.
    case keys(isReversed: Bool)
    /// The rows that were found are sorted.
    case sort
  }

  /// What the rows come from.
  public internal(set) var source: Source
  /// How many parts of the condition are tested on the rows that the source has.
  public internal(set) var testCount = 0
  /// Whether the tests need the rows themselves, and not only what is kept of them beside the indexes.
  public internal(set) var testsRows = false
  /// The selections that are looked up for the rows that the source has, and whose own rows are not all found.
  public internal(set) var testedSelections: [String] = []
  /// What the order comes from.
  public internal(set) var order = Order.rowIDs

  /// About how many entries and rows are read before rows are sorted; no more than these.
  public var readCount: Int { source.readCount }

  /// Whether all rows are read to find those that satisfy the condition.
  public var readsAllRows: Bool { source.scans }

  public var description: String {
    var text = source.description
    if testCount > 0 {
      text += ", each tested for \(testCount == 1 ? "one more part" : "\(testCount) more parts") of the condition on "
      text += testsRows ? "the decoded row" : "its record"
    }
    if !testedSelections.isEmpty { text += ", each looked up in " + testedSelections.joined(separator: " and ") }
    switch order {
    case .rowIDs: break
    case .index(let name, let isReversed): text += ", in the order of “\(name)”" + (isReversed ? " backwards" : "")
    case .keys(let isReversed): text += isReversed ? ", backwards in the order of keys" : ", in the order of keys"
    case .sort: text += ", then sorted"
    }
    return text
  }
}

extension QueryPlan.Source: CustomStringConvertible {
  public var description: String {
    switch self {
    case .nothing: "nothing"
    case .scan(let count): "all \(count) rows"
    case .index(let name, let count): "\(count) entries of “\(name)”"
    case .keys(let count): count == 1 ? "1 key" : "\(count) keys"
    case .selection(let name, let count): (count == 1 ? "1 row" : "\(count) rows") + " of \(name)"
    case .union(let sources): "(" + sources.map(\.description).joined(separator: " and ") + ")"
    case .intersection(let sources): sources.map(\.description).joined(separator: " that are also in ")
    }
  }

  /// No more entries and rows than these are read.
  var readCount: Int {
    switch self {
    case .nothing: 0
    case .scan(let count), .index(_, let count), .keys(let count), .selection(_, let count): count
    case .union(let sources), .intersection(let sources): sources.reduce(0) { $0 + $1.readCount }
    }
  }

  /// Whether all rows are read somewhere.
  var scans: Bool {
    switch self {
    case .nothing, .index, .keys, .selection: false
    case .scan: true
    case .union(let sources), .intersection(let sources): sources.contains(where: \.scans)
    }
  }
}
