// What a view shows.

public import QuireDatabase

/// A view in one transaction: groups, and in each an ordered list of rows.
///
/// For the thread and the life of its transaction; in a write transaction it shows the transaction's own changes. What
/// cannot throw notes its error, which the transaction's next call throws.
public struct ViewReader<Object: Sendable, Metadata: Sendable> {
  let store: ExtensionStore
  let trees: ViewTrees
  let family: CollectionFamily<Object, Metadata>
  fileprivate let described: FamilyRows<Object, Metadata>

  init(_ store: ExtensionStore, _ family: CollectionFamily<Object, Metadata>) throws {
    self.store = store
    self.family = family
    described = FamilyRows(family, store)
    trees = try ViewTrees(store)
  }

  /// Where a row stands.
  public struct Position: Hashable, Sendable {
    /// The group's name.
    public let group: String
    /// The number of rows of the group in front of it.
    public let index: Int
  }

  // MARK: Groups and counts

  /// The names of the groups, in the order of their bytes. A group exists as long as it has a row. O(groups).
  public var groups: [String] { store.noting([]) { try trees.allGroups().map(\.name) } }

  /// The number of groups. O(1).
  public var groupCount: Int { store.noting(0) { try trees.groups.count } }

  /// Whether there is a group of this name. O(log n).
  public func hasGroup(_ name: String) -> Bool { store.noting(false) { try trees.group(name) != nil } }

  /// The number of rows of a group; 0 if there is none. O(log n).
  public func count(in group: String) -> Int {
    store.noting(0) { try trees.group(group).map { try trees.count($0) } ?? 0 }
  }

  /// The number of rows of all groups; one that is in several counts in each. O(1).
  public var count: Int { store.noting(0) { try trees.entries.count } }

  /// Whether the view has no row.
  public var isEmpty: Bool { count == 0 }

  // MARK: Rows by position

  /// The id of the row at an index of a group; nil if there are not so many. O(log n).
  public func rowID(at index: Int, in group: String) throws -> RowID? {
    guard let id = try trees.group(group) else { return nil }
    return try trees.entry(at: index, in: id)?.rowID
  }

  /// Collection and key of the row at an index of a group; nil if there are not so many. O(log n).
  public func rowKey(at index: Int, in group: String) throws -> RowKey? {
    try rowID(at: index, in: group).map { try rowKey(of: $0) }
  }

  /// The key of the row at an index of a group; nil if there are not so many. O(log n).
  public func key(at index: Int, in group: String) throws -> String? { try rowKey(at: index, in: group)?.key }

  /// The object of the row at an index of a group; nil if there are not so many. O(log n), without a walk down the row
  /// tree if the cache of objects has it.
  public func object(at index: Int, in group: String) throws -> Object? {
    guard let rowID = try rowID(at: index, in: group) else { return nil }
    for description in family.named {
      if let object = try store.cachedObject(of: rowID, in: description) { return object }
    }
    return try row(of: rowID).object
  }

  /// The metadata of the row at an index of a group; nil if there are not so many rows, or the row has none. O(log n).
  public func metadata(at index: Int, in group: String) throws -> Metadata? {
    guard let rowID = try rowID(at: index, in: group) else { return nil }
    return try row(of: rowID).metadata
  }

  /// The first row's object.
  public func firstObject(in group: String) throws -> Object? { try object(at: 0, in: group) }

  /// The last row's object.
  public func lastObject(in group: String) throws -> Object? { try object(at: count(in: group) - 1, in: group) }

  private func rowKey(of rowID: RowID) throws -> RowKey {
    guard let key = try store.readTransaction.key(of: rowID) else { throw trees.damaged() }
    return key
  }

  func row(of rowID: RowID) throws -> ViewRow<Object, Metadata> {
    guard let row = try rowIfDescribed(rowID) else { throw trees.damaged() }
    return row
  }

  /// A row that is there; nil if it is of none of the view's collections.
  func rowIfDescribed(_ rowID: RowID) throws -> ViewRow<Object, Metadata>? {
    guard let change = try store.row(rowID) else { throw trees.damaged() }
    return row(change)
  }

  /// A row as closures see it; nil if it is of none of the view's collections.
  func row(_ change: RowChange) -> ViewRow<Object, Metadata>? {
    guard let row = described.row(change) else { return nil }
    return ViewRow(row)
  }

  // MARK: Positions of rows

  /// Where the row under `key` of the view's first collection stands; nil if it is not in the view, or if the view's
  /// collections are not known by name. Of several groups
  /// the one whose name comes first. O(log n).
  public func position(of key: String) throws -> Position? {
    guard let collection = family.named.first else { return nil }
    return try position(of: RowKey(collection.name, key))
  }

