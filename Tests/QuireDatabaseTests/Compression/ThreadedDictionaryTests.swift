// Readers on other threads while dictionaries come into being: under the thread sanitizer this is where races show.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedDictionaryTests {
  @Test func readersGoOnWhileDictionariesAreTrained() throws {
    let db = try Database.inMemory()
    try db.storeNotes(0..<600, together: 100)
    var random = SeededRandom(seed: 1)
    let count = TestSize.trials(3_000, divisor: 2)
    let expected = (0..<count).map { _ in FileNote(&random) }
    let isDone = Shared(false)
    let failures = Shared<[String]>([])
    let threads = (0..<3).map { number in
      Thread {
        var random = SeededRandom(seed: UInt64(number))
        while !isDone.withLock({ $0 }) {
          do {
            try db.read { tx throws in
              let count = tx[.notes].count
              for _ in 0..<50 {
                let index = random.below(count)
                if try tx[.notes].get("n\(index)") != expected[index] {
                  failures.withLock { $0.append("row \(index) is another one") }
                }
              }
            }
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
          // Leaves the processor to the one that trains.
          Thread.sleep(forTimeInterval: 0.001)
        }
      }
    }
    for thread in threads { thread.start() }
    defer {
      isDone.withLock { $0 = true }
      while threads.contains(where: { !$0.isFinished }) { Thread.sleep(forTimeInterval: 0.01) }
    }
    try db.storeNotes(0..<count, together: 100)
    try db.trainDictionary(for: .notes)
    #expect(try db.rewriteRows(of: .notes).rewrittenCount == 0)
    #expect(try db.dictionaryNumbers("notes").count == 1)
    isDone.withLock { $0 = true }
    while threads.contains(where: { !$0.isFinished }) { Thread.sleep(forTimeInterval: 0.01) }
    #expect(failures.withLock { $0 }.isEmpty)
    try db.verify()
  }
}
