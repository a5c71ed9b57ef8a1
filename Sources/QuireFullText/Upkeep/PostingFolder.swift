// Folding changes of a term into its blocks.

internal import QuireDatabase

/// Folds postings of one term after the other into the blocks, with buffers that serve all of them.
///
/// What it keeps true, of each term:
/// 1. Blocks have 1 to 128 postings, and stand under the last row of each; their rows follow each other.
/// 2. What "positions" has under a block's key are the positions that stand apart from it; it has nothing else.
/// 3. A term of two blocks or more has a head, which counts its postings, and whose limits are those of all blocks.
final class PostingFolder {
  let trees: FullTextTrees
  let lengths: RowLengths
  private let form: PostingForm
  private var finder: BlockFinder
  private var encoder: BlockEncoder
  private var limits = LimitCollector()
  // The block at hand, a neighbour that goes in with it, what they become, and as much of that as was made.
  private let old: DecodedBlock
  private let neighbour: DecodedBlock
  private var merge = BlockMerge()
  private let new: BlockPostings
  // The codes of the lengths of the rows of each.
  private let oldCodes = KeptCodes()
  private let neighbourCodes = KeptCodes()
  private let addedCodes = RawBuffer<UInt8>()
  /// The blocks that were made in the place of the one at hand.
  private var made: [(lastRow: RowID, arePositionsApart: Bool)] = []

  /// Blocks of fewer postings are joined with a neighbour, if both together leave room for more.
  private static let smallCount = 32
  private static let joinedCount = 96

  /// A folder that looks lengths up in `lengths`.
  init(_ trees: FullTextTrees, _ lengths: RowLengths) {
    (self.trees, self.lengths) = (trees, lengths)
    form = trees.layout.form
    finder = BlockFinder(trees)
    encoder = BlockEncoder(form)
    (old, neighbour) = (DecodedBlock(form), DecodedBlock(form))
    new = BlockPostings(form)
  }

  /// What is known of all blocks of a term while changes are folded in.
  private struct Tally {
    /// The head before, if there was one.
    var head: HeadCodec?
    /// The postings of the block that was made last: all of the term, if it has no head.
    var count = 0
    /// Whether there may be fewer blocks than before.
    var hasLostBlocks = false
    /// How many blocks were made.
    var madeCount = 0
  }

  // MARK: One term

