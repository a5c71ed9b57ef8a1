// A view of the new API whose collections may differ in their types.

internal import Quire

extension RowCollection where Object == Untyped, Metadata == Untyped {
  /// A description for a view that decodes nothing by it: `ViewRow.object(in:)` does, by the registered types.
  static func undecoded(_ name: String) -> Self {
    Self(name, coder: .never, metadataCoder: .never)
  }
}

extension RowCoder<Untyped> {
  /// There are no values to encode, and nobody decodes.
  fileprivate static var never: Self {
    Self(
      encode: { _ in [] },
      decode: { _ in
        throw DatabaseError(.decodingFailed, "A view of several types was read without its registered types.")
      })
  }
}

/// A view of any kind.
protocol AnyViewAdapter: Sendable {
  /// What is registered.
  var value: any DatabaseExtension { get }
  /// What the view shows.
  func reader(_ access: TransactionAccess) throws -> ViewReader<Untyped, Untyped>
  /// Tells those who follow the view that a row looks otherwise.
  func touch(_ row: RowKey, _ aspects: ViewAspects, _ tx: WriteTransaction) throws
  /// A view of this one's rows that pass a filter.
  func filtered(
    _ name: String, version: String, options: YapDatabaseViewOptions, _ filter: ViewFilter<Untyped, Untyped>
  ) -> any AnyViewAdapter
  /// A view of those of this one's rows that a search finds.
  func searched(
    _ name: String, version: String, isPersistent: Bool, groups: [String]?, reading fullText: String,
    _ restoring: @escaping SearchView<Untyped, Untyped>.Restoring
  ) -> any AnyViewAdapter
  /// Lets other rows of the parent through; does nothing for views that do not filter.
  func setFilter(_ filter: ViewFilter<Untyped, Untyped>, version: String, _ tx: WriteTransaction) throws
}

/// A view of one kind.
struct ViewAdapter<View: CollectionShowing<Untyped, Untyped>>: AnyViewAdapter
where View.Writer: ViewOwner, View.Writer: ViewWriting<Untyped, Untyped> {
  let view: View
  /// Sets the filter of a filtered view.
  var filter: (@Sendable (ViewFilter<Untyped, Untyped>, String, WriteTransaction) throws -> Void)?

  var value: any DatabaseExtension { view }

  func reader(_ access: TransactionAccess) throws -> ViewReader<Untyped, Untyped> {
    switch access {
    case .reading(let tx): try tx.view(view)
    case .writing(let tx): try tx.access(to: view).reader
    }
  }

  func filtered(
    _ name: String, version: String, options: YapDatabaseViewOptions, _ filter: ViewFilter<Untyped, Untyped>
  ) -> any AnyViewAdapter {
    let made = FilteredView(
      name, of: view, version: version, isPersistent: options.isPersistent,
      collections: options.allowedCollections?.filter ?? .all,
      takesExistingRows: !options.skipInitialViewPopulation, filter: filter)
    return ViewAdapter<FilteredView<View>>(view: made) { filter, version, tx in
      try tx.access(to: made).setFilter(filter, version: version)
    }
  }

  func searched(
    _ name: String, version: String, isPersistent: Bool, groups: [String]?, reading fullText: String,
    _ restoring: @escaping SearchView<Untyped, Untyped>.Restoring
  ) -> any AnyViewAdapter {
    let made = SearchView(
      name, of: view, allowedGroups: groups, version: version, isPersistent: isPersistent, reading: [fullText],
      restoring: restoring)
    return ViewAdapter<SearchView<Untyped, Untyped>>(view: made)
  }

  func touch(_ row: RowKey, _ aspects: ViewAspects, _ tx: WriteTransaction) throws {
    try tx.access(to: view).touch(row, aspects)
  }

  func setFilter(_ filter: ViewFilter<Untyped, Untyped>, version: String, _ tx: WriteTransaction) throws {
    try self.filter?(filter, version, tx)
  }
}
