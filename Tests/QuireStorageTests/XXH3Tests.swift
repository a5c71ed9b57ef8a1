// XXH3-64 against the answers of another implementation, and against the ways in which raw memory goes wrong.

import Foundation
import QuireStorage
import QuireTesting
import Testing

@Suite struct XXH3Tests {
  /// One line of the fixture: the hashes of the first `count` bytes of the input, one per seed.
  struct KnownAnswer {
    let count: Int
    let hashes: [UInt64]
  }

  /// What `Fixtures/xxh3-64.txt` holds.
  struct Fixture {
    var seeds: [UInt64] = []
    var answers: [KnownAnswer] = []

    /// Reads the fixture of this repository.
    init() throws {
      let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      let text = try String(contentsOf: repository.appending(path: "Fixtures/xxh3-64.txt"), encoding: .utf8)
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        let fields = line.split(separator: " ")
        let words = try fields.dropFirst().map { try #require(UInt64($0, radix: 16)) }
        if fields[0] == "seeds" {
          seeds = words
        } else {
          answers.append(KnownAnswer(count: try #require(Int(fields[0])), hashes: words))
        }
      }
    }
  }

  /// The first `count` bytes of the stream that the head of the fixture describes.
  static func input(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: 20_261_121)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      withUnsafeBytes(of: random.next().littleEndian) { bytes.append(contentsOf: $0) }
    }
    return Array(bytes.prefix(count))
  }

  /// Hashes the first `count` bytes of `bytes`, or all.
  static func hash(_ bytes: [UInt8], count: Int? = nil, seed: UInt64) throws -> UInt64 {
    try bytes.withUnsafeBytes { buffer in
      XXH3.hash(try #require(buffer.baseAddress), count: count ?? buffer.count, seed: seed)
    }
  }

  @Test func knownAnswers() throws {
    let fixture = try Fixture()
    try #require(fixture.seeds.count == 4)
    try #require(fixture.answers.count == 275)
    let bytes = Self.input(try #require(fixture.answers.last).count)
    for answer in fixture.answers {
      for (seed, expected) in zip(fixture.seeds, answer.hashes) {
        let found = try Self.hash(bytes, count: answer.count, seed: seed)
        #expect(found == expected, "\(answer.count) bytes, seed \(hexadecimal(seed))")
      }
    }
  }

  /// Input may start anywhere: cells and log records do.
  @Test func alignmentDoesNotMatter() throws {
    let bytes = Self.input(1_300)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 64, alignment: 64)
    defer { buffer.deallocate() }
    let base = try #require(buffer.baseAddress)
    for count in [3, 7, 13, 100, 200, 1_024, 1_300] {
      let expected = try Self.hash(bytes, count: count, seed: 7)
      for offset in 0..<64 {
        (base + offset).copyMemory(from: bytes, byteCount: count)
        #expect(XXH3.hash(base + offset, count: count, seed: 7) == expected, "\(count) bytes at \(offset)")
      }
    }
  }

  /// The memory right before and right after the input cannot be read here: a stray load ends the process.
  @Test func readsNothingBesideTheInput() throws {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let mapped = mmap(nil, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    try #require(mapped != MAP_FAILED)
    let base = try #require(mapped)
    defer { munmap(base, 3 * page) }
    let bytes = Self.input(page)
    let first = base + page
    let end = first + page
    first.copyMemory(from: bytes, byteCount: page)
    try #require(mprotect(base, page, PROT_NONE) == 0)
    try #require(mprotect(end, page, PROT_NONE) == 0)
    for count in Array(0...300) + [511, 512, 513, 1_023, 1_024, 1_025, page] {
      let tail = Array(bytes.suffix(count)) + [0]
      #expect(XXH3.hash(first, count: count, seed: 1) == (try Self.hash(bytes, count: count, seed: 1)))
      #expect(XXH3.hash(end - count, count: count, seed: 1) == (try Self.hash(tail, count: count, seed: 1)))
    }
  }

  /// A checksum that skips a byte finds no fault in it: each byte of inputs of every form changes the result.
  @Test(arguments: [1, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 143, 144, 239, 240, 241, 1_024, 4_096])
  func everyByteCounts(count: Int) throws {
    var bytes = Self.input(count)
    var seen: Set<UInt64> = [try Self.hash(bytes, seed: 42)]
    for index in 0..<count {
      let bit = UInt8(1) << UInt8(index % 8)
      bytes[index] ^= bit
      #expect(seen.insert(try Self.hash(bytes, seed: 42)).inserted, "byte \(index) of \(count)")
      bytes[index] ^= bit
    }
  }

  /// Page and log checksums bind their content to a database and a place through the seed alone.
  @Test(arguments: [0, 1, 5, 12, 100, 200, 300, 4_096])
  func everySeedBitCounts(count: Int) throws {
    let bytes = Self.input(max(count, 1))
    var seen: Set<UInt64> = [try Self.hash(bytes, count: count, seed: 0)]
    for bit in 0..<64 {
      #expect(seen.insert(try Self.hash(bytes, count: count, seed: 1 << UInt64(bit))).inserted, "seed bit \(bit)")
    }
  }
}
