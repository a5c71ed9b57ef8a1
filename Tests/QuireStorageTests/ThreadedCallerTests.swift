// Async callers beside threads: reads that are cancelled, actions, closing, and threads that run out, all at once.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedCallerTests {
  private struct Tally: ~Copyable, Sendable {
    let begun = Atomic<Int>(0)
    let done = Atomic<Int>(0)
  }

  /// What has become of a call.
  private static func code(of error: any Error) -> String {
    error is CancellationError ? "cancelled" : (error as? StorageError)?.code.description ?? "\(error)"
  }

  @Test("Each async call ends once, whether it runs, is cancelled, finds no thread or comes too late", arguments: 1...3)
  func everyCallEnds(seed: UInt64) async throws {
    let (disk, supply) = (SimulatedDisk(), ThreadSupply(Int(seed)))
    var environment = disk.environment(seed: seed, scheduling: .threads)
    environment.threadStarter = supply.starter
    let engine = try StorageEngine(at: "/db", options: StorageOptions(pageSize: 512), environment: environment)
    let tally = Shared(Tally())
    let outcomes = await withTaskGroup(of: String.self) { group in
      for number in 0..<120 {
        group.addTask {
          let task = Task {
            if number % 3 == 0 {
              try await engine.write { tx in
                tally.value.begun.wrappingAdd(1, ordering: .relaxed)
                _ = try tx.createTree("\(number)", keys: .int64)
                tally.value.done.wrappingAdd(1, ordering: .relaxed)
              }
            } else {
              try await engine.read { _ in
                tally.value.begun.wrappingAdd(1, ordering: .relaxed)
                tally.value.done.wrappingAdd(1, ordering: .relaxed)
              }
            }
          }
          if number % 5 == 0 { task.cancel() }
          if number == 40 { supply.refill(20) }
          do {
            try await task.value
            return "done"
          } catch { return Self.code(of: error) }
        }
      }
      return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
    }
    #expect(outcomes.values.reduce(0, +) == 120)
    #expect(Set(outcomes.keys).isSubset(of: ["done", "cancelled", "limitReached"]), "\(outcomes)")
    #expect(outcomes["done"] == tally.value.done.load(ordering: .relaxed))
    #expect(tally.value.begun.load(ordering: .relaxed) == tally.value.done.load(ordering: .relaxed))
    try close(engine)
    let error = await #expect(throws: StorageError.self) { try await engine.read { _ in } }
    #expect(error?.code == .closed)
  }

  private func close(_ engine: StorageEngine) throws { try engine.close() }

  @Test("Closing beside readers and writers closes, or leaves everything open") func closingBesideOthers() throws {
    for round in 0..<20 {
      let engine = try SimulatedDisk().openEngine(seed: UInt64(round), scheduling: .threads)
      let threads = ThreadGroup()
      let codes = Shared(Latch<Set<String>>([]))
      for number in 0..<4 {
        threads.start {
          do {
            for _ in 0..<200 {
              if number < 2 { try engine.read { _ in } } else { try engine.write { _ in } }
            }
          } catch { codes.value.withLock { _ = $0.insert(Self.code(of: error)) } }
        }
      }
      for _ in 0..<2 {
        threads.start {
          while true {
            do { return try engine.close() } catch {
              guard (error as? StorageError)?.code == .inUse else { throw error }
            }
          }
        }
      }
      let complaints = threads.join()
      #expect(complaints == [], "round \(round)")
      #expect(codes.value.withLock { $0 }.isSubset(of: ["closed"]), "round \(round)")
    }
  }
}
