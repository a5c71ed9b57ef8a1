// A sample of every sweep of damage; `quire-torture rot` runs all of them in full.

import QuireStorage
import QuireTesting
import Testing

@Suite struct RotTests {
  /// How many trials of each sweep a test makes.
  private static var trialCount: Int {
    #if DEBUG
      return TestSize.trials(60, divisor: 6)
    #else
      return 2000
    #endif
  }

  @Test(arguments: RotKind.allCases) func damageIsAnErrorOrHasNoEffect(kind: RotKind) throws {
    let sweep = try kind.makeSweep()
    try #require(sweep.trialCount > 0)
    var (errors, unaffected, cut) = (0, 0, 0)
    // A step that shares no factor with the sweeps' own rounds.
    let step = max(1, sweep.trialCount / Self.trialCount) | 1
    for number in stride(from: 0, to: sweep.trialCount, by: step) {
      switch sweep.trial(number) {
      case .error: errors += 1
      case .noEffect: unaffected += 1
      case .cut: cut += 1
      case .wrong(let text): Issue.record("quire-torture rot --sweep \(kind.rawValue) --trial \(number): \(text)")
      }
    }
    #expect(errors > 0 && unaffected > 0, "\(errors) errors, \(unaffected) without effect, \(cut) cut")
  }

  @Test func sweepsCoverTheWholeFiles() throws {
    let closed = try RotDatabase.closed()
    #expect(closed.byteCount(.data) >= 64 << 10)
    #expect(try RotKind.dataFlips.makeSweep().trialCount >= 524_288)
    let unclean = try RotDatabase.unclean()
    #expect(unclean.byteCount(unclean.logFile) == 64 << 10)
    #expect(try RotKind.logFlips.makeSweep().trialCount == 524_288)
    // Every purpose that bytes can have is there to be damaged.
    let purposes = closed.decoded.liveness.ranges.map(\.purpose)
    for purpose in [.metaPage, .spareMetaPage, .catalog, .branch, .leaf, .freeMap, .extent] as [LivenessMap.Purpose] {
      #expect(purposes.contains(purpose), "\(purpose)")
    }
    #expect(unclean.decoded.records.contains { !$0.isCommit })
    #expect(unclean.decoded.records.contains { $0.lsn >= unclean.decoded.durableLSN })
  }

  /// The judge notices what it is there for.
  @Test func aReadThatIsWrongIsNoticed() throws {
    let closed = try RotDatabase.closed()
    let other = try RotDatabase.unclean()
    let purposes = closed.purposes(.data)
    let leaf = try #require(closed.decoded.liveness.ranges.first { $0.purpose == .leaf })
    #expect(closed.expectation([leaf.bytes.lowerBound], purposes) == .error)
    // Another database in its place is a read that is wrong; none at all is damage that goes unnoticed.
    for (disk, expectation) in [(other.disk, RotDatabase.Expectation.state(closed.newest)), (closed.disk, .error)] {
      guard case .wrong = closed.judge(disk.copy(), expectation, file: .data) else {
        Issue.record("\(expectation) passes")
        continue
      }
    }
  }
}
