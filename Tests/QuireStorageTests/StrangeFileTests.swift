// What may be found at a path when a database is opened: either it opens with what was committed, or it is refused with
// a reason and a remedy, and nothing is changed.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct StrangeFileTests {
  let folder = TemporaryFolder()
  let elsewhere = TemporaryFolder()
  var path: String { folder.path + "/a.quire" }
  private var pageSize: Int { 4096 }

  enum Outcome: Equatable, Sendable {
    /// Refused with this code, and nothing has changed.
    case refused(StorageError.Code)
    /// Opens with everything.
    case whole
    /// Opens with everything, or is refused.
    case wholeOrRefused
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isClean: Bool
    let outcome: Outcome
    /// What happens to the files, given the path, another folder, and how an older state of the files looked.
    let change: @Sendable (String, String, FolderImage) -> Void

    init(
      _ name: String, isClean: Bool = false, _ outcome: Outcome,
      _ change: @escaping @Sendable (String, String, FolderImage) -> Void
    ) {
      testDescription = name
      self.isClean = isClean
      self.outcome = outcome
      self.change = change
    }
  }

  private static func put(_ image: FolderImage, _ folder: String, only: (String) -> Bool) {
    for (name, entry) in image.entries where only(name) { writeFile(entry.bytes, "\(folder)/\(name)") }
  }

  private static func folder(of path: String) -> String { String(path.dropLast("/a.quire".count)) }

  private static func setVersion(_ bytes: inout [UInt8], _ version: [UInt8], pageSize: UInt32? = nil) {
    for slot in 0..<2 {
      let start = slot * 4096
      bytes.replaceSubrange((start + 16)..<(start + 16 + version.count), with: version)
      if let pageSize {
        withUnsafeBytes(of: pageSize.littleEndian) { bytes.replaceSubrange((start + 20)..<(start + 24), with: $0) }
      }
      let checksum = bytes.withUnsafeBytes { buffer in
        buffer.baseAddress.map {
          XXH3.hash($0 + start + 16, count: MetaPage.byteCount - 16, seed: MetaPage.magic + UInt64(slot))
        } ?? 0
      }
      withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange((start + 8)..<(start + 16), with: $0) }
    }
  }

  static let cases: [Case] = [
    Case("log deleted", .refused(.missingLog)) { path, _, _ in unlink(path + "-log0") },
    Case("both logs deleted", .refused(.missingLog)) { path, _, _ in
      for index in 0..<8 { unlink("\(path)-log\(index)") }
    },
    Case("data deleted, log kept", .refused(.notFound)) { path, _, _ in unlink(path) },
    Case("older data, newer log", .refused(.damagedMetaPage)) { path, _, older in
      put(older, folder(of: path)) { !$0.contains("-log") }
    },
    Case("older, cleanly closed data, newer log", .refused(.damagedMetaPage)) { path, other, _ in
      writeFile(readFile(other + "/first"), path)
    },
    Case("older data and log", .wholeOrRefused) { path, _, older in put(older, folder(of: path)) { _ in true } },
    Case("log is a directory", .refused(.missingLog)) { path, _, _ in
      unlink(path + "-log0")
      mkdir(path + "-log0", 0o700)
    },
    Case("log is a pipe", .refused(.missingLog)) { path, _, _ in
      unlink(path + "-log0")
      mkfifo(path + "-log0", 0o600)
    },
    Case("log is a symbolic link", .whole) { path, other, _ in
      rename(path + "-log0", other + "/log")
      symlink(other + "/log", path + "-log0")
    },
    Case("log extended with garbage", .whole) { path, _, _ in
      edit(path + "-log0") { $0 += [UInt8](repeating: 0xa7, count: 10_000) }
    },
    Case("log cut by a byte", .refused(.missingLog)) { path, _, _ in edit(path + "-log1") { $0.removeLast() } },
    Case("extended with zeros", .whole) { path, _, _ in edit(path) { $0 += [UInt8](repeating: 0, count: 100_000) } },
    Case("extended with garbage", .whole) { path, _, _ in edit(path) { $0 += [UInt8](repeating: 0x5a, count: 9999) } },
    Case("extended by a hole", .whole) { path, _, _ in truncate(path, 64 << 20) },
    Case("extended when closed", isClean: true, .whole) { path, _, _ in truncate(path, 64 << 20) },
    Case("symbolic link", .whole) { path, other, _ in
      // The log lies beside the file that the link leads to.
      rename(path, other + "/a.quire")
      for index in 0..<8 { rename("\(path)-log\(index)", "\(other)/a.quire-log\(index)") }
      symlink(other + "/a.quire", path)
    },
    Case("hard link", .whole) { path, other, _ in link(path, other + "/second") },
    Case("symbolic link to nothing", isClean: true, .refused(.notFound)) { path, other, _ in
      unlink(path)
      symlink(other + "/nothing", path)
    },
    Case("symbolic link to itself", isClean: true, .refused(.inputOutput)) { path, _, _ in
      unlink(path)
      symlink(path, path)
    },
    Case("directory", isClean: true, .refused(.notADatabase)) { path, _, _ in
      unlink(path)
      mkdir(path, 0o700)
    },
    Case("pipe", isClean: true, .refused(.notADatabase)) { path, _, _ in
      unlink(path)
      mkfifo(path, 0o600)
    },
    Case("device", isClean: true, .refused(.notADatabase)) { path, _, _ in
      unlink(path)
      symlink("/dev/null", path)
    },
    Case("empty", isClean: true, .refused(.notADatabase)) { path, _, _ in truncate(path, 0) },
    Case("one byte", isClean: true, .refused(.notADatabase)) { path, _, _ in writeFile([0x51], path) },
    Case("not our magic", isClean: true, .refused(.notADatabase)) { path, _, _ in
      edit(path) { bytes in
        bytes[0] ^= 1
        bytes[4096] ^= 1
      }
    },
    Case("magic of the other byte order", isClean: true, .refused(.notADatabase)) { path, _, _ in
      edit(path) { bytes in for slot in 0..<2 { bytes[(slot * 4096)..<(slot * 4096 + 8)].reverse() } }
    },
    Case("newer format", isClean: true, .refused(.newerFormat)) { path, _, _ in
      edit(path) { setVersion(&$0, [3, 0, 0, 0]) }
    },
    Case("far newer format", .refused(.newerFormat)) { path, _, _ in edit(path) { setVersion(&$0, [0, 0, 1, 0]) } },
    Case("other page size", isClean: true, .refused(.truncatedFile)) { path, _, _ in
      edit(path) { setVersion(&$0, [1, 0, 0, 0], pageSize: 8192) }
    },
    Case("page size that cannot be", isClean: true, .refused(.damagedMetaPage)) { path, _, _ in
      edit(path) { setVersion(&$0, [1, 0, 0, 0], pageSize: 5000) }
    },
    Case("hole in the middle", isClean: true, .wholeOrRefused) { path, _, _ in
      edit(path) { bytes in
        for index in (bytes.count / 3)..<(bytes.count * 2 / 3) { bytes[index] = 0 }
      }
    },
  ]

  private func open() throws -> StorageEngine {
    try StorageEngine(
      at: path, options: StorageOptions(cacheSize: 4 << 20, logLimit: 1 << 20),
      environment: StorageEnvironment(scheduling: .stepped))
  }

  private func findsDefects() -> Bool {
    do { return try !Inspector(at: path).check().isEmpty } catch { return true }
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: cases) func opensWholeOrNotAtAll(item: Case) throws {
    var engine = try open()
    try TinyDatabase.fill(engine, count: 100)
    try engine.close()
    writeFile(readFile(path), elsewhere.path + "/first")
    engine = try open()
    let count = TestSize.trials(400, divisor: 8)
    try TinyDatabase.fill(engine, count: count, seed: 2)
    let older = FolderImage(of: folder.path)
    let first = try DatabaseContent(of: engine)
    for seed in UInt64(3)...5 {
      try engine.checkpoint()
      try TinyDatabase.fill(engine, count: count, seed: seed)
    }
    let expected = try DatabaseContent(of: engine)
    let image = FolderImage(of: folder.path)
    try engine.close()
    if !item.isClean { Self.put(image, folder.path) { _ in true } }
    item.change(path, elsewhere.path, older)
    let before = FolderImage(of: folder.path)
    // The check finds something wrong with what opening refuses, and with nothing that opens whole.
    let finds = findsDefects()
    if case .refused = item.outcome { #expect(finds) }
    if item.outcome == .whole { #expect(!finds) }
    #expect(FolderImage(of: folder.path) == before, "checked, and changed")
    for isReadOnly in [true, false] {
      do {
        let options = StorageOptions(cacheSize: 4 << 20, logLimit: 1 << 20, isReadOnly: isReadOnly)
        engine = try StorageEngine(
          at: path, options: options, environment: StorageEnvironment(scheduling: .stepped))
      } catch {
        if case .refused(let code) = item.outcome { #expect(error.code == code, "\(error)") }
        #expect(item.outcome != .whole, "\(error)")
        #expect(error.path != nil && error.message.contains(". "))
        #expect(FolderImage(of: folder.path) == before, "refused, and changed all the same")
        continue
      }
      if case .refused(let code) = item.outcome { Issue.record("opened instead of \(code)") }
      do {
        let found = try DatabaseContent(of: engine)
        #expect(found == expected || (item.outcome == .wholeOrRefused && found == first))
      } catch {
        #expect(item.outcome == .wholeOrRefused && error is StorageError, "\(error)")
      }
      if isReadOnly { #expect(FolderImage(of: folder.path) == before) }
      _ = try? engine.close()
    }
    for index in 0..<8 { rmdir("\(path)-log\(index)") }
    rmdir(path)
  }
}
