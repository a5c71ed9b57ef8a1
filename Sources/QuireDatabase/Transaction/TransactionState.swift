// What stands behind a transaction that an app holds: the engine's transaction, and all that must not outlive it.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif
internal import QuireStorage

/// One transaction, reading or writing, while its closure runs, and the empty shell of it afterwards.
///
/// Used by the thread that runs the closure only. An app may keep what refers to it, and use it too late: every call
/// therefore begins with `check`.
///
/// Invariants:
/// 1. The engine's transaction has ended if and only if `isOpen` is false; `readers`, `loadedForest` and the writer's
///    session are empty then.
/// 2. `collections` has one entry for each name that was used, and keeps it: handles of an app's refer to it without
///    counting, and to the transaction with counting. `lastUsed` is one of them.
/// 3. A `pendingError` is thrown by the next call, and by the transaction's end: what could not throw is not lost.
/// 4. `encodingCount` is above 0 while a coder encodes.
@usableFromInline final class TransactionState: StorageTransaction {
  let database: DatabaseCore
  /// The trees of the database: a copy, since a look into what all threads share costs them more.
  let trees: DatabaseTrees
  let connection: Connection?
  /// The transaction around this one on the same thread.
  let outer: TransactionState?
  let isWriting: Bool
  /// The commit that the transaction sees.
  let csn: CSN
  private(set) var isOpen = true
  var pendingError: DatabaseError?
  var collections = OpenedCollections()
  /// Stand-ins for collections that could not be opened: one for each name and kind of error.
  var failedCollections: [CollectionState] = []
  /// The collection that was used last: most uses are of the same one as the use before.
  @exclusivity(unchecked) var lastUsed: CollectionState.Use?
  /// Counts what iterators must not go on after.
  var mutationCount = 0
  /// How many rows are being encoded at the moment, one inside the other.
  private(set) var encodingCount = 0
  let scratch: TransactionScratch
  /// The trees in memory, once something has asked for them.
  var loadedForest: MemoryForest?
  /// The readers of extensions that were asked for.
  var readers: [KnownReader] = []
  /// What is known of the collections of a snapshot that stays; nil for a snapshot that only this transaction has.
  let pinnedCollections: CollectionTable.Pinned?
  /// Where a pinned snapshot stood when this read of it began.
  var position: CommitPosition?
  /// Notes what is read, if somebody observes that.
  let recorder: ReadRecorder?
  /// What only write transactions have.
  let writer: WriterState?

  /// A read transaction; that of the engine is in `scratch`.
  init(
    reading scratch: TransactionScratch, _ database: DatabaseCore, _ connection: Connection?,
    outer: TransactionState?, pinned: CollectionTable.Pinned? = nil, recorder: ReadRecorder? = nil
  ) {
    csn = unsafe scratch.reading.pointee.csn
    self.scratch = scratch
    self.database = database
    trees = database.trees
    self.connection = connection
    self.outer = outer
    isWriting = false
    writer = nil
    pinnedCollections = pinned
    self.recorder = recorder
    super.init(unsafe .reading(scratch.reading))
  }

  /// The write transaction; `writing` is a second handle to what the engine has lent for the time of the closure.
  init(
    writing: consuming QuireStorage.WriteTransaction, in scratch: TransactionScratch, _ database: DatabaseCore,
    _ connection: Connection?, outer: TransactionState?
  ) {
    csn = CSN(writing.csn.rawValue - 1)
    self.scratch = scratch
    unsafe scratch.writing.initialize(to: writing)
    self.database = database
    trees = database.trees
    self.connection = connection
    self.outer = outer
    isWriting = true
    writer = WriterState(database.extensions.current, isObserved: database.observers.isNeeded)
    pinnedCollections = nil
    recorder = nil
    super.init(unsafe .writing(scratch.writing))
  }

  /// Tells the logger of fields that types have not read.
  private func tellUnknownFields() {
    for collection in collections.all {
      for (half, context) in [("object", collection.contexts.object), ("metadata", collection.contexts.metadata)] {
        let found = context.watch.take()
        if !found.isEmpty { database.diagnostics.tell(found, collection: collection.name, half: half) }
      }
    }
  }

  /// What a transaction has behind it that reads no pinned snapshot; nil for one that writes, too.
  var historyPosition: CommitPosition? { isWriting ? nil : database.history.position(at: csn) }

  /// The closure has returned: gives everything back.
  func end() {
    assert(isOpen, "a transaction ends twice")
    assert(lentCount == 0 && encodingCount == 0, "a transaction ends while a row of it is being coded")
    if database.unknownFields == .report { tellUnknownFields() }
    for collection in collections.all { collection.end() }
    readers.removeAll()
    loadedForest = nil
    writer?.session = nil
    isOpen = false
    switch storage {
    case .reading(let reading): unsafe reading.deinitialize(count: 1)
    case .writing(let writing): unsafe writing.deinitialize(count: 1)
    case .ended: break
    }
    storage = .ended
    database.giveBack(scratch)
  }

  // MARK: Checks

  /// Throws if the transaction is over, or if an earlier call failed that could not throw.
  @inline(__always) func check() throws(DatabaseError) {
    if isUsable { return }
    throw failure()
  }

  /// Whether `check` throws nothing.
  @inline(__always) var isUsable: Bool { isOpen && pendingError == nil }

  @inline(never) private func failure() -> DatabaseError {
    guard isOpen else {
      return DatabaseError(
        .transactionClosed,
        "A transaction was used after its closure had returned. Take out what you need as values, inside the closure.")
    }
    return pendingError ?? DatabaseError(.transactionFailed, "The transaction failed.")
  }

  @inline(never) func changeWhileLent() -> DatabaseError {
    DatabaseError(
      .transactionFailed,
      "The database was to be changed while a row of it was being decoded. Change it when reading has returned.",
      path: database.path)
  }

  /// A coder begins to encode. It may change other rows meanwhile, but not for ever.
  @inline(__always) func beginEncoding() throws(DatabaseError) {
    guard encodingCount < Limits.encodingDepth else { throw endlessEncoding() }
    encodingCount &+= 1
  }

  @inline(__always) func endEncoding() {
    assert(encodingCount > 0, "a row is encoded to the end that was not begun")
    encodingCount &-= 1
  }

  @inline(never) private func endlessEncoding() -> DatabaseError {
    DatabaseError(
      .encodingFailed,
      "Rows were stored while others were being encoded, \(Limits.encodingDepth) deep. Do not store rows in a coder.",
      path: database.path)
  }

  /// Notes an error of a call that cannot throw.
  func note(_ error: DatabaseError) {
    if pendingError == nil { pendingError = error }
  }

  /// Runs a call that cannot throw; an error is thrown by the next one.
  func noting<Result>(_ fallback: Result, _ body: () throws(DatabaseError) -> Result) -> Result {
    do throws(DatabaseError) {
      try check()
      return try body()
    } catch {
      note(error)
      return fallback
    }
  }
}

/// The transaction that the running thread is inside of.
enum CurrentTransaction {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let result = unsafe pthread_key_create(&key, nil)
    precondition(result == 0, "the system gave no thread-local key (error \(result))")
    return key
  }()

  /// The innermost one.
  static var innermost: TransactionState? {
    guard let pointer = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<TransactionState>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Enters or leaves one: `state` is alive as long as it is the innermost.
  static func set(_ state: TransactionState?) {
    _ = unsafe pthread_setspecific(key, state.map { unsafe UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
  }
}
