// Mappings beside the view that they are of.

public import QuireDatabase

/// How mappings read the counts of their view, whatever its type.
struct ViewSource: Sendable {
  /// Reads the counts of these groups, or of all groups for nil. Nil if the view is not there in the snapshot.
  let counts: @Sendable (ReadTransaction, [String]?) throws -> [(group: String, count: Int)]?

  init(_ view: some ViewExtension) {
    counts = { tx, groups in
      do {
        let reader = try tx.view(view)
        return (groups ?? reader.groups).map { ($0, reader.count(in: $0)) }
      } catch let error as DatabaseError {
        let isMissing = error.code == .extensionNotReady || error.code == .extensionNotRegistered
        guard isMissing else { throw error }
        return nil
      }
    }
  }
}

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
  /// To go on with `PinnedSnapshot.advance`, do it in a read of that pinned snapshot. O(groups · log n).
  ///
  /// - Throws: `viewRefused` for mappings that were made by the name alone; as `ReadTransaction.access`.
  public mutating func update(_ tx: ReadTransaction) throws {
    update(counts: try counts(tx) ?? [], csn: tx.csn.rawValue)
  }

  /// The view's counts in a snapshot; nil if it is not there.
  func counts(_ tx: ReadTransaction) throws -> [(group: String, count: Int)]? {
    guard let source else {
      throw DatabaseError(
        .viewRefused, "The mappings of “\(viewName)” do not know their view. Make them with the view itself.")
    }
    return try source.counts(tx, groupsAreDynamic ? nil : groups)
  }
}

extension ViewReader {
  /// The id of the row at a place on a screen; nil if there is none. O(log n).
  public func rowID(at path: ViewPath, _ mappings: ViewMappings) throws -> RowID? {
    guard let (group, index) = mappings.location(of: path) else { return nil }
    return try rowID(at: index, in: group)
  }

  /// Collection and key of the row at a place on a screen; nil if there is none. O(log n).
  public func rowKey(at path: ViewPath, _ mappings: ViewMappings) throws -> RowKey? {
    guard let (group, index) = mappings.location(of: path) else { return nil }
    return try rowKey(at: index, in: group)
  }

  /// The object of the row at a place on a screen; nil if there is none. O(log n).
  public func object(at path: ViewPath, _ mappings: ViewMappings) throws -> Object? {
    guard let (group, index) = mappings.location(of: path) else { return nil }
    return try object(at: index, in: group)
  }

  /// Where a row stands on a screen; nil if that does not show it. O(log n).
  public func path(of key: RowKey, _ mappings: ViewMappings) throws -> ViewPath? {
    for position in try positions(of: key) {
      if let path = mappings.path(of: position.index, in: position.group) { return path }
    }
    return nil
  }
}
