// Holding a view's closures against what is stored of it.

public import QuireDatabase

/// A row that a view's closures place otherwise than it is stored.
public struct ViewDifference: Hashable, Sendable, CustomStringConvertible {
  /// The name that the view is registered under.
  public let view: String
  /// Collection and key of the row.
  public let row: RowKey
  /// What differs, in a sentence.
  public let what: String

  public var description: String {
    "The view “\(view)” differs at “\(row.key)” of “\(row.collection)”: \(what)"
  }
}

/// A view with closures, whose results are stored: `AutoView` and `FilteredView`.
public protocol CheckableView<Object, Metadata>: ViewExtension {
  /// What the closures say otherwise of a row than a snapshot shows; nil if they agree. O(log n).
  func difference(
    of row: ViewRow<Object, Metadata>, _ rowID: RowID, in reader: ViewReader<Object, Metadata>
  ) throws -> ViewDifference?
}

extension Database {
  /// Whether what is stored of a view agrees with itself: each row names its entries, each entry its row, each group
  /// its name.
  ///
  /// O(n log n) for n rows, none of which is read. Reads one snapshot.
  ///
  /// - Throws: `damagedRow`, which names what disagrees; as `ReadTransaction.access`.
  public func verify(_ view: some ViewExtension) throws {
    try read { tx throws in try tx.view(view).trees.checkInvariants() }
  }

  /// The same, and whether what is stored agrees with the view's closures, which are run on all rows of its
  /// collections: for tests of an app, and for a command that developers call. A closure whose code was changed under
  /// the same version is found so.
  ///
  /// O(n log n) for n rows, each of which is decoded as far as the closures ask. Reads one snapshot.
  ///
  /// - Throws: `damagedRow` where what is stored disagrees with itself; `viewDiffers`, which names the first rows that
  ///   differ; what the closures throw; as `ReadTransaction.access`.
  public func verify(_ view: some CheckableView) throws {
    let found = try read { tx throws in
      try tx.view(view).trees.checkInvariants()
      return try Self.differences(of: view, in: tx)
    }
    guard let first = found.first else { return }
    let rows = found.prefix(5).map { "“\($0.row.key)” of “\($0.row.collection)” (\($0.what))" }
    throw DatabaseError(
      .viewDiffers,
      """
      The view “\(view.name)” is stored otherwise than its closures place \(found.count) row(s): \
      \(rows.joined(separator: ", "))\(found.count > rows.count ? ", …" : ""). If a closure was changed, raise the \
      version; if it reads other rows, touch the view's rows when those change.
      """, collection: first.row.collection, key: first.row.key)
  }

  /// All rows that a view's closures place otherwise than they are stored. Cost and errors as `verify(_:)`, but for
  /// `viewDiffers`.
  public func differences(of view: some CheckableView) throws -> [ViewDifference] {
    try read { tx throws in try Self.differences(of: view, in: tx) }
  }

  private static func differences(of view: some CheckableView, in tx: ReadTransaction) throws -> [ViewDifference] {
    let reader = try tx.view(view)
    var found: [ViewDifference] = []
    for name in reader.family.names(in: tx) {
      for raw in tx.rawRows(name) {
        guard let difference = try view.difference(of: reader.row(of: raw.rowID), raw.rowID, in: reader) else {
          continue
        }
        found.append(difference)
      }
    }
    return found
  }
}

/// Looks at a few rows when a stored view is found as it was.
enum ViewSample {
  /// How many rows are looked at.
  static let limit = 64

  /// Ids of rows of the view's collections, spread over the view, over all ids, and over the collections.
  static func rows(_ reader: ViewReader<some Sendable, some Sendable>) throws -> Set<RowID> {
    var found: Set<RowID> = []
    let (count, part) = (try reader.trees.entries.count, limit / 2)
    for step in 0..<min(count, part) {
      guard let entry = try reader.trees.entries.entry(at: step * count / min(count, part)) else { continue }
      found.insert(try reader.trees.rowID(entry.value))
    }
    let names = reader.family.names(in: reader.store.readTransaction)
    for name in names.prefix(part) {
      for raw in reader.store.readTransaction.rawRows(name).prefix(max(1, part / 2 / names.count)) {
        found.insert(raw.rowID)
      }
    }
    // Rows that the view does not show lie between those that it does.
    let cursor = try reader.trees.rows.cursor()
    guard try cursor.seekLast(), let last = cursor.key?.rawValue, last > 1 else { return found }
    let free = Int64(limit - min(found.count, limit))
    for step in 0..<free {
      let rowID = RowID(1 + Int64(last / free) * step)
      if let row = try reader.store.row(rowID), reader.family.filter.contains(row.collection) {
        found.insert(rowID)
      }
    }
    return found
  }
}

