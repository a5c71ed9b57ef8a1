// Whether what threads did with rows, and saw of them, can be explained by snapshots of one order of commits.

import QuireDatabase

/// Checks a history of rows for snapshots, for one order of transactions that write, and for real time.
///
/// A transaction that writes is told which commit it builds on. Its own has the next number. One that changes nothing
/// that is stored, as if it only touches rows, has none: it is told of under the number that it builds on. Row ids are
/// stored, too: where a transaction or a savepoint that was undone has given some, the next one that returns has a
/// number of its own in any case. So there are numbers of commits that nobody knows of, and the state of a number is
/// that after the last known commit up to it.
///
/// 1. No two commits have one number, and a transaction has the number of its base only if it leaves all rows as they
///    were.
/// 2. A transaction sees what the commits up to its snapshot have left, and its own changes; what its calls return
///    agrees with that.
/// 3. What was refused or rolled back is seen by nobody, and the stream does not tell of it. What nobody knows of is
///    there if somebody has seen its number, and then whole.
/// 4. A transaction that begins after somebody was told of a commit, or saw it, sees that commit.
/// 5. Nobody sees a commit that has not begun.
/// 6. The stream tells of each commit once, in order, by the time at which it is acknowledged, and of the rows that it
///    has changed; a pinned snapshot that goes on is told of the commits that it goes past.
/// 7. A power cut leaves what was acknowledged, or, where acknowledging does not wait for the disk, at least what was
///    made durable by a call.
struct RowHistoryChecker {
  private struct Commit {
    let number: UInt64
    let rows: RowState
    let id: Int
    let hasChanges: Bool
  }

  /// A time, and the greatest number up to then.
  private typealias Known = (time: UInt64, number: UInt64)

  private let records: [RowRecord]
  private let events: RowEvents
  /// The commit at which the history begins, with no rows.
  private let first: UInt64
  /// The commits that are there, in order.
  private var commits: [Commit] = []
  /// The numbers of transactions that are there.
  private var numbers: [Int: UInt64] = [:]
  private var known: [Known] = []
  private var acknowledged: [Known] = []
  private var begun: [Known] = []
  /// What is wrong, in words.
  private(set) var violations: [String] = []

  /// Checks a history that began without rows, after the commit of a number.
  init(_ records: [RowRecord], _ events: RowEvents = RowEvents(), after first: UInt64 = 0) {
    self.records = records.filter { $0.snapshot != nil }
    self.events = events
    self.first = first
    takeCommits()
    takeTimes()
    for record in self.records where Self.counts(record) { check(record) }
    checkStream()
  }

  /// The number of the newest commit that is known to be there.
  var newest: UInt64 { commits.last?.number ?? first }

  /// All rows after the commit of a number.
  func rows(at number: UInt64) -> RowState {
    let index = Self.count(commits) { $0.number <= number }
    return index == 0 ? [:] : commits[index - 1].rows
  }

  /// Whether what a transaction saw says anything. One that was refused may have gone on from another one that has not
  /// come to be, either.
  private static func counts(_ record: RowRecord) -> Bool {
    record.outcome == nil || record.outcome == .acknowledged || record.outcome == .rolledBack
  }

  private mutating func complain(_ text: String) {
    // Where much is wrong, the first of it tells.
    if violations.count < 20 { violations.append(text) }
  }

