// Where a pinned snapshot stands among the commits, and the steps that it takes.

/// A place in the order of commits, of one opening of a database.
///
/// Finer than the number of a commit: a transaction that only touched rows has the number of the commit before it, and
/// a place of its own. What a screen was made of is as of a place.
public struct CommitPosition: Hashable, Sendable {
  /// Which history of commits it is a place of; no two of a process are alike.
  let history: Int
  /// The last entry that it has behind it.
  let sequence: Int
}

/// A commit and its place.
struct PlacedCommit: Sendable {
  let sequence: Int
  let commit: Commit
}

/// A step of a pinned snapshot from one place to a later one.
///
/// Two are the same if they begin and end at the same places.
public struct PinnedStep: Sendable, Equatable {
  /// Where it begins and ends.
  let start: CommitPosition
  let end: CommitPosition
  /// What it goes past, in order.
  let passed: [PlacedCommit]
  /// What earlier steps of the pin went past on the snapshot that it begins at: commits that only touched rows. None is
  /// missing behind `earlierStart`.
  let earlier: [PlacedCommit]
  let earlierStart: Int

  public static func == (left: Self, right: Self) -> Bool { left.start == right.start && left.end == right.end }

  /// The commits that it goes past, in their order.
  public var commits: [Commit] { passed.map(\.commit) }

  /// The commits from a place to the end of the step, in their order; nil if nobody knows them. They are known from any
  /// place that the pin has been at since it has come to the snapshot that the step begins at. O(commits).
  public func commits(since position: CommitPosition) -> [Commit]? {
    guard position.history == start.history, earlierStart...max(earlierStart, end.sequence) ~= position.sequence else {
      return nil
    }
    return (earlier + passed).filter { $0.sequence > position.sequence }.map(\.commit)
  }

  /// This step and the next one of the same pin as one; nil if another one begins there.
  public func followed(by next: PinnedStep) -> PinnedStep? {
    guard end == next.start else { return nil }
    return PinnedStep(
      start: start, end: next.end, passed: passed + next.passed, earlier: earlier, earlierStart: earlierStart)
  }
}
