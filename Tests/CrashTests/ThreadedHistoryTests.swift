// What threads did and saw is one order of commits. Run under the thread sanitizer with --filter Threaded; a longer
// run, or one history, by
//
//     QUIRE_HISTORY_ROUNDS=2000 QUIRE_HISTORY_SEED=7 swift test --filter ThreadedHistoryTests

import QuireStorage
import QuireTesting
import Testing

@Suite("What threads did and saw") struct ThreadedHistoryTests {
  @Test(
    "is what snapshots of one order of commits show, while pages are evicted, calls fail and checkpoints run",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func isOneOrder() throws {
    let seed = UInt64(environmentNumber("QUIRE_HISTORY_SEED") ?? 1)
    let rounds = environmentNumber("QUIRE_HISTORY_ROUNDS") ?? TestSize.trials(40, divisor: 3)
    var transactionCount = 0
    for seed in seed..<seed + UInt64(rounds) {
      let history = try ThreadedSnapshotHistory(SnapshotPlan(seed: seed))
      let (complaints, count) = try history.run()
      transactionCount += count
      if !complaints.isEmpty {
        Issue.record(
          """
          seed \(seed) (\(history.plan)): \(complaints.prefix(5).joined(separator: "; "))
            replay: QUIRE_HISTORY_ROUNDS=1 QUIRE_HISTORY_SEED=\(seed) swift test --filter ThreadedHistoryTests
          """)
        return
      }
    }
    #expect(transactionCount > rounds * 10)
  }

  // MARK: The checker

  private func write(
    _ number: UInt64, _ time: Range<UInt64>, _ writes: [Int64: Int?],
    _ outcome: TransactionRecord.Outcome = .acknowledged, reading reads: [TransactionRecord.Read] = []
  ) -> TransactionRecord {
    var record = TransactionRecord(thread: 1, began: time.lowerBound)
    record.ended = time.upperBound
    record.snapshot = number - 1
    record.reads = reads
    record.writes = writes.map { .init($0, $1.map { WrittenValue(thread: 1, number: $0) }) }
    record.commit = (number, outcome)
    return record
  }

  private func read(_ snapshot: UInt64, _ time: Range<UInt64>, _ key: Int64, _ value: Int?) -> TransactionRecord {
    var record = TransactionRecord(thread: 2, began: time.lowerBound)
    record.ended = time.upperBound
    record.snapshot = snapshot
    record.reads = [.init(key, value.map { WrittenValue(thread: 1, number: $0) })]
    return record
  }

  @Test("A history in order is passed") func orderIsPassed() {
    let records = [
      write(1, 0..<10, [1: 11, 2: 12]),
      write(2, 5..<20, [1: 21], reading: [.init(1, WrittenValue(thread: 1, number: 11))]),
      write(3, 21..<30, [1: 31], .refused), write(3, 31..<40, [2: nil]), write(4, 41..<50, [1: 41], .unknown),
      read(0, 1..<9, 1, nil), read(1, 6..<19, 1, 11), read(2, 22..<35, 2, 12), read(3, 45..<60, 2, nil),
      read(3, 61..<62, 1, 21),
    ]
    let checker = HistoryChecker(records)
    #expect(checker.violations.isEmpty, "\(checker.violations)")
    #expect(checker.newest == 3)
    #expect(checker.content(at: 3) == [1: WrittenValue(thread: 1, number: 21)])
    // Once somebody has seen it, it is there.
    #expect(HistoryChecker(records + [read(4, 61..<62, 1, 41)]).newest == 4)
  }

  @Test("Each thing that must not be is found and said")
  func violationsAreFound() {
    let base = [write(1, 0..<10, [1: 11]), write(2, 11..<20, [1: 21])]
    let old = WrittenValue(thread: 1, number: 11)
    for (wrong, words) in [
      ([read(1, 1..<2, 1, 21)], "1.21"),
      ([read(1, 21..<22, 1, 11)], "after somebody had known of commit 2"),
      ([read(2, 12..<15, 1, 21), read(1, 16..<19, 1, 11)], "after somebody had known of commit 2"),
      ([read(2, 1..<5, 1, 21)], "no commit above 1 had begun"),
      ([write(2, 12..<18, [3: 33])], "have one number"),
      ([write(3, 21..<30, [2: 32], reading: [.init(1, old)])], "1.11 under 1"),
      ([write(3, 21..<30, [2: 32], .refused), read(2, 31..<32, 2, 32)], "was seen"),
      ([read(2, 21..<22, 2, nil), read(2, 21..<22, 1, nil)], "saw nothing under 1"),
    ] {
      let violations = HistoryChecker(base + wrong).violations
      #expect(violations.contains { $0.contains(words) }, "\(words): \(violations)")
    }
    var scan = read(2, 21..<22, 1, 21)
    scan.content = [1: WrittenValue(thread: 1, number: 21), 9: old]
    #expect(HistoryChecker(base + [scan]).violations.contains { $0.contains("under 9 of all") })
  }

  @Test func valuesTellWhoWroteThem() {
    let value = WrittenValue(thread: 3, number: 77)
    #expect(WrittenValue(value.bytes(count: 8)) == value && WrittenValue(value.bytes(count: 100)) == value)
    #expect(value.bytes(count: 100).count == 100 && WrittenValue([1, 2, 3]) == nil && "\(value)" == "3.77")
  }
}
