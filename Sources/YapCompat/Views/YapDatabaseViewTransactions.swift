// What single kinds of views can do in write transactions.

internal import Quire

extension YapDatabaseViewTransaction {
  /// Lets the screens of this view draw a row anew: nothing is written, no block is asked, and nobody else is told. Not
  /// for read transactions, which fail. New call: `touch(_:_:)` of the view's writer.
  public func touchRow(forKey key: String, inCollection collection: String?) {
    touch(key, collection, [.object, .metadata])
  }

  /// The same, as a change of the object. New call: `touch(_:_:)` of the view's writer.
  public func touchObject(forKey key: String, inCollection collection: String?) { touch(key, collection, .object) }

  /// The same, as a change of the metadata. New call: `touch(_:_:)` of the view's writer.
  public func touchMetadata(forKey key: String, inCollection collection: String?) { touch(key, collection, .metadata) }

  private func touch(_ key: String, _ collection: String?, _ aspects: ViewAspects) {
    attempt(()) { try view.adapter?.touch(RowKey(collection ?? "", key), aspects, try writing()) }
  }
}

/// A view that groups and sorts by itself, in one transaction. New type: `AutoViewWriter`, in write transactions.
public final class YapDatabaseAutoViewTransaction: YapDatabaseViewTransaction {
  private func version(_ tag: String?) -> String { tag ?? "" }

  private func writer() throws -> AutoViewWriter<Untyped, Untyped> {
    guard let adapter = view.adapter?.value as? AutoView<Untyped, Untyped> else { throw view.notRegistered() }
    return try writing().access(to: adapter)
  }

  /// Groups and sorts all rows anew, with the fewest steps; nothing happens if the view has this version. New call:
  /// `AutoViewWriter.setGrouping(_:sorting:version:)`.
  public func setGrouping(
    _ grouping: YapDatabaseViewGrouping, sorting: YapDatabaseViewSorting, versionTag: String?
  ) {
    let database = transaction.database
    attempt(()) {
      try writer().setGrouping(
        grouping.made(database), sorting: sorting.made(database), version: version(versionTag))
      try noteVersionTag(versionTag)
    }
  }

  /// Sorts the rows of each group anew; nothing happens if the view has this version. New call:
  /// `AutoViewWriter.setSorting(_:version:)`.
  public func setSorting(_ sorting: YapDatabaseViewSorting, versionTag: String?) {
    let database = transaction.database
    attempt(()) {
      try writer().setSorting(sorting.made(database), version: version(versionTag))
      try noteVersionTag(versionTag)
    }
  }
}

/// A view of some of another view's rows, in one transaction. New type: `FilteredViewWriter`, in write transactions.
public final class YapDatabaseFilteredViewTransaction: YapDatabaseViewTransaction {
  /// Lets other rows of the parent through, with the fewest steps; nothing happens if the view has this version. New
  /// call: `FilteredViewWriter.setFilter(_:version:)`.
  public func setFiltering(_ filtering: YapDatabaseViewFiltering, versionTag: String?) {
    let database = transaction.database
    attempt(()) {
      try view.adapter?.setFilter(filtering.made(database), version: versionTag ?? "", try writing())
      try noteVersionTag(versionTag)
    }
  }
}

/// A list that the app orders, in one transaction. New type: `ManualViewWriter`, in write transactions.
///
/// The calls return false where the original's did: in a read transaction, for rows that are not in the database or in
/// the view already, and for indexes that do not exist. Other errors fail the transaction.
public final class YapDatabaseManualViewTransaction: YapDatabaseViewTransaction {
  private func change(_ body: (ManualViewWriter<Untyped, Untyped>) throws -> Bool) -> Bool {
    attempt(false) {
      guard case .writing(let tx) = transaction.access else { return false }
      guard let adapter = view.adapter?.value as? ManualView<Untyped, Untyped> else { throw view.notRegistered() }
      do { return try body(try tx.access(to: adapter)) } catch let error as DatabaseError
        where error.code == .viewRefused
      {
        return false
      }
    }
  }

  /// Puts a row behind all others of a group. New call: `ManualViewWriter.append(_:to:)`.
  @discardableResult
  public func addKey(_ key: String, inCollection collection: String?, toGroup group: String) -> Bool {
    change { writer in
      try writer.insert(RowKey(collection ?? "", key), at: reader.count(in: group), in: group)
      return true
    }
  }

  /// Puts a row at an index of a group. New call: `ManualViewWriter.insert(_:at:in:)`.
  @discardableResult
  public func insertKey(
    _ key: String, inCollection collection: String?, atIndex index: UInt, inGroup group: String
  ) -> Bool {
    change { writer in
      try writer.insert(RowKey(collection ?? "", key), at: Int(clamping: index), in: group)
      return true
    }
  }

  /// Takes the row at an index out of a group. New call: `ManualViewWriter.remove(at:in:)`.
  @discardableResult
  public func removeItem(atIndex index: UInt, inGroup group: String) -> Bool {
    change { writer in
      try writer.remove(at: Int(clamping: index), in: group)
      return true
    }
  }

  /// Takes a row out of a group. New call: `ManualViewWriter.remove(_:)`.
  @discardableResult
  public func removeKey(_ key: String, inCollection collection: String?, fromGroup group: String) -> Bool {
    change { writer in
      let position = try reader.position(of: RowKey(collection ?? "", key))
      guard let position, position.group.utf8.elementsEqual(group.utf8) else { return false }
      try writer.remove(at: position.index, in: group)
      return true
    }
  }

  /// Takes all rows out of a group. New call: `ManualViewWriter.removeAll(in:)`.
  @discardableResult
  public func removeAllItems(inGroup group: String) -> Bool { change { try $0.removeAll(in: group) > 0 } }
}
