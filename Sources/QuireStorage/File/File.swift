// The seam between the engine and the disk. Everything the engine asks of an operating system about files stands here,
// so that tests can put a disk of their own underneath: one that loses, tears, reorders and refuses.

/// What identifies a file, whatever the path that led to it.
package struct FileIdentity: Hashable, Sendable {
  /// The device that holds the file.
  package let device: UInt64
  /// The number of the file on that device.
  package let inode: UInt64

  /// Names the file `inode` of `device`.
  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// What the file system says about an open file.
package struct FileStatus: Sendable {
  /// Which file it is.
  package let identity: FileIdentity
  /// The length of the file.
  package let byteCount: Int
  /// How much of it the disk holds: far less than its length where it has holes.
  package let allocatedByteCount: Int
  /// How many names the file has; 0 once the last was removed.
  package let linkCount: Int
  /// False for directories, devices, pipes and the like, which are never opened as a database.
  package let isRegularFile: Bool

  /// Puts the five together. A file without holes is on the disk as long as it is.
  package init(
    identity: FileIdentity, byteCount: Int, allocatedByteCount: Int? = nil, linkCount: Int, isRegularFile: Bool
  ) {
    self.identity = identity
    self.byteCount = byteCount
    self.allocatedByteCount = allocatedByteCount ?? byteCount
    self.linkCount = linkCount
    self.isRegularFile = isRegularFile
  }
}

/// How a file is opened.
package enum OpenMode: Sendable {
  case readOnly
  case readWrite
  /// Fails with `EEXIST` if there is something at the path; the new file is readable and writable by its owner only.
  case createNew
}

/// Whether a lock shuts out everyone or only those who want to write.
package enum LockKind: Sendable {
  case shared
  case exclusive
}

/// An open file. Calls may be made from any thread; reads and writes carry their own offset.
///
/// The primitives behave as system calls do: they may transfer less than asked. The engine calls the complete forms
/// of `File+Complete.swift`, which retry.
package protocol File: AnyObject, Sendable {
  /// The path given at opening.
  var path: String { get }
  /// Reads up to `buffer.count` bytes; returns how many, 0 only at or beyond the end of the file.
  func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int
  /// Writes up to `buffer.count` bytes, extending the file as needed; returns how many.
  func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int
  /// Hints that a range will be synced soon, so that the disk may begin with it. Nothing depends on it.
  func startWriting(_ range: Range<Int>)
  /// Hints that a range will be read soon, so that the disk may begin with it. Nothing depends on it.
  func startReading(_ range: Range<Int>)
  /// Makes all bytes written before, and the length, durable (`fdatasync`; `F_FULLFSYNC` on Apple systems).
  func synchronize() throws(SystemError)
  /// Cuts or extends the file with zeros.
  func resize(to byteCount: Int) throws(SystemError)
  /// Gives the `count` bytes from `offset` on blocks of their own, lengthening the file with zeros as needed, so that
  /// later writes there cannot fail for want of space. Bytes that are there keep their values. Like a length, it is
  /// durable only after a sync.
  ///
  /// A call that fails may have done a part of it.
  ///
  /// - Returns: false if the file has become longer and nothing more: there are file systems that cannot promise space.
  @discardableResult func allocate(from offset: Int, count: Int) throws(SystemError) -> Bool
  /// Where the next bytes stand that are no hole, from `offset` on; nil if none follow. `offset` where the system does
  /// not tell.
  func nextData(from offset: Int) -> Int?
  /// Length, identity and kind, as of now.
  func status() throws(SystemError) -> FileStatus
  /// Takes an advisory lock on the whole file that lives as long as this open file; fails with `EWOULDBLOCK` at once.
  func lock(_ kind: LockKind) throws(SystemError)
  /// The process that holds a lock on this file, where the system tells.
  func lockHolder() -> Int32?
  /// Closes the file and gives up its lock. Later calls fail with `EBADF`.
  func close()
}

extension File {
  /// Does nothing: what a disk without the hint does.
  package func startWriting(_ range: Range<Int>) {}

  /// Does nothing, likewise.
  package func startReading(_ range: Range<Int>) {}

  /// Knows no holes: what a disk without them does.
  package func nextData(from offset: Int) -> Int? { offset }
}

/// What somebody else has done to a file that is open here.
package enum FileChange: Sendable {
  /// Its path leads nowhere: it was deleted or moved.
  case gone
  /// Its path leads to another file.
  case replaced
  /// It is shorter than it was made.
  case truncated(byteCount: Int)
}

/// The operations on names. Names become durable only when their directory is synced.
package protocol FileSystem: AnyObject, Sendable {
  func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File
  /// The same file system, where files that are opened for writing get a class of protection.
  func protecting(_ protection: FileProtection) -> any FileSystem
  /// Gives the file at `path` a second name; fails with `EEXIST` if that is taken.
  func link(_ path: String, to newPath: String) throws(SystemError)
  /// Gives the file at `path` the name `newPath`, which is taken from whatever file has it, in one step.
  func rename(_ path: String, to newPath: String) throws(SystemError)
  func unlink(_ path: String) throws(SystemError)
  /// Makes the names in the directory that holds `path` durable.
  func synchronizeDirectory(of path: String) throws(SystemError)
  /// The path that leads to the same place whatever becomes of symbolic links and of the working directory; the file
  /// itself need not exist. `path` as it is where that cannot be found out.
  func canonicalPath(_ path: String) -> String
  /// Whether there is something at `path`, whatever it is, that can be opened.
  func exists(_ path: String) -> Bool
  /// How many bytes the file system that holds `path`, or the folder of it, has left for this process; nil if it does
  /// not tell. Others may take them at any moment.
  func freeByteCount(at path: String) -> Int?
  /// What somebody else has done to an open file, if the path given at its opening shows it; nil if nothing, or if the
  /// system does not tell. One system call.
  ///
  /// - Parameter byteCount: the length that the file has at least, if nobody has touched it.
  func change(of file: any File, byteCount: Int) -> FileChange?
}

extension FileSystem {
  /// Itself: what a file system without such classes gives.
  package func protecting(_ protection: FileProtection) -> any FileSystem { self }

  /// The path as it is: what a file system without links gives.
  package func canonicalPath(_ path: String) -> String { path }

  /// Unknown: what a file system answers that has no end.
  package func freeByteCount(at path: String) -> Int? { nil }

  /// Nothing: what a file system answers that nobody else can reach.
  package func change(of file: any File, byteCount: Int) -> FileChange? { nil }
}
