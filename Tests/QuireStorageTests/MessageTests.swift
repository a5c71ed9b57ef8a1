// What errors say: what happened, to which file, and what helps.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct MessageTests {
  let folder = TemporaryFolder()

  private func failure(_ body: () throws -> Void) -> StorageError? {
    do { try body() } catch { return error as? StorageError }
    return nil
  }

  private func openingFailure(_ path: String) -> StorageError? {
    failure {
      let engine = try StorageEngine(at: path)
      try engine.write { tx in _ = try tx.createTree("rows", keys: .int64) }
    }
  }

  @Test(
    "A name to which nothing can be added says by how much it is too long", arguments: [235, 240, 250, 251, 255, 300])
  func longNames(count: Int) throws {
    let error = try #require(openingFailure(folder.path + "/" + String(repeating: "n", count: count)))
    #expect(error.code == .invalidOption, "\(error)")
    #expect(error.message.contains("\(count) bytes") && error.message.contains("234"), "\(error)")
    #expect(!error.description.contains("Check the disk"), "\(error)")
  }

  @Test func theLongestNameWorks() throws {
    let path = folder.path + "/" + String(repeating: "n", count: 234)
    #expect(openingFailure(path) == nil)
  }

  @Test func missingFolder() throws {
    let path = folder.path + "/nowhere/a.quire"
    let error = try #require(openingFailure(path))
    #expect(error.code == .inputOutput, "\(error)")
    #expect(error.message.contains("folder") && error.path?.hasSuffix("/nowhere/a.quire") == true, "\(error)")
  }

  @Test func folderThatIsAFile() throws {
    writeFile([1], folder.path + "/file")
    let error = try #require(openingFailure(folder.path + "/file/a.quire"))
    #expect(error.message.contains("folder"), "\(error)")
  }

  @Test func linkThatLeadsNowhere() throws {
    let path = folder.path + "/a.quire"
    symlink(folder.path + "/nothing", path)
    let error = try #require(openingFailure(path))
    #expect(error.code == .notFound && error.message.contains("symbolic link"), "\(error)")
    #expect(!error.message.contains("let it be created"), "\(error)")
  }

  /// Makes a database that has crashed: its files as they are while it is open.
  private func makeCrashed(_ path: String) throws {
    let image: FolderImage
    do {
      let engine = try StorageEngine(at: folder.path + "/origin")
      try engine.write { tx in _ = try tx.createTree("rows", keys: .int64) }
      image = FolderImage(of: folder.path)
      try engine.close()
    }
    for (name, entry) in image.entries where name.hasPrefix("origin") {
      writeFile(entry.bytes, path + name.dropFirst("origin".count))
    }
  }

  @Test("A second name of a file whose log stands beside the first is said to be one")
  func hardLink() throws {
    try makeCrashed(folder.path + "/a.quire")
    mkdir(folder.path + "/other", 0o700)
    link(folder.path + "/a.quire", folder.path + "/other/second")
    let error = try #require(openingFailure(folder.path + "/other/second"))
    #expect(error.code == .missingLog && error.message.contains("hard link"), "\(error)")
    #expect(openingFailure(folder.path + "/a.quire")?.code == .treeMismatch)
  }

  @Test("What is no file in the place of a log is named as that, and never waited for", arguments: ["folder", "pipe"])
  func strangeLogs(kind: String) throws {
    let path = folder.path + "/a.quire"
    func put(_ place: String) { _ = kind == "pipe" ? mkfifo(place, 0o600) : mkdir(place, 0o700) }
    try makeCrashed(path)
    unlink(path + "-log0")
    put(path + "-log0")
    var error = try #require(openingFailure(path))
    #expect(error.code == .missingLog && error.message.contains("not a regular file"), "\(error)")
    // Where no meta page names it, a pipe is taken away; a folder is the user's to move.
    let other = folder.path + "/b.quire"
    let engine = try StorageEngine(at: other)
    put(other + "-log0")
    let second = failure { try engine.write { tx in _ = try tx.createTree("rows", keys: .int64) } }
    if kind == "pipe" {
      #expect(second == nil)
    } else {
      error = try #require(second)
      #expect(error.message.contains("folder") && error.path?.hasSuffix("-log0") == true, "\(error)")
    }
  }

  @Test("A count of row ids that makes no sense is refused, and the transaction goes on")
  func rowIDCounts() throws {
    let engine = try SimulatedDisk().openEngine()
    try engine.write { tx in
      let first = try tx.allocateRowIDs(2)
      for count in [-1, Int.min, 0] {
        do throws(StorageError) {
          _ = try tx.allocateRowIDs(count)
          #expect(count == 0, "\(count) was taken")
        } catch { #expect(error.code == .invalidOption && count < 0, "\(error)") }
      }
      let next = try tx.allocateRowIDs()
      #expect(next == first + 2)
      do throws(StorageError) { _ = try tx.allocateRowIDs(.max) } catch { #expect(error.code == .limitReached) }
    }
    try engine.close()
  }

  @Test("Nothing is said twice after a sync has failed")
  func failStopSaysItOnce() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine()
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    disk.failNext(.synchronize, with: .error(SystemCode.inputOutput))
    for _ in 0..<2 {
      let error = try #require(failure { try engine.write { tx in try tx.put([1], for: Int64(1), in: tree) } })
      let remedies = error.description.components(separatedBy: "pen the database again").count - 1
      let again = error.description.components(separatedBy: "the database is opened again").count - 1
      #expect(remedies + again == 1, "\(error)")
    }
  }
}

extension String {
  /// The pieces between occurrences of `separator`.
  fileprivate func components(separatedBy separator: String) -> [Substring] {
    var (pieces, start) = ([Substring](), startIndex)
    while let range = self[start...].firstRange(of: separator) {
      pieces.append(self[start..<range.lowerBound])
      start = range.upperBound
    }
    return pieces + [self[start...]]
  }
}
