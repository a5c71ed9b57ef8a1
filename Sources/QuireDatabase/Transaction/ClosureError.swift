// The errors of apps, on their way through the engine.

/// Carries an error of the app's through the engine, so that it is told from one of the engine's: it may be of the same
/// type, if the closure uses another database.
struct ClosureError: Error {
  let error: any Error
}