  /// Where a row stands; nil if it is not in the view.
  public func position(of key: RowKey) throws -> Position? {
    try positions(of: key).min { $0.group.utf8.lexicographicallyPrecedes($1.group.utf8) }
  }

  /// Where a row stands, in each group that it is in.
  public func positions(of key: RowKey) throws -> [Position] {
    guard let rowID = try store.readTransaction.rowID(of: key) else { return [] }
    return try trees.entries(of: rowID).map { entry in
      guard let group = entry.group else { throw trees.damaged() }
      return Position(group: try trees.name(of: group), index: try trees.index(of: entry, in: group))
    }
  }

  // MARK: Ranges

  /// The rows of a group, or of a part of it, in its order. What of `range` lies behind the end is left out. Rows are
  /// fetched as the loop goes on; a change of the transaction ends the loop with `mutatedDuringIteration`.
  public func rows(in group: String, _ range: Range<Int>? = nil) -> ViewRows<Object, Metadata> {
    ViewRows(self, group, range, isReversed: false)
  }

  /// The indexes of the rows that lie within an interval of the view's own order.
  ///
  /// `compare` tells where a row is: negative if it comes before the interval, zero inside, positive behind. The rows
  /// of the group must be in an order in which these three come one after the other. Decodes about 2·log2(n) rows.
  ///
  /// - Returns: nil if no row is inside.
  public func range(
    in group: String, where compare: (ViewRow<Object, Metadata>) throws -> Int
  ) throws -> Range<Int>? {
    guard let id = try trees.group(group) else { return nil }
    let (start, count) = (try trees.entries.rank(of: id.prefix), try trees.count(id))
    // One cursor for all looks: it notices if `compare` changes what is searched.
    let cursor = try trees.entries.cursor()
    func firstIndex(_ isReached: (Int) -> Bool) throws -> Int {
      var (low, high) = (0, count)
      while low < high {
        let middle = (low + high) / 2
        guard try cursor.seek(toIndex: start + middle), let value = try cursor.value else { throw trees.damaged() }
        if isReached(try compare(row(of: trees.rowID(value)))) { high = middle } else { low = middle + 1 }
      }
      return low
    }
    return try trees.naming(group) {
      let first = try firstIndex { $0 >= 0 }
      let end = try firstIndex { $0 > 0 }
      return first < end ? first..<end : nil
    }
  }
}

/// The rows of a group, one after the other.
public struct ViewRows<Object: Sendable, Metadata: Sendable>: Sequence {
  private let reader: ViewReader<Object, Metadata>
  private let group: String
  private let range: Range<Int>?
  private let isReversed: Bool

  init(_ reader: ViewReader<Object, Metadata>, _ group: String, _ range: Range<Int>?, isReversed: Bool) {
    self.reader = reader
    self.group = group
    self.range = range
    self.isReversed = isReversed
  }

  /// The same rows from the last to the first.
  public func reversed() -> Self { Self(reader, group, range, isReversed: !isReversed) }

  /// The first row and its index in the group; nil if there is none, and after an error, which the transaction's next
  /// call throws. O(log n).
  public var first: (index: Int, row: ViewRow<Object, Metadata>)? { first { _ in true } }

  /// Begins at the first row.
  public func makeIterator() -> Iterator { Iterator(reader, group, range, isReversed) }

  /// Steps through the rows.
  public struct Iterator: IteratorProtocol {
    private let described: FamilyRows<Object, Metadata>
    private let walk: ViewWalk

    init(_ reader: ViewReader<Object, Metadata>, _ group: String, _ range: Range<Int>?, _ isReversed: Bool) {
      described = reader.described
      walk = ViewWalk(reader.store, reader.trees, group, range, isReversed: isReversed)
    }

    /// The next row and its index in the group; nil behind the last one, and after an error, which the transaction's
    /// next call throws.
    public mutating func next() -> (index: Int, row: ViewRow<Object, Metadata>)? {
      guard let (index, change) = walk.next() else { return nil }
      guard let row = described.row(change) else {
        walk.failDamaged()
        return nil
      }
      return (index, ViewRow(row))
    }
  }
}

extension TransactionReading {
  /// What a view shows of this snapshot; in a write transaction what it shows now, the transaction's own changes
  /// included. Errors as `ReadTransaction.access(to:)`.
  public func view<View: ViewExtension>(_ view: View) throws -> ViewReader<View.Object, View.Metadata> {
    if let writing = handle.writeTransaction { return try writing.access(to: view).reader }
    return try handle.readTransaction.access(to: view)
  }
}

extension Commit {
  /// Whether a view was changed by this commit, which costs nothing to ask.
  public func hasChanges(in view: some ViewExtension) -> Bool {
    changes.isUnknown || restarts(extensionNamed: view.name) || changes(ofExtensionNamed: view.name) != nil
  }
}
