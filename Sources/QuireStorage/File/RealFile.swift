// The real disk, through the C library: pread, pwrite, fdatasync, flock.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif
internal import CQuirePlatform
internal import Synchronization

/// The file system of the operating system.
///
/// Belongs to the process that made it: in a child that was forked later it changes no names and makes no files.
package final class RealFileSystem: FileSystem {
  private let fork = ForkCheck()
  /// What files get that are opened for writing.
  private let protection: FileProtection?

  /// Makes one that leaves files in the class of their folder.
  package init() { protection = nil }

  /// Makes one.
  ///
  /// - Parameter protection: the class that files get which are opened for writing, on systems that know such classes.
  private init(protection: FileProtection) { self.protection = protection }

  package func protecting(_ protection: FileProtection) -> any FileSystem { RealFileSystem(protection: protection) }

  package func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
    if mode != .readOnly { try fork.check("open") }
    let flags: Int32 =
      switch mode {
      case .readOnly: O_RDONLY
      case .readWrite: O_RDWR
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      }
    // O_NONBLOCK: opening a FIFO must not wait for its other end. It has no effect on regular files.
    // 0600: the rows are the owner's business until they say otherwise.
    while true {
      let descriptor = systemOpen(path, flags | O_CLOEXEC | O_NONBLOCK)
      if descriptor >= 0 {
        let file = RealFile(descriptor: descriptor, path: path)
        if mode != .readOnly, let protection {
          do throws(SystemError) { try file.protect(protection) } catch {
            if mode == .createNew { try unlink(path) }
            throw error
          }
        }
        return file
      }
      if errno != EINTR { throw SystemError(code: errno, call: "open") }
    }
  }

  package func link(_ path: String, to newPath: String) throws(SystemError) {
    try fork.check("link")
    if systemLink(path, newPath) != 0 { throw SystemError(code: errno, call: "link") }
  }

  package func rename(_ path: String, to newPath: String) throws(SystemError) {
    try fork.check("rename")
    if systemRename(path, newPath) != 0 { throw SystemError(code: errno, call: "rename") }
  }

  package func unlink(_ path: String) throws(SystemError) {
    try fork.check("unlink")
    if systemUnlink(path) != 0 { throw SystemError(code: errno, call: "unlink") }
  }

  package func canonicalPath(_ path: String) -> String {
    if let whole = Self.resolve(path) { return whole }
    // Not there yet: its folder is.
    guard let slash = path.lastIndex(of: "/") else { return Self.resolve(".").map { "\($0)/\(path)" } ?? path }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    guard let resolved = Self.resolve(folder) else { return path }
    return resolved == "/" ? String(path[slash...]) : resolved + path[slash...]
  }

  private static func resolve(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  package func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  package func freeByteCount(at path: String) -> Int? {
    var found = statvfs()
    guard statvfs(path, &found) == 0 else { return nil }
    let (byteCount, isTooLarge) = UInt64(found.f_bavail).multipliedReportingOverflow(by: UInt64(found.f_frsize))
    return isTooLarge ? nil : Int(clamping: byteCount)
  }

  package func change(of file: any File, byteCount: Int) -> FileChange? {
    guard let file = file as? RealFile, let identity = file.identity else { return nil }
    var found = quire_file_status()
    // The path alone tells all: if it leads to our file, that has a name, and its length is ours.
    let result = file.systemPath.withUnsafeBufferPointer { path in quire_status(-1, path.baseAddress, &found) }
    guard result == 0 else { return errno == ENOENT || errno == ENOTDIR ? .gone : nil }
    if FileIdentity(found) != identity { return .replaced }
    return found.byte_count < byteCount ? .truncated(byteCount: Int(found.byte_count)) : nil
  }

  package func synchronizeDirectory(of path: String) throws(SystemError) {
    let directory =
      path.utf8.lastIndex(of: UInt8(ascii: "/")).map { index in
        index == path.startIndex ? "/" : String(path[..<index])
      } ?? "."
    let file = try open(directory, .readOnly)
    defer { file.close() }
    guard let file = file as? RealFile else { return }
    try file.synchronizeEntries()
  }
}

extension FileIdentity {
  fileprivate init(_ status: quire_file_status) { self.init(device: status.device, inode: status.inode) }
}

