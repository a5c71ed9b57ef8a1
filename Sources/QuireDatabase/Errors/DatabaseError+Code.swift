// The kinds of failures, by the moment they happen at.

internal import QuireStorage

extension DatabaseError {
  /// What kind of failure an error is. New codes may appear in later versions: always handle the unknown.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, as it appears in messages.
    public let description: String

    /// A code of this name; two codes of one name are the same. Extensions make their own.
    public init(_ name: String) { description = name }

    /// The engine's codes keep their names.
    init(_ code: StorageError.Code) {
      switch code {
      case .nestedWrite: self = .nestedTransaction
      case .cursorInvalidated: self = .mutatedDuringIteration
      default: description = code.description
      }
    }

    // Opening
    /// The file is not a database, or not one of objects.
    public static let notADatabase = Code("notADatabase")
    /// The file was written by a later version.
    public static let newerFormat = Code("newerFormat")
    /// The database is open already, in this process or another.
    public static let alreadyOpen = Code("alreadyOpen")
    /// There is nothing at the path, and creating was not asked for.
    public static let notFound = Code("notFound")
    /// An option or an argument is out of its documented range.
    public static let invalidOption = Code("invalidOption")

    /// There is something at the path already, and nothing is overwritten.
    public static let alreadyExists = Code("alreadyExists")
    /// A collection is to be renamed, and there is another one of its new name.
    public static let collectionExists = Code("collectionExists")

    // Damage
    /// Both meta pages, or the one that counts, do not verify.
    public static let damagedMetaPage = Code("damagedMetaPage")
    /// A page does not verify.
    public static let damagedPage = Code("damagedPage")
    /// A log record that is known to have been durable does not verify.
    public static let damagedLog = Code("damagedLog")
    /// A log segment that the data file names is missing.
    public static let missingLog = Code("missingLog")
    /// The data file is shorter than it says.
    public static let truncatedFile = Code("truncatedFile")
    /// A stored row, or what the database notes about a collection, breaks the format.
    public static let damagedRow = Code("damagedRow")

    // Transactions
    /// The database was closed.
    public static let closed = Code("closed")
    /// The database is suspended, or was while a call began: see `Database.resume()`.
    public static let suspended = Code("suspended")
    /// What a pinned snapshot shows went as the database was suspended: it can only advance.
    public static let snapshotGone = Code("snapshotGone")
    /// Transactions or pinned snapshots are still alive.
    public static let inUse = Code("inUse")
    /// A transaction was used after the closure that it was handed to had returned.
    public static let transactionClosed = Code("transactionClosed")
    /// A transaction was opened inside another on the same thread: waiting for it could never end.
    public static let nestedTransaction = Code("nestedTransaction")
    /// The transaction asked to be rolled back.
    public static let rolledBack = Code("rolledBack")
    /// The database was opened for reading only.
    public static let readOnly = Code("readOnly")
    /// The connection does not permit such a transaction.
    public static let notPermitted = Code("notPermitted")
    /// An operation failed half-way: the transaction can only be rolled back.
    public static let transactionFailed = Code("transactionFailed")

    // Rows
    /// The key of a row is longer than `Limits.rowKeyByteCount`.
    public static let keyTooLong = Code("keyTooLong")
    /// The name of a collection is longer than `Limits.collectionNameByteCount`.
    public static let nameTooLong = Code("nameTooLong")
    /// An encoded object is too long to be stored.
    public static let valueTooLong = Code("valueTooLong")
    /// A collection was opened with another type or coder than before.
    public static let collectionMismatch = Code("collectionMismatch")
    /// A coder could not encode an object or a metadata.
    public static let encodingFailed = Code("encodingFailed")
    /// A coder could not make an object or a metadata of the stored bytes.
    public static let decodingFailed = Code("decodingFailed")
    /// A row is encrypted with a key that the coder does not have, if it has any.
    public static let missingKey = Code("missingKey")
    /// An encrypted row is not what was stored there: it was changed, or moved from elsewhere.
    public static let notAuthentic = Code("notAuthentic")
    /// A row is not encrypted, but its coder takes only what is.
    public static let notEncrypted = Code("notEncrypted")
    /// The database was changed inside a loop over it, and the loop went on.
    public static let mutatedDuringIteration = Code("mutatedDuringIteration")
    /// Some ids or numbers are used up, or what there is of readers, threads or memory; the message says which, and
    /// what helps.
    public static let limitReached = Code("limitReached")

    // Extensions
    /// No extension of this name is registered.
    public static let extensionNotRegistered = Code("extensionNotRegistered")
    /// An extension has not got all rows of the snapshot.
    public static let extensionNotReady = Code("extensionNotReady")
    /// An extension of this name is registered already, or is about to be.
    public static let extensionExists = Code("extensionExists")
    /// An extension is of another kind than was expected.
    public static let extensionMismatch = Code("extensionMismatch")
    /// An extension that another one depends on is not registered, or cannot be depended on.
    public static let missingDependency = Code("missingDependency")
    /// An extension threw an error, which is the cause: the transaction is rolled back. What the disk does to an
    /// extension is told as `diskFull`, `inputOutput` or `failStop`.
    public static let extensionFailed = Code("extensionFailed")
    /// Hooks that change rows have called each other too many times.
    public static let hooksTooDeep = Code("hooksTooDeep")

    // Change feeds
    /// No feed of this name was named when the database was opened.
    public static let feedNotFound = Code("feedNotFound")
    /// A feed has no room left, and is to refuse writes then.
    public static let feedFull = Code("feedFull")
    /// A cursor is of another database, of a copy that has gone another way, or of another life of the feed.
    public static let cursorForeign = Code("cursorForeign")
    /// What follows a cursor has expired; `DatabaseError.oldestCursor` says from where on the feed tells.
    public static let cursorExpired = Code("cursorExpired")

    // The world
    /// There is no space left for what is to be stored.
    public static let diskFull = Code("diskFull")
    /// A system call failed.
    public static let inputOutput = Code("inputOutput")
    /// An earlier write to the disk failed: nothing can be written before the database is reopened.
    public static let failStop = Code("failStop")
    /// A file was shortened, replaced or deleted by somebody else: nothing can be written any more.
    public static let fileChanged = Code("fileChanged")
    /// The database was opened by the parent of this process, which must open its own.
    public static let forkedProcess = Code("forkedProcess")
    /// Whether the commit is on the disk will be known only when the database is reopened.
    public static let outcomeUnknown = Code("outcomeUnknown")
  }
}
