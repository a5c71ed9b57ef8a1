// Calls that fail for want of descriptors, rights or locks: an error, nothing lost, and it works again when they work.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct ScarceDescriptorTests {
  static let codes = [
    SystemCode.tooManyFiles, SystemCode.systemTableFull, SystemCode.denied, SystemCode.noLocks, SystemCode.readOnly,
    SystemCode.fileTooLarge, SystemCode.inputOutput,
  ]

  /// Every call of an opening after a crash fails once, in turn.
  @Test(arguments: codes) func failedOpeningLosesNothing(code: Int32) throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 100)
    try engine.checkpoint()
    try TinyDatabase.fill(engine, count: 60, seed: 5)
    let expected = try DatabaseContent(of: engine)
    let image = tiny.disk.processKillImage()
    let probe = image.copy()
    _ = try tiny.open(probe)
    let callCount = probe.operationCount
    for number in TestSize.some(Array(0..<callCount), of: max(1, callCount / 6)) {
      let disk = image.copy()
      let start = disk.operationCount
      disk.fail(operation: start + number, with: .error(code))
      var opened: StorageEngine?
      do { opened = try tiny.open(disk) } catch { #expect(error is StorageError, "call \(number): \(error)") }
      // A call that may fail unnoticed: then all is there at once.
      if let engine = opened {
        let found = try DatabaseContent(of: engine)
        #expect(found == expected, "call \(number)")
        try? engine.close()
      }
      opened = nil
      let again = try tiny.open(disk)
      let found = try DatabaseContent(of: again)
      #expect(found == expected, "after call \(number)")
      try again.close()
    }
  }

  /// While the engine runs, every `open` fails for a while: checkpoints, new segments, run files.
  @Test(arguments: [SystemCode.tooManyFiles, SystemCode.systemTableFull, SystemCode.denied])
  func commitsGoOnWhenFilesCanBeOpenedAgain(code: Int32) throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    var committed = 0, refused = 0
    for round in 0..<60 {
      if round % 5 == 2 { tiny.disk.failNext(.open, with: .error(code)) }
      do {
        try engine.write { tx in
          for number in Int64(0)..<100 {
            try tx.put([UInt8](repeating: UInt8(round), count: 60), for: number, in: tree)
          }
        }
        committed = round
      } catch {
        #expect((error as? StorageError)?.systemError?.code == code, "\(error)")
        refused += 1
      }
      let value = try engine.read { tx in try tx.value(for: Int64(99), in: tree) }
      #expect(value == [UInt8](repeating: UInt8(committed), count: 60))
    }
    #expect(refused > 0 && refused <= 24, "\(refused)")
    try engine.verify()
    try engine.close()
  }

  @Test func bulkLoadWithoutARunFile() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    func load() throws {
      try engine.write { tx in
        _ = try tx.bulkLoad(into: tree, options: BulkLoadOptions(bufferByteCount: 64 << 10)) { loader in
          for number in stride(from: Int64(8000), to: 0, by: -1) { try loader.append("value \(number)", for: number) }
        }
      }
    }
    tiny.disk.failNext(.open, of: TinyDatabase.path + "-run0", with: .error(SystemCode.tooManyFiles))
    let error = #expect(throws: StorageError.self) { try load() }
    #expect(error?.systemError?.code == SystemCode.tooManyFiles)
    let count = try engine.read { tx in try tx.count(of: tree) }
    #expect(count == 0)
    try load()
    try engine.verify()
    try engine.close()
  }

  #if os(Linux)
    /// The real thing: a process that has used up its descriptors.
    @Test func processWithoutDescriptors() async throws {
      let folder = TemporaryFolder()
      await #expect(processExitsWith: .success) { [path = folder.path + "/a.quire" as String] in
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(3) }
        var taken: [Int32] = []
        func takeAll() {
          while true {
            let descriptor = dup(0)
            if descriptor < 0 { return }
            taken.append(descriptor)
          }
        }
        func giveBack() {
          for descriptor in taken { close(descriptor) }
          taken = []
        }
        func isScarce(_ error: any Error) -> Bool { (error as? StorageError)?.systemError?.code == EMFILE }
        do {
          takeAll()
          do {
            _ = try StorageEngine(at: path)
            exit(4)
          } catch { if !isScarce(error) { exit(5) } }
          giveBack()
          let options = StorageOptions(pageSize: 4096, cacheSize: 4 << 20, logLimit: 64 << 10)
          let environment = StorageEnvironment(scheduling: .stepped, initialSegmentByteCount: 16 << 10)
          var engine = try StorageEngine(at: path, options: options, environment: environment)
          let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
          var committed = 0, refused = 0
          for round in 1..<60 {
            // A checkpoint needs a file for its segment; there is none in every second stretch.
            if round % 10 == 5 { takeAll() }
            if round % 10 == 0 { giveBack() }
            do {
              try engine.write { tx in
                for number in Int64(0)..<20 {
                  try tx.put([UInt8](repeating: UInt8(round), count: 200), for: number, in: tree)
                }
              }
              committed = round
            } catch {
              if !isScarce(error) { exit(6) }
              refused += 1
            }
          }
          giveBack()
          guard refused > 0 else { exit(7) }
          // What was acknowledged is there after a crash as well.
          try engine.verify()
          let value = try engine.read { tx in try tx.value(for: Int64(0), in: tree) }
          guard value == [UInt8](repeating: UInt8(committed), count: 200) else { exit(8) }
          try engine.close()
          engine = try StorageEngine(at: path)
          let again = try engine.read { tx in try tx.value(for: Int64(0), in: tree) }
          guard again == value else { exit(9) }
          try engine.close()
          exit(0)
        } catch { exit(10) }
      }
    }
  #endif

  // MARK: Rights and remains

  @Test func filesAreTheirOwnersAlone() throws {
    let folder = TemporaryFolder()
    let old = umask(0)
    defer { umask(old) }
    let engine = try StorageEngine(
      at: folder.path + "/a.quire", options: StorageOptions(),
      environment: StorageEnvironment(scheduling: .stepped))
    try TinyDatabase.fill(engine, count: 100)
    try engine.checkpoint()
    let names = FolderImage(of: folder.path).entries.keys.sorted()
    #expect(names.count >= 3)
    for name in names {
      var information = stat()
      #expect(stat("\(folder.path)/\(name)", &information) == 0)
      #expect(information.st_mode & 0o777 == 0o600, "\(name)")
    }
    try engine.close()
  }

  /// A secret in memory that was freed, and in slots that pages were taken out of, is in no file.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func nothingStrayIsWritten() throws {
    let tiny = TinyDatabase(pageSize: 4096)
    let secret = Array("the secret that nobody stored in any database".utf8)
    for size in [64, 512, 4096, 65_536, 1 << 20] {
      var blocks: [UnsafeMutableRawPointer] = []
      for _ in 0..<max(4, (4 << 20) / size) {
        let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        for offset in stride(from: 0, through: size - secret.count, by: secret.count) {
          UnsafeMutableRawBufferPointer(start: block + offset, count: secret.count).copyBytes(from: secret)
        }
        blocks.append(block)
      }
      for block in blocks { block.deallocate() }
    }
    let engine = try tiny.open()
    // Slots remember as well: transactions that were rolled back, too short for their record to be out in part.
    try TinyDatabase.fill(engine, count: 400, longOneIn: 5)
    for _ in 0..<3 {
      #expect(throws: StorageError.self) {
        try engine.write { (tx) -> Void in
          guard let tree = tx.tree(named: "numbers") else { return }
          for number in Int64(0)..<100 { try tx.put(secret, for: 1 << 30 + number, in: tree) }
          try tx.rollback()
        }
      }
    }
    for seed in UInt64(4)...UInt64(TestSize.isFull ? 8 : 5) {
      try TinyDatabase.fill(engine, count: 400, seed: seed, longOneIn: 5)
    }
    try engine.checkpoint()
    try engine.compact()
    for name in tiny.disk.names {
      let bytes = try #require(tiny.disk.bytes(of: name))
      #expect(!contains(bytes, secret), "\(name)")
    }
    try engine.close()
    #expect(!contains(try #require(tiny.disk.bytes(of: TinyDatabase.path)), secret))
  }

  private func contains(_ bytes: [UInt8], _ pattern: [UInt8]) -> Bool {
    // A part of it is as bad as the whole.
    let part = Array(pattern[8..<24])
    var start = bytes.startIndex
    while let found = bytes[start...].firstIndex(of: part[0]), found + part.count <= bytes.count {
      if Array(bytes[found..<(found + part.count)]) == part { return true }
      start = found + 1
    }
    return false
  }
}
