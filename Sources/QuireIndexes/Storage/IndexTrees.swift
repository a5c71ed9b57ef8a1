// The trees of an extension of indexes in one transaction.

internal import QuireDatabase

/// The trees: the records of rows, by number; and for each index its entries, whose values are empty.
struct IndexTrees {
  let store: ExtensionStore
  let records: ExtensionTree<RowID>
  private let entries: Entries
  /// What the indexes are called, for errors.
  private let names: [String]

  /// The trees of entries, opened when they are asked for: most queries need one.
  private final class Entries {
    /// For each index the number of its tree; nil if nothing is stored of it.
    let numbers: [Int?]
    /// Those that were asked for, with their indexes' places in the list.
    var opened: [(index: Int, tree: ExtensionTree<[UInt8]>)] = []

    init(_ numbers: [Int?]) { self.numbers = numbers }
  }

  /// What the extension calls its kind.
  static let kind = "quire.indexes"
  /// The version of the form in which it stores what it has.
  static let formatVersion: UInt32 = 2
  /// The name of the tree of records.
  static let recordsName = "columns"
  /// The name of the value that has the catalog.
  static let catalogName = "indexes"

  init(_ store: ExtensionStore, _ names: [String], _ trees: [Int?]) throws {
    assert(names.count == trees.count, "an index has a tree and no name")
    self.names = names
    self.store = store
    records = try store.tree(Self.recordsName, of: RowID.self)
    entries = Entries(trees)
  }

  /// Opens the trees of all indexes: before a savepoint that would take away those that it makes.
  func openAll() throws {
    for index in entries.numbers.indices where entries.numbers[index] != nil { _ = try tree(index) }
  }

  /// The name of a tree of entries.
  static func entriesName(_ tree: Int) -> String { "i" + String(tree) }
  /// The name of the tree of what changes while a tree of entries is built: a key, and whether it has an entry now.
  static func deltaName(_ tree: Int) -> String { "d" + String(tree) }

  /// What the bytes of a catalog say of the indexes of a name.
  static func catalog(_ bytes: [UInt8], of name: String) throws -> IndexCatalog {
    if bytes.isEmpty { return IndexCatalog() }
    guard let catalog = IndexCatalog(bytes) else {
      throw IndexError.damaged(index: name, detail: "what is stored about the indexes breaks the format")
    }
    return catalog
  }

  /// The bytes of the catalog; none before the first time.
  static func catalogBytes(_ store: ExtensionStore) throws -> [UInt8] { try store.value(catalogName) ?? [] }

  /// The entries of an index.
  func tree(_ index: Int) throws -> ExtensionTree<[UInt8]> {
    for known in entries.opened where known.index == index { return known.tree }
    guard let number = entries.numbers[index] else {
      throw IndexError.damaged(index: names[index], detail: "nothing is stored of it")
    }
    let tree = try store.tree(Self.entriesName(number), of: [UInt8].self)
    entries.opened.append((index, tree))
    return tree
  }

  /// The number of entries of an index in a span. O(log n).
  func count(_ span: KeySpan, in index: Int) throws -> Int {
    try tree(index).count(from: span.lower.isEmpty ? nil : span.lower, upTo: span.upper)
  }

  /// Notes that the result of an observed read depends on the number of entries in a span.
  func noteCounted(_ span: KeySpan, in index: Int) throws {
    try tree(index).reading(from: span.lower, upTo: span.upper) {}
  }

  /// The error for an entry whose key has no row's number.
  func shortKey(in index: Int) -> IndexError { .damaged(index: names[index], detail: "an entry has too short a key") }

  /// The error for an entry that is not one of its row's record.
  func otherKey(_ rowID: RowID, in index: Int) -> IndexError {
    .damaged(index: names[index], detail: "an entry of \(rowID) is not that of its record")
  }

  /// The rows of the entries in a span, in the order of the keys, until `body` returns false.
  ///
  /// - Parameter limit: about how many are wanted.
  func rowIDs(_ span: KeySpan, in index: Int, limit: Int = .max, _ body: (RowID) throws -> Bool) throws {
    try tree(index).forEach(from: span.lower, upTo: span.upper, limit: limit) { key, _ in
      guard let rowID = IndexKey.rowID(key) else { throw shortKey(in: index) }
      return try body(rowID)
    }
  }

  // MARK: Many spans

  /// The number of entries of an index in spans. O(log n) for each of the spans that have entries, of which many may
  /// have none.
  func count(_ spans: KeySpans, in index: Int) throws -> Int {
    switch spans {
    case .few(let spans): try spans.reduce(0) { try $0 + count($1, in: index) }
    case .many(let spans, _): try tree(index).count(in: spans)
    }
  }

  /// Notes that the result of an observed read depends on the number of entries in spans.
  func noteCounted(_ spans: KeySpans, in index: Int) throws {
    switch spans {
    case .few(let spans): for span in spans { try noteCounted(span, in: index) }
    case .many(let spans, _): try tree(index).reading(from: spans.lower(0), upTo: spans.upper(spans.count - 1)) {}
    }
  }

  /// The rows of the entries in spans, in the order of the keys, until `body` returns false.
  ///
  /// - Parameter limit: about how many are wanted.
  func rowIDs(_ spans: KeySpans, in index: Int, limit: Int = .max, _ body: (RowID) throws -> Bool) throws {
    switch spans {
    case .few(let spans):
      var goesOn = true
      for span in spans where goesOn {
        try rowIDs(span, in: index, limit: limit) { rowID in
          goesOn = try body(rowID)
          return goesOn
        }
      }
    case .many(let spans, _):
      try tree(index).forEachKey(in: spans) { key in
        guard let rowID = IndexKey.rowID(key) else { throw shortKey(in: index) }
        return try body(rowID)
      }
    }
  }
}