extension CheckableView {
  /// Warns of a row, of some, that is stored otherwise than the closures place it: only in debug builds, and only if
  /// what is stored was taken over from an earlier opening. O(1).
  func warnOfDifferences(in database: Database) {
    #if DEBUG
      guard isPersistent else { return }
      do {
        let found = try database.read { tx throws -> ViewDifference? in
          let reader = try tx.view(self)
          guard try reader.store.life.isKept else { return nil }
          for rowID in try ViewSample.rows(reader).sorted() {
            if let found = try difference(of: reader.row(of: rowID), rowID, in: reader) { return found }
          }
          return nil
        }
        guard let found else { return }
        database.warn(
          "A view is stored otherwise than its closures say. If a closure was changed, raise the view's version.",
          metadata: [
            "view": name, "version": version, "collection": found.row.collection, "key": found.row.key,
            "difference": found.what,
          ])
      } catch {
        database.warn(
          "A view's closures fail on rows that are in it.",
          metadata: ["view": name, "version": version, "error": "\(error)"])
      }
    #endif
  }
}

extension AutoView: CheckableView {
  public func difference(
    of row: ViewRow<Object, Metadata>, _ rowID: RowID, in reader: ViewReader<Object, Metadata>
  ) throws -> ViewDifference? {
    let entries = try reader.trees.entries(of: rowID)
    // Rows from before a view that takes none of them may be in it or not.
    if entries.isEmpty, !isBuiltFromRows { return nil }
    func differs(_ what: String) -> ViewDifference {
      ViewDifference(view: name, row: RowKey(row.collection, row.key), what: what)
    }
    let stored = try entries.map { try reader.group(of: $0) }
    let wanted = Set(try grouping.groups(row).map { ByteString($0) })
    if wanted != Set(stored.map { ByteString($0.name) }) {
      let (old, new) = (stored.map { "“\($0.name)”" }, wanted.map { "“\($0.string)”" })
      return differs("it is stored in \(Self.list(old)), and grouped into \(Self.list(new)).")
    }
    for (entry, group) in zip(entries, stored) where try !stands(row, rowID, entry, group, reader) {
      return differs("it stands in another place of “\(group.name)” than it is sorted to.")
    }
    return nil
  }

  private static func list(_ groups: [String]) -> String {
    groups.isEmpty ? "no group" : groups.sorted().joined(separator: ", ")
  }

  private func stands(
    _ row: ViewRow<Object, Metadata>, _ rowID: RowID, _ entry: ViewEntry, _ group: (name: String, id: GroupID),
    _ reader: ViewReader<Object, Metadata>
  ) throws -> Bool {
    switch sorting.order {
    case .keyed(let key): return try ViewEntry.order(key(row), rowID) == entry.order
    case .compared(let isBefore):
      let index = try reader.trees.index(of: entry, in: group.id)
      if let left = try reader.trees.entry(at: index - 1, in: group.id) {
        if try isBefore(group.name, row, reader.row(of: left.rowID)) { return false }
      }
      guard let right = try reader.trees.entry(at: index + 1, in: group.id) else { return true }
      return try !isBefore(group.name, reader.row(of: right.rowID), row)
    }
  }
}

extension FilteredView: CheckableView {
  public func difference(
    of row: ViewRow<Object, Metadata>, _ rowID: RowID, in reader: ViewReader<Object, Metadata>
  ) throws -> ViewDifference? {
    let above = try reader.store.reader(of: parent.name, as: Parent.self)
    let shown = try reader.trees.entries(of: rowID).map { ByteString(try reader.group(of: $0).name) }
    for entry in try above.trees.entries(of: rowID) {
      let group = try above.group(of: entry).name
      let isShown = shown.contains(ByteString(group))
      // Rows from before a view that takes none of them may be in it or not.
      if !isShown, !isBuiltFromRows { continue }
      guard try filter.isIncluded(group, row) != isShown else { continue }
      return ViewDifference(
        view: name, row: RowKey(row.collection, row.key),
        what: isShown ? "the filter does not let it into “\(group)”." : "the filter lets it into “\(group)”.")
    }
    return nil
  }
}

extension ViewReader {
  /// Name and number of an entry's group.
  fileprivate func group(of entry: ViewEntry) throws -> (name: String, id: GroupID) {
    guard let id = entry.group else { throw trees.damaged() }
    return (try trees.name(of: id), id)
  }
}

extension DatabaseError.Code {
  /// A view's closures place rows otherwise than they are stored.
  public static let viewDiffers = DatabaseError.Code("viewDiffers")
}
