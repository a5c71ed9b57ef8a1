// Another grouping or another order for a view that is registered.

internal import QuireDatabase

extension AutoViewWriter {
  /// The version that the view has in this transaction.
  public var version: String { view.version }

  /// Groups all rows of the view's collections anew, and sorts them by `sorting` if that is given: from now on in this
  /// transaction and, if it commits, for all that come. `version` is stored as the view's, and is what to register it
  /// with at the next opening. Rows that were there before the view was registered for the first time are taken in.
  ///
  /// Tells the fewest steps: nothing of a row that is in a group before and after and keeps its place among the others
  /// that are. Filtered views of this one follow, and tell as little.
  ///
  /// O(n log n) for n rows, all of which are asked for their groups. Takes memory for the ids and orders of all rows
  /// of the view and, sorting by comparison, for the contents of the rows of one group. If it throws, nothing has
  /// changed.
  ///
  /// - Returns: whether there was anything to do: false if the view has this version.
  /// - Throws: what the closures throw, `invalidOption` for a version that is too long, and as changes of rows.
  @discardableResult
  public func setGrouping(
    _ grouping: ViewGrouping<Object, Metadata>, sorting: ViewSorting<Object, Metadata>? = nil, version: String
  ) throws -> Bool {
    guard !version.hasSameBytes(as: view.version) else { return false }
    let sorting = sorting ?? view.sorting
    var members: [ByteString: [Member]] = [:]
    for collection in view.family.names(in: store.readTransaction) {
      for raw in store.readTransaction.rawRows(collection) {
        let row = try viewRow(raw.rowID)
        let groups = unique(try grouping.groups(row))
        if groups.isEmpty { continue }
        let member = Member(rowID: raw.rowID, order: try key(row, raw.rowID, sorting))
        for name in groups { members[ByteString(name), default: []].append(member) }
      }
    }
    try replace(grouping, sorting, version, members)
    return true
  }

  /// Sorts the rows of each group anew, from now on in this transaction and, if it commits, for all that come. Cost,
  /// steps, errors and `version` as with `setGrouping`, but that no row is asked for its groups.
  @discardableResult
  public func setSorting(_ sorting: ViewSorting<Object, Metadata>, version: String) throws -> Bool {
    guard !version.hasSameBytes(as: view.version) else { return false }
    var members: [ByteString: [Member]] = [:]
    for group in try storage.trees.allGroups() {
      members[ByteString(group.name)] = try storage.members(of: group.name).map { old in
        Member(rowID: old.rowID, order: try key(viewRow(old.rowID), old.rowID, sorting))
      }
    }
    try replace(view.grouping, sorting, version, members)
    return true
  }

  /// A row that a group is to have, and what places it if that follows from the row alone.
  private struct Member {
    let rowID: RowID
    let order: [UInt8]
  }

  private func key(
    _ row: ViewRow<Object, Metadata>, _ rowID: RowID, _ sorting: ViewSorting<Object, Metadata>
  ) throws -> [UInt8] {
    switch sorting.order {
    case .keyed(let key): try ViewEntry.order(key(row), rowID)
    case .compared: []
    }
  }

  /// Makes the groups show these rows and no other, all or nothing.
  private func replace(
    _ grouping: ViewGrouping<Object, Metadata>, _ sorting: ViewSorting<Object, Metadata>, _ version: String,
    _ members: [ByteString: [Member]]
  ) throws {
    guard let tx = store.writeTransaction else { return }
    let new = AutoView(
      view.name, over: view.family, version: version, isPersistent: view.isPersistent,
      takesExistingRows: view.isBuiltFromRows, grouping: grouping, sorting: sorting)
    // Groups that lose all rows are arranged, too; in the order of the names, so that one change tells one thing.
    let names = Set(members.keys).union(try storage.trees.allGroups().map { ByteString($0.name) })
    let groups = try names.map(\.string).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { name in
      GroupArrangement(name: name, rows: try arranged(members[ByteString(name)] ?? [], in: name, sorting))
    }
    try tx.savepoint {
      try store.replaceExtension(with: new)
      view = new
      try storage.arrange(groups)
    }
  }

  /// The rows of a group in their new order.
  private func arranged(
    _ members: [Member], in name: String, _ sorting: ViewSorting<Object, Metadata>
  ) throws -> [(rowID: RowID, order: [UInt8])] {
    guard !members.isEmpty else { return [] }
    switch sorting.order {
    case .keyed:
      return members.sorted { $0.order.lexicographicallyPrecedes($1.order) }.map { ($0.rowID, $0.order) }
    case .compared(let isBefore):
      // In the old order at first: sorting is stable, so rows that are equal do not move.
      var places: [RowID: Int] = [:]
      for (place, row) in try storage.members(of: name).enumerated() { places[row.rowID] = place }
      let known = members.sorted { (places[$0.rowID] ?? .max) < (places[$1.rowID] ?? .max) }
      let rows = try known.map { (rowID: $0.rowID, row: try viewRow($0.rowID)) }
      let sorted = try rows.sorted { try isBefore(name, $0.row, $1.row) }.map(\.rowID)
      let hasLabels = if case .compared = view.sorting.order { true } else { false }
      return Array(zip(sorted, try labels.labels(for: sorted, in: name, keepsLabels: hasLabels)))
    }
  }
}
