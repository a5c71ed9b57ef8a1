// Copying extents, of this file or of another, without having the whole value in memory.

extension PageStore {
  /// Copies the value of an extent to the pages from `first` on, a MiB at a time; each piece is verified as it is read
  /// and gets checksums for its new place.
  ///
  /// - Parameters:
  ///   - extent: from a page that has been validated, or that this process has made.
  ///   - source: whose extent it is: this store, or another one with pages of the same size.
  ///   - first: the first of as many pages as the extent has; they must be the caller's.
  /// - Throws: `damagedPage`, `truncatedFile`, `inputOutput`, or `failStop` if the value cannot be read; `diskFull`,
  ///   `inputOutput` if it cannot be written: what the pages hold is then unknown.
  package func copyExtent(
    _ extent: ExtentReference, of source: PageStore, to first: PageNumber, birth: UInt64
  ) throws(StorageError) -> ExtentReference {
    precondition(pageSize == source.pageSize, "extents are copied between files with pages of one size")
    let chunks: ExtentChunks
    do throws(StorageError) { chunks = try ExtentChunks(source, extent) } catch { throw source.judged(error) }
    let layout = chunks.layout
    let wholeByteCount = layout.pageCount * pageSize
    let stepByteCount = Self.stepChunkCount * layout.chunkByteCount
    let room = min(stepByteCount, layout.valueByteCount) + layout.listByteCount + pageSize
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 4096)
    defer { buffer.deallocate() }
    guard let base = buffer.baseAddress else { preconditionFailure("a buffer has an address") }
    var list: [UInt64] = []
    while list.count < layout.chunkCount {
      let indexes = list.count..<min(list.count + Self.stepChunkCount, layout.chunkCount)
      let start = layout.range(ofChunk: indexes.lowerBound).lowerBound
      do throws(StorageError) { try chunks.read(indexes, into: base) } catch { throw source.judged(error) }
      for index in indexes {
        let chunk = layout.range(ofChunk: index)
        let seed = ExtentReference.seed(index, first: first, birth: birth, databaseSeed: checksumSeed)
        list.append(XXH3.hash(base + (chunk.lowerBound - start), count: chunk.count, seed: seed))
      }
      var byteCount = layout.range(ofChunk: indexes.upperBound - 1).upperBound - start
      if list.count == layout.chunkCount {
        // The list, and zeros up to the end of the last page.
        UnsafeMutableRawBufferPointer(rebasing: buffer[byteCount...]).initializeMemory(as: UInt8.self, repeating: 0)
        if layout.listByteCount > 0 {
          list.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[byteCount...]).copyMemory(from: $0) }
        }
        byteCount = wholeByteCount - start
      }
      try file.writeFully(
        UnsafeRawBufferPointer(start: base, count: byteCount), at: Int(first.rawValue) * pageSize + start)
    }
    noteWritten(wholeByteCount)
    return ExtentReference(
      valueByteCount: extent.valueByteCount, first: first, birth: birth,
      checksum: list.count == 1 ? list[0] : checksum(of: list, first: first, birth: birth))
  }
}
