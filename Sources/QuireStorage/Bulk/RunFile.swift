// Sorted runs on disk: what a bulk load, or a transaction of puts, collects beyond its buffer.
//
// The file loses its name as soon as it is made, so that the system removes it when it is closed, and nobody else can
// open it. A crash may leave the name there: the next opening of the database takes it away. Nothing in the file is
// trusted all the same: a block that does not verify is an error.
//
//   bytes    block, at a multiple of the block size
//   0..<8    checksum: XXH3-64 of bytes 8..<end of the entries, seeded by the file's salt and the block's number
//   8..<12   bytes of entries
//   12..<16  zero
//   16...    entries: u16 key bytes, u32 value bytes, key, value; integer keys: 8 bytes, in their ordered form
//
// A value that does not fit beside its key stands by itself, between runs: its bytes and nothing else. In its entry
// the value bytes then carry bit 31, and the value is a reference:
//
//   0..<8    offset in the file
//   8..<16   bytes of the value
//   16..<24  checksum: XXH3-64 of the value, seeded by the file's salt and the offset

internal import Synchronization

/// A temporary file of runs; who writes them keeps the list.
final class RunFile {
  /// A run: entries in a row, from a place in a block on.
  struct Run {
    let firstBlock: Int
    /// Where in that block it begins, behind the header.
    let offset: Int
    var entryCount: Int
  }

  private let file: any File
  private let salt: UInt64
  private let blockByteCount: Int
  private let buffer: UnsafeMutableRawPointer
  private var used = RunFile.headerByteCount
  private var nextBlock = 0
  /// Where the last value ended, if nothing has been written behind it.
  private var valueEnd: Int?
  private var current: Run?

  static let headerByteCount = 16
  static let entryHeaderByteCount = 6
  /// In an entry's length: the value is a reference.
  static let spilledBit: UInt32 = 1 << 31
  private static let largestBlock = 256 << 10
  /// The least pages of a block: with its headers, any entry of a leaf fits.
  static let fewestBlockPages = 2

  /// The bytes of a block that is to have so many pages, as far as that suits.
  static func blockByteCount(pages: Int, pageSize: Int) -> Int {
    min(max(pages, fewestBlockPages) * pageSize, max(largestBlock, fewestBlockPages * pageSize))
  }

  /// Makes the file beside the database and takes its name away.
  ///
  /// - Throws: `diskFull`, `inputOutput`.
  init(
    _ fileSystem: any FileSystem, databasePath: String, pageSize: Int, blockPages: Int = 16, salt: UInt64
  ) throws(StorageError) {
    file = try Self.naming.withLock { (_) throws(StorageError) in try Self.makeFile(fileSystem, databasePath) }
    self.salt = salt
    blockByteCount = Self.blockByteCount(pages: blockPages, pageSize: pageSize)
    buffer = UnsafeMutableRawPointer.allocate(byteCount: blockByteCount, alignment: 4096)
  }

  deinit {
    buffer.deallocate()
    file.close()
  }

  /// Held while a file has a name: one name is enough then.
  private static let naming = Latch(())

  private static func path(beside databasePath: String) -> String { "\(databasePath)-run0" }

  /// Removes the file that a crash has left under its name, if there is one. The caller owns the database, and sorts
  /// nothing yet. One that cannot be removed stays until the next file is made.
  static func removeLeftover(_ fileSystem: any FileSystem, databasePath: String) {
    let path = path(beside: databasePath)
    guard fileSystem.exists(path) else { return }
    do throws(SystemError) { try fileSystem.unlink(path) } catch {}
  }

  private static func makeFile(_ fileSystem: any FileSystem, _ databasePath: String) throws(StorageError) -> any File {
    let path = path(beside: databasePath)
    // A name that could not be taken away goes now.
    do throws(SystemError) { try fileSystem.unlink(path) } catch {}
    let file: any File
    do throws(SystemError) { file = try fileSystem.open(path, .createNew) } catch {
      throw StorageError(writing: error, path: path)
    }
    do throws(SystemError) { try fileSystem.unlink(path) } catch {
      file.close()
      throw StorageError(writing: error, path: path)
    }
    return file
  }

  // MARK: Writing

  /// Writes a value that does not fit beside its key; not within a run.
  ///
  /// - Returns: what stands in its entry.
  func appendValue(_ value: UnsafeRawBufferPointer) throws(StorageError) -> SpilledValue {
    assert(current == nil && used == Self.headerByteCount, "a value is written into the middle of a run")
    let offset = valueEnd ?? nextBlock * blockByteCount
    let end = offset + value.count
    // Also if this fails: nobody refers to what is there.
    valueEnd = end
    nextBlock = (end + blockByteCount - 1) / blockByteCount
    try file.writeFully(value, at: offset)
    return SpilledValue(offset: offset, byteCount: value.count, checksum: checksum(value, at: offset))
  }

  private func checksum(_ value: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
    guard let base = value.baseAddress else { return 0 }
    return XXH3.hash(base, count: value.count, seed: salt ^ ~(UInt64(offset) &* 0x9e37_79b9_7f4a_7c15))
  }

  /// Starts a run; the one before has been ended. It goes on in that one's last block, unless `endBlock` was called.
  func beginRun() {
    assert(current == nil, "a run begins within a run")
    current = Run(firstBlock: nextBlock, offset: used - Self.headerByteCount, entryCount: 0)
    valueEnd = nil
  }

