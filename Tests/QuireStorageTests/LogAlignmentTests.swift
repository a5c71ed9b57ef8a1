// Groups of commits in blocks of their own, for disks without power-safe overwrite (hazard A8).

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct LogAlignmentTests {
  /// Commits rows one by one, opens the log the process left behind, and returns where its records start.
  private func recordStarts(alignsLogGroups: Bool) throws -> [Int] {
    let disk = SimulatedDisk()
    let options = StorageOptions(alignsLogGroups: alignsLogGroups)
    var random = SeededRandom(seed: 3)
    let words = (0..<64).map { _ in random.next() }
    let dice = RepeatingDice(words)
    let environment = StorageEnvironment(fileSystem: disk, random: { dice.next() }, scheduling: .stepped)
    let engine = try StorageEngine(at: "/a", options: options, environment: environment)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    for key in 0..<20 {
      try engine.write { tx in try tx.put([UInt8](repeating: 1, count: key), for: Int64(key), in: tree) }
    }
    let image = disk.processKillImage()
    let bytes = try #require(image.bytes(of: "/a-log0"))
    let magic = LogRecordKind.commit.rawValue
    let starts = stride(from: LogLayout.firstRecordOffset, to: bytes.count - 8, by: 8).filter { offset in
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) } == magic
    }
    let again = try StorageEngine(
      at: "/a", options: options,
      environment: StorageEnvironment(fileSystem: image, random: { dice.next() }, scheduling: .stepped))
    let count = try again.read { tx in try tx.count(of: tree) }
    #expect(count == 20)
    return starts
  }

  @Test func eachGroupStartsABlock() throws {
    let starts = try recordStarts(alignsLogGroups: true)
    #expect(starts.count == 21)
    #expect(starts.allSatisfy { $0 % LogLayout.blockByteCount == 0 })
  }

  @Test func recordsAreDenseOtherwise() throws {
    let starts = try recordStarts(alignsLogGroups: false)
    #expect(starts.count == 21)
    #expect(zip(starts, starts.dropFirst()).allSatisfy { $1 - $0 <= 256 })
  }
}

/// Words drawn in advance, over and over; from any thread.
private final class RepeatingDice: Sendable {
  private let words: [UInt64]
  private let position = Latch(0)

  init(_ words: [UInt64]) { self.words = words }

  func next() -> UInt64 {
    position.withLock { position in
      position += 1
      return words[position % words.count] &+ UInt64(position)
    }
  }
}
