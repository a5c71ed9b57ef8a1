// Files that are memory: those of a database without files, and what a read-only engine would have written.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif
internal import Synchronization

/// The bytes of a file that is memory.
///
/// Regions double in size and never move, so that reading and writing take no lock. Memory is used for what was
/// written only; what is cut off goes back to the system.
///
/// Bytes may be read while others are written, and the same ones only as far as the engine orders the two.
///
/// Invariants:
/// 1. Region 0 has the first MiB, region n the `1 MiB << (n - 1)` bytes from that offset on; one that was made stays.
/// 2. Bytes at `byteCount` and behind are zero.
final class MemoryBytes: Sendable {
  private static let firstByteCount = 1 << 20
  private static let regionCount = 27

  private let regions: [RegionWord]
  private let length = Atomic<Int>(0)
  private let growth = Latch(())

  private final class RegionWord: Sendable {
    let address = Atomic<UInt>(0)
  }

  init() { regions = (0..<Self.regionCount).map { _ in RegionWord() } }

  deinit {
    for index in 0..<Self.regionCount {
      guard let base = base(index) else { continue }
      VirtualMemory(base: base, byteCount: Self.range(index).count).release()
    }
  }

  /// How long the file is.
  var byteCount: Int { length.load(ordering: .acquiring) }

  private static func index(of offset: Int) -> Int { Int.bitWidth - (offset / firstByteCount).leadingZeroBitCount }

  private static func range(_ index: Int) -> Range<Int> {
    index == 0 ? 0..<firstByteCount : (firstByteCount << (index - 1))..<(firstByteCount << index)
  }

  private func base(_ index: Int) -> UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(bitPattern: regions[index].address.load(ordering: .acquiring))
  }

  /// Reads what there is, up to the buffer's length; returns how many bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    let count = min(buffer.count, byteCount - offset)
    guard count > 0, let target = buffer.baseAddress else { return 0 }
    forEachPart(of: offset..<(offset + count)) { part, memory in
      let place = target + (part.lowerBound - offset)
      if let memory { place.copyMemory(from: memory, byteCount: part.count) } else { memset(place, 0, part.count) }
    }
    return count
  }

  /// Writes all of the buffer.
  ///
  /// - Throws: `EFBIG`, or `ENOMEM` if the system gives no addresses.
  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    guard let source = buffer.baseAddress, !buffer.isEmpty else { return }
    let end = offset + buffer.count
    try makeRegions(for: offset..<end)
    forEachPart(of: offset..<end) { part, memory in
      memory?.copyMemory(from: source + (part.lowerBound - offset), byteCount: part.count)
    }
    if end > byteCount { growth.withLock { _ in length.store(max(end, byteCount), ordering: .releasing) } }
  }

  /// Makes the file as long as that; what is new is zero.
  func resize(to newByteCount: Int) throws(SystemError) {
    guard Self.index(of: max(0, newByteCount - 1)) < Self.regionCount else {
      throw SystemError(code: EFBIG, call: "ftruncate")
    }
    let isDone = growth.withLock { _ -> Bool in
      let old = byteCount
      length.store(newByteCount, ordering: .releasing)
      guard newByteCount < old else { return true }
      return discard(newByteCount..<old)
    }
    if !isDone { throw SystemError(code: ENOMEM, call: "ftruncate") }
  }

  /// Makes bytes zero and gives their memory back. False if some is still there.
  private func discard(_ range: Range<Int>) -> Bool {
    var isDone = true
    forEachPart(of: range) { part, memory in
      guard let memory else { return }
      let region = Self.range(Self.index(of: part.lowerBound))
      let start = part.lowerBound - region.lowerBound
      let whole = VirtualMemory(base: memory - start, byteCount: region.count)
      // Up to the next page of the system by hand, then page by page to the end of the region, behind which all is
      // zero anyway.
      let edge = min(part.count, VirtualMemory.endOfSystemPage(start) - start)
      memset(memory, 0, edge)
      let end = part.upperBound - region.lowerBound
      isDone = whole.discard(start..<min(region.count, VirtualMemory.endOfSystemPage(end))) && isDone
    }
    return isDone
  }

  private func makeRegions(for range: Range<Int>) throws(SystemError) {
    let (first, last) = (Self.index(of: range.lowerBound), Self.index(of: range.upperBound - 1))
    guard range.lowerBound >= 0, last < Self.regionCount else { throw SystemError(code: EFBIG, call: "pwrite") }
    for index in first...last where base(index) == nil {
      let isMade = growth.withLock { _ -> Bool in
        if base(index) != nil { return true }
        guard let memory = try? VirtualMemory.reserve(byteCount: Self.range(index).count) else { return false }
        regions[index].address.store(UInt(bitPattern: memory.base), ordering: .releasing)
        return true
      }
      if !isMade { throw SystemError(code: ENOMEM, call: "pwrite") }
    }
  }

  /// Calls `body` for the part of `range` in each region, with the address of its first byte, or nil where nothing has
  /// been written.
  private func forEachPart(of range: Range<Int>, _ body: (Range<Int>, UnsafeMutableRawPointer?) -> Void) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let index = Self.index(of: offset)
      let region = Self.range(index)
      assert(region.contains(offset), "each offset lies in the region of its index")
      let part = offset..<min(range.upperBound, region.upperBound)
      body(part, base(index).map { $0 + (offset - region.lowerBound) })
      offset = part.upperBound
    }
  }
}

