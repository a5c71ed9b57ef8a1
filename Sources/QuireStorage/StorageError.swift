// The one error of the engine: a code that programs branch on, and a message that tells people what happened to which
// file and what to do about it.

/// An error of the storage engine.
///
/// `code` is what programs compare; `description` says what happened, where, and what helps. A value is one
/// reference, so that throwing it allocates once and a typed `throws(StorageError)` costs nothing while all is well.
public struct StorageError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure this is. New codes may appear in later versions: always handle the unknown.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, as it appears in messages.
    public let description: String

    private init(_ name: String) { description = name }

    // Opening
    /// The file is not a database: no meta page carries the format's magic number.
    public static let notADatabase = Code("notADatabase")
    /// The file was written by a later version of the format.
    public static let newerFormat = Code("newerFormat")
    /// The database, or this path to it, is open already, in this process or another.
    public static let alreadyOpen = Code("alreadyOpen")
    /// There is something at the path already, which is never overwritten.
    public static let alreadyExists = Code("alreadyExists")
    /// There is nothing at the path, and creating was not asked for.
    public static let notFound = Code("notFound")
    /// An option is out of its documented range or does not fit the file.
    public static let invalidOption = Code("invalidOption")

    /// The database was opened read-only, or stands where nothing can be written.
    public static let readOnly = Code("readOnly")

    // Damage
    /// A meta page does not verify, or both do and contradict each other.
    public static let damagedMetaPage = Code("damagedMetaPage")
    /// A page does not verify, its content breaks the format, or it is in use and the free map denies it.
    public static let damagedPage = Code("damagedPage")
    /// A log record that is known to have been durable does not verify.
    public static let damagedLog = Code("damagedLog")
    /// A log segment that the meta page names is missing, too short, or belongs to another database.
    public static let missingLog = Code("missingLog")
    /// The data file is shorter than its meta page says.
    public static let truncatedFile = Code("truncatedFile")

    // Use
    /// The engine was closed.
    public static let closed = Code("closed")
    /// The engine has given its files up for a while, and is not asked again: another one is to take its place.
    public static let suspended = Code("suspended")
    /// The engine cannot be closed while transactions or pinned snapshots are alive.
    public static let inUse = Code("inUse")
    /// A write transaction was begun inside another on the same thread.
    public static let nestedWrite = Code("nestedWrite")
    /// The key is longer than the engine stores.
    public static let keyTooLong = Code("keyTooLong")
    /// The value is longer than `Limits.valueByteCount`.
    public static let valueTooLong = Code("valueTooLong")
    /// The tree does not exist in this snapshot.
    public static let noSuchTree = Code("noSuchTree")
    /// A tree of this name exists already, or exists with other keys.
    public static let treeMismatch = Code("treeMismatch")
    /// The tree was changed under a cursor of the same transaction.
    public static let cursorInvalidated = Code("cursorInvalidated")
    /// A part of this transaction failed half-way; it can only be rolled back.
    public static let transactionFailed = Code("transactionFailed")
    /// The body asked for a rollback.
    public static let rolledBack = Code("rolledBack")
    /// A documented limit was reached, of the format, of the engine or of the system: where the system has no thread or
    /// no memory to give, `systemError` says so.
    public static let limitReached = Code("limitReached")

    // The world
    /// The disk or the quota is full; nothing was lost, and writing works again once there is space.
    public static let diskFull = Code("diskFull")
    /// A system call failed.
    public static let inputOutput = Code("inputOutput")
    /// A sync or a log write failed before: nothing can be written until the database is opened again.
    public static let failStop = Code("failStop")
    /// A file of the open database was deleted, moved, replaced or truncated by somebody else. Nothing is written any
    /// more.
    public static let fileChanged = Code("fileChanged")
    /// The engine was opened by the process that this one was forked from, and is that one's alone.
    public static let forkedProcess = Code("forkedProcess")
    /// The commit was appended, but whether it is durable is not known until the database is opened again.
    public static let outcomeUnknown = Code("outcomeUnknown")
  }

  private final class Storage: Sendable {
    let code: Code
    let message: String
    let path: String?
    let page: PageNumber?
    let lsn: LSN?
    let offset: Int?
    let systemError: SystemError?
    let holder: Int32?

    init(
      code: Code, message: String, path: String?, page: PageNumber?, lsn: LSN?, offset: Int?,
      systemError: SystemError?, holder: Int32?
    ) {
      self.code = code
      self.message = message
      self.path = path
      self.page = page
      self.lsn = lsn
      self.offset = offset
      self.systemError = systemError
      self.holder = holder
    }
  }

  /// What helps where a file is damaged.
  package static let restoring =
    "Restore the database from a backup, or take what is sound into a new file by `quiredb salvage`."

  private let storage: Storage

  /// Makes an error; `message` ends with the remedy.
  package init(
    _ code: Code, _ message: String, path: String? = nil, page: PageNumber? = nil, lsn: LSN? = nil,
    offset: Int? = nil, systemError: SystemError? = nil, holder: Int32? = nil
  ) {
    storage = Storage(
      code: code, message: message, path: path == "" ? nil : path, page: page, lsn: lsn, offset: offset,
      systemError: systemError, holder: holder)
  }

  /// What kind of failure this is.
  public var code: Code { storage.code }
  /// What happened and what helps, in a sentence or two.
  public var message: String { storage.message }
  /// The file it happened to; nil for a database in memory.
  public var path: String? { storage.path }
  /// The page it happened to.
  public var page: PageNumber? { storage.page }
  /// The log position it happened at.
  public var lsn: LSN? { storage.lsn }
  /// The byte offset in the file it happened at.
  public var offset: Int? { storage.offset }
  /// The system call's own error, where one failed.
  public var systemError: SystemError? { storage.systemError }
  /// The process that holds the database, where `code` is `alreadyOpen` and the system told it.
  public var holderProcessID: Int32? { storage.holder }

  public var description: String {
    let place = (path.map { [$0] } ?? []) + position
    var text = "\(code): \(message)"
    if !place.isEmpty { text += " [\(place.joined(separator: ", "))]" }
    if let systemError { text += " (\(systemError))" }
    return text
  }

  /// What is known beside code, message and path, for an error of another layer that has these itself; nil if there is
  /// nothing more.
  package var details: String? {
    let details = position + (systemError.map { ["\($0)"] } ?? [])
    return details.isEmpty ? nil : details.joined(separator: ", ")
  }

  /// Where in the file it happened.
  private var position: [String] {
    var place: [String] = []
    if let page { place.append(page.description) }
    if let lsn { place.append(lsn.description) }
    if let offset { place.append("offset \(offset)") }
    return place
  }
}
