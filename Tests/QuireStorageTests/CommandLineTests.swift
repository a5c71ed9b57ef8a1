// The tool, as people run it: on sound files, on damaged ones, on what is no database; and that it changes nothing.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if os(Linux)
  @Suite struct CommandLineTests {
    let folder = TemporaryFolder()
    var path: String { folder.path + "/a.quire" }

    private func makeClosed(longOneIn: Int = 0) throws {
      let engine = try StorageEngine(at: path)
      try TinyDatabase.fill(engine, count: 600, longOneIn: longOneIn)
      try engine.close()
    }

    /// Runs the tool and sees that the folder stays as it is.
    private func run(_ arguments: String..., status: Int32 = 0, at line: SourceLocation = #_sourceLocation) -> String {
      let before = FolderImage(of: folder.path)
      guard let result = runQuireDB(arguments) else {
        Issue.record("quiredb does not run", sourceLocation: line)
        return ""
      }
      #expect(result.status == status, "\(result.output)", sourceLocation: line)
      let isUntouched = FolderImage(of: folder.path) == before
      #expect(isUntouched, sourceLocation: line)
      return result.output
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func soundDatabase() throws {
      try makeClosed(longOneIn: 100)
      let info = run("info", path)
      #expect(info.contains("texts") && info.contains("clean: no log is needed") && info.contains("in force"))
      let check = run("check", path)
      #expect(check.contains("no defects"))
      let pages = run("pages", path)
      #expect(pages.contains("leaf") && pages.contains("free map"))
      let log = run("log", path)
      #expect(log.contains("clean"))
      let meta = try #require(try Inspector(at: path).newest).meta
      var (hasLeaf, hasExtent) = (false, false)
      for number in 0..<meta.pageCount {
        let page = run("page", path, "\(number)", "--bytes")
        #expect(number < 2 || page.contains("checksum"))
        if page.contains("bytes in an extent") { hasLeaf = true }
        if page.contains("part of a value of") { hasExtent = true }
      }
      #expect(hasLeaf && hasExtent && info.contains("long values") && pages.contains("extent"))
      let beyond = run("page", path, "100000", status: 1)
      #expect(beyond.contains("numbered from 0"))
    }

    @Test func databaseThatNeedsRecovery() throws {
      let engine = try StorageEngine(at: path)
      try TinyDatabase.fill(engine, count: 600)
      let image = FolderImage(of: folder.path)
      try engine.close()
      for (name, entry) in image.entries { writeFile(entry.bytes, "\(folder.path)/\(name)") }
      let info = run("info", path)
      #expect(info.contains("needs recovery: 5 commits"))
      let log = run("log", path, "--operations")
      #expect(log.contains("create tree 1") && log.contains("nothing was written behind the last record"))
      let check = run("check", path)
      #expect(check.contains("no defects"))
      let record = try #require(try Inspector(at: path).log()).scan.records[1]
      edit(path + "-log0") { $0[record.offset + 80] ^= 1 }
      let damaged = run("check", path, status: 1)
      #expect(damaged.contains("damagedLog") && damaged.contains("offset "))
      _ = run("log", path, status: 1)
    }

    @Test func recordsInParts() throws {
      let engine = try StorageEngine(
        at: path, options: StorageOptions(),
        environment: StorageEnvironment(scheduling: .stepped, partByteCount: 1000))
      let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
      func fill(_ keys: Range<Int64>, _ tx: borrowing WriteTransaction) throws {
        for key in keys { try tx.put([UInt8](repeating: 1, count: 100), for: key, in: tree) }
      }
      try? engine.write { tx in
        try fill(0..<20, tx)
        try tx.rollback()
      }
      try engine.write { tx in
        try fill(0..<12, tx)
        try? tx.savepoint { tx in
          try fill(12..<40, tx)
          try tx.rollback()
        }
        try fill(40..<42, tx)
      }
      let image = FolderImage(of: folder.path)
      try engine.close()
      for (name, entry) in image.entries { writeFile(entry.bytes, "\(folder.path)/\(name)") }
      let log = run("log", path, "--operations")
      #expect(log.contains("part 1, void\n") && log.contains("part 1\n") && log.contains("part 2, void from byte "))
      #expect(log.contains("part 3, void\n") && log.contains("commits 4 parts") && log.contains("undo from byte "))
      let info = run("info", path)
      #expect(info.contains("needs recovery: 2 commits"))
    }

    @Test func damagedPage() throws {
      try makeClosed()
      edit(path) { $0[3 * 4096 + 1000] ^= 1 }
      let check = run("check", path, status: 1)
      #expect(check.contains("page 3") && check.contains("1 defect "))
      let page = run("page", path, "3")
      #expect(page.contains("should be"))
    }

    @Test func noDatabase() {
      writeFile(Array("hello".utf8), path)
      for command in ["info", "check", "pages", "log"] {
        let output = run(command, path, status: 1)
        #expect(output.contains("notADatabase"))
      }
      let missing = run("info", folder.path + "/nothing", status: 1)
      #expect(missing.contains("notFound"))
      let directory = run("check", folder.path, status: 1)
      #expect(directory.contains("notADatabase"))
    }

    @Test func databaseInUse() throws {
      let engine = try StorageEngine(
        at: path, options: StorageOptions(), environment: StorageEnvironment(scheduling: .stepped))
      try TinyDatabase.fill(engine, count: 600)
      let info = run("info", path)
      #expect(info.contains("is open in"))
      let check = run("check", path, status: 1)
      #expect(check.contains("database.openControl()"))
      try engine.close()
    }
  }
#endif
