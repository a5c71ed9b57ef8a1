// What the file says of views, for tools that know no types of rows.

public import QuireDatabase

/// A view as it is stored, whether it is registered or not.
///
/// For the thread and the life of its transaction. Nothing of the app's is needed or run: groups and their rows are
/// told as they stand. All calls may throw `transactionClosed`, `damagedPage`, `damagedRow` and `inputOutput`.
public struct StoredView {
  /// How a view gets its rows.
  public enum Kind: Hashable, Sendable {
    /// It groups and sorts them by closures.
    case auto
    /// The app puts them where they are.
    case manual
    /// It shows some of the rows of another view, of this name.
    case filtered(parent: String)
    /// It shows what a search finds: that of this text, or of this name; nil if nothing is searched for.
    case found(search: String?)
  }

  /// A row of a group.
  public struct Row: Hashable, Sendable {
    /// Its number.
    public let rowID: RowID
    /// Collection and key; nil if there is no such row: it was removed while the view was not registered, or what is
    /// stored is damaged.
    public let key: RowKey?
  }

  /// What is known of the extension that has it.
  public let status: ExtensionStatus
  /// How it gets its rows.
  public let kind: Kind
  /// The names of the collections whose rows it shows; nil if they are not listed.
  public let collections: [String]?
  /// The number of rows of all groups; one that is in several counts in each.
  public let count: Int
  private let store: ExtensionStore
  private let trees: ViewTrees

  init?(_ stored: StoredExtension) throws {
    guard stored.formatVersion == AutoView<Never, Never>.formatVersion else { return nil }
    switch stored.status.kind {
    case AutoView<Never, Never>.kind: kind = .auto
    case ManualView<Never, Never>.kind: kind = .manual
    case FilteredView<AutoView<Never, Never>>.kind:
      guard let parent = stored.status.dependencies.first else { return nil }
      kind = .filtered(parent: parent)
    case SearchView<Never, Never>.kind:
      let form = try stored.store.value(ShownSearch.formValue, as: String.self)
      kind = .found(search: try form ?? stored.store.value(ShownSearch.nameValue))
    default: return nil
    }
    status = stored.status
    collections = stored.collections
    store = stored.store
    trees = try ViewTrees(store)
    count = try trees.entries.count
  }

  /// The names of the groups, in the order of their bytes, with the numbers of their rows. O(groups · log rows).
  public func groups() throws -> [(name: String, rows: Int)] {
    try trees.allGroups().map { ($0.name, try trees.count($0.id)) }
  }

  /// The number of rows of a group; nil if there is no such group. O(log n).
  public func count(in group: String) throws -> Int? { try trees.group(group).map { try trees.count($0) } }

  /// What is wrong with what is stored, up to a limit: rows that are no more, and where entries, rows and groups do not
  /// agree. Nothing of a view that is not ready: it is built anew. O(n log n), and reads no row but its key.
  public func defects(limit: Int = 100) throws -> [DatabaseError] {
    guard status.state == .ready, limit > 0 else { return [] }
    var found: [DatabaseError] = []
    do { try trees.checkInvariants() } catch let error as DatabaseError { found.append(error) }
    let cursor = try trees.rows.cursor()
    while found.count < limit, try cursor.next() {
      guard let rowID = cursor.key, try !store.hasRow(rowID) else { continue }
      found.append(
        DatabaseError(
          .damagedRow,
          """
          The view “\(status.name)” shows row \(rowID.rawValue), which does not exist. Unregister the view, and \
          register it again.
          """))
    }
    assert(found.count <= limit, "more defects are told than were asked for")
    return found
  }

  /// Calls `body` with the rows of a group in their order, from the one at `offset` on, until it returns false.
  /// O(log n), and a step and a look-up of the row for each; `offset` costs nothing.
  public func forEachRow(in group: String, offset: Int = 0, _ body: (Row) throws -> Bool) throws {
    guard let id = try trees.group(group), try (0..<trees.count(id)).contains(offset) else { return }
    let cursor = try trees.entries.cursor()
    var isOnEntry = try cursor.seek(toIndex: trees.entries.rank(of: id.prefix) + offset)
    while isOnEntry, let (key, value) = try cursor.entry, key.starts(with: id.prefix) {
      let rowID = try trees.rowID(value)
      guard try body(Row(rowID: rowID, key: store.readTransaction.key(of: rowID))) else { return }
      isOnEntry = try cursor.next()
    }
  }
}

extension ReadTransaction {
  /// The views that are stored, whether they are registered or not, in the order of their names' bytes.
  ///
  /// - Throws: `transactionClosed`, `damagedRow`, `damagedPage`, `inputOutput`.
  public func storedViews() throws -> [StoredView] { try storedExtensions().compactMap { try StoredView($0) } }
}
