// How long work tells how far it has come, and how it is ended.

/// How far a piece of long work has come: a check, a backup, a compaction, a bulk load, a count of pages,
/// an opening after a crash.
///
/// It is handed to the closure that the work was given, on the thread that works. What the closure throws ends the
/// work, and so does cancelling the task that called, with `CancellationError`: that is the one way of stopping any of
/// it.
public struct StorageProgress: Sendable, Equatable, CustomStringConvertible {
  /// What is being done. New phases may appear in later versions.
  public struct Phase: Hashable, Sendable, CustomStringConvertible {
    /// The name of the phase, in a word or two.
    public let description: String

    private init(_ name: String) { description = name }

    /// Pages that readers see are checked, wherever they are. Units: pages.
    public static let checkingMemory = Phase("checking what readers see")
    /// Pages of the newest checkpoint are checked on the disk. Units: pages.
    public static let checkingDisk = Phase("checking the disk")
    /// Entries are copied to a backup. Units: pages of the source.
    public static let copying = Phase("copying")
    /// A backup is read back. Units: pages.
    public static let readingBack = Phase("reading back")
    /// Half-empty leaves are packed. Units: pages.
    public static let packing = Phase("packing")
    /// Pages and long values move to free places in front. Units: pages.
    public static let moving = Phase("moving")
    /// What has moved is written home, and the end of the file is cut. Units: pages.
    public static let settling = Phase("settling")
    /// A tree is written by a bulk load. Units: entries.
    public static let building = Phase("building")
    /// Pages are counted. Units: pages.
    public static let counting = Phase("counting")
    /// What is not stored in today's form is stored anew. Units: rows.
    public static let rewriting = Phase("rewriting")
    /// The log is replayed, at an opening after a crash. Units: bytes of the log.
    public static let recovering = Phase("recovering")
  }

  /// What is being done now.
  public let phase: Phase
  /// Units done in all phases together; never falls.
  public let done: Int
  /// About how many units there are in all phases together; may change as the work finds out more.
  public let total: Int

  /// Puts the parts together; `total` is raised to `done`.
  public init(phase: Phase, done: Int, total: Int) {
    self.phase = phase
    self.done = done
    self.total = max(done, total)
  }

  /// The part that is done, from 0 to 1; 1 if there is nothing to do.
  public var fraction: Double { total == 0 ? 1 : Double(done) / Double(total) }

  public var description: String { "\(phase): \(done) of \(total)" }

  /// Hands this to `handler`, unless the current task was cancelled.
  package func report(to handler: (StorageProgress) throws -> Void) throws {
    if Task.isCancelled { throw CancellationError() }
    try handler(self)
  }
}
