// What a commit waits for.

/// When a commit is acknowledged.
public enum Durability: Hashable, Sendable {
  /// When it is on the disk: it survives a crash of the machine. One flush for all commits that wait at that moment.
  case full
  /// When it has been handed to the system; it is on the disk at most this long after. Survives a crash of the process
  /// at once, one of the machine after the interval.
  case interval(Duration)
  /// When it has been handed to the system. Survives a crash of the process; after one of the machine the newest
  /// commits may be missing, always from the end and whole.
  case relaxed

  /// Whether acknowledging waits for a flush.
  var waitsForFlush: Bool { self == .full }
}
