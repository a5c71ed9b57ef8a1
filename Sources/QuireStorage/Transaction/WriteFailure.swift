// What has become of a write transaction that was not acknowledged.

/// Why a write transaction has no ticket, sorted by what is certain of it. A caller that catches one has to say what
/// each case means to him: the actions of a rollback belong to the first alone.
package enum WriteFailure: Error {
  /// Nothing of the transaction remains, and no later opening shows any of it. The error is what the body threw, or
  /// what went wrong before the first byte that could have made the transaction a commit.
  case rolledBack(any Error)
  /// A byte that makes it a commit may be on the disk: its log record, or the meta page of a commit by checkpoint. A
  /// later opening shows all of it or nothing. The error's code is `outcomeUnknown`.
  case unknown(StorageError)

  /// The same for a commit, whose body has come to its end.
  init(_ failure: CommitFailure) {
    switch failure {
    case .rolledBack(let error): self = .rolledBack(error)
    case .unknown(let error): self = .unknown(error)
    }
  }

  /// What callers of the engine are told.
  package var reason: any Error {
    switch self {
    case .rolledBack(let error): error
    case .unknown(let error): error
    }
  }
}

/// Why the commit of a transaction has failed, sorted as in `WriteFailure`.
enum CommitFailure: Error {
  /// Nothing of the transaction remains.
  case rolledBack(StorageError)
  /// All of it may be on the disk.
  case unknown(StorageError)

  var reason: StorageError {
    switch self {
    case .rolledBack(let error), .unknown(let error): error
    }
  }
}
