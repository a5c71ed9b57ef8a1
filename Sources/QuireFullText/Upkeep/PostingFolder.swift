// Folding changes of a term into its blocks.

internal import QuireDatabase

/// Folds postings of one term after the other into the blocks, with buffers that serve all of them.
///
/// What it keeps true, of each term:
/// 1. Blocks have 1 to 128 postings, and stand under the last row of each; their rows follow each other.
/// 2. What "positions" has under a block's key are the positions that stand apart from it; it has nothing else.
/// 3. A term of two blocks or more has a head, which counts its postings, and whose limits are those of all blocks.
struct PostingFolder {
  let trees: FullTextTrees
  let lengths: RowLengths
  private let form: PostingForm
  private var encoder: BlockEncoder
  private var decoded: DecodedBlock
  private var limits = LimitCollector()
  // The block at hand: its bytes, its postings, and what they become.
  private var bytes: [UInt8] = []
  private var old = PostingList()
  private var new = PostingList()
  /// For each row of `new` the code of its length, or one that is no greater and that the limits before allow.
  private var codes: [UInt8] = []
  /// The last rows of blocks whose keys stay and that had positions apart.
  private var keptApart: [RowID] = []

  /// Blocks of fewer postings are joined with a neighbour, if both together leave room for more.
  private static let smallCount = 32
  private static let joinedCount = 96

  init(_ trees: FullTextTrees) {
    self.trees = trees
    form = trees.layout.form
    lengths = RowLengths(trees)
    encoder = BlockEncoder(form)
    decoded = DecodedBlock(form)
  }

  /// A block as it is stored.
  private struct Block {
    let key: [UInt8]
    let lastRow: RowID
    let limits: LimitPairs
    let isLarge: Bool
    let count: Int
    let arePositionsApart: Bool
    /// Whether no block of the term is behind it.
    var isLast = true
  }

  /// What is known of all blocks of a term while changes are folded in.
  private struct Tally {
    /// The head before, if there was one.
    var head: HeadCodec?
    /// The postings of the block that was made last: all of the term, if it has no head.
    var count = 0
    /// Whether a block was taken away.
    var hasLostBlocks = false
    /// How many blocks were made.
    var madeCount = 0
  }

  // MARK: One term

  /// Folds changes into the blocks of a term.
  ///
  /// - Throws: `FullTextError.damaged` if they do not fit.
  mutating func fold(_ changes: TermChanges, into term: [UInt8]) throws {
    guard !changes.isEmpty else { return }
    var tally = Tally()
    var place = TermChanges.Place()
    var found = try firstBlock(of: term, &tally)
    if tally.head == nil {
      // There is one block, or none.
      try rebuild(found, changes, place, changes.end(place, through: nil), term, &tally)
    } else {
      while let row = changes.row(at: place) {
        found = try block(of: term, from: row)
        guard let block = found else {
          throw trees.damaged(FullTextTrees.blocksName, TermKeys.head(term), "a term without blocks has a head")
        }
        let end = changes.end(place, through: block.isLast ? nil : block.lastRow)
        assert(end != place, "no change falls into the block that was found for one")
        try rebuild(block, changes, place, end, term, &tally)
        place = end
      }
    }
    try settleHead(of: term, changes, tally)
  }

  /// Finds the head of a term; of one that has none, its only block, whose bytes are those at hand then.
  private mutating func firstBlock(of term: [UInt8], _ tally: inout Tally) throws -> Block? {
    let key = TermKeys.head(term)
    let cursor = try trees.blocks.cursor()
    guard try cursor.seek(key) else { return nil }
    let head = try cursor.withEntry { found, value -> HeadCodec? in
      guard found.byteCount == key.count, found.begins(with: key) else { return nil }
      guard let head = HeadCodec(value) else {
        throw trees.damaged(FullTextTrees.blocksName, key, "the head of a term breaks the format")
      }
      return head
    }
    tally.head = head ?? nil
    if tally.head != nil { return nil }
    guard let block = try block(at: cursor, of: term) else { return nil }
    guard block.isLast else {
      throw trees.damaged(FullTextTrees.blocksName, key, "a term of several blocks has no head")
    }
    return block
  }

