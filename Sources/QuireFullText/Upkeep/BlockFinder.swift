// Finding the blocks of a term that change.

internal import QuireDatabase

/// A block as it is stored.
struct FoundBlock {
  let key: [UInt8]
  let lastRow: RowID
  let limits: LimitPairs
  let isLarge: Bool
  let count: Int
  let arePositionsApart: Bool
  /// Whether no block of the term is behind it.
  var isLast = true
}

/// Finds heads and blocks of terms, and reads blocks, with buffers that serve all of them.
struct BlockFinder {
  private let trees: FullTextTrees
  private let form: PostingForm
  /// The bytes of the block that was found last.
  private var bytes: [UInt8] = []

  init(_ trees: FullTextTrees) { (self.trees, form) = (trees, trees.layout.form) }

  /// Finds the head of a term; of one that has none, its only block, whose bytes are those at hand then.
  mutating func firstBlock(of term: [UInt8]) throws -> (head: HeadCodec?, block: FoundBlock?) {
    let key = TermKeys.head(term)
    let cursor = try trees.blocks.cursor()
    guard try cursor.seek(key) else { return (nil, nil) }
    var head: HeadCodec?
    _ = try cursor.lendEntry { found, value in
      guard found.byteCount == key.count, found.begins(with: key) else { return }
      head = HeadCodec(value)
      if head == nil { throw trees.damaged(FullTextTrees.blocksName, key, "the head of a term breaks the format") }
    }
    if let head { return (head, nil) }
    guard let block = try block(at: cursor, of: term) else { return (nil, nil) }
    guard block.isLast else {
      throw trees.damaged(FullTextTrees.blocksName, key, "a term of several blocks has no head")
    }
    return (nil, block)
  }

  func head(of term: [UInt8]) throws -> HeadCodec? {
    let key = TermKeys.head(term)
    return try trees.blocks.withValue(for: key) { value in
      guard let head = HeadCodec(value) else {
        throw trees.damaged(FullTextTrees.blocksName, key, "the head of a term breaks the format")
      }
      return head
    }
  }

  /// The block that a row belongs to: the first one that ends at or behind it, else the last one. Its bytes are those
  /// at hand then.
  mutating func block(of term: [UInt8], from row: RowID) throws -> FoundBlock? {
    let cursor = try trees.blocks.cursor()
    if try cursor.seek(TermKeys.block(term, row)), let found = try block(at: cursor, of: term) { return found }
    // What lies before is the last block, if it is one of the term.
    let isOnEntry = try cursor.isOnEntry ? cursor.previous() : cursor.seekLast()
    return isOnEntry ? try block(at: cursor, of: term) : nil
  }

  /// The block that a cursor is on, which goes on to the next entry; nil, and it stays, if that is no block of the
  /// term.
  mutating func block(at cursor: ExtensionCursor<[UInt8]>, of term: [UInt8]) throws -> FoundBlock? {
    var found: FoundBlock?
    _ = try cursor.lendEntry { key, value in
      guard let parsed = TermKeys.parseBlock(key) else {
        throw trees.damaged(FullTextTrees.blocksName, key.copied, "the key is none of a block")
      }
      guard let lastRow = parsed.lastRow, key.begins(with: term, parsed.termByteCount) else { return }
      guard let header = BlockHeader(value, lastRow: lastRow) else {
        throw trees.damaged(FullTextTrees.blocksName, key.copied, "a block breaks the format")
      }
      value.copy(to: &bytes)
      found = FoundBlock(
        key: key.copied, lastRow: lastRow, limits: header.limits, isLarge: header.isLarge, count: header.count,
        arePositionsApart: form.hasPositions && header.arePositionsApart)
    }
    guard var block = found else { return nil }
    if try cursor.next() {
      _ = try cursor.lendEntry { key, _ in
        block.isLast = !(TermKeys.parseBlock(key).map { key.begins(with: term, $0.termByteCount) } ?? false)
      }
    }
    return block
  }

  /// Reads all of a block whose bytes are those at hand.
  func read(_ block: FoundBlock, into decoded: DecodedBlock) throws {
    let isRead = unsafe decoded.decodeRows(bytes.span.bytes, lastRow: block.lastRow)
    guard isRead, unsafe decoded.decodeFrequencies(bytes.span.bytes) else {
      throw trees.damaged(FullTextTrees.blocksName, block.key, "a block breaks the format")
    }
    guard form.hasPositions else { return }
    var isWell: Bool?
    if block.arePositionsApart {
      isWell = try trees.positions.withValue(for: block.key) { apart -> Bool in
        unsafe decoded.decodePositions(.max, bytes.span.bytes, apart: apart)
      }
    } else {
      isWell = unsafe decoded.decodePositions(.max, bytes.span.bytes, apart: nil)
    }
    guard let isWell else {
      throw trees.damaged(FullTextTrees.positionsName, block.key, "the positions of a block are missing")
    }
    if !isWell { throw brokenPositions(of: block) }
  }

  /// The error for positions that are none.
  func brokenPositions(of block: FoundBlock) -> FullTextError {
    trees.damaged(
      block.arePositionsApart ? FullTextTrees.positionsName : FullTextTrees.blocksName, block.key,
      "a block breaks the format")
  }
}
