// What becomes of the errors of single calls to the system, and of files that are memory.

import QuireTesting
import Testing

@testable import QuireStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct FileErrorTests {
  @Test(
    "A file that cannot be opened: what it is, and what to do",
    arguments: [
      (ENOENT, .notFound, "There is no database here"), (EISDIR, .notADatabase, "not a regular file"),
      (ENXIO, .notADatabase, "not a regular file"), (ENOTDIR, .notADatabase, "not a folder"),
      (ENAMETOOLONG, .invalidOption, "more than the system takes"), (EROFS, .readOnly, "isReadOnly"),
      (EACCES, .inputOutput, "rights"), (EPERM, .inputOutput, "rights"), (EMFILE, .inputOutput, "too many open files"),
      (ENFILE, .inputOutput, "too many open files"), (EIO, .inputOutput, "permissions"),
    ] as [(Int32, StorageError.Code, String)])
  func opening(code: Int32, expected: StorageError.Code, text: String) {
    let error = StorageError(opening: SystemError(code: code, call: "open"), path: "/folder/a.quire")
    #expect(error.code == expected && error.message.contains(text), "\(error)")
    #expect(error.systemError?.code == code && error.path == "/folder/a.quire")
  }

  @Test(
    "A file that cannot be written: what it is, and what to do",
    arguments: [
      (ENOSPC, .diskFull, "Free some space"), (EDQUOT, .diskFull, "Free some space"),
      (EFBIG, .diskFull, "Free some space"), (EMFILE, .inputOutput, "raise the limit"),
      (ENFILE, .inputOutput, "raise the limit"), (ENAMETOOLONG, .invalidOption, "more than the system takes"),
      (ENOENT, .inputOutput, "folder of this file does not exist"), (EISDIR, .inputOutput, "A folder stands"),
      (ENOTEMPTY, .inputOutput, "A folder stands"), (EROFS, .readOnly, "nothing can be written"),
      (EIO, .inputOutput, "Check the disk"),
    ] as [(Int32, StorageError.Code, String)])
  func writing(code: Int32, expected: StorageError.Code, text: String) {
    let system = SystemError(code: code, call: "pwrite")
    let error = StorageError(writing: system, path: "a.quire", offset: 4096)
    #expect(error.code == expected && error.message.contains(text), "\(error)")
    // What fails on the way to a sync is a failed write, and not the end of writing.
    let onTheWay = StorageError(synchronizing: SystemError(code: code, call: "open"), path: "a.quire")
    #expect(onTheWay.code == expected, "\(onTheWay)")
    let final = StorageError(synchronizing: SystemError(code: code, call: "fdatasync"), path: "a.quire")
    #expect(final.code == .failStop, "\(final)")
  }

  /// A file whose calls fail as it is told.
  private final class Stubborn: File {
    let path = "stubborn"
    private let answers: Latch<[Int32]>
    init(_ answers: [Int32]) { self.answers = Latch(answers) }

    /// Fails with the next answer, unless that is 0.
    private func answer(_ call: String) throws(SystemError) {
      let code = answers.withLock { $0.isEmpty ? 0 : $0.removeFirst() }
      if code != 0 { throw SystemError(code: code, call: call) }
    }

    func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
      try answer("pread")
      return 1
    }
    func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
      try answer("pwrite")
      return 0
    }
    func allocate(from offset: Int, count: Int) throws(SystemError) -> Bool {
      try answer("fallocate")
      return true
    }
    func synchronize() throws(SystemError) { try answer("fdatasync") }
    func resize(to byteCount: Int) throws(SystemError) { try answer("ftruncate") }
    func status() throws(SystemError) -> FileStatus { throw SystemError(code: EBADF, call: "statx") }
    func lock(_ kind: LockKind) throws(SystemError) {}
    func lockHolder() -> Int32? { nil }
    func close() {}
  }

  @Test("An interrupted call is repeated, and any other failure told with its place")
  func repeatedCalls() throws {
    var bytes = [UInt8](repeating: 0, count: 8)
    try bytes.withUnsafeMutableBytes { buffer in
      try Stubborn([EINTR, 0, EINTR]).readFully(into: buffer, at: 100)
      let error = #expect(throws: StorageError.self) { try Stubborn([0, 0, EIO]).readFully(into: buffer, at: 100) }
      #expect(error?.code == .inputOutput && error?.offset == 102)
      // A file that takes nothing, and says of no failure, is a disk that does not write.
      let stuck = #expect(throws: StorageError.self) {
        try Stubborn([EINTR]).writeFully(UnsafeRawBufferPointer(buffer), at: 7)
      }
      #expect(stuck?.code == .inputOutput && stuck?.offset == 7)
    }
    #expect(try Stubborn([EINTR, EINTR]).allocateFully(from: 0, count: 4096))
    let full = #expect(throws: StorageError.self) {
      try Stubborn([EINTR, ENOSPC]).allocateFully(from: 512, count: 4096)
    }
    #expect(full?.code == .diskFull && full?.offset == 512)
  }

  private func read(_ file: any File, _ count: Int, at offset: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 9, count: count)
    let got = try bytes.withUnsafeMutableBytes { try file.readUpTo($0, at: offset) }
    return Array(bytes[..<got])
  }

  private func write(_ bytes: [UInt8], _ file: any File, at offset: Int) throws {
    try bytes.withUnsafeBytes { try file.writeFully($0, at: offset) }
  }

  @Test("Files that are memory behave like others: names, lengths, holes, and what is cut off is zero later")
  func memoryFiles() throws {
    let files = MemoryFileSystem()
    func code(_ body: () throws(SystemError) -> Void) -> Int32 {
      do throws(SystemError) { try body() } catch { return error.code }
      return 0
    }
    #expect(code { () throws(SystemError) in _ = try files.open("a", .readWrite) } == ENOENT)
    let file = try files.open("a", .createNew)
    #expect(code { () throws(SystemError) in _ = try files.open("a", .createNew) } == EEXIST)
    #expect(code { () throws(SystemError) in try files.link("b", to: "c") } == ENOENT)
    #expect(code { () throws(SystemError) in try files.link("a", to: "a") } == EEXIST)
    #expect(code { () throws(SystemError) in try files.rename("b", to: "c") } == ENOENT)
    #expect(code { () throws(SystemError) in try files.unlink("b") } == ENOENT)
    // Across the end of the first region, with a hole before.
    let edge = 1 << 20
    try write([1, 2, 3, 4], file, at: edge - 2)
    #expect(try read(file, 6, at: edge - 4) == [0, 0, 1, 2, 3, 4])
    #expect(try file.status().byteCount == edge + 2)
    try file.resize(to: edge - 1)
    try file.resize(to: edge + 2)
    #expect(try read(file, 9, at: edge - 2) == [1, 0, 0, 0])
    #expect(try read(file, 9, at: edge + 2).isEmpty)
    #expect(try file.allocate(from: edge, count: 10) && file.status().byteCount == edge + 10)
    try file.synchronize()
    try file.lock(.exclusive)
    #expect(file.lockHolder() == nil)
    file.close()
    // By another name it is the same file.
    try files.link("a", to: "b")
    try files.rename("b", to: "c")
    try files.synchronizeDirectory(of: "c")
    #expect(try files.open("c", .readOnly).status().identity == file.status().identity)
    try files.unlink("a")
    #expect(!files.exists("a") && files.exists("c"))
  }

  @Test("What no memory can hold is refused, and nothing is changed")
  func endlessMemory() throws {
    let file = try MemoryFileSystem().open("a", .createNew)
    try write([7], file, at: 0)
    let far = 1 << 50
    let error = #expect(throws: StorageError.self) { try write([7], file, at: far) }
    #expect(error?.code == .diskFull && error?.systemError?.code == EFBIG)
    #expect(throws: SystemError.self) { try file.resize(to: far) }
    #expect(try file.status().byteCount == 1 && read(file, 2, at: 0) == [7])
  }

  @Test("Below where it begins, an overlay shows its file and refuses to change it")
  func overlay() throws {
    let base = try MemoryFileSystem().open("a", .createNew)
    try write([1, 2, 3, 4], base, at: 0)
    let file = OverlayFile(base, from: 4)
    #expect(file.path == "a" && file.lockHolder() == nil)
    try write([5, 6], file, at: 4)
    #expect(try read(file, 6, at: 0) == [1, 2, 3, 4, 5, 6])
    let refused = #expect(throws: StorageError.self) { try write([0], file, at: 3) }
    #expect(refused?.code == .readOnly)
    #expect(throws: SystemError.self) { try file.resize(to: 3) }
    try file.resize(to: 5)
    #expect(try file.allocate(from: 5, count: 3) && file.status().byteCount == 8)
    #expect(try read(file, 9, at: 3) == [4, 5, 0, 0, 0])
    #expect(try file.status().identity == base.status().identity)
    try file.lock(.shared)
    try file.synchronize()
    file.close()
    #expect(try read(base, 9, at: 0) == [1, 2, 3, 4])
  }

  @Test func classesOfProtectionHaveTheSystemsNumbers() {
    #expect(FileProtection.allCases.map(\.number) == [1, 2, 3, 4])
  }

  @Test("A name that is too long is told apart from a path that is")
  func longNames() {
    let system = SystemError(code: ENAMETOOLONG, call: "open")
    let name = StorageError(opening: system, path: "/folder/" + String(repeating: "n", count: 300))
    #expect(name.message.contains("has 300 bytes; a name has at most"), "\(name)")
    let path = StorageError(opening: system, path: String(repeating: "/folder", count: 600))
    #expect(path.message.contains("The path has 4200 bytes"), "\(path)")
  }

  @Test func namesMoveOverOthers() throws {
    let folder = TemporaryFolder()
    let files = RealFileSystem()
    let file = try files.open(folder.path + "/a", .createNew)
    try write([1, 2], file, at: 0)
    try write([3], try files.open(folder.path + "/b", .createNew), at: 0)
    try files.rename(folder.path + "/a", to: folder.path + "/b")
    #expect(try read(try files.open(folder.path + "/b", .readOnly), 9, at: 0) == [1, 2])
    let error = #expect(throws: SystemError.self) { try files.rename(folder.path + "/a", to: folder.path + "/b") }
    #expect(error?.code == ENOENT && error?.call == "rename")
    #expect(files.canonicalPath("nowhere.quire").hasSuffix("/nowhere.quire"))
  }
}
