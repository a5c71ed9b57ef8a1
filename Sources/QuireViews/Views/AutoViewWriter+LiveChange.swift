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
    var members: [ByteString: [RowMember]] = [:]
    for collection in view.family.names(in: store.readTransaction) {
      for raw in store.readTransaction.rawRows(collection) {
        let row = try placer.viewRow(raw.rowID)
        let groups = placer.unique(try grouping.groups(row))
        if groups.isEmpty { continue }
        let member = RowMember(rowID: raw.rowID, order: try placer.sortKey(row, raw.rowID, sorting))
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
    var members: [ByteString: [RowMember]] = [:]
    for group in try storage.trees.allGroups() {
      members[ByteString(group.name)] = try storage.members(of: group.name).map { old in
        RowMember(rowID: old.rowID, order: try placer.sortKey(placer.viewRow(old.rowID), old.rowID, sorting))
      }
    }
    try replace(view.grouping, sorting, version, members)
    return true
  }

  /// Makes the groups show these rows and no other, all or nothing.
  private func replace(
    _ grouping: ViewGrouping<Object, Metadata>, _ sorting: ViewSorting<Object, Metadata>, _ version: String,
    _ members: [ByteString: [RowMember]]
  ) throws {
    guard let tx = store.writeTransaction else { return }
    let new = AutoView(
      view.name, over: view.family, version: version, isPersistent: view.isPersistent,
      takesExistingRows: view.isBuiltFromRows, grouping: grouping, sorting: sorting)
    // Groups that lose all rows are arranged, too; in the order of the names, so that one change tells one thing.
    let names = Set(members.keys).union(try storage.trees.allGroups().map { ByteString($0.name) })
    let groups = try names.map(\.string).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { name in
      GroupArrangement(name: name, rows: try placer.arranged(members[ByteString(name)] ?? [], in: name, sorting))
    }
    try tx.savepoint {
      try store.replaceExtension(with: new)
      view = new
      try storage.arrange(groups)
    }
  }
}
