// The steps of opening after a crash, for measurements.

/// A step of recovery that has just ended.
package enum RecoveryStage: String, Sendable, CaseIterable {
  /// The segments of the log are in memory.
  case read
  /// The chain has been followed, and every record verified.
  case scanned
  /// The engine stands on the newest checkpoint.
  case assembled
  /// The operations of the log, or of a part of it, have been decoded.
  case decoded
  /// They are in the order of trees and keys.
  case sorted
  /// They are in the trees.
  case applied
  /// Everything that was replayed is in the data file, and the log is gone.
  case settled
}
