// Connections: views of one database with settings of their own.

internal import QuireStorage
internal import Synchronization

/// A way into a database with settings of its own: what it may do, and what it is called in messages.
///
/// Cheap to make; keeps the database alive. May be used from any thread, by several at once.
public final class Connection: Sendable {
  /// Settings of a connection.
  public struct Options: Sendable {
    /// What the connection is called in messages.
    public var name: String?
    /// Which transactions it permits; others throw `notPermitted` before they begin.
    public var permits: Permissions

    /// Settings; what is left out permits everything.
    public init(name: String? = nil, permits: Permissions = .all) {
      self.name = name
      self.permits = permits
    }
  }

  /// Kinds of transactions.
  public struct Permissions: OptionSet, Hashable, Sendable {
    /// One bit for each kind.
    public let rawValue: Int
    /// Wraps bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `read` that blocks its thread.
    public static let synchronousReads = Permissions(rawValue: 1)
    /// `read` that is awaited.
    public static let asynchronousReads = Permissions(rawValue: 2)
    /// `write` that blocks its thread.
    public static let synchronousWrites = Permissions(rawValue: 4)
    /// `write` that is awaited.
    public static let asynchronousWrites = Permissions(rawValue: 8)
    /// All reads.
    public static let reads: Permissions = [.synchronousReads, .asynchronousReads]
    /// All writes.
    public static let writes: Permissions = [.synchronousWrites, .asynchronousWrites]
    /// Everything.
    public static let all: Permissions = [.reads, .writes]
  }

  let core: DatabaseCore
  /// The settings.
  public let options: Options
  /// Its name in one number.
  let number: ConnectionNumber
  /// The async transactions that have not ended.
  let pending = PendingWork()

  init(_ core: DatabaseCore, _ options: Options) {
    self.core = core
    self.options = options
    number = core.holders.names.number(of: options.name)
  }

  /// Returns when every async `read` and `write` of this connection that was called before has ended: committed, rolled
  /// back, failed or cancelled.
  ///
  /// Waits for their `onCommit` actions, too.
  @concurrent
  public func drain() async { await pending.drain() }

  /// Work begins that `drain` waits for; returns its end.
  func beginWork() -> @Sendable () -> Void {
    let work = pending.begin()
    return { [pending] in pending.end(work) }
  }

  func check(_ permission: Permissions) throws(DatabaseError) {
    guard !options.permits.contains(permission) else { return }
    throw DatabaseError(
      .notPermitted,
      "The connection \(options.name.map { "“\($0)” " } ?? "")does not permit such a transaction; see its options.",
      path: core.path)
  }
}
