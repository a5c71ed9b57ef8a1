// The errors of a collection in a transaction.

internal import QuireStorage

extension OpenedCollection {
  @inline(never)
  func undecodable(_ half: String, _ key: String, _ cause: any Error) -> DatabaseError {
    .undecodable(half, transaction.database.path, name, key, cause)
  }

  /// The error for an entry of the key index whose row is not there.
  @inline(never)
  func missingRow(_ rowID: RowID, _ key: String) -> DatabaseError {
    DatabaseError(
      .damagedRow, "The key index leads to \(rowID), which does not exist. Verify the database.",
      path: transaction.database.path, collection: name, key: key)
  }

  /// `error` with the row that it happened to.
  @inline(never)
  func failure(_ error: any Error, _ key: String?) -> DatabaseError {
    switch error {
    case let error as DatabaseError: error.at(name, key)
    case let error as StorageError: DatabaseError(error, collection: name, key: key)
    default:
      DatabaseError(
        .decodingFailed, "A row could not be read.", path: transaction.database.path, collection: name, key: key,
        cause: error)
    }
  }
}
