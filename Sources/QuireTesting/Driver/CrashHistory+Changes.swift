// Changing rows, and the model with them; beginning and ending extensions.

internal import QuireDatabase

extension CrashHistory {
  // MARK: Rows

  /// Makes the changes of one transaction.
  func transact(_ operations: [HistoryOperation]) throws {
    try commit { [self] tx, changed in
      var rest = operations[...]
      while let first = rest.first {
        guard let savepoint = first.scope?.savepoint else {
          try change(rest.removeFirst().action, tx, &changed)
          continue
        }
        let part = rest.prefix { $0.scope?.savepoint == savepoint }
        rest.removeFirst(part.count)
        let before = changed
        do {
          try tx.savepoint {
            for operation in part { try change(operation.action, tx, &changed) }
            if first.scope?.isSavepointUndone == true { throw Undo() }
          }
        } catch is Undo { changed = before }
      }
      if operations.first?.scope?.isUndone == true { throw Undo() }
    }
  }

  /// Has `body` change rows and model, and notes what may be there then.
  private func commit(_ body: (WriteTransaction, inout ExpectedRows) throws -> Void) throws {
    guard let db else { return }
    if test.forgetsCommits { remembered = disk.processKillImage() }
    var changed = newest
    do { try db.write { tx in try body(tx, &changed) } } catch is Undo { return } catch {
      // Anything else says that nothing of it is there.
      if (error as? DatabaseError)?.code == .outcomeUnknown { unknown = changed }
      throw error
    }
    states = durability == .full ? [changed] : states + [changed]
    report.commitCount += 1
  }

  private func change(
    _ action: HistoryOperation.Action, _ tx: WriteTransaction, _ model: inout ExpectedRows
  ) throws {
    let all = test.collections
    switch action {
    case .set(let place, let key, let seed): try all[place].set(key, seed, isOlder: false, tx, &model)
    case .replaceObject(let place, let key, let seed): try all[place].replaceObject(key, seed, tx, &model)
    case .replaceMetadata(let place, let key, let seed): try all[place].replaceMetadata(key, seed, tx, &model)
    case .touch(let place, let key): try all[place].touch(key, tx, model)
    case .remove(let place, let keys): try all[place].remove(keys, tx, &model)
    case .clear(let place): try all[place].removeAll(tx, &model)
    case .clearAll:
      _ = try tx.removeAll()
      model.removeAll()
    default: preconditionFailure("an operation that belongs between transactions")
    }
  }

  /// Stores the rows that a collection will have, under the name that it had in an older version.
  func rename(_ place: Int, _ keys: [String], _ seed: UInt64) throws {
    let collection = test.collections[place]
    try commit { tx, changed in
      try collection.removeAll(tx, &changed)
      for (number, key) in keys.enumerated() {
        try collection.set(key, seed &+ UInt64(number), isOlder: true, tx, &changed)
      }
    }
  }

  // MARK: Extensions

  /// Registers an extension after those that it depends on; does nothing if it is.
  func register(_ place: Int, _ version: Int, interleaving: Int = 0, stopAfter: Int? = nil) throws {
    guard let db, registered[place] == nil else { return }
    let new = test.extensions[place]
    for other in test.extensions.indices where new.dependencies.contains(test.extensions[other].name) {
      try register(other, wanted[other] ?? 0)
    }
    attempted = (place, version)
    var (transactionCount, stepCount) = (0, 0)
    do {
      try new.register(db, version) { [self] _ in
        if transactionCount < interleaving, let transaction = takeTransaction() {
          transactionCount += 1
          try transact(transaction)
          try compare()
        }
        if stepCount == stopAfter { throw Stop() }
        stepCount += 1
      }
      (registered[place], wanted[place]) = (version, version)
      report.registrationCount += 1
    } catch is Stop {}
    attempted = nil
  }

  /// Unregisters an extension, and those that depend on it.
  func unregister(_ place: Int) throws {
    guard let db, registered[place] != nil else { return }
    let gone = try db.unregister(extensionNamed: test.extensions[place].name)
    for place in test.extensions.indices where gone.contains(test.extensions[place].name) {
      (registered[place], wanted[place]) = (nil, nil)
    }
  }

  /// Finds out which extensions are registered after a call that failed.
  func settleExtensions(_ db: Database) throws {
    let statuses = try db.extensions()
    func isReady(_ place: Int) -> Bool {
      statuses.contains { $0.name == test.extensions[place].name && $0.isRegistered && $0.state == .ready }
    }
    registered = registered.filter { isReady($0.key) }
    if let (place, version) = attempted, isReady(place) { (registered[place], wanted[place]) = (version, version) }
    attempted = nil
  }
}
