// What follows a write transaction on behalf of an extension.

/// An extension in one write transaction: hooks, and what it gathers until the commit.
///
/// All calls come on the transaction's thread. Hooks run in the order in which extensions were registered, and may read
/// and change rows themselves, which calls hooks again, up to `Limits.hookDepth` deep. An error that one throws fails
/// the transaction: nothing of it remains, and the error names the extension.
///
/// What `didChange` is told last of a row is true, also if hooks of extensions before have changed rows meanwhile:
///
/// - Before a hook changes another row than the one at hand, the extensions behind hear of the change at hand. So they
///   do before a hook changes anything when rows were removed.
/// - If a hook changes the row at hand itself, the extensions behind hear of that first. The first that an extension
///   hears of a new row is an insert, and it hears of no other insert of it. A change that was overtaken is told with
///   what the row holds by then, and is not told any more if the row is gone: of such a row an extension may hear the
///   removal alone.
/// - An extension that handles clearing hears of no row of a collection while that is being cleared. After its
///   `didClear` the rows that hooks have stored meanwhile are handed over as inserts.
///
/// `willChange` says what was about to happen when the change began; a hook may have made it another one, or none.
///
/// A change goes through these steps: every extension's `willChange`, the change, every extension's `didChange`. When
/// the transaction's closure has returned come `settleRows`, again and again until no extension has changed a row any
/// more, then `settleTrees`, then `takeChanges`.
public protocol ExtensionWriter: AnyObject {
  /// What the extension tells of a commit; see `takeChanges`.
  associatedtype Changes: ExtensionChanges = NoExtensionChanges

  /// Its trees and values in this transaction.
  var store: ExtensionStore { get }

  // MARK: Building

  /// Called once before the extension is built, in the transaction that begins with it; `reason` says why. One whose
  /// trees are made of rows alone removes everything, with `store.removeEverything()`. One that holds more keeps that,
  /// and takes out what belongs to rows that are gone.
  func willBuild(_ reason: ExtensionBuildReason) throws

  /// Whether hooks are called for all rows while the extension is built, also for those that building has not taken in
  /// yet, and that it hands over later. They are called only for those that were taken in by default.
  var followsUnbuiltRows: Bool { get }

  /// Takes in one row while the extension is built; the row was there before, and is handed over as an insert. Calls
  /// `didChange` by default.
  func build(_ row: RowChange) throws

  /// Takes in the rows of one step of building. Calls `build` for each by default; one that needs only some fields of
  /// each reads them with `FieldReader.forEachRow(in:_:)` instead.
  func build(_ rows: UnbuiltRows) throws

  /// Called when all rows have been taken in, in the transaction that makes the extension ready. Does nothing by
  /// default.
  func didBuild() throws

  // MARK: Hooks

  /// Whether `willChange` is called; true by default. A row is stored with one look at the key index where no extension
  /// that follows it needs to hear of it before, so a writer that has no `willChange` says false.
  var needsWillChange: Bool { get }

  /// A row is about to change. Does nothing by default.
  func willChange(_ change: RowChange) throws

  /// A row has changed. Does nothing by default.
  func didChange(_ change: RowChange) throws

  /// Several rows of a collection are about to be removed, `Limits.removalBatchCount` at the most. Calls `willChange`
  /// for each by default, if that is needed.
  func willRemove(_ rows: [RowChange]) throws

  /// Several rows of a collection were removed. Calls `didChange` for each by default.
  func didRemove(_ rows: [RowChange]) throws

  /// All rows of a collection are about to be removed; unless the extension handles that as a whole, the hooks for
  /// removed rows follow. Does nothing by default.
  func willClear(_ collection: String) throws

  /// All rows of a collection were removed. Does nothing by default.
  func didClear(_ collection: String) throws

  /// All rows of all collections are about to be removed; there are no hooks for single rows. Does nothing by default.
  func willClearAll() throws

  /// All rows of all collections were removed. Empties all trees of the extension by default.
  func didClearAll() throws

  // MARK: Ending

  /// The transaction is about to commit: the last time to change rows. Called again when rows were changed after it.
  /// Does nothing by default.
  func settleRows() throws

  /// Whether `settleRows` has to be called again, of all extensions, although no row has been changed since: another
  /// extension has asked this one for a change. False by default.
  var needsSettling: Bool { get throws }

  /// No row will be changed any more: the time to bring the extension's own trees up to date, if they were not yet.
  /// Does nothing by default.
  func settleTrees() throws

  /// What is told of the commit to those who follow commits, in `Commit.changes(of:)`; nil if nothing of interest has
  /// happened, which is the default.
  func takeChanges() -> Changes?

  // MARK: Savepoints

  /// What the writer has gathered outside of its trees, for `restore`; nil, which is the default, if there is nothing.
  func makeMark() -> Any?

  /// A savepoint was rolled back: trees and values are as they were when `mark` was made, and so must be what the
  /// writer has gathered. Does nothing by default.
  func restore(_ mark: Any?)
}

extension ExtensionWriter {
  public var followsUnbuiltRows: Bool { false }
  public func build(_ row: RowChange) throws { try didChange(row) }
  public func build(_ rows: UnbuiltRows) throws { try rows.forEach { try build($0) } }
  public func didBuild() throws {}
  public var needsWillChange: Bool { true }
  public func willChange(_ change: RowChange) throws {}
  public func didChange(_ change: RowChange) throws {}
  public func willRemove(_ rows: [RowChange]) throws {
    if needsWillChange { for row in rows { try willChange(row) } }
  }
  public func didRemove(_ rows: [RowChange]) throws { for row in rows { try didChange(row) } }
  public func willClear(_ collection: String) throws {}
  public func didClear(_ collection: String) throws {}
  public func willClearAll() throws {}
  public func didClearAll() throws { try store.removeAllEntries() }
  public func settleRows() throws {}
  public var needsSettling: Bool { false }
  public func settleTrees() throws {}
  public func takeChanges() -> Changes? { nil }
  public func makeMark() -> Any? { nil }
  public func restore(_ mark: Any?) {}
}

/// Why an extension is built from all rows.
public enum ExtensionBuildReason: Hashable, Sendable {
  /// Nothing is stored under its name.
  case new
  /// What is stored was made by another version of it.
  case otherVersion(String)
  /// What is stored is of another kind, or in another form.
  case otherKind
  /// Rows were changed while it was not registered, or what it depends on was built anew.
  case stale

  /// Whether trees of the extension's own kind and form are stored: what no row tells again can be kept.
  public var hasSameKind: Bool {
    switch self {
    case .new, .otherKind: false
    case .otherVersion, .stale: true
    }
  }
}
