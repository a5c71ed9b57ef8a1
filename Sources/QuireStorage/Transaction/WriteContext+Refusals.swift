// What a transaction refuses, and what it says then.

extension WriteContext {
  @inline(never) func unusable(_ failure: StorageError) -> StorageError {
    StorageError(
      .transactionFailed,
      "An operation of this transaction failed half-way, so it can only be rolled back: \(failure.message)",
      path: failure.path, page: failure.page, systemError: failure.systemError)
  }
}
