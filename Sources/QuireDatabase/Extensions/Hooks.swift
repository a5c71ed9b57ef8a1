// An extension made of closures.

/// Runs closures when rows change: for rules that need no trees of their own.
///
/// ```swift
/// var hooks = Hooks("audit", collections: .only(["songs"]))
/// hooks.didModify = { tx, change, flags in print(change.key, flags) }
/// try db.register(hooks)
/// ```
///
/// Nothing is stored: it is registered anew after each opening, at no cost, and rows that are there already are not
/// shown to it. Closures run inside the write transaction, may read and change rows, and fail the transaction by
/// throwing. Removing all rows of a collection calls the closures for removed rows with each, removing all rows of all
/// collections only those for that.
///
/// The guide is <doc:Operations>.
public struct Hooks: DatabaseExtension {
  /// What happened to a row.
  public struct Flags: OptionSet, Hashable, Sendable {
    /// One bit for each.
    public let rawValue: Int
    /// Wraps bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The row is new.
    public static let inserted = Flags(rawValue: 1)
    /// The row was there before, and something was stored.
    public static let updated = Flags(rawValue: 2)
    /// The object was stored.
    public static let changedObject = Flags(rawValue: 4)
    /// The metadata were stored, or taken away.
    public static let changedMetadata = Flags(rawValue: 8)
    /// The object was touched.
    public static let touchedObject = Flags(rawValue: 16)
    /// The metadata were touched.
    public static let touchedMetadata = Flags(rawValue: 32)

    init(_ kind: RowChange.Kind) {
      self =
        switch kind {
        case .insert: [.inserted, .changedObject, .changedMetadata]
        case .update: [.updated, .changedObject, .changedMetadata]
        case .replaceObject: [.updated, .changedObject]
        case .replaceMetadata: [.updated, .changedMetadata]
        case .touchObject: .touchedObject
        case .touchMetadata: .touchedMetadata
        case .touchRow: [.touchedObject, .touchedMetadata]
        case .remove: []
        }
    }
  }

  /// A closure that is told of a row that is stored or touched.
  public typealias Modification = @Sendable (WriteTransaction, RowChange, Flags) throws -> Void
  /// A closure that is told of a row that is removed.
  public typealias Removal = @Sendable (WriteTransaction, RowChange) throws -> Void
  /// A closure that is told that all rows are removed.
  public typealias Clearing = @Sendable (WriteTransaction) throws -> Void

  public static var kind: String { "quire.hooks" }

  public let name: String
  public let collections: CollectionFilter
  public let halves: ChangedHalves
  public var isPersistent: Bool { false }
  public var isBuiltFromRows: Bool { false }

  /// A row is about to be stored or touched; the old one is still there.
  public var willModify: Modification?
  /// A row was stored or touched.
  public var didModify: Modification?
  /// A row is about to be removed, and still there.
  public var willRemove: Removal?
  /// A row was removed.
  public var didRemove: Removal?
  /// All rows of all collections are about to be removed.
  public var willRemoveAll: Clearing?
  /// All rows of all collections were removed.
  public var didRemoveAll: Clearing?

  /// Hooks without a closure; set those that are wanted.
  ///
  /// - Parameters:
  ///   - name: what the hooks are registered under.
  ///   - collections: whose rows they are told of.
  ///   - halves: the halves of rows whose changes they are told of.
  public init(_ name: String, collections: CollectionFilter = .all, halves: ChangedHalves = [.object, .metadata]) {
    self.name = name
    self.collections = collections
    self.halves = halves
  }

  public func makeReader(_ store: ExtensionStore) -> Reader { Reader() }
  public func makeWriter(_ store: ExtensionStore) -> Writer { Writer(self, store) }

  /// Hooks have nothing to show.
  public struct Reader {}

  /// Hooks in a write transaction.
  public final class Writer: ExtensionWriter {
    private let hooks: Hooks
    public let store: ExtensionStore

    init(_ hooks: Hooks, _ store: ExtensionStore) {
      self.hooks = hooks
      self.store = store
    }

    public func willBuild(_ reason: ExtensionBuildReason) {}
    public var needsWillChange: Bool { hooks.willModify != nil || hooks.willRemove != nil }
    public func willChange(_ change: RowChange) throws { try run(change, hooks.willModify, hooks.willRemove) }
    public func didChange(_ change: RowChange) throws { try run(change, hooks.didModify, hooks.didRemove) }

    private func run(_ change: RowChange, _ modification: Modification?, _ removal: Removal?) throws {
      guard let tx = store.writeTransaction else { return }
      if change.kind == .remove { try removal?(tx, change) } else { try modification?(tx, change, Flags(change.kind)) }
    }

    public func willClearAll() throws {
      if let tx = store.writeTransaction { try hooks.willRemoveAll?(tx) }
    }

    public func didClearAll() throws {
      if let tx = store.writeTransaction { try hooks.didRemoveAll?(tx) }
    }
  }
}