  /// The number of elements at the beginning for which something holds that holds for none behind them.
  private static func count<Element>(_ list: [Element], _ holds: (Element) -> Bool) -> Int {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if holds(list[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Commits

  private mutating func takeCommits() {
    let seen = records.filter(Self.counts).compactMap(\.snapshot).max() ?? first
    let writes = records.filter { record in
      switch record.outcome {
      case .acknowledged, .rolledBack: true
      case .unknown: (record.snapshot ?? 0) + 1 <= seen
      case .refused, nil: false
      }
    }
    // Each after those whose number it builds on.
    for record in writes.sorted(by: { ($0.snapshot ?? 0, $0.began) < ($1.snapshot ?? 0, $1.began) }) {
      let old = rows(at: record.snapshot ?? 0)
      var replay = RowReplay(old)
      for step in record.steps {
        if let wrong = replay.take(step) {
          complain("\(record.name): \(wrong)")
          break
        }
      }
      if record.outcome != .rolledBack { take(record, replay, from: old) }
    }
  }

  private mutating func take(_ record: RowRecord, _ replay: RowReplay, from old: RowState) {
    let base = record.snapshot ?? 0
    let changed = replay.differences(from: old)
    let number = record.told?.number ?? (changed.isEmpty ? base : base + 1)
    if number != base, number != base + 1 { complain("\(record.name) is told of as commit \(number)") }
    if number == base, !changed.isEmpty { complain("\(record.name) changes \(changed[0]), and has no number") }
    if number > base {
      if let last = commits.last, last.number == number {
        complain("\(record.name) and the write \(RowRecord.name(last.id)) have one number")
      } else {
        commits.append(Commit(number: number, rows: replay.rows, id: record.id, hasChanges: !changed.isEmpty))
      }
    }
    numbers[record.id] = number
    guard let told = record.told else {
      guard record.outcome == .acknowledged, !events.hasFaults else { return }
      if !changed.isEmpty || !replay.touched.isEmpty { complain("\(record.name) was not told of when it returned") }
      return
    }
    for place in changed where !told.rows.contains(place) && !told.cleared.contains(place.collection) {
      complain("\(record.name) changes \(place), and is told of without it")
    }
    for place in told.rows where !replay.reported.contains(place) {
      complain("\(record.name) is told of with \(place), which it has left alone")
    }
  }

  // MARK: Time

  private mutating func takeTimes() {
    var told: [Known] = []
    for record in records {
      let snapshot = record.snapshot ?? 0
      switch record.outcome {
      case nil: known.append((record.ended, snapshot))
      case .acknowledged: told.append((record.ended, numbers[record.id] ?? snapshot))
      // What it saw of others stands by the time at which it returns.
      case .rolledBack: told.append((record.ended, snapshot))
      case .unknown, .refused: break
      }
      if record.outcome == .acknowledged || record.outcome == .unknown { begun.append((record.began, snapshot + 1)) }
    }
    acknowledged = Self.rising(told)
    known = Self.rising(known + told + events.heard)
    begun = Self.rising(begun)
  }

  /// The entries in the order of their times, each with the greatest number up to then.
  private static func rising(_ list: [Known]) -> [Known] {
    var newest: UInt64 = 0
    return list.sorted { $0.time < $1.time }.map { time, number in
      newest = max(newest, number)
      return (time, newest)
    }
  }

  /// The number of the last entry before a time; that of the beginning if there is none.
  private func last(_ list: [Known], before time: UInt64) -> UInt64 {
    let index = Self.count(list) { $0.time < time }
    return index == 0 ? first : max(first, list[index - 1].number)
  }

  /// What must be there after a power cut at a time.
  private func flushed(before time: UInt64) -> UInt64 {
    events.flushes.filter { $0.ended < time }.map { last(acknowledged, before: $0.began) }.max() ?? first
  }

  // MARK: What was seen

  private mutating func check(_ record: RowRecord) {
    for text in problems(of: record) { complain(text) }
  }

  /// What is wrong with what one transaction saw, which need not be one of the history. Nil if it has seen a commit of
  /// which nobody knew: then it belongs into the history.
  func problems(ofImage record: RowRecord) -> [String]? {
    let hasUnknown = records.contains { $0.outcome == .unknown && ($0.snapshot ?? 0) + 1 <= record.snapshot ?? 0 }
    return hasUnknown ? nil : problems(of: record)
  }

  private func problems(of record: RowRecord) -> [String] {
    var texts: [String] = []
    let snapshot = record.snapshot ?? 0
    // The steps of others have been replayed when the order was made.
    if record.outcome == nil {
      var replay = RowReplay(rows(at: snapshot))
      for step in record.steps {
        guard let wrong = replay.take(step) else { continue }
        texts.append("\(record.name): \(wrong)")
        break
      }
    }
    let before = record.isOfPowerCut ? flushed(before: record.began) : last(known, before: record.began)
    if snapshot < before { texts.append("\(record.name) began after somebody had known of commit \(before)") }
    let possible = last(begun, before: record.ended)
    if record.outcome == nil, snapshot > possible {
      texts.append("\(record.name) ended when no commit above \(possible) had begun")
    }
    if let passed = record.passed { texts += problems(of: passed, record) }
    return texts
  }

  private func problems(of passed: RowRecord.Passed, _ record: RowRecord) -> [String] {
    var texts: [String] = []
    let snapshot = record.snapshot ?? 0
    for (one, other) in zip(passed.commits, passed.commits.dropFirst()) where one.number > other.number {
      texts.append("\(record.name) is told of commit \(one.number) before \(other.number)")
    }
    var ids: Set<Int> = []
    for (id, number) in passed.commits {
      if !ids.insert(id).inserted { texts.append("\(record.name) is told twice of \(RowRecord.name(id))") }
      if number < passed.start || number > snapshot {
        texts.append("\(record.name) goes on from \(passed.start) and is told of commit \(number)")
      }
    }
    for commit in commits where commit.number > passed.start && commit.number <= snapshot && commit.hasChanges {
      if !ids.contains(commit.id) { texts.append("\(record.name) is not told of commit \(commit.number)") }
    }
    return texts
  }

  // MARK: The stream

  private mutating func checkStream() {
    var ids: Set<Int> = []
    let refused = records.filter { $0.outcome == .refused || $0.outcome == .rolledBack }.map(\.id)
    for (id, number) in events.told {
      if !ids.insert(id).inserted { complain("the stream tells twice of \(RowRecord.name(id))") }
      if let own = numbers[id], own != number { complain("the stream tells of commit \(own) as \(number)") }
    }
    for id in refused where ids.contains(id) {
      complain("the stream tells of \(RowRecord.name(id)), which is not there")
    }
    for (one, other) in zip(events.told, events.told.dropFirst()) where one.number > other.number {
      complain("the stream tells of commit \(one.number) before \(other.number)")
    }
  }
}
