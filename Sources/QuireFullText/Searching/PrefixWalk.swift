// Walking through the postings of all terms that begin alike.

internal import QuireDatabase

extension TermIndex {
  /// Calls `body` with postings of all terms that begin with `prefix`, some of one term at a time. Rows ascend within
  /// one call alone.
  ///
  /// Terms that begin alike stand next to each other: one walk through a part of `blocks`, and one of `recent`.
  ///
  /// - Parameter body: may read, and keeps nothing of the block.
  func forEachBlock(ofTermsBeginningWith prefix: [UInt8], _ body: (PostingBlock) throws -> Void) throws {
    let changes = try trees.changes(ofTermsBeginningWith: prefix)
    let block = PostingBlock(form, self)
    let (lower, upper) = TermKeys.range(ofPrefix: prefix)
    var pulse = SearchPulse()
    try trees.blocks.forEach(from: lower, upTo: upper) { key, value in
      guard let parsed = TermKeys.parseBlock(key) else { throw trees.damagedBlock(key, "the key is none") }
      // Heads tell nothing that is needed here.
      guard let lastRow = parsed.lastRow else { return true }
      try block.take(value, key: key, lastRow: lastRow)
      if !changes.isEmpty, let removed = changes[key.bytes(upTo: parsed.termByteCount)]?.removed {
        let start = removed.firstIndex(atOrAbove: block.row(0), from: 0)
        let end = removed.lastIndex(atOrBelow: lastRow, from: start)
        if start < end { try block.change(without: removed[start..<end], PostingList(), 0..<0) }
      }
      try pulse.beat(block.count)
      if block.count > 0 { try body(block) }
      return true
    }
    for change in changes.values where change.added.count > 0 {
      try pulse.beat(change.added.count)
      block.take(change.added, 0..<change.added.count)
      try body(block)
    }
  }
}

extension FullTextTrees {
  /// What was changed of the terms that begin with `prefix`, beside their blocks.
  func changes(ofTermsBeginningWith prefix: [UInt8]) throws -> [[UInt8]: RecentPostings] {
    let (lower, upper) = TermKeys.range(ofPrefix: prefix)
    var changes: [[UInt8]: RecentPostings] = [:]
    guard try recent.reading(from: lower, upTo: upper, { try recent.count > 0 }) else { return changes }
    // Entries of a term stand together.
    var (term, current) = ([UInt8](), RecentPostings(layout.form))
    try recent.forEach(from: lower, upTo: upper) { key, value in
      guard let parsed = TermKeys.parseRecent(key) else { throw damagedChange(key) }
      if !key.begins(with: term, count: parsed.termByteCount) {
        if !term.isEmpty { changes[term] = current }
        (term, current) = (key.bytes(upTo: parsed.termByteCount), RecentPostings(layout.form))
      }
      guard current.take(parsed, value) else { throw damagedChange(key) }
      return true
    }
    if !term.isEmpty { changes[term] = current }
    return changes
  }

  private func damagedChange(_ key: RawSpan) -> FullTextError {
    damaged(FullTextTrees.recentName, key.bytes(upTo: key.byteCount), "an entry breaks the format")
  }
}

extension RawSpan {
  /// The first `count` bytes, copied.
  func bytes(upTo count: Int) -> [UInt8] {
    unsafe withUnsafeBytes { unsafe [UInt8]($0.prefix(count)) }
  }

  /// Whether the first `count` bytes are these.
  func begins(with bytes: [UInt8], count: Int) -> Bool {
    guard count == bytes.count else { return false }
    return unsafe withUnsafeBytes { unsafe $0.prefix(count).elementsEqual(bytes) }
  }
}
