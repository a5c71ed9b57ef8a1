// What a commit waits for.

/// When a commit is acknowledged.
public enum Durability: Hashable, Sendable {
  /// When it is on the disk: it survives a crash of the machine. One flush for all commits that wait at that moment.
  case full
  /// When it has been handed to the system. A flush that covers it begins at most this long after, or, if one is under
  /// way at that moment, when that has ended: after the interval and the time that the disk takes for two flushes at
  /// the most, it is on the disk. Survives a crash of the process at once, and one of the machine from then on.
  case interval(Duration)
  /// When it has been handed to the system. Survives a crash of the process; after one of the machine the newest
  /// commits may be missing, always from the end and whole.
  case relaxed

  /// Whether acknowledging waits for a flush.
  var waitsForFlush: Bool { self == .full }
}
