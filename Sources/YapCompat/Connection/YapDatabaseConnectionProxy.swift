// Setting now and storing soon: write-behind.

internal import Quire

/// Objects that are set are read back at once, and stored soon: what is pending goes into one asynchronous write. New
/// call: `Database.write` with `await`; a commit takes as long as a flush of the disk, and many share one.
///
/// What is pending when the process dies is lost: for values that may be. If a write fails, its error goes to the
/// database's `onError`. A row that is itself the reason, of a wrong type for example, is given up; all else stays
/// pending for the next write. May be used from any thread.
///
/// Invariants:
/// 1. A row in `pending` has a change that no commit has yet, numbered by `lastChange` at the call that made it.
/// 2. `isScheduled` says whether a write was queued that has not looked at `pending` yet.
public final class YapDatabaseConnectionProxy: Sendable {
  /// What a row is to become: nil stands for what stays as it is; a half that is nil inside goes away.
  private struct Change {
    var object: Any??
    var metadata: Any??
    var number = 0
    var isRemoval: Bool { if case .some(.none) = object { true } else { false } }
  }

  private struct State {
    var pending: [RowKey: Change] = [:]
    var lastChange = 0
    var isScheduled = false
    var filter: YapWhitelistBlacklist<String>?
  }

  /// Where reads go.
  public let readOnlyConnection: YapDatabaseConnection
  /// Where writes go.
  public let readWriteConnection: YapDatabaseConnection
  private let state = Guarded(State())

  /// A proxy with connections of its own. New call: none.
  public init(database: YapDatabase, config: YapDatabaseConnectionConfig? = nil) {
    readOnlyConnection = database.newConnection(config)
    readWriteConnection = database.newConnection(config)
  }

  /// A proxy over two connections. New call: none.
  public init(readOnlyConnection: YapDatabaseConnection, readWriteConnection: YapDatabaseConnection) {
    self.readOnlyConnection = readOnlyConnection
    self.readWriteConnection = readWriteConnection
  }

  /// The collections that are read from the disk; others are read among what is pending only. Nil for all. New call:
  /// none.
  public var fetchedCollectionsFilter: YapWhitelistBlacklist<String>? {
    get { state.withLock { $0.filter } }
    set { state.withLock { $0.filter = newValue } }
  }

  // MARK: Reading

  /// The object of a row, pending or stored. An error goes to `onError`, and nil is the answer. New call:
  /// `tx[…].get(_:)`.
  public func object(forKey key: String, inCollection collection: String?) -> Any? {
    let row = RowKey(collection ?? "", key)
    let (change, isFetched) = look(row)
    if let object = change?.object { return object }
    return isFetched ? fetch { $0.object(forKey: key, inCollection: collection) } : nil
  }

  /// The metadata of a row, pending or stored. New call: `tx[…].metadata(_:)`.
  public func metadata(forKey key: String, inCollection collection: String?) -> Any? {
    let row = RowKey(collection ?? "", key)
    let (change, isFetched) = look(row)
    if let metadata = change?.metadata { return metadata }
    return isFetched ? fetch { $0.metadata(forKey: key, inCollection: collection) } : nil
  }

  /// Sets `object` and `metadata` to those of a row. Returns whether there is one. New call: `tx[…].row(_:)`.
  @discardableResult
  public func getObject(
    _ object: inout Any?, metadata: inout Any?, forKey key: String, inCollection collection: String?
  ) -> Bool {
    object = self.object(forKey: key, inCollection: collection)
    metadata = object == nil ? nil : self.metadata(forKey: key, inCollection: collection)
    return object != nil
  }

  private func look(_ row: RowKey) -> (Change?, isFetched: Bool) {
    state.withLock { ($0.pending[row], $0.filter?.isAllowed(row.collection) ?? true) }
  }

  private func fetch(_ body: (YapDatabaseReadTransaction) -> Any?) -> Any? {
    do { return try readOnlyConnection.read(body) } catch {
      readOnlyConnection.database.report(error)
      return nil
    }
  }

  // MARK: Writing

  /// Sets the object of a row, without metadata; nil removes the row. New call: `tx[…].set(_:for:)`.
  public func setObject(_ object: Any?, forKey key: String, inCollection collection: String?) {
    setObject(object, forKey: key, inCollection: collection, withMetadata: nil)
  }

  /// Sets object and metadata of a row; a nil object removes the row. New call: `tx[…].set(_:metadata:for:)`.
  public func setObject(
    _ object: Any?, forKey key: String, inCollection collection: String?, withMetadata metadata: Any?
  ) {
    change(RowKey(collection ?? "", key)) { change in
      change.object = .some(object)
      change.metadata = .some(object == nil ? nil : metadata)
    }
  }

