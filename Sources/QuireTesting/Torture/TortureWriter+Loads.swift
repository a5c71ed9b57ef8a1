// Bulk loads of a history: with and without runs on the disk, into trees with and without entries, and stopped in every
// way there is.

internal import QuireStorage

extension TortureWriter {
  /// A bulk load, often in a savepoint, which may be rolled back.
  func loadInBulk(_ tx: borrowing WriteTransaction, _ draft: inout TortureDraft) throws {
    guard !draft.trees.isEmpty else { return }
    guard random.oneIn(2) else { return try load(tx, &draft) }
    let before = draft
    let isRolledBack = random.oneIn(2)
    do {
      try tx.savepoint { tx in
        try load(tx, &draft)
        // The savepoint ends as if nothing had happened; it must notice.
        if isHalfDone { return }
        if random.oneIn(2) { try ask(tx, draft) }
        if isRolledBack { throw TortureAbort() }
      }
      if isHalfDone {
        throw log.failure(.broken, "a savepoint ended well although a bulk load in it had failed half-way")
      }
    } catch is TortureAbort {
      draft = before
    } catch let error as StorageError where error.code == .transactionFailed && isHalfDone {
      draft = before
      isHalfDone = false
    }
  }

  /// What stops a load.
  private enum LoadEnd {
    case none
    case body(Int)
    case progress
  }

  /// What has become of a load.
  private struct LoadCourse {
    var isInBody = true
    /// Whether the body has gone over an error: the load must end with it.
    var hasLostEntries = false
    /// Whether entries went to the temporary file.
    var hasRuns = false
    /// Whether `progress` has thrown: then the transaction can only be rolled back.
    var isCutOff = false
  }

  private func load(_ tx: borrowing WriteTransaction, _ draft: inout TortureDraft) throws {
    let tree = random.pick(draft.trees).tree
    // The buffer takes at least 16 pages; of short entries a few hundred then make a run.
    let perRun = min(600, 16 * configuration.pageSize / 80)
    let count = random.pick([1 + random.below(8), random.below(perRun), perRun + random.below(3 * perRun)])
    let options = BulkLoadOptions(
      bufferByteCount: random.pick([0, 300, 4000, 1 << 20]), leafFill: random.pick([1, 1, 0.5 + 0.1]))
    let end = random.pick([LoadEnd.none, .none, .none, .none, .body(random.below(count + 1)), .progress])
    var course = LoadCourse()
    var state = draft.state
    let before = state.count(of: tree.id)
    let current = draft
    let namelessFiles = system.disk.namelessFileCount()
    let goesOver = random.oneIn(2)
    log.report.loads += 1
    log.note("loads \(count) entries into \(tree.id), which has \(before), with \(options); ends by \(end)")
    do {
      let gained = try tx.bulkLoad(
        into: tree, options: options,
        progress: { _ in
          guard case .progress = end else { return }
          course.isCutOff = true
          throw TortureAbort()
        },
        { loader in
          for number in 0..<count {
            if case .body(number) = end { throw TortureAbort() }
            let key = random.nextKey(tree.keys)
            let value = random.nextValue(beside: key)
            do throws(StorageError) { try loader.add(value, key) } catch {
              // Callers who do not care must not get a load without these entries.
              guard goesOver, !system.disk.isPoweredOff else { throw error }
              course.hasLostEntries = true
            }
            state.put(key, value, in: tree.id)
            // Until the body has returned, nothing has changed.
            if random.oneIn(200) { try ask(tx, current) }
            if random.oneIn(400) { try interrupt() }
          }
          if case .body = end { throw TortureAbort() }
          // Other files, such as the log's, may be opened meanwhile, but keep their names.
          course.hasRuns = system.disk.namelessFileCount() > namelessFiles
          course.isInBody = course.hasLostEntries
        })
      if course.hasLostEntries { throw log.failure(.lost, "a bulk load ended well without some of its entries") }
      draft.state = state
      let expected = state.count(of: tree.id) - before
      try log.expect(gained == expected, "a bulk load said \(gained) new entries, not \(expected)")
      // The load is done; a question that the disk does not answer is no failure of it.
      course.isInBody = true
      if random.oneIn(2) { try ask(tx, draft) }
    } catch {
      try endLoad(error, course)
    }
    if course.hasRuns { log.report.loadsWithRuns += 1 }
    if course.hasRuns { try checkForRunFile() }
  }

  /// Goes over what a load threw, as callers do who do not care, or passes it on.
  private func endLoad(_ error: any Error, _ course: LoadCourse) throws {
    log.report.loadsStopped += 1
    switch error {
    case is TortureAbort where !course.isCutOff:
      log.note("the body stopped the load")
      return
    case is TortureAbort where random.oneIn(2):
      isHalfDone = true
      return
    case let error as StorageError where error.code == .inputOutput || error.code == .diskFull:
      guard random.oneIn(2), !system.disk.isPoweredOff else { throw error }
      log.note("went over \(error)")
      // From the body: the load has failed, and the transaction is as it was before; unless it was a put before the
      // load that failed, as it came to be applied.
      isHalfDone = try system.opened().core.context.failure != nil || !course.isInBody
      return
    default: throw error
    }
  }

  /// A temporary file has no name, unless the disk refused to take it away.
  private func checkForRunFile() throws {
    guard system.disk.counters.faultCount == 0, !system.disk.isPoweredOff else { return }
    if let name = system.disk.names.first(where: { $0.contains("-run") }) {
      throw log.failure(.broken, "a bulk load left \(name) behind")
    }
  }
}

extension BulkLoader {
  /// Adds an entry with a key of either kind.
  fileprivate func add(_ value: [UInt8], _ key: [UInt8]) throws(StorageError) {
    if tree.keys == .int64 { return try append(value, for: KeyUniverse.number(key) ?? 0) }
    try append(value, for: key)
  }
}
