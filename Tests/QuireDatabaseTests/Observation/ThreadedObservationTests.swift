// Random writes from several tasks, and observers of random parts, beside readers who read everything again; run under
// the thread sanitizer by the gate.
//
// A short life in every run of the tests; a long one, or a chosen one, by
//
//     QUIRE_OBSERVED_WRITES=5000 QUIRE_OBSERVED_SEED=7 swift test --filter ThreadedObservationTests

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedObservationTests {
  private static let names = ["a", "b", "c"]
  private static let keyCount = 12

  private static func collection(_ random: inout SeededRandom) -> RowCollection<String, String> {
    .texts(names[random.below(names.count)])
  }

  private static func key(_ random: inout SeededRandom) -> String { "k\(10 + random.below(keyCount))" }

  /// Reads something that the seed decides, and says what it has found. The same for the same seed and state.
  private static func read(_ seed: UInt64, _ tx: ReadTransaction, _ index: ValueIndex<String, String>) throws -> String
  {
    var random = SeededRandom(seed: seed)
    var found: [String] = []
    for _ in 0..<(1 + random.below(3)) {
      let name = collection(&random).name
      let rows = tx[.texts(name)]
      let (first, second) = (key(&random), key(&random))
      let (from, to) = (min(first, second), max(first, second))
      switch random.below(15) {
      case 0: found.append(try rows.get(first) ?? "-")
      case 1: found.append(try rows.metadata(first) ?? "-")
      case 2: found.append(try rows.row(first).map { "\($0.object)/\($0.metadata ?? "-")" } ?? "-")
      case 3: found.append("\(try rows.contains(first))")
      case 4: found.append("\(rows.count)")
      case 5: found.append("\(try rows.count(from..<to))")
      case 6: found.append(rows.keys(prefix: "k1").joined(separator: ","))
      case 7: found.append(rows.rows(from..<to).map { "\($0.key)=\($0.object)" }.joined(separator: ","))
      case 8: found.append(rows.metadata(from...to).map { "\($0.key):\($0.metadata ?? "-")" }.joined(separator: ","))
      case 9: found.append(rows.rows.prefix(2).map(\.object).joined(separator: ","))
      case 10: found.append(rows.keys.reversed().prefix(2).joined(separator: ","))
      case 11: found.append(tx.collections.joined(separator: ",") + "\(tx.count)")
      case 12: found.append(try rows.objects(for: [first, second]).joined(separator: ","))
      case 13: found.append(try tx.access(to: index).rows("v3").map { try tx.key(of: $0)?.key ?? "-" }.joined())
      default: found.append("\(try tx.collections(containing: first)) \(try tx.rowID(of: RowKey(name, first)) != nil)")
      }
    }
    return found.joined(separator: ";")
  }

  /// Changes something.
  private static func write(_ tx: WriteTransaction, _ random: inout SeededRandom) throws {
    for _ in 0..<(1 + random.below(3)) {
      let rows = tx[collection(&random)]
      let (key, value) = (key(&random), "v\(random.below(6))")
      switch random.below(12) {
      case 0...4: try rows.set(value, metadata: random.oneIn(2) ? value : nil, for: key)
      case 5: try rows.replace(value, for: key)
      case 6: try rows.replaceMetadata(value, for: key)
      case 7, 8: try rows.remove(key)
      case 9: try rows.touch(key)
      case 10: try rows.remove([key, Self.key(&random)])
      default: if random.oneIn(4) { try tx.removeAll() } else if random.oneIn(2) { try rows.removeAll() }
      }
    }
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [false, true])
  func nothingIsMissed(_ cachesObjects: Bool) async throws {
    let writes = environmentNumber("QUIRE_OBSERVED_WRITES") ?? 120
    let seed = UInt64(environmentNumber("QUIRE_OBSERVED_SEED") ?? 1)
    let folder = try TestFolder()
    let db = try folder.open(
      Database.Options(durability: .relaxed, objectCache: cachesObjects ? ObjectCacheOptions() : nil))
    let index = ValueIndex("index", { RowCollection<String, String>.texts($0) }) { text, _ in text }
    try await db.register(index)
    let observerCount = 40
    let newest = Shared([Int: String]())
    let runs = Shared(0)
    let observers = (0..<observerCount).map { number in
      Task {
        let observation = db.observe { tx in
          runs.withLock { $0 += 1 }
          return try Self.read(seed &* 1000 &+ UInt64(number), tx, index)
        }
        for try await found in observation { newest.withLock { $0[number] = found } }
      }
    }
    var random = SeededRandom(seed: seed)
    // Bursts, and a look at the state after each: what is missed in one might be put right by the next.
    for _ in 0..<5 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          let writer = random.fork()
          group.addTask {
            var random = writer
            for _ in 0..<(writes / 5) {
              let step = random.fork()
              _ = try await db.write { tx in
                var step = step
                try Self.write(tx, &step)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      while !(db.observerCount == observerCount && db.areObserversWaiting) { await Task.yield() }
      try db.checkObservers()
      for number in 0..<observerCount {
        let state = try await db.read { tx in try Self.read(seed &* 1000 &+ UInt64(number), tx, index) }
        #expect(newest.withLock { $0[number] } == state, "observer \(number) of seed \(seed)")
      }
    }
    for observer in observers { observer.cancel() }
    for observer in observers { try await observer.value }
    #expect(db.observerCount == 0)
    // Who reads again at each commit would have read so many times.
    #expect(runs.withLock { $0 } < observerCount * writes * 3)
  }
}
