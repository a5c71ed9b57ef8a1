// Overflow extents in and out of the file. Those of several pages never come into the slot pool: a reader has them in
// memory of its own, for as long as it looks at them. For those of one page see `PageStore+Values.swift` and
// `PageStore+UnwrittenValues.swift`.

extension PageStore {
  /// How much is hashed and written at a time: what was just hashed is still in the cache, and no call is too long.
  static let stepChunkCount = 16

  /// Writes a value to the pages from `first` on, straight from the caller's bytes but for the last page.
  ///
  /// - Parameters:
  ///   - value: at least one byte, at most `Limits.valueByteCount`; the pages must be the caller's.
  ///   - isWritten: false to find out what the reference will be, and write nothing yet.
  /// - Throws: `diskFull`, `inputOutput`; what the pages hold is then unknown.
  @discardableResult
  package func writeExtent(
    _ value: UnsafeRawBufferPointer, at first: PageNumber, birth: UInt64, isWritten: Bool = true
  ) throws(StorageError) -> ExtentReference {
    let layout = ExtentLayout(valueByteCount: value.count, pageSize: pageSize)
    guard let base = value.baseAddress else { preconditionFailure("a value in an extent has bytes") }
    let start = Int(first.rawValue) * pageSize
    var list: [UInt64] = []
    // A short value goes out in one piece with the rest of its last page, if that has any.
    let isWhole = layout.chunkCount > 1 || value.count % pageSize == 0
    let wholeByteCount = isWhole ? value.count / pageSize * pageSize : 0
    var written = 0
    while list.count < layout.chunkCount {
      let chunk = layout.range(ofChunk: list.count)
      let seed = ExtentReference.seed(list.count, first: first, birth: birth, databaseSeed: checksumSeed)
      list.append(XXH3.hash(base + chunk.lowerBound, count: chunk.count, seed: seed))
      let end = min(chunk.upperBound, wholeByteCount)
      guard isWritten, list.count % Self.stepChunkCount == 0 || list.count == layout.chunkCount, end > written else {
        continue
      }
      try file.writeFully(UnsafeRawBufferPointer(rebasing: value[written..<end]), at: start + written)
      written = end
    }
    if isWritten {
      try writeTail(of: value, from: wholeByteCount, list, layout, at: start)
      noteWritten(layout.pageCount * pageSize)
    }
    return ExtentReference(
      valueByteCount: value.count, first: first, birth: birth,
      checksum: list.count == 1 ? list[0] : checksum(of: list, first: first, birth: birth))
  }

  func checksum(of list: [UInt64], first: PageNumber, birth: UInt64) -> UInt64 {
    let seed = ExtentReference.seed(ExtentReference.list, first: first, birth: birth, databaseSeed: checksumSeed)
    return list.withUnsafeBytes { bytes in
      bytes.baseAddress.map { XXH3.hash($0, count: bytes.count, seed: seed) } ?? 0
    }
  }

