// Commits of several threads in chosen orders: what is acknowledged is on the disk at that very moment.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if DEBUG
  /// Threads that commit, on an engine without threads of its own, and what a power cut leaves at each acknowledgement.
  private final class CommitRace: Sendable {
    private struct Told: Sendable {
      let key: Int64
      let image: SimulatedDisk
    }

    private let disk = SimulatedDisk()
    private let told = Latch<[Told]>([])
    private let complaints = Latch<[String]>([])
    /// The sync of the log that fails; nil if none does.
    private let failing: Int?

    init(failing: Int?) { self.failing = failing }

    private static func open(_ disk: SimulatedDisk) throws -> StorageEngine {
      let options = StorageOptions(pageSize: 512, cacheSize: 64 << 10, logLimit: 64 << 10, createsIfMissing: true)
      let environment = StorageEnvironment(
        fileSystem: disk, random: { 7 }, scheduling: .stepped, allowsTestPages: true,
        initialSegmentByteCount: 12 << 10, continuedLogByteCount: 0)
      return try StorageEngine(at: "/db", options: options, environment: environment)
    }

    private func complain(_ text: String) { complaints.withLock { $0.append(text) } }

    /// Three threads that commit twice each; on a thread of a schedule.
    func race() {
      do {
        let engine = try Self.open(disk)
        let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
        if let failing { disk.failOnce(.synchronize, ofLog: true, skipping: failing, .forgets) }
        ScheduledGroup.run(
          (0..<3).map { thread in
            { [self] in for number in 0..<2 { commit(Int64(thread * 10 + number), engine, tree) } }
          })
        disk.removeInterceptors()
        disk.powerOff()
        do { try engine.close() } catch {}
      } catch { complain("\(error)") }
    }

    private func commit(_ key: Int64, _ engine: StorageEngine, _ tree: Tree) {
      do {
        try engine.write { tx in try tx.put([1, 2, 3], for: key, in: tree) }
        let image = disk.crashImage(.allOld)
        told.withLock { $0.append(Told(key: key, image: image)) }
        let isSeen = try engine.read { tx in try tx.value(for: key, in: tree) != nil }
        if !isSeen { complain("\(key) is acknowledged and not shown") }
      } catch let error as StorageError where [.outcomeUnknown, .failStop].contains(error.code) && failing != nil {
        // So it is after a failed sync.
      } catch { complain("\(key): \(error)") }
    }

    /// What is wrong; on a thread of no schedule.
    func judge() throws -> [String] {
      let told = told.withLock { $0 }
      for one in told {
        let engine = try Self.open(one.image)
        let isThere = try engine.read { tx in
          guard let tree = tx.tree(named: "t") else { return false }
          return try tx.value(for: one.key, in: tree) != nil
        }
        if !isThere { complain("\(one.key) is acknowledged and lost by a power cut") }
        try engine.close()
      }
      if failing == nil, told.count != 6 { complain("\(told.count) commits of 6 are acknowledged") }
      return complaints.withLock { $0 }
    }
  }

  @Suite("Commits in chosen orders") struct ScheduledCommitTests {
    /// - Returns: how many steps there were.
    private func check(_ chooser: any ScheduleChooser, failing: Int?, _ name: String) throws -> Int {
      let (race, schedule) = (CommitRace(failing: failing), ThreadSchedule(chooser, stepLimit: 200_000))
      do { try schedule.run { race.race() } } catch { Issue.record("\(name): \(error)") }
      let complaints = try race.judge()
      #expect(complaints == [], "\(name), failing \(failing.map { "\($0)" } ?? "nothing")")
      return schedule.stepCount
    }

    @Test(
      "are on the disk when they are acknowledged, where threads change at one step",
      .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [nil, 1, 3])
    func oneChange(failing: Int?) throws {
      let stepCount = try check(OneChangeChooser(at: .max), failing: failing, "no change")
      // All of them with QUIRE_SCHEDULE_ROUNDS; as many as that at most.
      let rounds = environmentNumber("QUIRE_SCHEDULE_ROUNDS") ?? 40
      let stride = max(1, stepCount / rounds)
      for step in Swift.stride(from: 0, to: stepCount, by: stride) {
        _ = try check(OneChangeChooser(at: step), failing: failing, "change at step \(step)")
      }
    }

    @Test("and in orders that are drawn")
    func drawn() throws {
      for seed in UInt64(1)...UInt64(environmentNumber("QUIRE_SCHEDULE_ROUNDS") ?? 60) {
        let failing = seed % 3 == 0 ? Int(seed % 5) : nil
        let chooser: any ScheduleChooser =
          seed % 2 == 0
          ? RandomChooser(seed: seed, oneIn: 1 + Int(seed % 9))
          : PriorityChooser(seed: seed, changeCount: 3, stepCount: 3000)
        _ = try check(chooser, failing: failing, "seed \(seed)")
      }
    }
  }
#endif
