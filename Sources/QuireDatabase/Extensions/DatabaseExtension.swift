// The protocol of extensions: indexes, views and rules that live in the same transactions as the rows.

public import QuireStorage

/// An extension: something that follows the rows of a database and keeps what it makes of them in trees of its own, in
/// the same transactions.
///
/// The value itself is a description: a name, a version, closures. It is registered once per opening, with
/// `Database.register`, which builds it from the rows that are there. From then on each write transaction gets a
/// `Writer`, whose hooks run before and after every change, and whose trees commit, roll back and stay readable in old
/// snapshots together with the rows. Readers get a `Reader` on their snapshot.
///
/// Extensions of an app's own use exactly what the built-in ones use. The guide “Writing extensions” makes one from
/// scratch.
///
/// The guide is <doc:Extensions>.
public protocol DatabaseExtension: Sendable {
  /// What read transactions are given by `access(to:)`.
  associatedtype Reader
  /// What follows one write transaction, and what that is given by `access(to:)`.
  associatedtype Writer: ExtensionWriter

  /// What kind of extension it is; stored with it. Any text that no other kind has, and that stays when the type is
  /// renamed or moved, like `"com.example.wordIndex"`. Another kind under the same name takes the place of what was
  /// stored, which is dropped, unless that kept content of its own: see `keepsOwnContent`.
  static var kind: String { get }
  /// What the kind was called before: trees of these kinds are taken over. None by default.
  static var formerKinds: [String] { get }
  /// The version of the form in which this kind keeps its trees. Another one than what is stored has them built anew. 1
  /// by default.
  static var formatVersion: UInt32 { get }

  /// Whether all that its readers tell comes from its trees and values, and from rows, and is read in the transaction
  /// that asks: then an observed read is repeated only when what it has read of these has changed, and not with every
  /// change of the extension. False by default.
  static var readsTreesOnly: Bool { get }

  /// The name that it is registered under: at most `Limits.extensionNameByteCount` bytes of any text, but not empty.
  var name: String { get }
  /// The version of what it makes of rows: when a closure's result changes, so must the version, which has everything
  /// built anew. A closure whose code changes under the same version goes unnoticed. Empty by default.
  var version: String { get }
  /// Whether its trees are stored. Those that are not take part in transactions and snapshots all the same, but are
  /// built anew at each opening. True by default.
  var isPersistent: Bool { get }
  /// The names of the extensions that it reads, which must be registered before it; when one of them is unregistered,
  /// so is this one. None by default.
  var dependencies: [String] { get }
  /// The collections whose rows it follows. All by default.
  var collections: CollectionFilter { get }
  /// The collection whose questions it answers without being named, as indexes answer those of `find`: transactions
  /// find it by `access(_:serving:)`. None by default.
  var servedCollection: String? { get }
  /// The halves of rows that it reads: it hears of no change that concerns another half alone. With none of them, it
  /// hears of inserted and removed rows only. Both by default.
  var halves: ChangedHalves { get }
  /// Whether it handles the removal of all rows of a collection as a whole, in `didClear`: it hears of no row until
  /// then, and afterwards of those that hooks have stored, as inserts. If not, its hooks for removed rows are called
  /// with all of them, some at a time. False by default.
  var handlesClearing: Bool { get }

  /// Whether it is built from the rows that are there when it is registered for the first time. If not, it is ready at
  /// once. True by default.
  var isBuiltFromRows: Bool { get }
  /// Whether its trees hold what cannot be made of the rows again, like an order that a user has dragged. Such trees
  /// are never dropped because something else is registered under the name: that is refused. By default the opposite of
  /// `isBuiltFromRows`.
  var keepsOwnContent: Bool { get }

  /// Called before it is registered, with the extensions that are; an error refuses the registration. Does nothing by
  /// default.
  func checkRegistration(beside others: [any DatabaseExtension]) throws

  /// Makes what a read transaction uses. Called once per transaction that asks.
  func makeReader(_ store: ExtensionStore) throws -> Reader

  /// Makes what follows a write transaction. Called before the transaction's first change, and before anything asks for
  /// it. Trees are best opened here: what is made later may be undone by a savepoint.
  func makeWriter(_ store: ExtensionStore) throws -> Writer

  /// Called when all rows were taken in, each time it is registered, on the thread that builds it and outside of
  /// transactions, which it may open: for what is built in one go from trees that `build` has filled, as by
  /// `Database.sorter(of:memory:)`. It can be asked for already, and must not show what is half built. Does nothing by
  /// default.
  ///
  /// An error has the registration fail, as one of `build` does. Where that of `progress` is thrown, or the task was
  /// cancelled, registering it again calls this again.
  ///
  /// - Parameters:
  ///   - database: to open transactions of.
  ///   - progress: to be called now and then.
  func finishBuilding(in database: Database, progress: (StorageProgress) throws -> Void) throws

  /// Called when it is registered and has all rows, each time it is registered, on the thread that builds it and
  /// outside of transactions, which it may open: for work that an earlier opening has left. An error is thrown by
  /// `register`; the extension stays registered. Does nothing by default.
  func didRegister(in database: Database) throws
}

extension DatabaseExtension {
  public static var formerKinds: [String] { [] }
  public static var formatVersion: UInt32 { 1 }
  public static var readsTreesOnly: Bool { false }
  public var version: String { "" }
  public var isPersistent: Bool { true }
  public var dependencies: [String] { [] }
  public var collections: CollectionFilter { .all }
  public var servedCollection: String? { nil }
  public var halves: ChangedHalves { [.object, .metadata] }
  public var handlesClearing: Bool { false }
  public var isBuiltFromRows: Bool { true }
  public var keepsOwnContent: Bool { !isBuiltFromRows }
  public func checkRegistration(beside others: [any DatabaseExtension]) throws {}
  public func finishBuilding(in database: Database, progress: (StorageProgress) throws -> Void) throws {}
  public func didRegister(in database: Database) throws {}
}
