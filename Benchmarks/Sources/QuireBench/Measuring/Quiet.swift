// Waiting until nobody works behind the measurement's back.

internal import Foundation

/// Other threads of this process at rest.
///
/// Stores merge, write home and tidy on threads of their own, for seconds after the call that gave them cause. All
/// stores of a run share its cores: without a pause the next one's measurement pays for what the last one left to do.
enum Quiet {
  /// How long nobody may have worked.
  private static let pieceSeconds = 0.02
  private static let pieces = 3
  /// Less work than this in a piece is a thread that looks at its clock.
  private static let mostWorkPerPiece = 1_000_000

  /// Waits until so little is done by all threads, for `milliseconds` at most.
  static func await(atMost milliseconds: Int) {
    let limit = Clocks.wall() + milliseconds * 1_000_000
    var quiet = 0
    while quiet < pieces, Clocks.wall() < limit {
      let before = Clocks.process()
      Thread.sleep(forTimeInterval: pieceSeconds)
      quiet = Clocks.process() - before < mostWorkPerPiece ? quiet + 1 : 0
    }
  }
}
