// Code of the app's that throws at each of its calls in turn: the transaction fails with that very error, nothing of it
// is there, all extensions agree with the rows, and the same transaction succeeds when nothing throws (goal G21).

import Quire
import QuireTesting
import Testing

@Suite("Code of the app's that throws at each call") struct AppCodeThatThrowsTests {
  private struct Failure: Error, CustomStringConvertible { let description: String }

  private func require(_ condition: Bool, _ text: @autoclosure () -> String) throws {
    if !condition { throw Failure(description: text()) }
  }

  /// Where the draws begin, and how many transactions are drawn.
  private static var seeds: ClosedRange<UInt64> {
    let first = environmentNumber("QUIRE_APP_SEED").map { UInt64($0) }
    return first.map { $0...$0 } ?? 1...UInt64(TestSize.trials(6, divisor: 3))
  }

  private func replaying(_ seed: UInt64, _ text: String, _ body: () throws -> Void) throws {
    do { try body() } catch {
      throw Failure(
        description: """
          \(error) (\(text)); again with: QUIRE_APP_SEED=\(seed) swift test --filter AppCodeThatThrowsTests
          """)
    }
  }

  private func draw(_ seed: UInt64) -> [LetterStep] {
    var random = SeededRandom(seed: seed &* 7919)
    return (0..<4).map { _ in LetterStep.draw(&random) }
  }

  /// What the transaction comes to if nothing throws, and how many calls it makes.
  private func whole(_ app: LetterApp, _ disk: SimulatedDisk, _ steps: [LetterStep]) throws -> ([String], calls: Int) {
    let db = try app.open(disk.copy())
    app.calls.begin()
    try app.run(steps, in: db)
    let count = app.calls.count
    return (try app.content(of: db), count)
  }

  @Test("The transaction fails with what was thrown, and nothing of it is there", arguments: seeds)
  func nothingIsLeft(seed: UInt64) throws {
    let app = LetterApp()
    let (disk, steps) = (try app.make(seed: seed), draw(seed))
    let (after, count) = try whole(app, disk, steps)
    var db = try app.open(disk.copy())
    let before = try app.content(of: db)
    // In the short size each second call.
    for number in 1...max(1, count) where TestSize.isFull || number % 2 == 1 || number == count {
      try replaying(seed, "call \(number) of \(count)") {
        // What one failure leaves in memory, the next ones meet; now and then the first thing that comes after one is
        // that the transaction succeeds.
        if number % 9 == 0 { db = try app.open(disk.copy()) }
        app.calls.begin(failing: number)
        var found: (any Error)?
        do { try app.run(steps, in: db) } catch { found = error }
        let thrown = app.calls.thrown
        try require(thrown?.number == number, "the call did not come")
        guard let found else { throw Failure(description: "\(thrown.map(\.description) ?? "") was committed") }
        try require(ThrownByApp(in: found) == thrown, "\(thrown.map(\.description) ?? ""): \(found)")
        let left = try app.content(of: db)
        try require(left == before, "\(thrown.map(\.description) ?? ""): \(left), and not \(before)")
        guard number % 9 == 0 || number == count else { return }
        try finish(app, db, steps, after)
        db = try app.open(disk.copy())
      }
    }
  }

  /// The same transaction, with nothing that throws.
  private func finish(_ app: LetterApp, _ db: Database, _ steps: [LetterStep], _ after: [String]) throws {
    app.calls.begin()
    try app.run(steps, in: db)
    let found = try app.content(of: db)
    try require(found == after, "then \(found), and not \(after)")
    try db.close()
  }

  @Test("An app that goes over the error commits a whole, or nothing", arguments: seeds)
  func goingOverErrors(seed: UInt64) throws {
    let app = LetterApp()
    let (disk, steps) = (try app.make(seed: seed), draw(seed))
    let count = try whole(app, disk, steps).calls
    for number in stride(from: 1, through: max(1, count), by: TestSize.isFull ? 3 : 7) {
      try replaying(seed, "going over call \(number) of \(count)") {
        let own = disk.copy()
        var db = try app.open(own)
        let before = try app.content(of: db)
        app.calls.begin(failing: number)
        var found: (any Error)?
        do { try app.run(steps, in: db, goesOver: true) } catch { found = error }
        let left = try app.content(of: db)
        if let found {
          let thrown = app.calls.thrown
          try require(left == before, "\(found): \(left), and not \(before)")
          try require(thrown == nil || ThrownByApp(in: found) == thrown, "\(found)")
        }
        // What agrees now agrees when it is read from the disk.
        try db.close()
        db = try app.open(own)
        let again = try app.content(of: db)
        try require(again == left, "reopened \(again), and not \(left)")
        try db.close()
      }
    }
  }

  /// Calls come to every place of the app's code, or the tests above show less than they say.
  @Test func everyPlaceIsCalled() throws {
    let app = LetterApp()
    for seed in 1...12 as ClosedRange<UInt64> { _ = try whole(app, try app.make(seed: seed), draw(seed)) }
    let places = [
      "after storing", "body", "decode", "decode metadata", "did modify", "did remove", "edges", "encode",
      "encode metadata", "filter", "grouping", "index condition", "notifying", "sanitizing", "savepoint", "sorting",
      "update", "will modify", "will remove",
    ]
    for place in places { #expect(app.calls.places.contains(place), "no call to \(place)") }
  }
}
