// What is refused at opening: what it is told to people, and that nothing is touched.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct BadInputTests {
  let folder = TemporaryFolder()
  var path: String { folder.path + "/a.quire" }
  private let pageSize = 4096

  private func open() throws -> StorageEngine {
    try StorageEngine(at: path, options: StorageOptions(cacheSize: 4 << 20, maintainsWhenIdle: false))
  }

  private func refuse(_ code: StorageError.Code, path other: String? = nil, at line: SourceLocation) -> StorageError? {
    expectRefusal(code, path: other ?? path, in: folder, sourceLocation: line) { _ = try open() }
  }

  /// A closed database with something in it.
  private func makeClosed() throws {
    let engine = try open()
    try TinyDatabase.fill(engine, count: 400)
    try engine.close()
  }

  /// A database whose process died: its newest commits are in the log alone, and known to be durable.
  private func makeUnclean() throws {
    let engine = try open()
    try TinyDatabase.fill(engine, count: 400)
    // Two files' bytes at this moment are what a killed process leaves.
    let image = FolderImage(of: folder.path)
    try engine.close()
    for (name, entry) in image.entries { writeFile(entry.bytes, "\(folder.path)/\(name)") }
  }

  // MARK: Not a database

  @Test(arguments: ["", "x", "Dear diary, nothing happened today.\n"]) func textIsNoDatabase(text: String) {
    writeFile(Array(text.utf8), path)
    _ = refuse(.notADatabase, at: #_sourceLocation)
  }

  @Test func randomBytesAreNoDatabase() {
    var random = SeededRandom(seed: 5)
    for _ in 0..<8 {
      writeFile((0..<65_536).map { _ in UInt8(random.below(256)) }, path)
      _ = refuse(.notADatabase, at: #_sourceLocation)
    }
  }

  @Test func directoryIsNoDatabase() {
    mkdir(path, 0o700)
    defer { rmdir(path) }
    _ = refuse(.notADatabase, at: #_sourceLocation)
  }

  @Test func pipeIsNoDatabase() {
    mkfifo(path, 0o600)
    _ = refuse(.notADatabase, at: #_sourceLocation)
  }

  @Test func missingFileIsNotMadeIfNobodyAskedForIt() {
    var options = StorageOptions()
    options.createsIfMissing = false
    expectRefusal(.notFound, path: path, in: folder) { _ = try StorageEngine(at: path, options: options) }
  }

  @Test func missingFolderIsNotMade() {
    let path = folder.path + "/nowhere/a.quire"
    expectRefusal(.inputOutput, in: folder) { _ = try StorageEngine(at: path) }
  }

  @Test func impossibleOptionsAreRefused() {
    for change: (inout StorageOptions) -> Void in [
      { $0.pageSize = 1000 }, { $0.pageSize = 512 }, { $0.cacheSize = 1 }, { $0.logLimit = 1 },
    ] {
      var options = StorageOptions()
      change(&options)
      expectRefusal(.invalidOption, in: folder) { _ = try StorageEngine(at: path, options: options) }
    }
  }

  // MARK: Meta pages

  @Test func newerFormatIsLeftAlone() throws {
    try makeClosed()
    edit(path) { bytes in
      for slot in 0..<2 {
        bytes[slot * pageSize + 16] = 3
        sealMetaPage(&bytes, slot: slot)
      }
    }
    let error = refuse(.newerFormat, at: #_sourceLocation)
    #expect(error?.message.contains("3") == true)
  }

  @Test func newerFormatInOneSlotIsLeftAlone() throws {
    try makeClosed()
    edit(path) { bytes in
      bytes[pageSize + 16] = 9
      sealMetaPage(&bytes, slot: 1)
    }
    _ = refuse(.newerFormat, at: #_sourceLocation)
  }

  @Test func bothMetaPagesDamaged() throws {
    try makeClosed()
    edit(path) { bytes in
      bytes[60] ^= 4
      bytes[pageSize + 60] ^= 4
    }
    _ = refuse(.damagedMetaPage, at: #_sourceLocation)
  }

  @Test(arguments: [0, 1]) func oneMetaPageIsEnoughAfterACleanClose(slot: Int) throws {
    try makeClosed()
    let whole = try content()
    edit(path) { $0[slot * pageSize + 200] ^= 1 }
    let left = try content()
    #expect(left == whole)
    // And writing goes on.
    let engine = try open()
    try TinyDatabase.fill(engine, count: 40, seed: 8)
    try engine.verify()
    try engine.close()
  }

  @Test func metaPagesOfTwoDatabasesAreRefused() throws {
    try makeClosed()
    let other = TemporaryFolder()
    let engine = try StorageEngine(at: other.path + "/b.quire")
    try engine.close()
    let foreign = readFile(other.path + "/b.quire")
    edit(path) { $0.replaceSubrange(0..<512, with: foreign[0..<512]) }
    _ = refuse(.damagedMetaPage, at: #_sourceLocation)
  }

  private func content() throws -> DatabaseContent {
    let engine = try open()
    let content = try DatabaseContent(of: engine)
    try engine.close()
    return content
  }

  private func sealMetaPage(_ bytes: inout [UInt8], slot: Int) {
    let (start, seed) = (slot * pageSize, MetaPage.magic + UInt64(slot))
    let checksum = bytes.withUnsafeBytes { buffer in
      buffer.baseAddress.map { XXH3.hash($0 + start + 16, count: MetaPage.byteCount - 16, seed: seed) } ?? 0
    }
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: checksum, toByteOffset: start + 8, as: UInt64.self) }
  }

  // MARK: Files that are cut

  @Test func truncatedDataFile() throws {
    try makeClosed()
    for cut in [1, 4096, 20_000] {
      edit(path) { $0.removeLast(cut) }
      let error = refuse(.truncatedFile, at: #_sourceLocation)
      #expect(error?.offset == readFile(path).count)
    }
    edit(path) { $0.removeLast($0.count - 512) }
    _ = refuse(.truncatedFile, at: #_sourceLocation)
  }

  @Test func tailBehindTheDataIsOfNoConcern() throws {
    try makeClosed()
    let whole = try content()
    edit(path) { $0 += [UInt8](repeating: 0xa5, count: 10_000) }
    let left = try content()
    #expect(left == whole)
  }

  @Test func truncatedLog() throws {
    try makeUnclean()
    let log = path + "-log0"
    edit(log) { $0.removeLast($0.count / 2) }
    _ = refuse(.missingLog, path: log, at: #_sourceLocation)
    edit(log) { $0.removeAll() }
    _ = refuse(.missingLog, path: log, at: #_sourceLocation)
  }

  @Test(arguments: [0, 1]) func missingLog(index: Int) throws {
    try makeUnclean()
    let log = path + "-log\(index)"
    unlink(log)
    _ = refuse(.missingLog, path: log, at: #_sourceLocation)
  }

  @Test func logsAreNotNeededAfterACleanClose() throws {
    try makeClosed()
    let whole = try content()
    for index in 0..<8 { unlink(path + "-log\(index)") }
    let left = try content()
    #expect(left == whole)
  }

  @Test func foreignLog() throws {
    try makeUnclean()
    let other = TemporaryFolder()
    let engine = try StorageEngine(at: other.path + "/b.quire")
    try TinyDatabase.fill(engine, count: 40)
    let log = path + "-log0"
    writeFile(readFile(other.path + "/b.quire-log0"), log)
    let error = refuse(.missingLog, path: log, at: #_sourceLocation)
    #expect(error?.message.contains("another database") == true)
    try engine.close()
  }

  @Test func damagedLogRecordBelowAMark() throws {
    try makeUnclean()
    // Every record but the last is proven by its successor.
    let records = try #require(try Inspector(at: path).log()).scan.records
    try #require(records.count >= 3)
    for record in [records[0], records[records.count - 2]] {
      for place in [record.offset + 20, record.offset + 64 + record.header.bodyByteCount / 2] {
        let file = path + "-log\(record.segment)"
        edit(file) { $0[place] ^= 0x10 }
        let error = refuse(.damagedLog, path: file, at: #_sourceLocation)
        #expect(error?.lsn == record.header.lsn)
        #expect(error?.offset == record.offset)
        edit(file) { $0[place] ^= 0x10 }
      }
    }
    // As it was, it opens.
    _ = try content()
  }
}
