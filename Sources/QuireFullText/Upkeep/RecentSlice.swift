// Entries of "recent" that are taken out of it together.

internal import QuireDatabase

/// Entries of "recent" of some terms, one behind the other, as they were stored.
///
/// Invariant: the keys ascend, and each of them parses.
struct RecentSlice {
  /// Where an entry is.
  private struct Entry {
    let key: RecentKey
    /// Where its key begins in `bytes`.
    let start: Int
    /// Where its key ends, and its value begins, which ends where the next key begins.
    let valueStart: Int
  }

  private let trees: FullTextTrees
  private let form: PostingForm
  private var bytes: [UInt8] = []
  private var entries: [Entry] = []

  init(_ trees: FullTextTrees) { (self.trees, form) = (trees, trees.layout.form) }

  /// The number of entries.
  var count: Int { entries.count }

  /// The key of the last entry; there must be one.
  var lastKey: [UInt8] {
    guard let last = entries.last else { return [] }
    return Array(bytes[last.start..<last.valueStart])
  }

  /// Takes in the next entry.
  ///
  /// - Throws: `FullTextError.damaged`.
  mutating func add(_ key: RawSpan, _ value: RawSpan) throws {
    guard let parsed = TermKeys.parseRecent(key) else {
      throw trees.damaged(FullTextTrees.recentName, key.copied, "the key is none of a posting")
    }
    let start = bytes.count
    unsafe key.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    entries.append(Entry(key: parsed, start: start, valueStart: bytes.count))
    unsafe value.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Whether a key is one of the term of the last entry.
  func isOfLastTerm(_ key: RawSpan) throws -> Bool {
    guard let parsed = TermKeys.parseRecent(key) else {
      throw trees.damaged(FullTextTrees.recentName, key.copied, "the key is none of a posting")
    }
    guard let last = entries.last, last.key.termByteCount == parsed.termByteCount else { return false }
    return unsafe key.withUnsafeBytes { key in
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe ByteOrder.areEqual(
          UnsafeRawBufferPointer(rebasing: key[..<parsed.termByteCount]),
          UnsafeRawBufferPointer(rebasing: bytes[last.start..<last.start + parsed.termByteCount]))
      }
    }
  }

  /// Calls `body` with each term and what has changed of it, in order.
  ///
  /// - Throws: `FullTextError.damaged`, and what `body` throws.
  func forEachTerm(_ body: (ArraySlice<UInt8>, TermChanges) throws -> Void) throws {
    var changes = TermChanges()
    var last: ArraySlice<UInt8>?
    for index in entries.indices {
      let entry = entries[index]
      let term = bytes[entry.start..<entry.start + entry.key.termByteCount]
      if let before = last, before != term {
        try body(before, changes)
        changes.removeAll()
        guard before.lexicographicallyPrecedes(term) else { throw outOfOrder(term) }
      }
      last = term
      let end = index + 1 < entries.count ? entries[index + 1].start : bytes.count
      try add(entry, end, to: &changes)
    }
    if let last { try body(last, changes) }
  }

  private func add(_ entry: Entry, _ end: Int, to changes: inout TermChanges) throws {
    let isWell: Bool
    if entry.key.isAdded {
      let value = unsafe bytes.span.bytes.extracting(entry.valueStart..<end)
      isWell = RecentCodec.isWell(value, form) && changes.added.rowIDs.last.map { $0 < entry.key.row } ?? true
      if isWell { changes.added.append(entry.key.row, value) }
    } else {
      isWell = entry.valueStart == end && changes.removed.last.map { $0 < entry.key.row } ?? true
      changes.removed.append(entry.key.row)
    }
    guard isWell else {
      throw trees.damaged(
        FullTextTrees.recentName, Array(bytes[entry.start..<entry.valueStart]), "the entry breaks the format")
    }
  }

  /// The error for a term that is not behind the one before.
  func outOfOrder(_ term: ArraySlice<UInt8>) -> FullTextError {
    trees.damaged(FullTextTrees.recentName, Array(term) + [0], "terms are out of order")
  }
}