  /// Adds an entry to the run, whose key is above those before; entries fit a page, and so a block.
  func append(_ operation: SortableOperation, _ kind: KeyKind) throws(StorageError) {
    let keyCount = kind == .int64 ? 8 : Int(operation.keyCount)
    let size = Self.entryHeaderByteCount + keyCount + Int(operation.valueCount)
    if used + size > blockByteCount { try flush() }
    let place = buffer + used
    place.storeBytes(of: UInt16(keyCount), as: UInt16.self)
    let flag = operation.content == .spilled ? Self.spilledBit : 0
    place.storeBytes(of: operation.valueCount | flag, toByteOffset: 2, as: UInt32.self)
    let key = place + Self.entryHeaderByteCount
    if kind == .int64 {
      key.storeBytes(of: operation.head, as: UInt64.self)
    } else {
      key.copyMemory(from: operation.key, byteCount: keyCount)
    }
    (key + keyCount).copyMemory(from: operation.value, byteCount: Int(operation.valueCount))
    used += size
    current?.entryCount += 1
  }

  /// Ends the run; nil if nothing was added to it. It can be read once `endBlock` has been called.
  func endRun() -> Run? {
    assert(current != nil, "a run ends that has not begun")
    defer { current = nil }
    return current.flatMap { $0.entryCount > 0 ? $0 : nil }
  }

  /// Writes the last block of the runs so far.
  func endBlock() throws(StorageError) {
    assert(current == nil, "a block ends within a run")
    if used > Self.headerByteCount { try flush() }
  }

  private func flush() throws(StorageError) {
    buffer.storeBytes(of: UInt32(used - Self.headerByteCount), toByteOffset: 8, as: UInt32.self)
    buffer.storeBytes(of: 0, toByteOffset: 12, as: UInt32.self)
    buffer.storeBytes(of: checksum(buffer, used, nextBlock), as: UInt64.self)
    try file.writeFully(UnsafeRawBufferPointer(start: buffer, count: used), at: nextBlock * blockByteCount)
    nextBlock += 1
    used = Self.headerByteCount
  }

  private func checksum(_ block: UnsafeRawPointer, _ byteCount: Int, _ number: Int) -> UInt64 {
    XXH3.hash(block + 8, count: byteCount - 8, seed: salt ^ (UInt64(number) &* 0x9e37_79b9_7f4a_7c15))
  }

  // MARK: Reading

  /// Reads and verifies a value that stands by itself, into memory that the caller frees.
  func read(_ value: SpilledValue) throws(StorageError) -> UnsafeMutableRawBufferPointer {
    guard value.offset >= 0, (1...Limits.valueByteCount).contains(value.byteCount) else {
      throw damaged(at: value.offset)
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: value.byteCount, alignment: 4096)
    do throws(StorageError) {
      let count = try file.readUpTo(buffer, at: value.offset)
      guard count == value.byteCount, checksum(UnsafeRawBufferPointer(buffer), at: value.offset) == value.checksum
      else { throw damaged(at: value.offset) }
      return buffer
    } catch {
      buffer.deallocate()
      throw error
    }
  }

  /// The bytes of a reader's buffer.
  var readByteCount: Int { blockByteCount }

  /// Reads and verifies a block of this file; returns the bytes of its entries.
  func read(_ number: Int, into target: UnsafeMutableRawPointer) throws(StorageError) -> UnsafeRawBufferPointer {
    let whole = UnsafeMutableRawBufferPointer(start: target, count: blockByteCount)
    // The file's last block is shorter than others.
    let count = try file.readUpTo(whole, at: number * blockByteCount)
    guard count >= Self.headerByteCount else { throw damaged(number) }
    let entries = Int(target.load(fromByteOffset: 8, as: UInt32.self))
    guard entries <= count - Self.headerByteCount,
      checksum(target, Self.headerByteCount + entries, number) == target.load(as: UInt64.self)
    else { throw damaged(number) }
    return UnsafeRawBufferPointer(start: target + Self.headerByteCount, count: entries)
  }

  /// The error for a block that is not what was written.
  func damaged(_ number: Int) -> StorageError { damaged(at: number * blockByteCount) }

  private func damaged(at offset: Int) -> StorageError {
    StorageError(
      .inputOutput, "A temporary file does not hold what was written to it. Check the disk, and try again.",
      path: file.path, offset: offset)
  }
}

/// What the entry of a run has for a value that stands by itself.
struct SpilledValue {
  static let byteCount = 24

  let offset: Int
  let byteCount: Int
  let checksum: UInt64

  init(offset: Int, byteCount: Int, checksum: UInt64) {
    self.offset = offset
    self.byteCount = byteCount
    self.checksum = checksum
  }

  /// Reads what `store` has written.
  init(at base: UnsafeRawPointer) {
    offset = Int(truncatingIfNeeded: base.loadUnaligned(as: UInt64.self))
    byteCount = Int(truncatingIfNeeded: base.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    checksum = base.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
  }

  /// Writes 24 bytes.
  func store(to base: UnsafeMutableRawPointer) {
    base.storeBytes(of: UInt64(offset), as: UInt64.self)
    base.storeBytes(of: UInt64(byteCount), toByteOffset: 8, as: UInt64.self)
    base.storeBytes(of: checksum, toByteOffset: 16, as: UInt64.self)
  }
}