/// An open file that is memory.
final class MemoryFile: File {
  let path: String
  private let bytes: MemoryBytes
  private let identity: FileIdentity

  init(_ bytes: MemoryBytes, path: String, identity: FileIdentity) {
    self.bytes = bytes
    self.path = path
    self.identity = identity
  }

  func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    bytes.read(into: buffer, at: offset)
  }

  func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try bytes.write(buffer, at: offset)
    return buffer.count
  }

  func synchronize() throws(SystemError) {}

  func resize(to byteCount: Int) throws(SystemError) { try bytes.resize(to: byteCount) }

  func allocate(from offset: Int, count: Int) throws(SystemError) -> Bool {
    if offset + count > bytes.byteCount { try bytes.resize(to: offset + count) }
    return true
  }

  func status() throws(SystemError) -> FileStatus {
    FileStatus(identity: identity, byteCount: bytes.byteCount, linkCount: 1, isRegularFile: true)
  }

  func lock(_ kind: LockKind) throws(SystemError) {}

  func lockHolder() -> Int32? { nil }

  func close() {}
}

/// Files that are memory, for one database that nobody else can reach. They are gone with the last reference.
final class MemoryFileSystem: FileSystem {
  private struct Entry {
    let bytes: MemoryBytes
    let inode: UInt64
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var inodeCount: UInt64 = 0
  }

  private let state = Latch(State())

  func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
    let found = try state.withLock { (state) throws(SystemError) -> Entry in
      if let entry = state.entries[path] {
        if mode == .createNew { throw SystemError(code: EEXIST, call: "open") }
        return entry
      }
      guard mode == .createNew else { throw SystemError(code: ENOENT, call: "open") }
      state.inodeCount += 1
      let entry = Entry(bytes: MemoryBytes(), inode: state.inodeCount)
      state.entries[path] = entry
      return entry
    }
    return MemoryFile(found.bytes, path: path, identity: FileIdentity(device: 0, inode: found.inode))
  }

  func link(_ path: String, to newPath: String) throws(SystemError) {
    let code: Int32 = state.withLock { state in
      guard let entry = state.entries[path] else { return ENOENT }
      guard state.entries[newPath] == nil else { return EEXIST }
      state.entries[newPath] = entry
      return 0
    }
    if code != 0 { throw SystemError(code: code, call: "link") }
  }

  func rename(_ path: String, to newPath: String) throws(SystemError) {
    let isThere = state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: path) else { return false }
      state.entries[newPath] = entry
      return true
    }
    if !isThere { throw SystemError(code: ENOENT, call: "rename") }
  }

  func unlink(_ path: String) throws(SystemError) {
    let entry = state.withLock { $0.entries.removeValue(forKey: path) }
    if entry == nil { throw SystemError(code: ENOENT, call: "unlink") }
  }

  func exists(_ path: String) -> Bool { state.withLock { $0.entries[path] != nil } }

  func synchronizeDirectory(of path: String) throws(SystemError) {}
}
