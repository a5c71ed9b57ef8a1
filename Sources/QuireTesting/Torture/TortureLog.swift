// What a history says about itself.

/// The report and the trace of a history.
///
/// Invariant: `operation` is the number of the operation that is under way, as the trace and failures have it.
final class TortureLog {
  let seed: UInt64
  var report = TortureReport()
  /// Takes a line for each operation, to follow a history.
  var trace: ((String) -> Void)?
  private var operation = 0

  init(seed: UInt64) {
    self.seed = seed
    report.histories = 1
    report.hash.combine(seed)
  }

  /// The next operation begins.
  func beginOperation() {
    operation += 1
    report.operations += 1
  }

  func note(_ text: @autoclosure () -> String) {
    if let trace { trace("\(operation): \(text())") }
  }

  func failure(_ verdict: TortureFailure.Verdict, _ text: String) -> TortureFailure {
    TortureFailure(verdict: verdict, seed: seed, operation: operation, text: text)
  }

  func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
    report.snapshotReads += 1
    if !isTrue { throw failure(.wrongRead, text()) }
  }

  /// Enters a disk that is done with into the hash.
  func finish(_ disk: SimulatedDisk) {
    report.hash.combine(disk.traceHash)
    if trace != nil { for operation in disk.trace.suffix(60) { note("  disk: \(operation)") } }
  }
}