  /// Sets the object of a row, if there is one when it is stored; its metadata stay. Nil removes the row. New call:
  /// `tx[…].replace(_:for:)`.
  public func replace(_ object: Any?, forKey key: String, inCollection collection: String?) {
    guard let object else { return removeObject(forKey: key, inCollection: collection) }
    change(RowKey(collection ?? "", key)) { change in
      if !change.isRemoval { change.object = .some(object) }
    }
  }

  /// Sets the metadata of a row, if there is one when they are stored; its object stays. New call:
  /// `tx[…].replaceMetadata(_:for:)`.
  public func replaceMetadata(_ metadata: Any?, forKey key: String, inCollection collection: String?) {
    change(RowKey(collection ?? "", key)) { change in
      if !change.isRemoval { change.metadata = .some(metadata) }
    }
  }

  /// Removes a row. New call: `tx[…].remove(_:)`.
  public func removeObject(forKey key: String, inCollection collection: String?) {
    setObject(nil, forKey: key, inCollection: collection)
  }

  /// Removes rows. New call: `tx[…].remove(_:)` with a sequence.
  public func removeObjects(forKeys keys: [String], inCollection collection: String?) {
    for key in keys { removeObject(forKey: key, inCollection: collection) }
  }

  /// Forgets all that is pending; what is being stored at the moment may still be. New call: none.
  public func reset() { state.withLock { $0.pending.removeAll() } }

  /// Forgets what is pending of one row. New call: none.
  public func resetObject(forKey key: String, inCollection collection: String?) {
    state.withLock { $0.pending[RowKey(collection ?? "", key)] = nil }
  }

  /// Forgets all that is pending. New call: none.
  @available(*, deprecated, message: "A write that has begun is not stopped: use `reset`.")
  public func abortAndReset() { reset() }

  /// Runs `completionBlock` when all that is pending now is stored, or has failed to be. Not in the original. New
  /// call: `await` the write itself.
  @preconcurrency public func flush(
    completionQueue: DispatchQueue? = nil, completionBlock: @escaping @Sendable () -> Void
  ) {
    store(completionQueue, completionBlock)
  }

  private func change(_ row: RowKey, _ body: (inout Change) -> Void) {
    let isFirst = state.withLock { state in
      state.lastChange += 1
      var change = state.pending[row] ?? Change()
      body(&change)
      change.number = state.lastChange
      state.pending[row] = change
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { store(nil, nil) }
  }

  /// Stores what is pending in one transaction.
  private func store(_ queue: DispatchQueue?, _ completion: (@Sendable () -> Void)?) {
    readWriteConnection.begin(.asyncReadWriteTransaction) { [self] connection in
      var pending = state.withLock { state in
        state.isScheduled = false
        assert(
          state.pending.values.allSatisfy { (1...max(1, state.lastChange)).contains($0.number) },
          "a change that is pending has no number")
        return state.pending
      }
      while !pending.isEmpty {
        do {
          try connection.runWrite(at: CallSite()) { transaction in
            for (row, change) in pending { Self.store(row, change, transaction) }
          }
          return drop(pending)
        } catch let error as DatabaseError {
          // A row that can never be stored must not keep all others waiting.
          guard Self.rowFaults.contains(error.code), let collection = error.collection, let key = error.key,
            let change = pending.removeValue(forKey: RowKey(collection, key))
          else { throw error }
          connection.database.report(error)
          drop([RowKey(collection, key): change])
        }
      }
    } finish: { [self] error in
      if let error {
        // It may not have begun at all: the next change then has to ask again.
        state.withLock { $0.isScheduled = false }
        readWriteConnection.database.report(error)
      }
      if let completion { (queue ?? .main).async(execute: completion) }
    }
  }

  /// What is wrong with a row itself, and stays so.
  private static let rowFaults: Set<DatabaseError.Code> = [
    .collectionMismatch, .collectionNotRegistered, .encodingFailed, .keyTooLong, .nameTooLong, .valueTooLong,
  ]

  /// Forgets changes that are stored, or given up. What has changed since waits for the next write.
  private func drop(_ changes: [RowKey: Change]) {
    state.withLock { state in
      assert(
        changes.allSatisfy { row, change in state.pending[row].map { $0.number >= change.number } ?? true },
        "a change that was stored is newer than the one that is pending")
      for (row, change) in changes where state.pending[row]?.number == change.number { state.pending[row] = nil }
    }
  }

  private static func store(_ row: RowKey, _ change: Change, _ transaction: YapDatabaseReadWriteTransaction) {
    let (key, collection) = (row.key, row.collection)
    switch (change.object, change.metadata) {
    case (.some(let object), .some(let metadata)):
      transaction.setObject(object, forKey: key, inCollection: collection, withMetadata: metadata)
    case (.some(let object), nil): transaction.replace(object, forKey: key, inCollection: collection)
    case (nil, .some(let metadata)): transaction.replaceMetadata(metadata, forKey: key, inCollection: collection)
    case (nil, nil): break
    }
  }
}
