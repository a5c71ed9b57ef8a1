// How far a checkpoint got that did not come to its end.

/// What a checkpoint has failed with, sorted by what the disk holds of it. A transaction that commits by checkpoint has
/// the fate of its checkpoint, so nobody may look at the error alone.
enum CheckpointFailure: Error {
  /// No byte of the meta page was handed to the disk: the checkpoint before stands, and the next one tries again.
  case undone(StorageError)
  /// The meta page was being written or synced: it may be on the disk or not. All writing has stopped.
  case unknown(StorageError)
  /// The meta page is durable, and with it everything that it names; what comes after it has failed. All writing has
  /// stopped if what failed was the proof.
  case durable(StorageError)

  /// What went wrong, for callers that do not ask how far the checkpoint got.
  var reason: StorageError {
    switch self {
    case .undone(let error), .unknown(let error), .durable(let error): error
    }
  }
}
