// What a transaction refuses, and what it says then.

extension WriteContext {
  @inline(never) func unusable(_ failure: StorageError) -> StorageError {
    StorageError(
      .transactionFailed,
      "An operation of this transaction failed half-way, so it can only be rolled back: \(failure.message)",
      path: failure.path, page: failure.page, systemError: failure.systemError)
  }

  func unreplayable(_ what: String) -> StorageError {
    StorageError(.damagedLog, "A log record \(what). Restore the database from a backup.")
  }

  func replayIndex(_ id: TreeID) throws(StorageError) -> Int {
    guard let index = search(id) else {
      throw unreplayable("names \(id), which is not there")
    }
    return index
  }

  func replayKey(_ key: LogOperation.SearchKeyBytes, _ index: Int) throws(StorageError) -> SearchKey {
    switch (key, trees[index].keyKind) {
    case (.bytes(let bytes), .bytes): return SearchKey(bytes)
    case (.int64(let key), .int64): return SearchKey(key)
    default: throw unreplayable("has a key of the wrong kind")
    }
  }
}