  private func head(of term: [UInt8]) throws -> HeadCodec? {
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
  private mutating func block(of term: [UInt8], from row: RowID) throws -> Block? {
    let cursor = try trees.blocks.cursor()
    if try cursor.seek(TermKeys.block(term, row)), let found = try block(at: cursor, of: term) { return found }
    // What lies before is the last block, if it is one of the term.
    let isOnEntry = try cursor.isOnEntry ? cursor.previous() : cursor.seekLast()
    return isOnEntry ? try block(at: cursor, of: term) : nil
  }

  /// The block that a cursor is on, which goes on to the next entry; nil, and it stays, if that is no block of the
  /// term.
  private mutating func block(at cursor: ExtensionCursor<[UInt8]>, of term: [UInt8]) throws -> Block? {
    let found = try cursor.withEntry { key, value -> Block? in
      guard let parsed = TermKeys.parseBlock(key) else {
        throw trees.damaged(FullTextTrees.blocksName, key.copied, "the key is none of a block")
      }
      guard let lastRow = parsed.lastRow, key.begins(with: term, parsed.termByteCount) else { return nil }
      guard let header = BlockHeader(value, lastRow: lastRow) else {
        throw trees.damaged(FullTextTrees.blocksName, key.copied, "a block breaks the format")
      }
      value.copy(to: &bytes)
      return Block(
        key: key.copied, lastRow: lastRow, limits: header.limits, isLarge: header.isLarge, count: header.count,
        arePositionsApart: form.hasPositions && header.arePositionsApart)
    }
    guard let found, var block = found else { return nil }
    if try cursor.next() {
      let isOfTerm = try cursor.withEntry { key, _ in
        TermKeys.parseBlock(key).map { key.begins(with: term, $0.termByteCount) } ?? false
      }
      block.isLast = isOfTerm != true
    }
    return block
  }

  /// Whether a posting with this frequency and length may stand at a row of a term without a change of the limits that
  /// are stored.
  mutating func isWithinLimits(_ pair: LimitPair, _ row: RowID, of term: [UInt8]) throws -> Bool {
    if let head = try head(of: term), !head.limits.dominates(pair) { return false }
    return try block(of: term, from: row)?.limits.dominates(pair) ?? true
  }

  // MARK: One block

  /// Puts what a block becomes by some of the changes in its place.
  private mutating func rebuild(
    _ block: Block?, _ changes: TermChanges, _ start: TermChanges.Place, _ end: TermChanges.Place, _ term: [UInt8],
    _ tally: inout Tally
  ) throws {
    old.removeAll()
    if let block { try decode(block) }
    try merge(changes, start, end, term)
    tally.count = new.count
    let isTail = (old.rowIDs.last ?? RowID(.min)) < (changes.added.rowIDs[start.added..<end.added].first ?? RowID(.min))
    var joined: Block?
    if let block, new.count > 0, new.count < min(Self.smallCount, old.count) { joined = try join(block, of: term) }
    let pieces = Self.pieces(of: new.count, isTail: isTail)
    // The limits before say enough of rows that stay, unless some have gone, or the block is small and has none.
    let isExact = start.removed != end.removed || joined != nil || block.map { !$0.isLarge } ?? true
    let isCounted = tally.head != nil || pieces.count > 1
    if isCounted || new.count >= BlockHeader.largeCount { try findCodes(isExact ? nil : block?.limits) }
    keptApart.removeAll(keepingCapacity: true)
    for gone in [block, joined] { if let gone { try remove(gone, unlessReplacedBy: pieces, &tally) } }
    for piece in pieces { try store(piece, of: term, isCounted: isCounted, &tally) }
  }

  private mutating func decode(_ block: Block, isNew: Bool = false) throws {
    // Out of its place, since the block is decoded in another part of this.
    var list = PostingList()
    if isNew { swap(&list, &new) } else { swap(&list, &old) }
    defer { if isNew { swap(&list, &new) } else { swap(&list, &old) } }
    let bytes = bytes
    guard unsafe decoded.decodeRows(bytes.span.bytes, lastRow: block.lastRow) else {
      throw trees.damaged(FullTextTrees.blocksName, block.key, "a block breaks the format")
    }
    var isWell: Bool?
    if block.arePositionsApart {
      isWell = try trees.positions.withValue(for: block.key) { apart -> Bool in
        unsafe decoded.appendAll(bytes.span.bytes, apart: apart, to: &list)
      }
    } else {
      isWell = unsafe decoded.appendAll(bytes.span.bytes, apart: nil, to: &list)
    }
    guard let isWell else {
      throw trees.damaged(FullTextTrees.positionsName, block.key, "the positions of a block are missing")
    }
    guard isWell else {
      throw trees.damaged(
        block.arePositionsApart ? FullTextTrees.positionsName : FullTextTrees.blocksName, block.key,
        "a block breaks the format")
    }
  }

  /// Makes `new` of `old` and some of the changes.
  private mutating func merge(
    _ changes: TermChanges, _ start: TermChanges.Place, _ end: TermChanges.Place, _ term: [UInt8]
  ) throws {
    new.removeAll()
    var place = start
    // What stays is copied up to here.
    var kept = 0
    while place.removed < end.removed || place.added < end.added {
      let removed = place.removed < end.removed ? changes.removed[place.removed] : nil
      let added = place.added < end.added ? changes.added.rowIDs[place.added] : nil
      let row = [removed, added].compactMap { $0 }.min() ?? RowID(.max)
      let next = old.lowerBound(of: row, from: kept)
      new.append(old, in: kept..<next)
      kept = next
      let isThere = next < old.count && old.rowIDs[next] == row
      guard isThere == (removed == row) else {
        throw trees.damaged(
          FullTextTrees.recentName, removed == row ? TermKeys.removed(term, row) : TermKeys.added(term, row),
          isThere ? "a posting was added that the blocks have" : "a posting is void that the blocks do not have")
      }
      if isThere {
        kept += 1
        place.removed += 1
      }
      if added == row {
        // Neighbours that come together go in together.
        var behind = place.added + 1
        let bound = min(
          kept < old.count ? old.rowIDs[kept] : RowID(.max),
          place.removed < end.removed ? changes.removed[place.removed] : RowID(.max))
        while behind < end.added, changes.added.rowIDs[behind] < bound { behind += 1 }
        new.append(changes.added, in: place.added..<behind)
        place.added = behind
      }
    }
    new.append(old, in: kept..<old.count)
  }

  /// Takes a neighbour of a block that has become small in with it, if they fit together.
  private mutating func join(_ block: Block, of term: [UInt8]) throws -> Block? {
    let own = new
    let cursor = try trees.blocks.cursor()
    var neighbour: Block?
    if try cursor.seek(block.key + [0]) { neighbour = try self.block(at: cursor, of: term) }
    let isBehind = neighbour != nil
    if neighbour == nil, try cursor.seek(block.key), try cursor.previous() {
      neighbour = try self.block(at: cursor, of: term)
    }
    guard let neighbour, neighbour.count + own.count <= Self.joinedCount else { return nil }
    new.removeAll()
    if !isBehind { try decode(neighbour, isNew: true) }
    new.append(own, in: 0..<own.count)
    if isBehind { try decode(neighbour, isNew: true) }
    return neighbour
  }

  /// How so many postings are divided into blocks.
  ///
  /// - Parameter isTail: whether more are expected behind them, and none between.
  static func pieces(of count: Int, isTail: Bool) -> [Range<Int>] {
    let most = PostingForm.blockCount
    guard count > most else { return count == 0 ? [] : [0..<count] }
    if isTail {
      return stride(from: 0, to: count, by: most).map { $0..<min($0 + most, count) }
    }
    let pieceCount = (count + most - 1) / most
    return (0..<pieceCount).map { count * $0 / pieceCount..<count * ($0 + 1) / pieceCount }
  }

  /// Finds the codes of the lengths of the rows of `new`.
  ///
  /// - Parameter limits: of the rows of `old`; nil if lengths are to be looked up for all.
  private mutating func findCodes(_ limits: LimitPairs?) throws {
    codes.removeAll(keepingCapacity: true)
    var next = 0
    for (index, row) in new.rowIDs.enumerated() {
      while next < old.count, old.rowIDs[next] < row { next += 1 }
      if let limits, next < old.count, old.rowIDs[next] == row,
        let code = limits.leastCode(frequency: min(255, new.totalFrequency(index)))
      {
        codes.append(code)
      } else {
        codes.append(LengthCode.code(of: try lengths.length(of: row)))
      }
    }
  }

  private mutating func remove(_ block: Block, unlessReplacedBy pieces: [Range<Int>], _ tally: inout Tally) throws {
    if pieces.contains(where: { new.rowIDs[$0.upperBound - 1] == block.lastRow }) {
      if block.arePositionsApart { keptApart.append(block.lastRow) }
      return
    }
    try trees.blocks.remove(block.key)
    if block.arePositionsApart { try trees.positions.remove(block.key) }
    tally.hasLostBlocks = true
  }

  /// - Parameter isCounted: whether the limits of the rows go into the head.
  private mutating func store(_ piece: Range<Int>, of term: [UInt8], isCounted: Bool, _ tally: inout Tally) throws {
    let lastRow = new.rowIDs[piece.upperBound - 1]
    let key = TermKeys.block(term, lastRow)
    let made = encoder.encode(new, rows: piece) { codes[$0] }
    assert(
      unsafe BlockHeader(made.block.span.bytes, lastRow: lastRow)?.count == piece.count, "a block breaks the format")
    try trees.blocks.put(made.block, for: key)
    if let positions = made.positions {
      try trees.positions.put(positions, for: key)
    } else if keptApart.contains(lastRow) {
      try trees.positions.remove(key)
    }
    tally.madeCount += 1
    guard isCounted else { return }
    for index in piece {
      limits.add(LimitPair(frequency: UInt8(min(255, new.totalFrequency(index))), lengthCode: codes[index]))
    }
  }

  // MARK: Heads

  /// Brings the head of a term in line with its blocks.
  private mutating func settleHead(of term: [UInt8], _ changes: TermChanges, _ tally: Tally) throws {
    let key = TermKeys.head(term)
    if let head = tally.head {
      let count = head.count + changes.growth
      guard count >= 0 else {
        throw trees.damaged(FullTextTrees.blocksName, key, "the head counts fewer postings than the blocks have")
      }
      if tally.hasLostBlocks, try !hasSeveralBlocks(term) {
        _ = limits.take()
        try trees.blocks.remove(key)
        return
      }
      limits.add(head.limits)
      try trees.blocks.put(HeadCodec(count: count, limits: limits.take() ?? .any).bytes, for: key)
    } else if tally.madeCount > 1 {
      try trees.blocks.put(HeadCodec(count: tally.count, limits: limits.take() ?? .any).bytes, for: key)
    } else {
      _ = limits.take()
    }
  }

  private mutating func hasSeveralBlocks(_ term: [UInt8]) throws -> Bool {
    let cursor = try trees.blocks.cursor()
    guard try cursor.seek(TermKeys.block(term, RowID(.min + 1))) else { return false }
    return try block(at: cursor, of: term).map { !$0.isLast } ?? false
  }
}

extension LimitPairs {
  /// The greatest code of a length that is sure to be none above that of any row within the limits that has this
  /// frequency; nil if no row within them has it.
  func leastCode(frequency: Int) -> UInt8? {
    var least: UInt8?
    for index in 0..<count where Int(self[index].frequency) >= frequency {
      least = min(least ?? .max, self[index].lengthCode)
    }
    return least
  }
}
