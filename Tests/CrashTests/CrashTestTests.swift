// What apps' crash tests find, and what they let through.

import QuireDatabase
import QuireTesting
import Testing

/// A test of the total of plays, as an app writes it.
private func playTest(_ bug: PlayTotal.Bug? = nil) -> CrashTest {
  var test = CrashTest()
  test.add(.songs) { random in
    PlayedSong(title: "song \(random.below(20))")
  } metadata: { random in
    random.oneIn(3) ? nil : PlayCount(plays: random.below(9))
  }
  let other = PlayTotal(version: "2", bug: bug, weight: 3)
  test.add(PlayTotal(bug: bug), otherVersions: [other]) { tx, total in
    try tx.access(to: total)
  } expected: { rows, total in
    rows[.songs].values.reduce(0) { $0 + ($1.metadata?.plays ?? 0) * total.weight }
  }
  return test
}

@Suite("Crash tests of apps") struct CrashTestTests {
  @Test(
    "A sound extension passes, and everything has happened that there is", .enabled(if: TestSize.hasSlowTests, "slow"))
  func soundExtension() throws {
    let report = try playTest().run()
    let count = report.historyCount
    #expect(report.commitCount > 12 * count && report.crashCount > 5 * count, "\(report)")
    #expect(report.registrationCount > 5 * count && report.comparisonCount > 30 * count, "\(report)")
    #expect(report.failedCallCount > count / 3 && count > 0, "\(report)")
  }

  @Test(
    "What an author may forget is found, and shrunk to a few operations", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: PlayTotal.Bug.allCases)
  func plantedBug(bug: PlayTotal.Bug) throws {
    let failure = #expect(throws: CrashTestFailure.self) { try playTest(bug).run() }
    guard let failure else { return }
    #expect(failure.finding.contains("the extension “songs.plays”"))
    #expect((1...10).contains(failure.operations.count) && failure.operationCount > 40, "\(failure)")
    #expect(failure.replay == "QUIRE_CRASH_SEED=\(failure.seed) swift test --filter plantedBug")
    for line in failure.operations + [failure.finding, failure.replay] { #expect("\(failure)".contains(line)) }
  }

  @Test("The seed of a failure leads to the same failure again", .enabled(if: TestSize.hasSlowTests, "slow"))
  func replay() throws {
    let first = #expect(throws: CrashTestFailure.self) { try playTest(.versions).run() }
    var test = playTest(.versions)
    test.seed = try #require(first?.seed)
    test.historyCount = 1
    let again = #expect(throws: CrashTestFailure.self) { try test.run() }
    #expect(again?.finding == first?.finding && again?.operations == first?.operations)
  }

  @Test("Rows that are not what was stored are found") func changedRows() throws {
    var test = CrashTest()
    let collection = RowCollection<PlayedSong, NoMetadata>("songs").sanitizing { _, song in
      PlayedSong(title: song.title == "song 7" ? "song 8" : song.title)
    }
    test.add(collection) { random in PlayedSong(title: "song \(random.below(20))") }
    let failure = #expect(throws: CrashTestFailure.self) { try test.run() }
    #expect(failure?.finding.contains("title: \"song 8\"") == true, "\(String(describing: failure))")
    #expect(failure.map { $0.operations.count <= 3 } == true, "\(String(describing: failure))")
  }

  @Test("A commit that a crash takes along is found") func lostCommit() throws {
    var test = playTest()
    test.forgetsCommits = true
    let failure = #expect(throws: CrashTestFailure.self) { try test.run() }
    #expect(failure?.finding.contains("after a crash: songs/") == true, "\(String(describing: failure))")
  }

  @Test("An error of an extension's own is found, and told with its transaction") func throwingExtension() throws {
    var test = CrashTest()
    test.add(.songs) { random in PlayedSong(title: "song \(random.below(20))") }
    test.add(RefusingExtension()) { _, _, _ in }
    let failure = #expect(throws: CrashTestFailure.self) { try test.run() }
    #expect(failure?.finding.contains("extensionFailed") == true, "\(String(describing: failure))")
    #expect(failure?.finding.contains("no song may be called") == true, "\(String(describing: failure))")
  }

  @Test("Extensions are registered after those that they depend on") func dependencies() throws {
    var test = playTest()
    test.historyCount = 10
    test.add(DependentExtension()) { tx, value in
      try tx.access(to: value)
    } expected: { _, _ in
      true
    }
    #expect(try test.run().registrationCount > 50)
  }
}

/// An extension that refuses a row.
private struct RefusingExtension: DatabaseExtension {
  struct Refusal: Error, CustomStringConvertible { let description = "no song may be called 7" }
  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    init(_ store: ExtensionStore) { self.store = store }
    func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }
    func didChange(_ change: RowChange) throws {
      if try change.object(in: .songs)?.title == "song 7" { throw Refusal() }
    }
  }
  static let kind = "com.example.refusing"
  let name = "refusing"
  let collections = CollectionFilter.only(["songs"])
  func makeReader(_ store: ExtensionStore) throws -> Bool { true }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { Writer(store) }
}

/// An extension that reads another.
private struct DependentExtension: DatabaseExtension {
  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    init(_ store: ExtensionStore) { self.store = store }
    func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }
  }
  static let kind = "com.example.dependent"
  let name = "dependent"
  let dependencies = ["songs.plays"]
  func makeReader(_ store: ExtensionStore) throws -> Bool {
    for version in ["1", "2"] {
      if (try? store.readTransaction.access(to: PlayTotal(version: version))) != nil { return true }
    }
    return false
  }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { Writer(store) }
}
