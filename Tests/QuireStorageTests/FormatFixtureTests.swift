// The databases that must be opened for ever, by the engine and by the decoder that shares nothing with it.

import Foundation
import QuireStorage
import QuireTesting
import Testing

@Suite struct FormatFixtureTests {
  /// What `contents.txt` says of a database.
  struct Expected: Equatable {
    var csn: UInt64
    var nextRowID: Int64
    var nextTreeID: UInt64
    var digest: String
  }

  private static let repository = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static let versions = [1, 2]

  private func folder(_ version: Int) -> URL { Self.repository.appending(path: "Fixtures/format-v\(version)") }

  /// The files of a database, by the ends of their names.
  private func files(_ name: String, _ version: Int) throws -> FormatFixture.Files {
    var files: FormatFixture.Files = [:]
    for file in try FileManager.default.contentsOfDirectory(atPath: folder(version).path)
    where file.hasPrefix("\(name).db") {
      files[String(file.dropFirst(name.count + 3))] = readFile(folder(version).appending(path: file).path)
    }
    try #require(files[""] != nil, "there is no \(name).db")
    return files
  }

  private func expected(_ version: Int) throws -> [String: Expected] {
    let text = try String(contentsOf: folder(version).appending(path: "contents.txt"), encoding: .utf8)
    var result: [String: Expected] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let fields = line.split(separator: " ").map(String.init)
      result[fields[0]] = Expected(
        csn: try #require(UInt64(fields[1])), nextRowID: try #require(Int64(fields[2])),
        nextTreeID: try #require(UInt64(fields[3])), digest: fields[4])
    }
    return result
  }