  /// Writes the value's end, the list, and zeros up to the end of the last page.
  private func writeTail(
    of value: UnsafeRawBufferPointer, from offset: Int, _ list: [UInt64], _ layout: ExtentLayout, at start: Int
  ) throws(StorageError) {
    let byteCount = layout.pageCount * pageSize - offset
    if byteCount == 0 { return }
    let tail = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
    defer { tail.deallocate() }
    tail.initializeMemory(as: UInt8.self, repeating: 0)
    tail.copyMemory(from: UnsafeRawBufferPointer(rebasing: value[offset...]))
    if layout.listByteCount > 0 {
      list.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(rebasing: tail[(value.count - offset)...]).copyMemory(from: bytes)
      }
    }
    try file.writeFully(UnsafeRawBufferPointer(tail), at: start + offset)
  }

  // MARK: Reading

  /// Reads the bytes `range` of an extent's value into `target`, which has room for them, and verifies the chunks that
  /// they touch; nothing else of the value is read.
  ///
  /// - Parameter extent: from a page that has been validated, or that this process has made.
  /// - Throws: `damagedPage` with the page and the offset of the chunk, `truncatedFile`, `inputOutput`; after a failed
  ///   sync `failStop`, if what the sync should have made durable is gone.
  package func readExtent(
    _ extent: ExtentReference, _ range: Range<Int>, into target: UnsafeMutableRawPointer
  ) throws(StorageError) {
    guard !range.isEmpty else { return }
    do throws(StorageError) { try readChunks(extent, range, into: target) } catch { throw judged(error) }
  }

  /// The same, but for how errors are judged.
  func readChunks(
    _ extent: ExtentReference, _ range: Range<Int>, into target: UnsafeMutableRawPointer
  ) throws(StorageError) {
    let chunks = try ExtentChunks(self, extent)
    let layout = chunks.layout
    let last = (range.upperBound - 1) / layout.chunkByteCount
    var index = range.lowerBound / layout.chunkByteCount
    while index <= last {
      let chunk = layout.range(ofChunk: index)
      if chunk.lowerBound >= range.lowerBound, chunk.upperBound <= range.upperBound {
        var end = index + 1
        while end <= last, end - index < Self.stepChunkCount,
          layout.range(ofChunk: end).upperBound <= range.upperBound
        {
          end += 1
        }
        try chunks.read(index..<end, into: target + (chunk.lowerBound - range.lowerBound))
        index = end
        continue
      }
      let buffer = UnsafeMutableRawPointer.allocate(byteCount: chunk.count, alignment: 16)
      defer { buffer.deallocate() }
      try chunks.read(index..<(index + 1), into: buffer)
      let part = chunk.clamped(to: range)
      (target + (part.lowerBound - range.lowerBound))
        .copyMemory(from: buffer + (part.lowerBound - chunk.lowerBound), byteCount: part.count)
      index += 1
    }
  }

  /// Reads and verifies every chunk of an extent, one at a time; `note` is told of each that is damaged. From the file,
  /// unless the value has yet to be written there.
  package func verifyExtent(_ extent: ExtentReference, note: (StorageError) -> Void) {
    let chunks: ExtentChunks
    do throws(StorageError) { chunks = try ExtentChunks(self, extent) } catch { return note(judged(error)) }
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: chunks.layout.chunkByteCount, alignment: 16)
    defer { buffer.deallocate() }
    for index in 0..<chunks.layout.chunkCount {
      do throws(StorageError) { try chunks.read(index..<(index + 1), into: buffer) } catch { note(judged(error)) }
    }
  }
}

/// The chunks of one extent, and what they must be.
struct ExtentChunks {
  let layout: ExtentLayout
  private let store: PageStore
  private let extent: ExtentReference
  /// The checksum of each chunk; verified.
  private let checksums: [UInt64]

  /// Reads the list, if there is one.
  init(_ store: PageStore, _ extent: ExtentReference) throws(StorageError) {
    self.store = store
    self.extent = extent
    layout = extent.layout(pageSize: store.pageSize)
    guard layout.chunkCount > 1 else {
      checksums = [extent.checksum]
      return
    }
    let listByteCount = layout.listByteCount
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: listByteCount, alignment: 16)
    defer { buffer.deallocate() }
    let offset = Int(extent.first.rawValue) * store.pageSize + extent.valueByteCount
    try store.file.readFully(into: buffer, at: offset)
    guard let base = buffer.baseAddress else { preconditionFailure("a list of chunks has bytes") }
    let seed = extent.seed(ExtentReference.list, databaseSeed: store.checksumSeed)
    guard XXH3.hash(base, count: listByteCount, seed: seed) == extent.checksum else {
      throw Self.damaged(store, extent, "its list of chunks does", at: extent.valueByteCount)
    }
    checksums = Array(buffer.bindMemory(to: UInt64.self))
  }

  /// Reads chunks that lie one behind the other, with one call, and verifies each.
  func read(_ indexes: Range<Int>, into target: UnsafeMutableRawPointer) throws(StorageError) {
    let start = layout.range(ofChunk: indexes.lowerBound).lowerBound
    let end = layout.range(ofChunk: indexes.upperBound - 1).upperBound
    if !store.copyUnwritten(extent, into: target) {
      try store.file.readFully(
        into: UnsafeMutableRawBufferPointer(start: target, count: end - start),
        at: Int(extent.first.rawValue) * store.pageSize + start)
    }
    for index in indexes {
      let chunk = layout.range(ofChunk: index)
      let checksum = XXH3.hash(
        target + (chunk.lowerBound - start), count: chunk.count,
        seed: extent.seed(index, databaseSeed: store.checksumSeed))
      guard checksum == checksums[index] else {
        throw Self.damaged(
          store, extent, "bytes \(chunk.lowerBound) to \(chunk.upperBound - 1) of it do", at: chunk.lowerBound)
      }
    }
  }

  private static func damaged(
    _ store: PageStore, _ extent: ExtentReference, _ what: String, at offset: Int
  ) -> StorageError {
    let number = PageNumber(extent.first.rawValue + UInt64(offset / store.pageSize))
    return StorageError(
      .damagedPage,
      """
      A value of \(extent.valueByteCount) bytes in an extent from \(extent.first) on is damaged: \(what) not match the \
      checksum. \(StorageError.restoring)
      """, path: store.file.path, page: number, offset: Int(extent.first.rawValue) * store.pageSize + offset)
  }
}
