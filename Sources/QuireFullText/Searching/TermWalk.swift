// The terms that begin alike, with how many rows have each.

internal import QuireDatabase

/// Walks through the terms that begin with some bytes, in order, with how many rows have each: from term to term, over
/// all that stands between.
final class TermWalk {
  private let trees: FullTextTrees
  private let blocks: ExtensionCursor<[UInt8]>
  private let recent: ExtensionCursor<[UInt8]>
  private let upper: [UInt8]?
  /// The terms that the cursors are at; nil at the end.
  private var blocksTerm: [UInt8]?
  private var recentTerm: [UInt8]?

  init(_ trees: FullTextTrees, beginningWith prefix: [UInt8]) throws {
    self.trees = trees
    let (lower, upper) = TermKeys.range(ofPrefix: prefix)
    self.upper = upper
    blocks = try trees.blocks.cursor()
    recent = try trees.recent.cursor()
    blocksTerm = try seek(blocks, lower) { TermKeys.parseBlock($0)?.termByteCount }
    recentTerm = try seek(recent, lower) { TermKeys.parseRecent($0)?.termByteCount }
  }

  /// The next term that a row has, with their number; nil behind the last one.
  func next() throws -> (term: [UInt8], rowCount: Int)? {
    while let term = least {
      let rowCount = try trees.rowCount(of: term)
      let (_, behind) = TermKeys.range(ofTerm: term)
      if blocksTerm == term { blocksTerm = try seek(blocks, behind) { TermKeys.parseBlock($0)?.termByteCount } }
      if recentTerm == term { recentTerm = try seek(recent, behind) { TermKeys.parseRecent($0)?.termByteCount } }
      if rowCount > 0 { return (term, rowCount) }
    }
    return nil
  }

  private var least: [UInt8]? {
    guard let blocksTerm, let recentTerm else { return blocksTerm ?? recentTerm }
    return recentTerm.lexicographicallyPrecedes(blocksTerm) ? recentTerm : blocksTerm
  }

  /// Goes to the first entry at or above a key, and returns its term; nil if there is none that begins so.
  private func seek(
    _ cursor: ExtensionCursor<[UInt8]>, _ key: [UInt8], _ termByteCount: (RawSpan) -> Int?
  ) throws -> [UInt8]? {
    guard try cursor.seek(key) else { return nil }
    var term: [UInt8]?
    _ = try cursor.lendEntry { found, _ in
      guard let count = termByteCount(found) else { throw trees.damagedBlock(found, "the key is none") }
      term = found.bytes(upTo: count)
    }
    guard let term else { return nil }
    if let upper, !term.lexicographicallyPrecedes(upper) { return nil }
    return term
  }
}

extension FullTextTrees {
  /// Calls `body` with all terms that begin with some bytes, in order, and how many rows have each: one walk through
  /// their entries, and one through what was changed of them.
  func forEachTerm(beginningWith prefix: [UInt8], _ body: ([UInt8], Int) throws -> Void) throws {
    var pulse = SearchPulse()
    var counts = try changes(ofTermsBeginningWith: prefix).mapValues { $0.added.count - $0.removed.count }
    let (lower, upper) = TermKeys.range(ofPrefix: prefix)
    var last: [UInt8] = []
    try blocks.forEach(from: lower, upTo: upper) { key, value in
      try pulse.beat(1)
      guard let parsed = TermKeys.parseBlock(key) else { throw damagedBlock(key, "the key is none") }
      // The first entry of a term tells how many rows have it.
      if key.begins(with: last, count: parsed.termByteCount) { return true }
      last = key.bytes(upTo: parsed.termByteCount)
      let count = try rowCount(ofFirst: value, key, parsed) + (counts.removeValue(forKey: last) ?? 0)
      if count > 0 { try body(last, count) }
      return true
    }
    for (term, count) in counts where count > 0 { try body(term, count) }
  }
}
