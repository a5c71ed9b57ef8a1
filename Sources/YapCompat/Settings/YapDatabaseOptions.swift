// How a database is opened, in the original's terms.

public import Quire

/// Settings of a database. New type: `Database.Options`.
///
/// What is left alone has the value of the new API. Settings of SQLite that have no meaning here exist, and say in
/// their deprecation what takes their place.
public struct YapDatabaseOptions: Sendable {
  /// What a commit waits for. New type: `Durability`.
  public enum PragmaSynchronous: Int, Sendable {
    /// For nothing: a crash of the machine may cost the last commits, from the end and whole.
    case off
    /// For nothing, but the disk has them a tenth of a second later.
    case normal
    /// For the disk.
    case full
  }

  /// What the original did with a file that it took for damaged.
  public enum CorruptAction: Int, Sendable {
    /// It opened nothing.
    case fail
    /// It moved the file out of the way and began anew.
    case rename
    /// It deleted the file and began anew.
    case delete
  }

  /// The settings of the new API that have no name in the original, such as `isReadOnly` and `objectCache`; those below
  /// go over them. New call: `Database.Options`.
  public var base: Database.Options
  /// What a commit waits for. New call: `Database.Options.durability`.
  public var pragmaSynchronous = PragmaSynchronous.full
  /// The size of a page in bytes, for new files; 0 for 4096. New call: `Database.Options.pageSize`.
  public var pragmaPageSize = 0
  /// The size in bytes that a segment of the log may grow to; 0 for 64 MiB. Recovery after a crash replays at most two.
  /// New call: `Database.Options.logLimit`.
  public var aggressiveWALTruncationSize = 0
  /// Whether commits are posted as `YapDatabaseModifiedNotification`; if not, the work of listing their keys is spared.
  /// Not in the original. New call: `Database.commits`.
  public var postsModifiedNotifications = true

  /// Settings over those of the new API. New call: `Database.Options`.
  public init(_ base: Database.Options = Database.Options()) { self.base = base }

  /// The settings in the new API's terms.
  var quire: Database.Options {
    var options = base
    switch pragmaSynchronous {
    case .full: break
    case .normal: options.durability = .interval(.milliseconds(100))
    case .off: options.durability = .relaxed
    }
    if pragmaPageSize != 0 { options.pageSize = pragmaPageSize }
    if aggressiveWALTruncationSize != 0 { options.logLimit = aggressiveWALTruncationSize }
    return options
  }

  // MARK: Without a meaning

  /// What the original did with a file that it took for damaged. New call: none.
  @available(
    *, deprecated, message: "A file that is refused is never renamed or deleted: `init` throws what is wrong with it."
  )
  public var corruptAction: CorruptAction {
    get { .fail }
    set {}
  }

  /// To which size SQLite's log was cut. New call: none.
  @available(*, deprecated, message: "The log's files are used again and again; see `aggressiveWALTruncationSize`.")
  public var pragmaJournalSizeLimit: Int {
    get { 0 }
    set {}
  }

  /// How much of the file SQLite mapped into memory. New call: `Database.Options.cacheSize`.
  @available(*, deprecated, message: "Pages are verified as they come into memory, not mapped: set `base.cacheSize`.")
  public var pragmaMMapSize: Int {
    get { 0 }
    set {}
  }

  /// Whether several processes could use the file at once. New call: none.
  @available(
    *, deprecated,
    message: "One process at a time has a database open for writing: see the guide “Several processes”."
  )
  public var enableMultiProcessSupport: Bool {
    get { false }
    set {}
  }

  /// What gave SQLCipher its key. New call: `RowCoder.encrypted(with:)`.
  @available(*, deprecated, message: "Encrypt collections by their coder: `RowCoder.encrypted(with:)`.")
  @preconcurrency public var cipherKeyBlock: (@Sendable () -> [UInt8])? {
    get { nil }
    set {}
  }
}
