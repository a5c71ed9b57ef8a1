// What threads did with rows and saw of them is one order of commits. Run under the thread sanitizer with --filter
// Threaded; a longer run, or one history, by
//
//     QUIRE_ROW_HISTORY_ROUNDS=2000 QUIRE_ROW_HISTORY_SEED=7 swift test --filter ThreadedRowHistoryTests
//
// The threads are real ones: a seed is a plan of what each of them does, and not an order in which they come. What
// one run of a seed has shown, the next may not.

import QuireTesting
import Testing

@Suite("What threads did with rows and saw of them") struct ThreadedRowHistoryTests {
  static func command(_ seed: UInt64) -> String {
    "replay: QUIRE_ROW_HISTORY_ROUNDS=1 QUIRE_ROW_HISTORY_SEED=\(seed) swift test --filter ThreadedRowHistoryTests "
      + "(a plan and not an order: repeat it)"
  }

  @Test(
    "is what snapshots of one order of commits show, in every durability, while calls fail and the power is cut",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func isOneOrder() throws {
    let first = UInt64(environmentNumber("QUIRE_ROW_HISTORY_SEED") ?? 1)
    let rounds = environmentNumber("QUIRE_ROW_HISTORY_ROUNDS") ?? TestSize.trials(36, divisor: 3)
    var counts = ThreadedRowHistory.Counts()
    for seed in first..<first + UInt64(rounds) {
      let history = try ThreadedRowHistory(seed: seed)
      let complaints: [String]
      do { complaints = try history.run(&counts) } catch { complaints = ["\(error)"] }
      if !complaints.isEmpty {
        Issue.record(
          """
          seed \(seed) (\(history.plan)): \(complaints.prefix(5).joined(separator: "; "))
            \(Self.command(seed))
          """)
        return
      }
    }
    #expect(counts.acknowledged > rounds * 5 && counts.reads > rounds * 5 && counts.images >= rounds * 3, "\(counts)")
  }

  // MARK: The checker

  private let mark = RowMark(transaction: 1 << 16 | 1, change: 1)
  private let other = RowMark(transaction: 1 << 16 | 2, change: 1)
  private let place = RowPlace(0, 1)

  private func write(
    _ number: UInt64, _ time: Range<UInt64>, _ steps: [RowStep], _ outcome: RowRecord.Outcome = .acknowledged,
    told: UInt64? = nil, rows: Set<RowPlace>? = nil
  ) -> RowRecord {
    var record = RowRecord(thread: 1, number: Int(number), began: time.lowerBound)
    (record.ended, record.snapshot, record.steps, record.outcome) = (time.upperBound, number - 1, steps, outcome)
    if outcome == .acknowledged {
      record.told = ToldCommit(number: told ?? number, rows: rows ?? [place], cleared: [])
    }
    return record
  }

  private func read(_ snapshot: UInt64, _ time: Range<UInt64>, _ steps: [RowStep]) -> RowRecord {
    var record = RowRecord(thread: 2, number: Int(time.lowerBound), began: time.lowerBound)
    (record.ended, record.snapshot, record.steps) = (time.upperBound, snapshot, steps)
    return record
  }

  private func set(_ mark: RowMark, _ metadata: RowMark? = nil) -> RowStep {
    .set(place, RowContent(object: mark, metadata: metadata))
  }

  private var base: [RowRecord] {
    [write(1, 0..<10, [set(mark, mark)]), write(2, 11..<20, [.replace(place, other, isThere: true)])]
  }

  @Test("A history in order is passed") func orderIsPassed() {
    let undone: [RowStep] = [
      .savepoint, set(other), .remove(place, isThere: true), .isThere(place, false), .undone,
      .row(place, RowContent(object: mark, metadata: mark)),
    ]
    let records = [
      write(1, 0..<10, [set(mark, mark)]),
      write(2, 2..<15, [.object(place, mark), .savepoint, .replace(place, other, isThere: true), .kept]),
      // On the first commit, and rolled back.
      write(2, 3..<12, undone, .rolledBack), write(3, 21..<30, [set(mark)], .refused),
      // Numbers of their own, and none, and one that nobody knows.
      write(3, 31..<40, [.touch(place, isThere: true)], told: 2), write(5, 41..<50, [set(mark)], .unknown),
      read(0, 1..<9, [.object(place, nil), .collections([], 0)]), read(1, 6..<14, [.metadata(place, mark)]),
      read(3, 45..<60, [.rows(0, [1: RowContent(object: other, metadata: mark)]), .keys(0, [1]), .count(0, nil, 1)]),
    ]
    let checker = RowHistoryChecker(records)
    #expect(checker.violations.isEmpty, "\(checker.violations)")
    #expect(checker.newest == 2 && checker.rows(at: 4) == [place: RowContent(object: other, metadata: mark)])
    // Once somebody has seen it, it is there.
    #expect(RowHistoryChecker(records + [read(5, 61..<62, [.object(place, mark)])]).newest == 5)
  }

  @Test("Each thing that must not be is found and said")
  func violationsAreFound() {
    let undone: [RowStep] = [
      .savepoint, .replaceMetadata(place, nil, isThere: true), .undone, .metadata(place, nil),
    ]
    var early = read(1, 21..<22, [.object(place, mark)])
    early.isOfPowerCut = true
    var passed = read(2, 21..<22, [])
    passed.passed = RowRecord.Passed(start: 1, commits: [])
    let cases: [([RowRecord], String)] = [
      ([read(1, 21..<22, [.object(place, mark)])], "after somebody had known of commit 2"),
      ([read(2, 21..<22, [.object(place, mark)])], "the object of c0/k10001: 1.1:1, and should be 1.2:1"),
      ([read(2, 21..<22, [.metadata(place, nil)])], "the metadata of c0/k10001: nothing, and should be 1.1:1"),
      ([read(2, 21..<22, [.count(0, nil, 2)])], "rows of collection 0: 2, and should be 1"),
      ([read(2, 21..<22, [.rows(0, [:])])], "k10001 in collection 0: nothing"),
      ([read(2, 12..<15, []), read(1, 16..<19, [])], "after somebody had known of commit 2"),
      ([read(3, 21..<25, [])], "no commit above 2 had begun"),
      ([write(2, 12..<18, [set(mark)])], "have one number"),
      ([write(3, 21..<30, [set(mark)], told: 2)], "has no number"),
      ([write(3, 21..<30, [set(mark)], rows: [])], "is told of without it"),
      ([write(3, 21..<30, [.touch(place, isThere: true)], rows: [RowPlace(1, 1)])], "which it has left alone"),
      ([write(3, 21..<30, undone, .rolledBack)], "the metadata of c0/k10001: nothing, and should be 1.1:1"),
      ([write(3, 21..<30, [.remove(place, isThere: false)])], "removing c0/k10001 found a row: false"),
      ([write(3, 21..<30, [set(mark)], .refused), read(2, 31..<32, [.object(place, mark)])], "and should be 1.2:1"),
      ([passed], "is not told of commit 2"),
    ]
    for (wrong, words) in cases {
      let violations = RowHistoryChecker(base + wrong).violations
      #expect(violations.contains { $0.contains(words) }, "\(words): \(violations)")
    }
    // A power cut may take what no call has made durable.
    #expect(RowHistoryChecker(base + [early]).violations.isEmpty)
    var events = RowEvents(flushes: [(20, 21)])
    early.began = 22
    #expect(RowHistoryChecker(base + [early], events).violations.isEmpty)
    events.flushes = [(21, 21)]
    #expect(RowHistoryChecker(base + [early], events).violations.count == 1)
    events = RowEvents(told: [(1 << 16 | 2, 2), (1 << 16 | 1, 1)])
    let violations = RowHistoryChecker(base, events).violations
    #expect(violations == ["the stream tells of commit 2 before 1"])
  }
}
