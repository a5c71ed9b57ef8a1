// What others do to the files of an open database: it is noticed at the next commit, nothing is acknowledged that
// nobody could find again, and nothing of theirs is touched.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct ChangedFileTests {
  let folder = TemporaryFolder()
  let elsewhere = TemporaryFolder()
  var path: String { folder.path + "/a.quire" }

  enum Event: CaseIterable, Sendable {
    case delete
    case moveAway
    case replaceByCopy
    case replaceByOther
    case cutToHalf
    case cutToNothing

    func happen(to path: String, aside: String) {
      switch self {
      case .delete: unlink(path)
      case .moveAway: rename(path, aside)
      case .replaceByCopy:
        writeFile(readFile(path), aside)
        rename(aside, path)
      case .replaceByOther:
        writeFile(Array("Dear diary, nothing happened today.\n".utf8), aside)
        rename(aside, path)
      case .cutToHalf: truncate(path, off_t(readFile(path).count / 2))
      case .cutToNothing: truncate(path, 0)
      }
    }
  }

  private func openEngine(_ durability: Durability, cacheSize: Int = 4 << 20) throws -> StorageEngine {
    try StorageEngine(
      at: path, options: StorageOptions(cacheSize: cacheSize, durability: durability, logLimit: 1 << 20),
      environment: StorageEnvironment(scheduling: .stepped))
  }

  /// Whatever else happens: only errors of the engine's, and only content that was there.
  private func expectOldContentOrError(_ engine: StorageEngine, _ old: DatabaseContent) {
    do {
      let found = try DatabaseContent(of: engine)
      #expect(found == old)
    } catch { #expect(error is StorageError, "\(error)") }
  }

  @Test(arguments: Event.allCases, [true, false])
  func isNoticedAtTheNextCommit(event: Event, isLog: Bool) throws {
    for durability in [Durability.full, .relaxed] {
      let engine = try openEngine(durability)
      if try engine.read({ tx in tx.treeNames.isEmpty }) { try TinyDatabase.fill(engine, count: 400) }
      try engine.checkpoint()
      try TinyDatabase.fill(engine, count: 40, seed: 5)
      let old = try DatabaseContent(of: engine)
      let pin = try engine.pin()
      let image = FolderImage(of: folder.path)
      let logs = FolderImage(of: folder.path).entries.keys.filter { $0.contains("-log") }.sorted()
      let current = try currentLog(engine)
      #expect(logs.contains { path.hasSuffix($0) || current.hasSuffix($0) })
      event.happen(to: isLog ? current : path, aside: elsewhere.path + "/aside")
      // Commits that wait for no disk look at most every ten milliseconds.
      usleep(15_000)
      let changed = FolderImage(of: folder.path)
      let error = #expect(throws: StorageError.self) { try TinyDatabase.fill(engine, count: 40, seed: 6) }
      // A commit that waits for the disk is in the file, wherever that is now, before anybody looks.
      let code: StorageError.Code = durability == .full ? .outcomeUnknown : .fileChanged
      #expect(error?.code == code, "\(durability) \(error.map(\.description) ?? "")")
      #expect(error?.message.contains("put the file back") == true)
      #expect(error?.path == (isLog ? current : path))
      for _ in 0..<2 {
        let later = #expect(throws: StorageError.self) { try TinyDatabase.fill(engine, count: 4, seed: 7) }
        #expect(later?.code == .failStop)
      }
      expectOldContentOrError(engine, old)
      let names = try pin.read { tx in tx.treeNames }
      #expect(names == ["numbers", "paths", "texts"])
      withExtendedLifetime(pin) {
        let refusal = #expect(throws: StorageError.self) { try engine.close() }
        #expect(refusal?.code == .inUse)
      }
      // What is there now is not ours: closing removes none of it.
      abandon(engine)
      #expect(FolderImage(of: folder.path).entries.keys.sorted() == changed.entries.keys.sorted())
      restore(image)
    }
  }

  private func abandon(_ engine: StorageEngine) { _ = try? engine.close() }

  private func currentLog(_ engine: StorageEngine) throws -> String {
    try #require(engine.core.log.with { $0?.current.file.path })
  }

  private func restore(_ image: FolderImage) {
    for name in FolderImage(of: folder.path).entries.keys { unlink("\(folder.path)/\(name)") }
    for (name, entry) in image.entries { writeFile(entry.bytes, "\(folder.path)/\(name)") }
  }

  /// Nothing has been committed since, and a checkpoint or a close comes first.
  @Test(arguments: Event.allCases, [true, false])
  func closingTouchesNothingOfOthers(event: Event, callsCheckpoint: Bool) throws {
    let engine = try openEngine(.full)
    try TinyDatabase.fill(engine, count: 400)
    event.happen(to: path, aside: elsewhere.path + "/aside")
    let changed = FolderImage(of: folder.path)
    if callsCheckpoint {
      let error = #expect(throws: StorageError.self) { try engine.checkpoint() }
      #expect(error?.code == .failStop || error?.code == .fileChanged)
    }
    #expect(throws: StorageError.self) { try engine.close() }
    #expect(FolderImage(of: folder.path) == changed)
  }

  /// A replaced database must not lose its log to the first commit of an engine that opened its predecessor.
  @Test func firstCommitAfterOpeningLooksFirst() throws {
    let other = try StorageEngine(
      at: elsewhere.path + "/a.quire", options: StorageOptions(),
      environment: StorageEnvironment(scheduling: .stepped))
    try TinyDatabase.fill(other, count: 100)
    let image = FolderImage(of: elsewhere.path)
    try other.close()
    var engine = try openEngine(.full)
    try TinyDatabase.fill(engine, count: 40)
    try engine.close()
    engine = try openEngine(.full)
    for (name, entry) in image.entries {
      writeFile(entry.bytes, elsewhere.path + "/new")
      rename(elsewhere.path + "/new", "\(folder.path)/\(name)")
    }
    let before = FolderImage(of: folder.path)
    let error = #expect(throws: StorageError.self) { try TinyDatabase.fill(engine, count: 4, seed: 2) }
    #expect(error?.code == .fileChanged)
    #expect(throws: StorageError.self) { try engine.close() }
    #expect(FolderImage(of: folder.path) == before)
    let restored = try StorageEngine(at: path)
    try restored.verify()
    try restored.close()
  }

  /// A file that was cut is not made longer again, by whatever would: a long value, growth, a spill, a checkpoint.
  @Test(arguments: ["long value", "growth", "spill", "checkpoint"]) func cutFileIsNotMadeLonger(way: String) throws {
    let engine = try openEngine(.full, cacheSize: way == "spill" ? 256 << 10 : 64 << 20)
    try TinyDatabase.fill(engine, count: 400)
    try engine.checkpoint()
    truncate(path, 8192)
    let error = #expect(throws: StorageError.self) {
      if way == "checkpoint" {
        try engine.compact()
        try engine.write { tx in _ = try tx.createTree("one more", keys: .bytes) }
        return
      }
      try engine.write { (tx) -> Void in
        guard let tree = tx.tree(named: "numbers") else { return }
        if way == "long value" {
          try tx.put([UInt8](repeating: 1, count: 10 << 20), for: Int64(1 << 40), in: tree)
        } else {
          for number in Int64(0)..<20_000 {
            try tx.put([UInt8](repeating: 2, count: 500), for: (1 << 40) + number, in: tree)
          }
        }
      }
    }
    #expect([.fileChanged, .failStop, .truncatedFile].contains(error?.code), "\(error.map(\.description) ?? "")")
    #expect(readFile(path).count <= 8192)
    #expect(throws: StorageError.self) { try engine.close() }
    #expect(readFile(path).count <= 8192)
  }

  @Test func asyncWaitersAreTold() async throws {
    let engine = try StorageEngine(at: path)
    let tree = try await engine.write { tx in try tx.createTree("t", keys: .int64) }
    unlink(path)
    let error = await #expect(throws: StorageError.self) {
      try await engine.write { tx in try tx.put("v", for: Int64(1), in: tree) }
    }
    // Unknown where a flush in the background has noticed it between the append and the wait.
    #expect([.fileChanged, .outcomeUnknown].contains(error?.code), "\(error.map(\.description) ?? "")")
    let count = try await engine.read { tx in try tx.count(of: tree) }
    #expect(count == 0)
  }
}
