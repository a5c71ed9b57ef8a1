// The bytes of a file in pages that copies share, so that an image of a disk costs what was changed and not what is
// there.

/// A growable string of bytes, cut into pages of 4 KiB; a copy shares all pages until one of the two changes them.
///
/// Invariants:
/// 1. There are exactly as many pages as `count` needs, each of `pageByteCount` bytes.
/// 2. Bytes of the last page beyond `count` are zero.
struct DiskBytes: Sendable {
  private static let pageByteCount = DiskGeometry.pageByteCount
  /// What holes are made of; shared by all.
  private static let zeroPage = [UInt8](repeating: 0, count: pageByteCount)

  private var pages: [[UInt8]] = []
  private(set) var count = 0

  init() {}

  init(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0, at: 0) } }

  /// All bytes in one array. O(count).
  var array: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    for page in pages { result.append(contentsOf: page.prefix(count - result.count)) }
    return result
  }

  /// The byte at `offset`, or nil beyond the end.
  func byte(at offset: Int) -> UInt8? {
    offset >= 0 && offset < count ? pages[offset / Self.pageByteCount][offset % Self.pageByteCount] : nil
  }

  /// The page of this index with zeros beyond the end; nil if the end comes before it.
  func page(_ index: Int) -> [UInt8]? { pages.indices.contains(index) ? pages[index] : nil }

  /// Fills `buffer` with the bytes from `offset`, all of which must exist.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
    precondition(offset >= 0 && offset + buffer.count <= count)
    var done = 0
    while done < buffer.count {
      let start = (offset + done) % Self.pageByteCount
      let end = min(start + buffer.count - done, Self.pageByteCount)
      pages[(offset + done) / Self.pageByteCount].withUnsafeBytes { page in
        UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: page[start..<end]))
      }
      done += end - start
    }
  }

  /// The bytes of a range, all of which must exist.
  func bytes(_ range: Range<Int>) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: range.count)
    result.withUnsafeMutableBytes { read(into: $0, at: range.lowerBound) }
    return result
  }

  /// Replaces bytes, growing as needed. O(bytes).
  mutating func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) {
    if buffer.isEmpty { return }
    if count < offset + buffer.count { setCount(offset + buffer.count) }
    var done = 0
    while done < buffer.count {
      let start = (offset + done) % Self.pageByteCount
      let end = min(start + buffer.count - done, Self.pageByteCount)
      let part = UnsafeRawBufferPointer(rebasing: buffer[done..<done + end - start])
      let index = (offset + done) / Self.pageByteCount
      if part.count == Self.pageByteCount {
        // A whole page needs no copy of what it replaces.
        pages[index] = Array(part)
      } else {
        pages[index].withUnsafeMutableBytes { page in
          UnsafeMutableRawBufferPointer(rebasing: page[start..<end]).copyMemory(from: part)
        }
      }
      done += part.count
    }
  }

  /// Lends the bytes of a range that exists and lies within one page, to be changed.
  mutating func withMutableBytes(_ range: Range<Int>, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
    precondition(range.upperBound <= count)
    let start = range.lowerBound % Self.pageByteCount
    pages[range.lowerBound / Self.pageByteCount].withUnsafeMutableBytes { page in
      body(UnsafeMutableRawBufferPointer(rebasing: page[start..<start + range.count]))
    }
  }

  /// Cuts, or extends with zeros. O(pages cut or added), no bytes copied but those of one page.
  mutating func setCount(_ newCount: Int) {
    let pageCount = (newCount + Self.pageByteCount - 1) / Self.pageByteCount
    if pageCount < pages.count {
      pages.removeLast(pages.count - pageCount)
    } else if pageCount > pages.count {
      pages.append(contentsOf: repeatElement(Self.zeroPage, count: pageCount - pages.count))
    }
    let tail = newCount % Self.pageByteCount
    if newCount < count && tail > 0 {
      pages[pageCount - 1].withUnsafeMutableBytes { page in
        for index in tail..<page.count { page[index] = 0 }
      }
    }
    count = newCount
  }

  /// The first of the invariants that does not hold.
  func brokenInvariant() -> String? {
    let pageCount = (count + Self.pageByteCount - 1) / Self.pageByteCount
    if pages.count != pageCount || pages.contains(where: { $0.count != Self.pageByteCount }) { return "pages" }
    let tail = count % Self.pageByteCount
    if tail > 0 && pages[pageCount - 1][tail...].contains(where: { $0 != 0 }) { return "bytes beyond the end" }
    return nil
  }
}
