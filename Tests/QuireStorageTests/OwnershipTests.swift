// Who may have a database open, and what calls at the wrong time are told.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct OwnershipTests {
  let folder = TemporaryFolder()
  var path: String { folder.path + "/a.quire" }

  /// An engine that does nothing by itself: threads of its own would touch the files while a test looks at them.
  private func openStepped() throws -> StorageEngine {
    try StorageEngine(
      at: path, options: StorageOptions(), environment: StorageEnvironment(scheduling: .stepped))
  }

  // MARK: A second opener

  @Test func secondOpenerInThisProcess() throws {
    let engine = try openStepped()
    try TinyDatabase.fill(engine, count: 40)
    let (symbolic, hard) = (folder.path + "/symbolic", folder.path + "/hard")
    symlink(path, symbolic)
    link(path, hard)
    for other in [path, folder.path + "/./a.quire", symbolic, hard] {
      let error = expectRefusal(.alreadyOpen, in: folder) { _ = try StorageEngine(at: other) }
      #expect(error?.holderProcessID == nil || error?.holderProcessID == getpid())
      #expect(error?.message.contains("this process") == true || error?.holderProcessID == nil)
    }
    // Refusing others gave nothing of our own away.
    expectRefusal(.alreadyOpen, in: folder) { _ = try StorageEngine(at: path) }
    try TinyDatabase.fill(engine, count: 40, seed: 5)
    try engine.close()
    let again = try StorageEngine(at: hard)
    try again.close()
  }

  @Test func logIsFoundThroughASymbolicLink() throws {
    let (elsewhere, engine) = (TemporaryFolder(), try openStepped())
    try TinyDatabase.fill(engine, count: 40)
    let expected = try DatabaseContent(of: engine)
    let image = FolderImage(of: folder.path)
    try engine.close()
    for (name, entry) in image.entries { writeFile(entry.bytes, "\(folder.path)/\(name)") }
    symlink(path, elsewhere.path + "/link")
    let again = try StorageEngine(at: elsewhere.path + "/link")
    let found = try DatabaseContent(of: again)
    #expect(found == expected)
    try TinyDatabase.fill(again, count: 40, seed: 3)
    try again.close()
    #expect(FolderImage(of: elsewhere.path).entries.keys.sorted() == ["link"])
  }

  #if os(Linux)
    @Test func secondOpenerInAnotherProcess() async throws {
      let engine = try openStepped()
      try TinyDatabase.fill(engine, count: 40)
      await #expect(processExitsWith: .success) { [path = path as String, holder = getpid() as pid_t] in
        do {
          _ = try StorageEngine(at: path)
          exit(3)
        } catch {
          guard let error = error as? StorageError, error.code == .alreadyOpen else { exit(4) }
          // A system that does not list locks names nobody.
          if let process = error.holderProcessID, process != holder { exit(5) }
          guard let inspector = try? Inspector(at: path), inspector.isInUse else { exit(6) }
          exit(0)
        }
      }
      // The child's attempt has cost us nothing.
      try TinyDatabase.fill(engine, count: 40, seed: 2)
      try engine.close()
    }
  #endif

  @Test func inspectorKeepsEnginesOutAndSaysWhenItCouldNot() throws {
    let engine = try openStepped()
    try TinyDatabase.fill(engine, count: 40)
    let early = try Inspector(at: path)
    #expect(early.isInUse)
    try engine.close()
    do {
      let inspector = try Inspector(at: path)
      #expect(!inspector.isInUse)
      expectRefusal(.alreadyOpen, in: folder) { _ = try StorageEngine(at: path) }
      let second = try Inspector(at: path)
      #expect(!second.isInUse)
      _ = (inspector.path, second.path)
    }
    let again = try StorageEngine(at: path)
    try again.close()
  }

  // MARK: At the wrong time

  @Test func useAfterClose() throws {
    let engine = try openStepped()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.close()
    try engine.close()
    expectRefusal(.closed, path: path, in: folder) { _ = try engine.read { tx in try tx.count(of: tree) } }
    expectRefusal(.closed, path: path, in: folder) { try TinyDatabase.fill(engine, count: 4) }
    expectRefusal(.closed, path: path, in: folder) { try engine.checkpoint() }
    expectRefusal(.closed, path: path, in: folder) { try engine.flush() }
    expectRefusal(.closed, path: path, in: folder) { _ = try engine.pin() }
    expectRefusal(.closed, path: path, in: folder) { try engine.verify() }
  }

  @Test func asyncUseAfterClose() async throws {
    let engine = try StorageEngine(at: path)
    try engine.close()
    let read = await #expect(throws: StorageError.self) { try await engine.read { tx in tx.treeNames.count } }
    let write = await #expect(throws: StorageError.self) {
      try await engine.write { tx in tx.tree(named: "t") == nil }
    }
    #expect(read?.code == .closed && write?.code == .closed)
  }

  @Test func closeWithAPinAlive() throws {
    let engine = try openStepped()
    try TinyDatabase.fill(engine, count: 40)
    var pin: PinnedSnapshot? = try engine.pin()
    expectRefusal(.inUse, path: path, in: folder) { try engine.close() }
    // Refused, it goes on as before.
    try TinyDatabase.fill(engine, count: 40, seed: 2)
    let names = try pin?.read { tx in tx.treeNames }
    #expect(names == ["numbers", "paths", "texts"])
    pin = nil
    try engine.close()
  }

  @Test func closeInsideARead() throws {
    let engine = try openStepped()
    try engine.read { (_) -> Void in
      expectRefusal(.inUse, path: path, in: folder) { try engine.close() }
    }
    try engine.close()
  }

  @Test func nestedWriteIsRefusedAtOnce() throws {
    let engine = try openStepped()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.write { (tx) -> Void in
      try tx.put("outer", for: "k", in: tree)
      let start = ContinuousClock.now
      expectRefusal(.nestedWrite, in: folder) { try TinyDatabase.fill(engine, count: 4) }
      #expect(ContinuousClock.now - start < .milliseconds(500))
      expectRefusal(.nestedWrite, in: folder) { try engine.checkpoint() }
      expectRefusal(.nestedWrite, in: folder) { try engine.close() }
      expectRefusal(.nestedWrite, in: folder) { try engine.verify() }
    }
    let value = try engine.read { tx in try tx.value(for: "k", in: tree) }
    #expect(value == Array("outer".utf8))
    try engine.close()
  }

  @Test func keysAndValuesThatAreTooLong() throws {
    let engine = try openStepped()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    let longest = [UInt8](repeating: 7, count: Limits.keyByteCount)
    let byte = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
    defer { byte.deallocate() }
    // Nobody reads as much as a byte of it: its length is looked at first.
    let tooLong = UnsafeRawBufferPointer(start: byte, count: Limits.valueByteCount + 1)
    try engine.write { (tx) -> Void in
      try tx.put("v", for: longest, in: tree)
      for code in [StorageError.Code.keyTooLong, .valueTooLong] {
        let error = #expect(throws: StorageError.self) {
          if code == .keyTooLong {
            try tx.put("v", for: longest + [1], in: tree)
          } else {
            try tx.put(tooLong, for: [1], in: tree)
          }
        }
        #expect(error?.code == code)
        #expect(error?.message.contains(". ") == true, "\(error.map(\.description) ?? "")")
      }
      // A refusal is not a failure: the transaction goes on.
      try tx.put("w", for: "k", in: tree)
    }
    let (count, absent) = try engine.read { tx in
      (try tx.count(of: tree), try tx.value(for: longest + [1], in: tree))
    }
    #expect(count == 2 && absent == nil)
    try engine.verify()
    try engine.close()
  }

  // MARK: Fail stop

  @Test func failedSyncStopsWritingAndNothingElse() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 100)
    let before = try DatabaseContent(of: engine)
    tiny.disk.failNext(.synchronize, with: .error(SystemCode.inputOutput))
    let unknown = #expect(throws: StorageError.self) { try TinyDatabase.fill(engine, count: 40, seed: 4) }
    #expect(unknown?.code == .outcomeUnknown)
    let calls: [() throws -> Void] = [
      { try TinyDatabase.fill(engine, count: 4, seed: 5) }, { try engine.flush() }, { try engine.checkpoint() },
    ]
    for call in calls {
      let error = #expect(throws: StorageError.self) { try call() }
      #expect(error?.code == .failStop)
      #expect(error?.message.contains("Open the database again") == true)
    }
    let after = try DatabaseContent(of: engine)
    #expect(after == before)
    try engine.verify()
    #expect(throws: StorageError.self) { try engine.close() }
    let again = try tiny.open()
    try again.verify()
    try again.close()
  }
}
