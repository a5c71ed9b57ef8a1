// Mappings beside the view that they are of.

public import QuireDatabase

extension ViewMappings {
  /// Shows the named groups of a view, each as a section, in this order.
  public init(_ view: some ViewExtension, groups: [String]) {
    self.init(view: view.name, groups: groups)
    source = ViewSource(view)
  }

  /// Shows those groups of a view that a closure accepts, in the order that another gives; both are asked at each
  /// update, for all groups that have rows.
  public init(
    _ view: some ViewExtension, where isIncluded: @escaping @Sendable (String) -> Bool = { _ in true },
    orderedBy areInOrder: @escaping @Sendable (String, String) -> Bool = { $0 < $1 }
  ) {
    self.init(view: view.name, where: isIncluded, orderedBy: areInOrder)
    source = ViewSource(view)
  }

  /// Takes note of the view's groups and counts as a snapshot shows them: once before anything else, and then whenever
  /// the screen is drawn anew without a change set. A view that is not there has no rows.
  ///
  /// In any read transaction. To go on with `PinnedSnapshot.advance`, do it in a read of that pinned snapshot; to go on
  /// with `advance(_:_:)`, in any transaction that reads what the step has on its way. O(groups · log n).
  ///
  /// - Throws: `viewRefused` if what is registered under the name is no view; as `ReadTransaction.access`.
  public mutating func update(_ tx: ReadTransaction) throws {
    let state = try state(tx)
    note(tx, state)
    update(counts: state?.counts ?? [], csn: tx.csn.rawValue)
  }

  /// Notes what the counts to come are of.
  mutating func note(_ tx: ReadTransaction, _ state: ViewSource.State?) {
    life = state?.life
    position = tx.position
  }

  /// What a snapshot shows of the view; nil if it is not there.
  func state(_ tx: ReadTransaction) throws -> ViewSource.State? {
    try source.state(tx, groupsAreDynamic ? nil : groups)
  }
}

extension ViewReader {
  /// The id of the row at a place on a screen; nil if there is none. O(log n).
  ///
  /// - Throws: `viewRefused` if the mappings are of another view, or of another life of this one: `advance` or `update`
  ///   brings them to this one.
  public func rowID(at path: ViewPath, _ mappings: ViewMappings) throws -> RowID? {
    guard let (group, index) = try location(of: path, mappings) else { return nil }
    return try rowID(at: index, in: group)
  }

  /// Collection and key of the row at a place on a screen; nil if there is none. O(log n). Errors as above.
  public func rowKey(at path: ViewPath, _ mappings: ViewMappings) throws -> RowKey? {
    guard let (group, index) = try location(of: path, mappings) else { return nil }
    return try rowKey(at: index, in: group)
  }

  /// The object of the row at a place on a screen; nil if there is none. O(log n). Errors as above, `decodingFailed`.
  public func object(at path: ViewPath, _ mappings: ViewMappings) throws -> Object? {
    guard let (group, index) = try location(of: path, mappings) else { return nil }
    return try object(at: index, in: group)
  }

  /// Where a row stands on a screen; nil if that does not show it. O(log n). Errors as above.
  public func path(of key: RowKey, _ mappings: ViewMappings) throws -> ViewPath? {
    try check(mappings)
    for position in try positions(of: key) {
      if let path = mappings.path(of: position.index, in: position.group) { return path }
    }
    return nil
  }

  private func location(of path: ViewPath, _ mappings: ViewMappings) throws -> (group: String, index: Int)? {
    try check(mappings)
    return mappings.location(of: path)
  }

  /// Positions of one view say nothing about another one, nor about the view that took its place.
  private func check(_ mappings: ViewMappings) throws {
    guard mappings.viewName.hasSameBytes(as: store.name) else {
      throw DatabaseError(
        .viewRefused,
        "Mappings of the view “\(mappings.viewName)” cannot tell places of “\(store.name)”. Use mappings of this one.")
    }
    guard let life = mappings.life, try life != store.life else { return }
    throw DatabaseError(
      .viewRefused,
      """
      The mappings show the view “\(store.name)” as it was before it was built anew. Have them advance with the \
      snapshot that is read, or update them in it.
      """)
  }
}
