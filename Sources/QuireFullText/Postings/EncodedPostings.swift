// Postings of one term as bytes, on their way into blocks.

internal import QuireDatabase

/// Postings of one term as "recent" has them: rows, and the bytes of each posting, which `RecentCodec` explains.
///
/// Invariants:
/// 1. `rowIDs` ascend strictly, and have one of `ends` each.
/// 2. The bytes of each posting are of the form that whoever made the list knows.
struct EncodedPostings {
  private(set) var rowIDs: [RowID] = []
  /// The bytes of all postings, one behind the other.
  private var bytes: [UInt8] = []
  /// Where those of each end.
  private var ends: [Int] = []

  /// The number of postings.
  var count: Int { rowIDs.count }

  /// Forgets all, and keeps the memory.
  mutating func removeAll() {
    rowIDs.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  /// Appends the posting of a row above all others.
  mutating func append(_ row: RowID, _ value: RawSpan) {
    assert(rowIDs.last.map { $0 < row } ?? true, "postings are out of order")
    rowIDs.append(row)
    unsafe value.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    ends.append(bytes.count)
  }

  /// Appends the postings of a part of another list, of rows above all others.
  mutating func append(_ other: EncodedPostings, in range: Range<Int>) {
    guard let first = range.first else { return }
    assert(rowIDs.last.map { $0 < other.rowIDs[first] } ?? true, "postings are out of order")
    let start = other.range(first).lowerBound
    let shift = bytes.count - start
    rowIDs += other.rowIDs[range]
    bytes += other.bytes[start..<other.ends[range.upperBound - 1]]
    for index in range { ends.append(other.ends[index] + shift) }
  }

  private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  /// Calls `body` with the bytes of the posting at an index.
  @inline(__always)
  func withValue<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe bytes.withUnsafeBytes { try unsafe body(UnsafeRawBufferPointer(rebasing: $0[range(index)])) }
  }

  /// The index, not below `first`, of the first row that is not below `row`.
  func lowerBound(of row: RowID, from first: Int) -> Int {
    // What comes is mostly behind all of them.
    if let last = rowIDs.last, last < row { return count }
    var (lower, upper) = (first, count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if rowIDs[middle] < row { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }
}
