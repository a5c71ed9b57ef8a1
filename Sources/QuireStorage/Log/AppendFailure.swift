// Why a record was not appended to the log.

/// What an append has failed with, sorted by what the file may hold of the record.
package enum AppendFailure: Error {
  /// There was no space for it: nothing of the record counts, and the next one goes to its place.
  case refused(StorageError)
  /// All of the record may be in the file, or a part of it: nothing may be appended from now on.
  case unknown(StorageError)

  /// What went wrong, for those to whom it makes no difference.
  package var reason: StorageError {
    switch self {
    case .refused(let error), .unknown(let error): error
    }
  }
}