/// An open file of the operating system.
///
/// Belongs to the process that opened it. A child that is forked later shares descriptor and lock with its parent; it
/// can read, and close its copy, which changes nothing for the parent, but neither write nor sync: a sync here could
/// even be told of a failure that the parent would then never hear of.
package final class RealFile: File {
  package let path: String
  private let fork = ForkCheck()
  /// The path as the system takes it: every flush is followed by a look at it.
  fileprivate let systemPath: ContiguousArray<CChar>
  /// Which file it is, if the system told.
  fileprivate let identity: FileIdentity?
  /// -1 once closed. Reads and writes load it without a lock: `close` is called when no other call can be under way.
  private let descriptor: Atomic<Int32>
  private let isLocked = Atomic<Bool>(false)

  fileprivate init(descriptor: Int32, path: String) {
    self.descriptor = Atomic(descriptor)
    self.path = path
    systemPath = path.utf8CString
    var found = quire_file_status()
    identity = quire_status(descriptor, nil, &found) == 0 ? FileIdentity(found) : nil
  }

  deinit { close() }

  /// Gives the file a class of protection; nothing on file systems and systems that have none.
  fileprivate func protect(_ protection: FileProtection) throws(SystemError) {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      if fcntl(descriptor.load(ordering: .relaxed), F_SETPROTECTIONCLASS, protection.number) != 0, errno != ENOTSUP {
        throw SystemError(code: errno, call: "F_SETPROTECTIONCLASS")
      }
    #endif
  }

  package func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    guard let base = buffer.baseAddress else { return 0 }
    let count = pread(descriptor.load(ordering: .relaxed), base, buffer.count, off_t(offset))
    guard count >= 0 else { throw SystemError(code: errno, call: "pread") }
    return count
  }

  package func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try fork.check("pwrite")
    guard let base = buffer.baseAddress else { return 0 }
    let count = pwrite(descriptor.load(ordering: .relaxed), base, buffer.count, off_t(offset))
    guard count >= 0 else { throw SystemError(code: errno, call: "pwrite") }
    return count
  }

  package func startWriting(_ range: Range<Int>) {
    quire_start_writing(descriptor.load(ordering: .relaxed), Int64(range.lowerBound), Int64(range.count))
  }

  package func startReading(_ range: Range<Int>) {
    #if canImport(Darwin)
      var advice = radvisory(ra_offset: off_t(range.lowerBound), ra_count: Int32(clamping: range.count))
      _ = fcntl(descriptor.load(ordering: .relaxed), F_RDADVISE, &advice)
    #else
      _ = posix_fadvise(
        descriptor.load(ordering: .relaxed), off_t(range.lowerBound), off_t(range.count), POSIX_FADV_WILLNEED)
    #endif
  }

  package func synchronize() throws(SystemError) {
    try fork.check("fdatasync")
    #if canImport(Darwin)
      // fsync on Apple systems hands the data to the drive but does not make the drive write it.
      let result = fcntl(descriptor.load(ordering: .relaxed), F_FULLFSYNC)
    #else
      let result = fdatasync(descriptor.load(ordering: .relaxed))
    #endif
    if result != 0 { throw SystemError(code: errno, call: "fdatasync") }
  }

  /// Makes the entries of an open directory durable.
  fileprivate func synchronizeEntries() throws(SystemError) {
    if fsync(descriptor.load(ordering: .relaxed)) != 0 { throw SystemError(code: errno, call: "fsync") }
  }

  package func resize(to byteCount: Int) throws(SystemError) {
    try fork.check("ftruncate")
    while ftruncate(descriptor.load(ordering: .relaxed), off_t(byteCount)) != 0 {
      if errno != EINTR { throw SystemError(code: errno, call: "ftruncate") }
    }
  }

  package func allocate(from offset: Int, count: Int) throws(SystemError) -> Bool {
    try fork.check("posix_fallocate")
    #if canImport(Darwin)
      return try allocateBlocks(to: offset + count)
    #else
      // Returns its error. What the file system cannot do by itself, the C library does by writing to each block.
      let result = posix_fallocate(descriptor.load(ordering: .relaxed), off_t(offset), off_t(count))
      switch result {
      case 0: return true
      case EOPNOTSUPP, EINVAL, ENOSYS:
        // A file system that cannot promise space: a full disk then shows up at the write.
        try lengthen(to: offset + count)
        return false
      default: throw SystemError(code: result, call: "posix_fallocate")
      }
    #endif
  }

  #if canImport(Darwin)
    /// Allocates behind the end of the file, where all that the engine asks for lies, and moves the end.
    private func allocateBlocks(to byteCount: Int) throws(SystemError) -> Bool {
      let missing = byteCount - (try status().byteCount)
      guard missing > 0 else { return true }
      var request = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: off_t(missing),
        fst_bytesalloc: 0)
      let isPromised = fcntl(descriptor.load(ordering: .relaxed), F_PREALLOCATE, &request) == 0
      if !isPromised, errno != ENOTSUP { throw SystemError(code: errno, call: "F_PREALLOCATE") }
      try lengthen(to: byteCount)
      return isPromised
    }
  #endif

  private func lengthen(to byteCount: Int) throws(SystemError) {
    if try status().byteCount < byteCount { try resize(to: byteCount) }
  }

  package func nextData(from offset: Int) -> Int? {
    let found = quire_next_data(descriptor.load(ordering: .relaxed), Int64(offset))
    return found < 0 ? nil : Int(found)
  }

  package func status() throws(SystemError) -> FileStatus {
    var found = quire_file_status()
    guard quire_status(descriptor.load(ordering: .relaxed), nil, &found) == 0 else {
      throw SystemError(code: errno, call: "statx")
    }
    return FileStatus(
      identity: FileIdentity(found), byteCount: Int(found.byte_count),
      allocatedByteCount: Int(found.allocated_byte_count), linkCount: Int(clamping: found.link_count),
      isRegularFile: found.is_regular != 0)
  }

  package func lock(_ kind: LockKind) throws(SystemError) {
    // flock belongs to the open file. A POSIX record lock would vanish as soon as anyone in this process closed any
    // descriptor of the same file.
    let operation = (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    while flock(descriptor.load(ordering: .relaxed), operation) != 0 {
      if errno != EINTR { throw SystemError(code: errno, call: "flock") }
    }
    isLocked.store(true, ordering: .relaxed)
  }

  package func lockHolder() -> Int32? {
    guard let status = try? status() else { return nil }
    return LockHolder.find(status.identity)
  }

  package func close() {
    let old = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    guard old >= 0 else { return }
    // A program that is being started has a copy of the descriptor until it runs, and with it the lock. In a forked
    // child the lock is the parent's.
    if isLocked.load(ordering: .relaxed), !fork.isChild { _ = flock(old, LOCK_UN) }
    systemClose(old)
  }
}
