// Throttling a checkpoint's writes beside commits.

/// Spreads the long values that a checkpoint writes over the room that the log has left.
///
/// At full speed they keep the disk busy for as long as it takes, and each commit of that time waits for its turn
/// behind megabytes: twenty milliseconds in the place of one. But there is no hurry, as the checkpoint began when the
/// log had room left. So it goes half as fast again as the log fills, and at a leisurely pace at least, until somebody
/// waits for it or nobody commits. (PostgreSQL spreads its checkpoints likewise; there it is called
/// `checkpoint_completion_target`.)
///
/// Tree pages are written without a pause. There are fewer of them, and from the first on that is flipped to its place
/// until the last, each copy of a branch has to look for more of them: with pauses a writer committed a third less in
/// that time, and a reader beside it found a third less.
struct CheckpointThrottle {
  /// The log at the start, and the bytes that it had room for.
  private let start: LSN
  private let logRoom: Int
  /// The values to be written, about.
  private let total: Int
  /// Where the log was when it was last seen to move, and when that was, in microseconds.
  private var lastLSN: LSN
  private var lastMove: UInt64

  /// How long nobody commits before there is nobody to be considerate of: longer than a slow disk flushes.
  private static let idleMicroseconds: UInt64 = 50_000
  /// The longest wait for one buffer of values: not less than 64 MiB are written in a second.
  private static let longestWaitMicroseconds: UInt64 = 8_000
  private static let pauseMicroseconds: UInt32 = 1_000

  /// The throttle for a log that ends at `start` and has room for `logRoom` bytes.
  init(start: LSN, logRoom: Int, total: Int) {
    (self.start, self.logRoom, self.total) = (start, max(logRoom, 1), max(total, 1))
    (lastLSN, lastMove) = (start, Pause.now)
  }

  /// Waits until it is time for the next values.
  ///
  /// - Parameters:
  ///   - written: how many have been written.
  ///   - look: the end of the log; nil if there is a hurry.
  mutating func wait(written: Int, _ look: () -> LSN?) {
    let limit = Pause.now + Self.longestWaitMicroseconds
    while let end = look(), isAhead(written, end) {
      let now = Pause.now
      if end != lastLSN { (lastLSN, lastMove) = (end, now) }
      if now >= limit || now >= lastMove + Self.idleMicroseconds { return }
      Pause.sleep(microseconds: Self.pauseMicroseconds)
    }
  }

  /// Whether more has been written than the log asks for: half as much again as its share of the room, and a sixteenth,
  /// so that there is room left for what comes behind the values.
  private func isAhead(_ written: Int, _ end: LSN) -> Bool {
    // A log that has gone on in its next segment ends in the one before until something is appended.
    assert(written >= 0 && total > 0 && logRoom > 0, "nothing to spread, or no room to spread it over")
    let used = Double(end > start ? end.rawValue - start.rawValue : 0) / Double(logRoom)
    return Double(written) / Double(total) > used * 1.5 + 1.0 / 16
  }
}
