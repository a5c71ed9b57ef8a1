// Older versions of durable pages, so that a test can make a drive answer with one of them.

/// A bounded memory of 4 KiB pages as they were before a sync replaced them.
struct PageHistory: Sendable {
  private struct Version: Sendable {
    var page: Int
    var sequence: Int
    var bytes: [UInt8]
  }

  private var versions: [Version] = []
  private var next = 0
  private var limit = 32

  /// Keeps what `durable` holds in the pages that `range` touches. O(pages); the bytes are shared.
  ///
  /// A page is kept once per sync: what stood between two writes of the same sync was never durable.
  mutating func save(_ range: Range<Int>, of durable: DiskBytes, sequence: Int) {
    if limit == 0 || range.isEmpty { return }
    var page = range.lowerBound / DiskGeometry.pageByteCount
    while page * DiskGeometry.pageByteCount < range.upperBound, let bytes = durable.page(page) {
      if !isSaved(page, sequence: sequence) { insert(Version(page: page, sequence: sequence, bytes: bytes)) }
      page += 1
    }
  }

  /// The versions of a page, newest first.
  func versions(of page: Int) -> [[UInt8]] {
    versions.filter { $0.page == page }.sorted { $0.sequence > $1.sequence }.map(\.bytes)
  }

  mutating func limit(to pageCount: Int) {
    limit = pageCount
    versions = []
    next = 0
  }

  private func isSaved(_ page: Int, sequence: Int) -> Bool {
    versions.contains { $0.page == page && $0.sequence == sequence }
  }

  private mutating func insert(_ version: Version) {
    if versions.count < limit {
      versions.append(version)
    } else {
      versions[next] = version
      next = (next + 1) % limit
    }
  }
}
