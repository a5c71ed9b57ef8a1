// Which action runs when a commit fails, held against what the next opening shows.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite struct OutcomeActionTests {
  private static let rowCount = 200
  private static let texts = RowCollection<String, NoMetadata>("texts")

  private func open(_ disk: SimulatedDisk) throws -> Database {
    try disk.openDatabase(
      seed: 1, Database.Options(cacheSize: 2 << 20, logLimit: 64 << 10, maintainsWhenIdle: false))
  }

  private func prepare() throws -> (SimulatedDisk, Database) {
    let disk = SimulatedDisk()
    let database = try open(disk)
    try database.write { tx in try tx[Self.texts].set("first", for: "first") }
    return (disk, database)
  }

  /// Too long for the log.
  private func write(_ database: Database, _ ran: Recorder) throws {
    try database.write { tx in
      tx.onCommit { ran.append("commit") }
      tx.onRollback { ran.append("rollback") }
      var random = SeededRandom(seed: 1)
      for number in 0..<Self.rowCount {
        let text = (0..<120).map { _ in String(random.next(), radix: 36) }.joined()
        try tx[Self.texts].set(text, for: "\(number)")
      }
    }
  }

  @Test("A write without changes that sees a commit which fails is told so, and its rollback action runs")
  func nothingToCommit() throws {
    let disk = SimulatedDisk()
    let database = try disk.openDatabase(seed: 1, Database.Options(maintainsWhenIdle: false), scheduling: .threads)
    try database.write { tx in try tx[Self.texts].set("first", for: "first") }
    let (sync, group) = (disk.hold(.synchronize), DispatchGroup())
    func start(_ body: @escaping @Sendable () -> Void) {
      group.enter()
      Thread.detachNewThread {
        body()
        group.leave()
      }
    }
    let (begun, ran, codes) = (Recorder(), Recorder(), Recorder())
    start { try? database.write { tx in try tx[Self.texts].set("second", for: "second") } }
    try #require(sync.awaitCall())
    for touches in [false, true] {
      start {
        do {
          try database.write { tx in
            tx.onCommit { ran.append("commit") }
            tx.onRollback { ran.append("rollback") }
            begun.append("")
            if touches { try tx[Self.texts].touch("first") }
          }
        } catch { codes.append((error as? DatabaseError).map { "\($0.code)" } ?? "\(error)") }
      }
    }
    while begun.values.count < 2 { Thread.sleep(forTimeInterval: 0.001) }
    sync.release(.error(SystemCode.inputOutput))
    group.wait()
    #expect(ran.values == ["rollback", "rollback"] && codes.values == ["failStop", "failStop"])
  }

  @Test(
    "No rollback action runs for a transaction that a later opening shows, and no commit action for one that it lacks")
  func actionsAreTrue() throws {
    let (calm, database) = try prepare()
    let first = calm.operationCount
    try write(database, Recorder())
    #expect(database.statistics.checkpoints > 0)
    let count = calm.operationCount - first
    var outcomes: [[String]] = []
    // The last calls decide, and come first among those that the short size tries only if it has to.
    let calls = TestSize.someFirst(Array((0..<count).reversed()), of: 8)
    for (turn, number) in calls.cases.enumerated() {
      if turn >= calls.least, outcomes.count == 3 { break }
      let effects: [FaultEffect] = [
        .error(SystemCode.inputOutput), .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 1),
      ]
      for effect in effects {
        let (disk, database) = try prepare()
        disk.fail(operation: disk.operationCount + number, with: effect)
        let ran = Recorder()
        do { try write(database, ran) } catch {}
        let outcome = ran.values
        if !outcomes.contains(outcome) { outcomes.append(outcome) }
        for image in [disk.processKillImage(), disk.crashImage(.allOld)] {
          let rows = try open(image).read { tx in tx[Self.texts].count } - 1
          let place = "call \(number) of \(count), \(effect): \(outcome)"
          #expect(rows == 0 || rows == Self.rowCount, "\(place)")
          if outcome.contains("rollback") { #expect(rows == 0, "\(place)") }
          if outcome.contains("commit") { #expect(rows == Self.rowCount, "\(place)") }
        }
      }
    }
    #expect(outcomes.allSatisfy { $0.count <= 1 } && outcomes.count == 3, "\(outcomes)")
  }
}