  private func decode(_ files: FormatFixture.Files) throws -> DecodedDatabase {
    var logs: [Int: [UInt8]] = [:]
    for (suffix, bytes) in files where suffix.hasPrefix("-log") { logs[try #require(Int(suffix.dropFirst(4)))] = bytes }
    return try DecodedDatabase(data: files[""] ?? [], logs: logs)
  }

  @Test(arguments: versions) func everyFixtureIsDescribed(version: Int) throws {
    let expected = try expected(version)
    #expect(Set(expected.keys).isSuperset(of: FormatFixture.allCases.map(\.rawValue)))
    var byteCount = 0
    for name in expected.keys { byteCount += try files(name, version).values.reduce(0) { $0 + $1.count } }
    #expect(byteCount < 400 << 10, "\(byteCount) bytes")
  }

  @Test(arguments: FormatFixture.allCases, versions)
  func engineOpensAndGoesOn(fixture: FormatFixture, version: Int) throws {
    let expected = try #require(try expected(version)[fixture.rawValue])
    let folder = TemporaryFolder()
    for (suffix, bytes) in try files(fixture.rawValue, version) { writeFile(bytes, "\(folder.path)/a.quire\(suffix)") }
    let path = "\(folder.path)/a.quire"
    for round in 0..<2 {
      let engine = try StorageEngine(at: path)
      let digest = try engine.read { tx in try StateDigest(of: tx) { $0 != "new" } }
      #expect(digest.description == expected.digest)
      if round == 0 {
        #expect(try engine.read { $0.csn.rawValue } == expected.csn)
        try engine.write { tx in
          #expect(try tx.allocateRowIDs(1) == expected.nextRowID)
          let tree = try tx.createTree("new", keys: .int64)
          #expect(tree.id.rawValue >= expected.nextTreeID)
          try tx.put("new", for: Int64(1), in: tree)
        }
      }
      try engine.verify()
      try engine.close()
    }
    #expect(try Inspector(at: path).check().isEmpty)
  }

  @Test(arguments: FormatFixture.allCases, versions) func decoderReads(fixture: FormatFixture, version: Int) throws {
    let decoded = try decode(files(fixture.rawValue, version))
    let found = Expected(
      csn: decoded.csn, nextRowID: decoded.nextRowID, nextTreeID: decoded.nextTreeID,
      digest: decoded.digest.description)
    #expect(found == (try expected(version)[fixture.rawValue]))
  }

  /// What the fixtures are there to show must be in them.
  @Test(arguments: versions) func fixturesShowTheFormat(version: Int) throws {
    var purposes: Set<String> = []
    var sizes: Set<Int> = []
    for fixture in FormatFixture.allCases {
      let files = try files(fixture.rawValue, version)
      let decoded = try decode(files)
      sizes.insert(decoded.pageSize)
      let data = files[""] ?? []
      #expect(Int(data[16]) == version)
      for range in decoded.liveness.ranges {
        if range.purpose == .leaf, data[range.bytes.lowerBound + PageLayout.uniformKeyOffset] != 0 {
          let isInteger = data[range.bytes.lowerBound + PageLayout.keyKindOffset] == KeyKind.int64.rawValue
          purposes.insert(isInteger ? "uniformIntegers" : "uniformBytes")
        }
        if case .record = range.purpose { purposes.insert("record") } else { purposes.insert("\(range.purpose)") }
      }
    }
    #expect(sizes == [4096, 16384])
    let needed = ["metaPage", "spareMetaPage", "catalog", "branch", "leaf", "freeMap", "extent", "record"]
    #expect(purposes.isSuperset(of: needed), "\(purposes)")
    #expect(purposes.intersection(["uniformBytes", "uniformIntegers"]).count == (version == 1 ? 0 : 2))
    let crashed = try decode(files(FormatFixture.crashed4k.rawValue, version))
    #expect(crashed.records.contains { !$0.isCommit } && crashed.records.count > 4)
  }

  /// The document's example is the fixture, byte by byte.
  @Test func documentShowsTheExample() throws {
    let document = Self.repository.appending(path: "Sources/Quire/Quire.docc/Format.md")
    let lines = try String(contentsOf: document, encoding: .utf8).split(separator: "\n").map(String.init)
    var shown: [Int: [UInt8]] = [:]
    for line in lines where line.hasPrefix("    0") {
      let fields = line.split(separator: " ").prefix { $0 != "|" }
      guard let offset = Int(fields[0], radix: 16) else { continue }
      shown[offset] = try fields.dropFirst().map { try #require(UInt8($0, radix: 16)) }
    }
    let bytes = try #require(try files("tiny", 2)[""])
    let needed = stride(from: 0, to: bytes.count, by: 16).filter { offset in
      bytes[offset..<(offset + 16)].contains { $0 != 0 }
    }
    #expect(shown.keys.sorted() == needed)
    for offset in needed { #expect(shown[offset] == Array(bytes[offset..<(offset + 16)]), "offset \(offset)") }
  }
}

@Suite struct DecoderTests {
  @Test func referenceHashHasTheKnownAnswers() throws {
    let fixture = try XXH3Tests.Fixture()
    let bytes = XXH3Tests.input(try #require(fixture.answers.last).count)
    try bytes.withUnsafeBytes { buffer in
      for answer in fixture.answers {
        let input = UnsafeRawBufferPointer(rebasing: buffer[..<answer.count])
        for (seed, expected) in zip(fixture.seeds, answer.hashes) {
          try #require(ReferenceHash.hash(input, seed: seed) == expected, "\(answer.count) bytes")
        }
      }
    }
  }

  /// The decoder and the engine have not a line in common: its files name no module of ours.
  @Test func decoderImportsNothing() throws {
    let folder = URL(filePath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Sources/QuireTesting/Decoder")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count > 6)
    for name in names {
      let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      #expect(!text.contains("import "), "\(name)")
    }
  }

  /// A bit flipped in what the map calls live is noticed by the decoder; one in the rest is not.
  @Test func livenessTellsWhichBitsMatter() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 60, longOneIn: 8)
    try engine.close()
    let bytes = try #require(tiny.disk.bytes(of: TinyDatabase.path))
    let decoded = try DecodedDatabase(data: bytes, logs: [:])
    let purposes = decoded.liveness.purposes(of: .data, byteCount: bytes.count)
    var random = SeededRandom(seed: 1)
    var (live, dead) = (0, 0)
    for _ in 0..<60 {
      let offset = random.below(bytes.count)
      var damaged = bytes
      damaged[offset] ^= 1 << UInt8(random.below(8))
      let found = try? DecodedDatabase(data: damaged, logs: [:])
      switch purposes[offset] {
      case nil, .metaPage, .spareMetaPage:
        dead += 1
        #expect(found?.digest == decoded.digest, "byte \(offset)")
      default:
        live += 1
        #expect(found == nil, "byte \(offset)")
      }
    }
    #expect(live > 10 && dead > 5, "\(live) live, \(dead) dead")
  }
}
