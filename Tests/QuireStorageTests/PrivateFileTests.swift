// Files are their owner's alone, and hold what was stored: no byte of memory that the process has freed, of a
// transaction that came to nothing, or of memory that nobody has written to (goal G29).

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct PrivateFileTests {
  private static let secret = Array("a secret that nobody has stored in any database; ".utf8)
  private static let options = StorageOptions(cacheSize: 1 << 20, logLimit: 1 << 20)

  private static func open(_ path: String, _ files: RememberingFileSystem) throws -> StorageEngine {
    try StorageEngine(
      at: path, options: options,
      environment: StorageEnvironment(
        fileSystem: files, scheduling: .stepped, initialSegmentByteCount: 64 << 10, putsBeforeDeferral: 0))
  }

  /// A value that looks like nothing else: digits and blanks.
  private static func value(_ number: Int, count: Int) -> [UInt8] {
    let digits = "\(number) "
    return Array(String(repeating: digits, count: count / digits.utf8.count + 1).utf8.prefix(count))
  }

  private static func put(_ numbers: [Int], in engine: StorageEngine, count: Int, tree: String = "rows") throws {
    try engine.write { tx in
      let tree = try tx.tree(named: tree) ?? tx.createTree(tree, keys: .int64)
      for number in numbers {
        // Some are longer than a page, and than the block of a run.
        let count = number % 500 == 7 ? 300_000 : number % 50 == 3 ? 9000 : count + number % 60
        try tx.put(value(number, count: count), for: Int64(number), in: tree)
      }
    }
  }

  /// Leaves the secret in memory that is free again, and in the slots of pages.
  private static func leaveSecret(in engine: StorageEngine? = nil) throws {
    var kept: [UnsafeMutableRawPointer] = []
    for size in [48, 64, 128, 512, 4096, 16 << 10, 65_536, 100 << 10] {
      let blocks = (0..<max(8, min(400, (2 << 20) / size))).map { _ in
        UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      }
      for (index, block) in blocks.enumerated() {
        for offset in stride(from: 0, to: size, by: secret.count) {
          let count = min(secret.count, size - offset)
          UnsafeMutableRawBufferPointer(start: block + offset, count: count).copyBytes(from: secret[..<count])
        }
        // One in eight stays, or the allocator would give all of it back to the system.
        if index % 8 == 0 { kept.append(block) } else { block.deallocate() }
      }
    }
    for block in kept { block.deallocate() }
    guard let engine else { return }
    for _ in 0..<2 {
      #expect(throws: StorageError.self) {
        try engine.write { (tx) -> Void in
          guard let tree = tx.tree(named: "rows") else { return }
          for number in Int64(0)..<100 {
            try tx.put(secret, for: 1 << 40 + number, in: tree)
            _ = try tx.value(for: 1 << 40 + number, in: tree)
          }
          try tx.rollback()
        }
      }
    }
  }

  /// Does everything that makes files: commits, checkpoints, loads, spills, backups, compaction, openings.
  private static func live(at path: String, _ files: RememberingFileSystem) throws {
    try leaveSecret()
    var engine = try open(path, files)
    try put(Array(0..<600), in: engine, count: 40)
    try leaveSecret(in: engine)
    try put((0..<400).map { $0 * 3 }, in: engine, count: 30)
    try engine.checkpoint()
    try leaveSecret(in: engine)
    // What a load sorts goes to a file of its own.
    try engine.write { tx in
      let tree = try tx.createTree("loaded", keys: .int64)
      try tx.bulkLoad(into: tree, options: BulkLoadOptions(bufferByteCount: 64 << 10)) { loader in
        for number in stride(from: 4000, to: 0, by: -1) {
          try loader.append(value(number, count: 30 + number % 40), for: Int64(number))
        }
      }
    }
    try leaveSecret(in: engine)
    // So do the puts of a transaction that outgrows the cache.
    try put((0..<12_000).map { $0 * 7919 % 12_007 }, in: engine, count: 100, tree: "large")
    try engine.backup(to: "\(path)-copy")
    try engine.write { tx in
      guard let tree = tx.tree(named: "large") else { return }
      try tx.deleteRange(from: Int64(1000), to: Int64(9000), in: tree)
    }
    try engine.checkpoint()
    try engine.compact()
    try leaveSecret(in: engine)
    try put(Array(0..<300), in: engine, count: 20)
    try engine.close()
    engine = try open(path, files)
    try put(Array(300..<600), in: engine, count: 50)
    try engine.verify()
    try engine.close()
    let copy = try open("\(path)-copy", files)
    try put(Array(0..<300), in: copy, count: 20)
    try copy.close()
  }

  /// What is in a file and should not be.
  private static func strays(in bytes: [UInt8]) -> [String] {
    // A part of the secret is as bad as the whole.
    let patterns = [
      ("a secret", Array(secret[8..<24])),
      ("memory that was given out", [UInt8](repeating: PaintedMemory.given, count: 16)),
      ("memory that was taken back", [UInt8](repeating: PaintedMemory.taken, count: 16)),
    ]
    return patterns.filter { find($0.1, in: bytes) }.map(\.0)
  }

  private static func find(_ pattern: [UInt8], in bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      pattern.withUnsafeBytes { pattern in
        guard let base = bytes.baseAddress, let wanted = pattern.baseAddress else { return false }
        var offset = 0
        while offset + pattern.count <= bytes.count,
          let found = memchr(base + offset, Int32(pattern[0]), bytes.count - pattern.count + 1 - offset)
        {
          if memcmp(found, wanted, pattern.count) == 0 { return true }
          offset = base.distance(to: UnsafeRawPointer(found)) + 1
        }
        return false
      }
    }
  }

  #if os(Linux) || os(macOS)
    @Test(
      "Every file is its owner's alone, whatever the mask, and holds nothing that was not stored",
      .enabled(if: TestSize.hasSlowTests, "slow"))
    func everyFileIsItsOwnersAlone() async {
      await #expect(processExitsWith: .success) {
        umask(0)
        PaintedMemory.begin()
        let (folder, files) = (TemporaryFolder(), RememberingFileSystem())
        let path = folder.path + "/a.quire"
        try PrivateFileTests.live(at: path, files)
        for kind in ["a.quire-new-", "a.quire-log", "a.quire-run", "a.quire-copy-new-", "a.quire-copy-log"] {
          #expect(files.made.contains { $0.path.contains(kind) }, "no file \(kind) was made")
        }
        for file in files.made {
          #expect(file.mode == 0o600 && file.owner == geteuid(), "\(file.path) has the mode \(file.mode)")
          #expect(PrivateFileTests.strays(in: files.bytes(of: file)) == [], "\(file.path)")
        }
        for name in FolderImage(of: folder.path).entries.keys {
          var information = stat()
          #expect(stat("\(folder.path)/\(name)", &information) == 0 && information.st_mode & 0o7777 == 0o600)
        }
        // Nothing is found because nothing is there, and not because nothing can be found.
        let wrong = PrivateFileTests.secret + [UInt8](repeating: PaintedMemory.given, count: 20)
        #expect(PrivateFileTests.strays(in: wrong).count == 2)
        exit(0)
      }
    }
  #endif

  /// An owner who lets others read the file goes on doing so: the engine changes the mode of no file that is there.
  @Test func rightsOfAFileAreItsOwners() throws {
    let (folder, files) = (TemporaryFolder(), RememberingFileSystem())
    let path = folder.path + "/a.quire"
    var engine = try Self.open(path, files)
    try Self.put(Array(0..<600), in: engine, count: 40)
    try engine.close()
    chmod(path, 0o640)
    engine = try Self.open(path, files)
    try engine.write { tx in
      guard let tree = tx.tree(named: "rows") else { return }
      try tx.deleteRange(from: Int64(100), to: Int64(500), in: tree)
    }
    try engine.checkpoint()
    try engine.compact()
    try engine.backup(to: "\(path)-copy")
    try engine.close()
    var (own, copied) = (stat(), stat())
    #expect(stat(path, &own) == 0 && stat("\(path)-copy", &copied) == 0)
    #expect(own.st_mode & 0o7777 == 0o640)
    // A copy is the business of whoever made it, until they say otherwise.
    #expect(copied.st_mode & 0o7777 == 0o600)
  }

  /// What was stored and deleted stays in the pages that are given up, until these are used again. A backup is written
  /// from what is there, and holds none of it.
  @Test func pagesThatAreGivenUpKeepTheirBytes() throws {
    let (folder, files) = (TemporaryFolder(), RememberingFileSystem())
    let path = folder.path + "/a.quire"
    let engine = try Self.open(path, files)
    try Self.put(Array(0..<600), in: engine, count: 40)
    try engine.write { tx in
      guard let tree = tx.tree(named: "rows") else { return }
      for number in Int64(0)..<600 {
        // Beside rows that stay, in pages of their own, and longer than a page.
        try tx.put(Self.secret, for: 1 << 40 + number, in: tree)
        if number % 40 == 0 {
          try tx.put(Self.secret, for: number, in: tree)
          try tx.put((0..<200).flatMap { _ in Self.secret }, for: 1 << 41 + number, in: tree)
        }
      }
    }
    try engine.checkpoint()
    #expect(Self.find(Self.secret, in: readFile(path)))
    try engine.write { tx in
      guard let tree = tx.tree(named: "rows") else { return }
      try tx.deleteRange(from: Int64(1 << 40), in: tree)
      for number in stride(from: Int64(0), to: 600, by: 40) { try tx.delete(number, in: tree) }
    }
    try engine.checkpoint()
    #expect(Self.find(Self.secret, in: readFile(path)), "deleting wipes bytes: the documents may say so")
    try engine.backup(to: "\(path)-copy")
    try engine.close()
    #expect(!Self.find(Array(Self.secret[8..<24]), in: readFile("\(path)-copy")))
  }
}