  /// Folds changes into the blocks of a term.
  ///
  /// - Throws: `FullTextError.damaged` if they do not fit.
  func fold(_ changes: TermChanges, into term: [UInt8]) throws {
    guard !changes.isEmpty else { return }
    var place = TermChanges.Place()
    let first = try finder.firstBlock(of: term)
    var tally = Tally(head: first.head)
    addedCodes.removeAll(reserving: changes.added.count)
    // Nobody wants them where all that there is makes a small block.
    if tally.head != nil || (first.block?.count ?? 0) + changes.added.count >= BlockHeader.largeCount {
      try unsafe changes.added.rowIDs.withUnsafeBufferPointer {
        try unsafe lengths.appendCodes(of: $0, to: addedCodes)
      }
    } else {
      for _ in 0..<changes.added.count { addedCodes.append(.max) }
    }
    if tally.head == nil {
      // There is one block, or none.
      try rebuild(first.block, changes, place, changes.end(place, through: nil), term, &tally)
    } else {
      while let row = changes.row(at: place) {
        guard let block = try finder.block(of: term, from: row) else {
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

  /// Whether a posting with this frequency and length may stand at a row of a term without a change of the limits that
  /// are stored.
  func isWithinLimits(_ pair: LimitPair, _ row: RowID, of term: [UInt8]) throws -> Bool {
    if let head = try finder.head(of: term), !head.limits.dominates(pair) { return false }
    return try finder.block(of: term, from: row)?.limits.dominates(pair) ?? true
  }

  // MARK: One block

  /// Puts what a block becomes by some of the changes in its place.
  private func rebuild(
    _ block: FoundBlock?, _ changes: TermChanges, _ start: TermChanges.Place, _ end: TermChanges.Place,
    _ term: [UInt8], _ tally: inout Tally
  ) throws {
    if let block { try finder.read(block, into: old) }
    let oldRows = unsafe block == nil ? UnsafeBufferPointer(start: nil, count: 0) : old.rowIDs
    unsafe try merge.plan(oldRows, changes, start, end, trees, term)
    tally.count = merge.count
    let firstAdded = start.added < end.added ? changes.added.rowIDs[start.added] : RowID(.min)
    let isTail = unsafe (oldRows.last ?? RowID(.min)) < firstAdded
    var joined: FoundBlock?
    if let block, merge.count > 0, merge.count < min(Self.smallCount, block.count) {
      joined = try join(block, of: term)
    }
    let pieces = Self.pieces(of: merge.count, isTail: isTail)
    let areNeeded = merge.count >= BlockHeader.largeCount
    if let block {
      let losesSome = start.removed != end.removed
      let isRenewed = losesSome && trees.layout.pace.isRenewed(block.lastRow, losing: changes.removed[start.removed])
      try findCodes(block, old, areNeeded: areNeeded, isRenewed: isRenewed, oldCodes)
    }
    if let joined { try findCodes(joined, neighbour, areNeeded: areNeeded, isRenewed: false, neighbourCodes) }
    let isCounted = tally.head != nil || pieces.count > 1
    try make(pieces, block, joined, changes.added, of: term, isCounted: isCounted)
    tally.madeCount += made.count
    let gone = [block, joined].compactMap { $0 }
    if made.count < gone.count { tally.hasLostBlocks = true }
    for gone in gone { try remove(gone) }
  }

  /// Finds the codes of the lengths of the rows that a block has, or some that are no greater and within its limits.
  ///
  /// - Parameters:
  ///   - areNeeded: whether what the rows go into has limits; the head of their term has been within its own.
  ///   - isRenewed: whether lengths are looked up. The limits before say enough of rows that stay, but they may say too
  ///     much where some have gone.
  private func findCodes(
    _ block: FoundBlock, _ decoded: DecodedBlock, areNeeded: Bool, isRenewed: Bool, _ codes: KeptCodes
  ) throws {
    guard areNeeded else { return codes.setUnwanted() }
    if block.isLarge && !isRenewed { return codes.set(block.limits) }
    try codes.list { try unsafe lengths.appendCodes(of: decoded.rowIDs, to: $0) }
  }

  /// Takes a neighbour of a block that has become small in with it, if they fit together.
  private func join(_ block: FoundBlock, of term: [UInt8]) throws -> FoundBlock? {
    let cursor = try trees.blocks.cursor()
    var found: FoundBlock?
    if try cursor.seek(block.key + [0]) { found = try finder.block(at: cursor, of: term) }
    let isBehind = found != nil
    if found == nil, try cursor.seek(block.key), try cursor.previous() {
      found = try finder.block(at: cursor, of: term)
    }
    guard let found, found.count + merge.count <= Self.joinedCount else { return nil }
    try finder.read(found, into: neighbour)
    merge.join(neighbour, isBehind: isBehind)
    return found
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

  /// Makes blocks of what the blocks at hand become.
  ///
  /// - Parameter isCounted: whether the limits of the rows go into the head.
  private func make(
    _ pieces: [Range<Int>], _ block: FoundBlock?, _ joined: FoundBlock?, _ added: EncodedPostings,
    of term: [UInt8], isCounted: Bool
  ) throws {
    made.removeAll(keepingCapacity: true)
    new.removeAll()
    for run in merge.runs {
      var next = run.range.lowerBound
      while next < run.range.upperBound {
        let part = next..<min(run.range.upperBound, next + pieces[made.count].count - new.count)
        switch run.source {
        case .block: if !new.append(old, part, oldCodes) { throw broken(block) }
        case .neighbour: if !new.append(neighbour, part, neighbourCodes) { throw broken(joined) }
        case .changes: try add(added, part, of: term)
        }
        next = part.upperBound
        if new.count == pieces[made.count].count { try store(term, isCounted: isCounted) }
      }
    }
    assert(made.count == pieces.count && new.count == 0, "postings are left over")
  }

  private func broken(_ block: FoundBlock?) -> FullTextError {
    block.map { finder.brokenPositions(of: $0) }
      ?? trees.damaged(FullTextTrees.blocksName, [], "a block breaks the format")
  }

  private func add(_ added: EncodedPostings, _ range: Range<Int>, of term: [UInt8]) throws {
    for index in range {
      let row = added.rowIDs[index]
      let isWell = unsafe added.withValue(index) { bytes in
        var reader = unsafe ByteReader(bytes)
        return new.append(&reader, row: row, code: unsafe addedCodes.base[index]) && reader.isAtEnd
      }
      guard isWell else {
        throw trees.damaged(FullTextTrees.recentName, TermKeys.added(term, row), "the entry breaks the format")
      }
    }
  }

  /// Stores a block of the postings at hand.
  private func store(_ term: [UInt8], isCounted: Bool) throws {
    let lastRow = new.row(new.count - 1)
    let key = TermKeys.block(term, lastRow)
    let (block, positions) = encoder.encode(new)
    assert(unsafe BlockHeader(block.span.bytes, lastRow: lastRow)?.count == new.count, "a block breaks the format")
    try trees.blocks.put(block, for: key)
    if let positions { try trees.positions.put(positions, for: key) }
    made.append((lastRow, positions != nil))
    if isCounted { for index in 0..<new.count { limits.add(new.limit(index)) } }
    new.removeAll()
  }

  /// Takes a block away that others were made of, as far as none of them has its place.
  private func remove(_ block: FoundBlock) throws {
    let replacing = made.first { $0.lastRow == block.lastRow }
    if replacing == nil { try trees.blocks.remove(block.key) }
    if block.arePositionsApart, replacing?.arePositionsApart != true { try trees.positions.remove(block.key) }
  }

  // MARK: Heads

  /// Brings the head of a term in line with its blocks.
  private func settleHead(of term: [UInt8], _ changes: TermChanges, _ tally: Tally) throws {
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

  private func hasSeveralBlocks(_ term: [UInt8]) throws -> Bool {
    let cursor = try trees.blocks.cursor()
    guard try cursor.seek(TermKeys.block(term, RowID(.min + 1))) else { return false }
    return try finder.block(at: cursor, of: term).map { !$0.isLast } ?? false
  }
}
