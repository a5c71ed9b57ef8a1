// What a row costs, measured when asked: QUIRE_MEASURE=1.

#if Postgres
  import Foundation
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres
  @testable import QuireStorage

  private struct Track: Codable, Sendable {
    var title: String
    var artist: String
    var album: String
    var seconds: Int
    var plays: Int
    var tags: [String]
    var note: String

    init(_ number: Int, _ random: inout SeededRandom) {
      title = "Song \(number)"
      artist = "artist-\(Int.random(in: 0..<20_000, using: &random))"
      album = "album-\(Int.random(in: 0..<100_000, using: &random))"
      seconds = Int.random(in: 0..<600, using: &random)
      plays = Int.random(in: 0..<1000, using: &random)
      tags = ["a\(number % 10)", "b\(number % 7)"]
      note = String(UInt64.random(in: 0 ... .max, using: &random), radix: 16)
    }
  }

  @Suite(
    "Speed of mirrors", .serialized,
    .enabled(if: ProcessInfo.processInfo.environment["QUIRE_MEASURE"] != nil && TestServer.isInstalled))
  struct MirrorSpeedTests {
    private static let rowCount = ProcessInfo.processInfo.environment["QUIRE_ROWS"].flatMap { Int($0) }
    private let tracks = RowCollection<Track, NoMetadata>("tracks")

    private func write(_ numbers: Range<Int>, _ fixture: MirrorFixture, _ random: inout SeededRandom) throws {
      try fixture.database.write { tx throws in
        for number in numbers { try tx[tracks].set(Track(number, &random), for: "s\(number)") }
      }
    }

    private func processorTime() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func measure(_ what: String, _ count: Int, _ body: () throws -> Void) rethrows {
      let (start, processor) = (ContinuousClock.now, processorTime())
      try body()
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      let own = (processorTime() - processor) / Double(count) * 1e6
      print("\(what): \(Int(Double(count) / seconds)) rows/s, \((own * 100).rounded() / 100) µs of our own a row")
    }

    @Test("Rows that go over, and changes that follow", arguments: [true, false]) func rows(keepsBytes: Bool) throws {
      let count = Self.rowCount ?? 100_000
      let fixture = try MirrorFixture()
      var random = SeededRandom(seed: 1)
      func write() throws {
        for start in stride(from: 0, to: count, by: 1000) { try self.write(start..<(start + 1000), fixture, &random) }
      }
      try write()
      try measure("bootstrap, bytes \(keepsBytes)", count) { try fixture.mirror(keepsBytes: keepsBytes).catchUp() }
      try write()
      try measure("follow, bytes \(keepsBytes)", count) { try fixture.mirror(keepsBytes: keepsBytes).catchUp() }
      try fixture.expectEqual(fixture.mirror(keepsBytes: keepsBytes), rows: count)
    }

    @Test("Rows that go over while their connection is ended five times, and while they change")
    func endedBootstrap() throws {
      let count = Self.rowCount ?? 1_000_000
      let fixture = try MirrorFixture()
      var random = SeededRandom(seed: 1)
      for start in stride(from: 0, to: count, by: 1000) { try write(start..<(start + 1000), fixture, &random) }
      let mirror = try fixture.mirror()
      let done = DispatchSemaphore(value: 0)
      try measure("bootstrap, ended five times", count) {
        try ThreadStarter.system.start {
          #expect(throws: Never.self) { try mirror.catchUp() }
          done.signal()
        }
        for round in 1...5 {
          while fixture.events.batches.reduce(0, +) < count / 6 * round { usleep(2000) }
          #expect(try fixture.target.endSessions() == 1)
          try write((round * 1000)..<(round * 1000 + 500), fixture, &random)
        }
        done.wait()
      }
      #expect(fixture.events.retries >= 5 && fixture.events.beginnings.count == 1)
      try fixture.expectEqual(rows: count)
    }
  }
#endif
