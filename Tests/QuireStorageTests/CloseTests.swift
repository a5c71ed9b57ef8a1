// What a clean close does to a file that would be mostly free.

import QuireStorage
import QuireTesting
import Testing

@Suite struct CloseTests {
  private static func options(maintainsWhenIdle: Bool = true) -> StorageOptions {
    var options = StorageOptions(pageSize: 512, cacheSize: 8192 * 512, logLimit: 64 << 10)
    options.maintainsWhenIdle = maintainsWhenIdle
    return options
  }

  /// Closes a database whose rows have been deleted but for the last quarter, which stands at the end of the file.
  ///
  /// - Returns: the places of the file and those in use, when it is opened again.
  private func closeMostlyFree(
    _ disk: SimulatedDisk, _ options: StorageOptions, valueByteCount: Int
  ) throws -> (pages: Int, used: Int) {
    var engine = try disk.openEngine(options)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    let count = valueByteCount > 500 ? 800 : 8000
    for start in stride(from: 0, to: count, by: count / 8) {
      try engine.write { tx in
        for number in start..<start + count / 8 {
          try tx.put([UInt8](marked: number, count: valueByteCount), for: Int64(number), in: tree)
        }
      }
    }
    try engine.checkpoint()
    try engine.write { tx in
      for number in 0..<count / 4 * 3 { try tx.delete(Int64(number), in: tree) }
    }
    try engine.close()
    engine = try disk.openEngine(options)
    try engine.verify()
    try engine.read { tx in
      for number in count / 4 * 3..<count {
        let value = try tx.value(for: Int64(number), in: tree)
        try #require(value == [UInt8](marked: number, count: valueByteCount))
      }
      let left = try tx.count(of: tree)
      #expect(left == count / 4)
    }
    let statistics = engine.statistics
    try engine.close()
    return (statistics.filePages, statistics.filePages - statistics.freePages)
  }

  @Test("A file that would be mostly free is cut, whatever stands at its end", arguments: [60, 900, 3000])
  func mostlyFreeFilesAreCut(valueByteCount: Int) throws {
    let (pages, used) = try closeMostlyFree(SimulatedDisk(), Self.options(), valueByteCount: valueByteCount)
    // Twice what is in it and a fifth.
    #expect(pages * 10 <= used * 22, "\(pages) places, \(used) in use")
    #expect(used > 100)
  }

  @Test("Nothing is moved at close if the engine is not to tidy by itself")
  func asksBefore() throws {
    let options = Self.options(maintainsWhenIdle: false)
    let (pages, used) = try closeMostlyFree(SimulatedDisk(), options, valueByteCount: 3000)
    #expect(pages > used * 3)
  }

  @Test(
    "A file that was filled and emptied again and again is cut to 2.2 times what is left in it, however little that is",
    arguments: [0, 1, 40, 3000])
  func filledAndEmptiedAgainAndAgain(leftCount: Int) throws {
    let disk = SimulatedDisk()
    var engine = try disk.openEngine(StorageOptions(), segmentByteCount: 1 << 20)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    for round in 0..<TestSize.trials(5, divisor: 2) {
      for start in stride(from: 0, to: 12_000, by: 500) {
        try engine.write { tx in
          for number in start..<start + 500 {
            try tx.put([UInt8](marked: number + round, count: 120), for: Int64(number), in: tree)
          }
        }
      }
      for start in stride(from: leftCount, to: 12_000, by: 500) {
        try engine.write { tx in
          for number in start..<min(start + 500, 12_000) { try tx.delete(Int64(number), in: tree) }
        }
      }
    }
    let long = disk.bytes(of: "/db")?.count ?? 0
    try engine.close()
    let closed = disk.bytes(of: "/db")?.count ?? 0
    engine = try disk.openEngine(StorageOptions(), segmentByteCount: 1 << 20)
    try engine.verify()
    let found = try engine.read { tx in try tx.count(of: tree) }
    #expect(found == leftCount)
    let statistics = engine.statistics
    let used = statistics.filePages - statistics.freePages
    #expect(closed * 10 <= max(used, 8) * 22 * 4096, "\(closed) of \(long) bytes, \(used) pages in use")
    try engine.close()
  }

  @Test("Who is refused is told how many are in the way") func refusalCounts() throws {
    let engine = try SimulatedDisk().openEngine()
    var pins = [try engine.pin()]
    let one = #expect(throws: StorageError.self) { try engine.close() }
    #expect(one?.message.contains("while 1 reader or pinned snapshot is alive") == true, "\(one?.message ?? "")")
    pins.append(try engine.pin())
    let two = #expect(throws: StorageError.self) { try engine.close() }
    #expect(two?.message.contains("while 2 readers or pinned snapshots are alive") == true, "\(two?.message ?? "")")
    pins = []
    try engine.close()
  }
}
