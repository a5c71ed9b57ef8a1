// Overflow extents: values that do not fit beside their keys, in runs of consecutive pages.
//
//   bytes    reference: stands in the leaf's cell in place of the value, whose length field then carries bit 15
//   0..<8    bytes of the value
//   8..<16   number of the first page
//   16..<24  birth: the CSN of the commit that wrote the extent
//   24..<32  checksum: of the value if it is one chunk, otherwise of the list of chunks
//
//   extent   the value's bytes, without page headers; for more than one chunk then the list, 8 bytes for the checksum
//            of each chunk; zeros up to the end of the last page
//
// A chunk is 64 KiB, in the tiny pages of tests sixteen pages. Checksums are XXH3-64, seeded by the database's
// identity, the place, the birth and the chunk's index. The one that everything hangs on stands in the leaf and not
// with the value: a stale extent would pass a checksum of its own (hazard C9). With chunks, a part of a value can be
// read and verified without the rest.

/// What a leaf's cell says of a value that stands in an extent.
package struct ExtentReference: Equatable, Sendable {
  package static let byteCount = 32

  /// The length of the value. Not to be trusted before `defect` has been asked.
  package let valueByteCount: Int
  package let first: PageNumber
  /// The commit that wrote the extent. Snapshots from it up to the one before the replacing commit need the pages.
  package let birth: UInt64
  package let checksum: UInt64

  /// Puts the parts together.
  package init(valueByteCount: Int, first: PageNumber, birth: UInt64, checksum: UInt64) {
    self.valueByteCount = valueByteCount
    self.first = first
    self.birth = birth
    self.checksum = checksum
  }

  /// Reads the value bytes of a cell whose flag says that they are a reference.
  package init(at base: UnsafeRawPointer) {
    valueByteCount = Int(truncatingIfNeeded: base.loadUnaligned(as: UInt64.self))
    first = PageNumber(base.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    birth = base.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
    checksum = base.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
  }

  /// Calls `body` with the bytes that stand in the cell.
  func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    var words = (UInt64(valueByteCount), first.rawValue, birth, checksum)
    return try withUnsafeBytes(of: &words) { (bytes) throws(StorageError) in try body(bytes) }
  }

  /// Why the reference cannot be one of a file of `pageCount` pages, or nil. What passes neither overflows a sum nor
  /// asks for more memory than the file is long.
  package func defect(pageSize: Int, pageCount: UInt64) -> String? {
    guard (1...Limits.valueByteCount).contains(valueByteCount) else {
      return "its value has \(valueByteCount) bytes, and the longest \(Limits.valueByteCount)"
    }
    let count = UInt64(layout(pageSize: pageSize).pageCount)
    guard first.rawValue >= 2, first.rawValue < pageCount, count <= pageCount - first.rawValue else {
      return "its \(count) pages from \(first) on are not in the file"
    }
    return nil
  }

  /// How the extent is divided.
  package func layout(pageSize: Int) -> ExtentLayout {
    ExtentLayout(valueByteCount: valueByteCount, pageSize: pageSize)
  }

  /// Seeds the checksum of a chunk; `list` seeds that of the list.
  package func seed(_ chunk: Int, databaseSeed: UInt64) -> UInt64 {
    Self.seed(chunk, first: first, birth: birth, databaseSeed: databaseSeed)
  }

  /// Stands for the list of chunks where a chunk's index is asked for.
  package static let list = -1

  static func seed(_ chunk: Int, first: PageNumber, birth: UInt64, databaseSeed: UInt64) -> UInt64 {
    databaseSeed ^ (first.rawValue &* 0x9e37_79b9_7f4a_7c15) ^ (birth &* 0xc2b2_ae3d_27d4_eb4f)
      ^ (UInt64(bitPattern: Int64(chunk)) &* 0x1656_67b1_9e37_79f9)
  }
}

/// How a value of a length is divided into chunks, and what it takes in the file.
package struct ExtentLayout: Equatable, Sendable {
  package let valueByteCount: Int
  package let pageSize: Int
  package let chunkByteCount: Int

  /// The layout of a value that has at least one byte.
  package init(valueByteCount: Int, pageSize: Int) {
    self.valueByteCount = valueByteCount
    self.pageSize = pageSize
    chunkByteCount = min(64 << 10, 16 * pageSize)
  }

  /// How many chunks the value has; the last one may be short.
  package var chunkCount: Int { (valueByteCount + chunkByteCount - 1) / chunkByteCount }
  /// The bytes of the list behind the value; none for a single chunk.
  package var listByteCount: Int { chunkCount > 1 ? 8 * chunkCount : 0 }
  /// How many pages value and list take.
  package var pageCount: Int { (valueByteCount + listByteCount + pageSize - 1) / pageSize }

  /// The bytes of the value that a chunk holds.
  package func range(ofChunk index: Int) -> Range<Int> {
    let start = index * chunkByteCount
    return start..<min(start + chunkByteCount, valueByteCount)
  }
}

/// What a leaf's cell holds for a value: the bytes themselves, or a reference to an extent.
package struct CellValue {
  package let bytes: UnsafeRawBufferPointer
  package let isExtent: Bool

  /// Says which of the two `bytes` are.
  @inline(__always) package init(_ bytes: UnsafeRawBufferPointer, isExtent: Bool = false) {
    self.bytes = bytes
    self.isExtent = isExtent
  }

  @inline(__always) var count: Int { bytes.count }
  /// What stands in the cell's field for the length of the value.
  @inline(__always) var lengthField: UInt16 {
    UInt16(truncatingIfNeeded: bytes.count) | (isExtent ? LeafCell.extentBit : 0)
  }
}

/// The word of a branch that counts the entries below a child: with bit 63 it says that leaves below may hold extents,
/// so that giving up whole subtrees need not read those of which it does not (hazard C7).
package enum ChildCount {
  package static let extentBit: UInt64 = 1 << 63

  /// A word.
  @inline(__always) package static func word(_ count: Int, mayHaveExtents: Bool) -> UInt64 {
    UInt64(count) | (mayHaveExtents ? extentBit : 0)
  }
  /// The word for all children of a branch together.
  package static func sum(_ words: some Sequence<UInt64>) -> UInt64 {
    words.reduce(0) { ($0 &+ count($1)) | ($1 & extentBit) }
  }
  /// The number of entries alone.
  @inline(__always) package static func count(_ word: UInt64) -> UInt64 { word & ~extentBit }
  /// Whether leaves below may hold extents.
  @inline(__always) package static func mayHaveExtents(_ word: UInt64) -> Bool { word & extentBit != 0 }
}
