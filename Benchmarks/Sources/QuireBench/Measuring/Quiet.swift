// Waiting until nobody works behind the measurement's back.

internal import Foundation

/// Other threads of this process, and the disk, at rest.
///
/// Stores merge, write home and tidy on threads of their own, for seconds after the call that gave them cause. All
/// stores of a run share cores and disk: without a pause the next one's measurement pays for what the last one left.
enum Quiet {
  private static let pieceSeconds = 0.02
  /// Less work than this in a piece is a thread that looks at its clock, in nanoseconds.
  private static let mostWorkPerPiece = 1_000_000
  /// How long everything must have rested if nobody is known to begin later.
  static let shortestSeconds = 0.06

  /// Waits until for `seconds` little was done by all threads and nothing was asked of the disk, for `limit`
  /// milliseconds at most; false if that was not enough.
  static func await(_ seconds: Double, atMost limit: Int, _ disk: DiskCounters?) -> Bool {
    let end = Clocks.wall() + limit * 1_000_000
    var rest = seconds
    while rest > 0 {
      guard Clocks.wall() < end else { return false }
      let before = Clocks.process()
      Thread.sleep(forTimeInterval: pieceSeconds)
      // A thread that waits for its flush takes no time on any core.
      let isAtRest = Clocks.process() - before < mostWorkPerPiece && (disk?.requestsInFlight() ?? 0) == 0
      rest = isAtRest ? rest - pieceSeconds : seconds
    }
    return true
  }
}
