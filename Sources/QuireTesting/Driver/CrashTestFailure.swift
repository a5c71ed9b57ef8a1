// What a crash test ends with.

/// What a ``CrashTest`` has found: the description has all of it, for people.
public struct CrashTestFailure: Error, Sendable, CustomStringConvertible {
  /// What is wrong, in a sentence.
  public let finding: String
  /// The seed of the history that failed.
  public let seed: UInt64
  /// The operations that are enough for a failure, a line each, in their order.
  public let operations: [String]
  /// How many operations the history had at first.
  public let operationCount: Int
  /// The command that leads this history again.
  public let replay: String

  public var description: String {
    let lines = operations.map { "    \($0)" }.joined(separator: "\n")
    return """
      \(finding)
        after these operations, of \(operationCount) in the history of seed \(seed):
      \(lines)
        again: \(replay)
      """
  }
}

/// What has happened in the histories of a ``CrashTest``: whether it has met what it is there for.
public struct CrashTestReport: Sendable, CustomStringConvertible {
  /// Histories that were led to their end.
  public internal(set) var historyCount = 0
  /// Transactions that committed.
  public internal(set) var commitCount = 0
  /// Power cuts and deaths of the process, those amid openings included.
  public internal(set) var crashCount = 0
  /// Calls of the database's that ended with an error of the disk's.
  public internal(set) var failedCallCount = 0
  /// Registrations of extensions that came to their end.
  public internal(set) var registrationCount = 0
  /// How often rows and extensions were compared with the model.
  public internal(set) var comparisonCount = 0

  public var description: String {
    "\(historyCount) histories, \(commitCount) commits, \(crashCount) crashes, \(failedCallCount) failed calls, "
      + "\(registrationCount) registrations, \(comparisonCount) comparisons"
  }

  /// Adds what has happened in another history.
  mutating func add(_ other: CrashTestReport) {
    historyCount += other.historyCount
    commitCount += other.commitCount
    crashCount += other.crashCount
    failedCallCount += other.failedCallCount
    registrationCount += other.registrationCount
    comparisonCount += other.comparisonCount
  }
}
