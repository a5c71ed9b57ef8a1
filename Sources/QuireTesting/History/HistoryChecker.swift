// Whether what threads did and saw can be explained by snapshots of one order of commits.

/// Checks a history for snapshot isolation of readers, for one order of writers, and for real time.
///
/// Commits have numbers, so that their order is known and has not to be looked for: what is checked is that everything
/// agrees with it.
///
/// 1. No two commits have one number.
/// 2. A transaction sees what the commits up to its snapshot have left, and nothing else. A writer sees the commit
///    before its own: writers come one after the other.
/// 3. What was refused is seen by nobody.
/// 4. A transaction that begins after somebody was told of a commit, or saw it, sees that commit.
/// 5. Nobody sees a commit that has not begun.
package struct HistoryChecker {
  private let records: [TransactionRecord]
  /// The commit at which the history begins.
  private let first: UInt64
  /// The commits that are there, in order.
  private var commits: [TransactionRecord] = []
  /// What the commits have left under a key, in their order.
  private var versions: [Int64: [(number: UInt64, value: WrittenValue?)]] = [:]
  /// What is wrong, in words.
  package private(set) var violations: [String] = []

  /// Checks a history that began with nothing, after the commit of a number.
  package init(_ records: [TransactionRecord], after first: UInt64 = 0) {
    self.records = records
    self.first = first
    takeCommits()
    for record in records where Self.counts(record) { checkContent(record) }
    checkTime()
  }

  /// Whether what a transaction saw says anything. One that was not acknowledged may have gone on from another one that
  /// has not come to be, either.
  private static func counts(_ record: TransactionRecord) -> Bool {
    record.commit == nil || record.commit?.outcome == .acknowledged
  }

  /// All that there is after the commit of a number.
  package func content(at number: UInt64) -> [Int64: WrittenValue] {
    var content: [Int64: WrittenValue] = [:]
    for key in versions.keys { content[key] = value(of: key, at: number) }
    return content
  }

  /// The number of the newest commit that is there.
  package var newest: UInt64 { commits.last?.commit?.number ?? first }

  private mutating func complain(_ text: String) {
    // Where much is wrong, the first of it tells.
    if violations.count < 20 { violations.append(text) }
  }

  // MARK: Commits

  private mutating func takeCommits() {
    var seen: Set<WrittenValue> = []
    for record in records where Self.counts(record) {
      for read in record.reads { if let value = read.value { seen.insert(value) } }
      if let content = record.content { seen.formUnion(content.values) }
    }
    for record in records {
      guard let commit = record.commit else { continue }
      switch commit.outcome {
      case .acknowledged: commits.append(record)
      case .unknown:
        // It is there if somebody has seen it.
        if record.writes.contains(where: { $0.value.map(seen.contains) ?? false }) { commits.append(record) }
      case .refused:
        for write in record.writes {
          if let value = write.value, seen.contains(value) { complain("\(record.name) was seen: \(value)") }
        }
      }
    }
    commits.sort { Self.number($0) < Self.number($1) }
    for (one, other) in zip(commits, commits.dropFirst()) where Self.number(one) == Self.number(other) {
      complain("\(one.name) and \(other.name) have one number")
    }
    for record in commits {
      for write in record.writes {
        if versions[write.key]?.last?.number == Self.number(record) { versions[write.key]?.removeLast() }
        versions[write.key, default: []].append((Self.number(record), write.value))
      }
    }
  }

  private static func number(_ record: TransactionRecord) -> UInt64 { record.commit?.number ?? 0 }

  /// What the commits up to one have left under a key.
  private func value(of key: Int64, at number: UInt64) -> WrittenValue? {
    guard let list = versions[key] else { return nil }
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].number <= number { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : list[low - 1].value
  }

  // MARK: What was seen

  private mutating func checkContent(_ record: TransactionRecord) {
    if let commit = record.commit, commit.number != record.snapshot + 1 {
      complain("\(record.name) saw \(record.snapshot), which is not the commit before")
    }
    for read in record.reads {
      let expected = value(of: read.key, at: record.snapshot)
      if read.value != expected {
        complain("\(record.name) saw \(Self.text(read.value)) under \(read.key), and \(Self.text(expected)) was there")
      }
    }
    guard let content = record.content else { return }
    let expected = self.content(at: record.snapshot)
    guard content != expected else { return }
    for key in Set(content.keys).union(expected.keys).sorted() where content[key] != expected[key] {
      complain(
        "\(record.name) saw \(Self.text(content[key])) under \(key) of all, and \(Self.text(expected[key])) was there")
    }
  }

  private static func text(_ value: WrittenValue?) -> String { value.map { "\($0)" } ?? "nothing" }

  // MARK: Time

  /// What was known at a time: the newest commit that somebody had been told of, or had seen, by then.
  private func known() -> [(time: UInt64, number: UInt64)] {
    var told: [(time: UInt64, number: UInt64)] = []
    for record in records {
      // A writer may go on from what nobody else sees yet.
      if record.commit == nil { told.append((record.ended, record.snapshot)) }
      if let commit = record.commit, commit.outcome == .acknowledged { told.append((record.ended, commit.number)) }
    }
    return Self.rising(told)
  }

  /// The entries in the order of their times, each with the greatest number up to then.
  private static func rising(
    _ list: [(time: UInt64, number: UInt64)], from first: UInt64 = 0
  ) -> [(time: UInt64, number: UInt64)] {
    var newest = first
    return list.sorted { $0.time < $1.time }.map { time, number in
      newest = max(newest, number)
      return (time, newest)
    }
  }

  private mutating func checkTime() {
    let known = known()
    let begun = Self.rising(commits.map { (time: $0.began, number: Self.number($0)) }, from: first)
    for record in records where Self.counts(record) {
      let before = Self.last(known, before: record.began)
      if record.snapshot < before {
        complain("\(record.name) saw \(record.snapshot) after somebody had known of commit \(before)")
      }
      let possible = max(first, Self.last(begun, before: record.ended))
      if record.commit == nil, record.snapshot > possible {
        complain("\(record.name) saw \(record.snapshot) when no commit above \(possible) had begun")
      }
    }
  }

  /// The number of the last entry before a time; 0 if there is none.
  private static func last(_ list: [(time: UInt64, number: UInt64)], before time: UInt64) -> UInt64 {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].time < time { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? 0 : list[low - 1].number
  }
}
