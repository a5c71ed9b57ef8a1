// Phrases in blocks as they are stored.

internal import QuireDatabase

/// Finds a phrase in rows that have all of its terms, where the blocks at hand are as they are stored.
///
/// Positions are read field by field, and of a field those of rows alone that may have the phrase there and are not yet
/// known to have it.
///
/// Rows are told by columns, one for each term of the phrase: where each row is in the block of the term. Masks say in
/// which fields a row has all terms; the frequencies of all blocks were read.
final class PlainPhraseReader {
  /// One for each term.
  private let scans: [TermScan]
  private let shape: PhraseShape
  /// What the blocks of the terms have.
  private let views = RawBuffer<PositionView>()
  /// The rows whose positions in the field at hand are of interest, and where these are in the block of a term.
  private let wanted = RawBuffer<Int32>()
  private let wantedPlaces = RawBuffer<Int32>()
  /// Where the row at hand is in the block of each term.
  private let indexes = RawBuffer<Int>()
  /// Where the phrase begins in a field of the row at hand.
  private let starts = RawBuffer<UInt32>()
  private var pulse = SearchPulse()

  /// All positions of a block are read where those of more than one row in so many are of interest.
  private static let fewShare = 7

  init(_ scans: [TermScan], _ shape: PhraseShape) {
    (self.scans, self.shape) = (scans, shape)
    for _ in scans { indexes.append(0) }
  }

  // MARK: Reading positions

  /// Reads the positions of rows in the fields of their masks.
  func readPositions(_ columns: [RawBuffer<Int32>], _ masks: RawBuffer<FieldMask>) throws {
    var rest = union(masks)
    while rest != 0 {
      try readPositions(rest.trailingZeroBitCount, columns, masks)
      rest &= rest &- 1
    }
  }

  private func union(_ masks: RawBuffer<FieldMask>) -> FieldMask {
    let (base, count) = unsafe (masks.base, masks.count)
    var union: FieldMask = 0
    for index in 0..<count { unsafe union |= base[index] }
    return union
  }

  /// Reads the positions in one field of the rows that have it in their masks: these are `wanted` then.
  private func readPositions(_ field: Int, _ columns: [RawBuffer<Int32>], _ masks: RawBuffer<FieldMask>) throws {
    let (count, mask) = unsafe (masks.count, masks.base)
    wanted.removeAll(reserving: count)
    let target = unsafe wanted.base
    var wantedCount = 0
    for index in 0..<count {
      unsafe target[wantedCount] = Int32(truncatingIfNeeded: index)
      wantedCount &+= unsafe Int(truncatingIfNeeded: mask[index] &>> FieldMask(truncatingIfNeeded: field) & 1)
    }
    wanted.setCount(wantedCount)
    views.removeAll()
    for (term, scan) in scans.enumerated() {
      if wantedCount * Self.fewShare > scan.block.count {
        try scan.block.readPositions(1 << FieldMask(truncatingIfNeeded: field))
      } else if wantedCount > 0 {
        wantedPlaces.removeAll(reserving: wantedCount)
        let (places, column) = unsafe (wantedPlaces.base, columns[term].base)
        for index in 0..<wantedCount { unsafe places[index] = column[Int(target[index])] }
        wantedPlaces.setCount(wantedCount)
        try unsafe scan.block.readPositions(ofRows: UnsafeBufferPointer(wantedPlaces.values), field: field)
      }
      views.append(scan.block.view)
    }
  }

  // MARK: Finding

  /// Leaves in the masks of rows nothing where they do not have the phrase, and one field of it where they do.
  func keep(_ columns: [RawBuffer<Int32>], _ masks: RawBuffer<FieldMask>) throws {
    var rest = union(masks)
    while rest != 0 {
      let field = rest.trailingZeroBitCount
      rest &= rest &- 1
      try readPositions(field, columns, masks)
      if shape.terms.count == 2 && !shape.isAtStart {
        try keepPairs(field, columns, masks)
      } else {
        for index in 0..<wanted.count {
          let row = unsafe Int(wanted.base[index])
          for term in 0..<columns.count { unsafe indexes.base[term] = Int(columns[term].base[row]) }
          let isFound = try unsafe starts(indexes.base, field, isOne: true).count > 0
          unsafe masks.base[row] = Self.mask(masks.base[row], field, isFound)
        }
      }
    }
  }

  /// The same of a phrase of two elements, in one field, of the rows that are `wanted`.
  private func keepPairs(_ field: Int, _ columns: [RawBuffer<Int32>], _ masks: RawBuffer<FieldMask>) throws {
    let (firstTerm, secondTerm, offset) = (shape.terms[0], shape.terms[1], shape.offsets[1])
    let (first, second) = unsafe (views.base[firstTerm], views.base[secondTerm])
    let (firstColumn, secondColumn) = unsafe (columns[firstTerm].base, columns[secondTerm].base)
    let (base, target, count) = unsafe (wanted.base, masks.base, wanted.count)
    for index in 0..<count {
      let row = unsafe Int(base[index])
      let positions = unsafe first.positions(ofRow: Int(firstColumn[row]), field: field)
      let others = unsafe second.positions(ofRow: Int(secondColumn[row]), field: field)
      guard let isFound = positions.isFollowed(by: others, at: offset) else { throw damaged }
      unsafe target[row] = Self.mask(target[row], field, isFound)
    }
  }

  /// The mask of a row that was looked at in a field, the lowest one of the mask.
  @inline(__always)
  private static func mask(_ mask: FieldMask, _ field: Int, _ isFound: Bool) -> FieldMask {
    let bit: FieldMask = 1 << FieldMask(truncatingIfNeeded: field)
    return isFound ? bit : mask & ~bit
  }

  /// Where the phrase begins in a field of a row, whose positions there were read; good until the next call.
  ///
  /// - Parameters:
  ///   - indexes: where the row is in the block of each term.
  ///   - isOne: whether one is enough.
  func starts(_ indexes: UnsafePointer<Int>, _ field: Int, isOne: Bool) throws -> RawBuffer<UInt32> {
    let (views, shape, starts) = unsafe (self.views.base, self.shape, self.starts)
    starts.removeAll()
    if let matcher = shape.matcher, try unsafe findStarts(matcher, indexes, field, isOne: isOne) { return starts }
    let first = shape.terms[0]
    var isRead = unsafe views[first].positions(ofRow: indexes[first], field: field).forEach { position in
      if shape.isAtStart && position > 0 { return false }
      starts.append(position)
      return true
    }
    for element in 1..<max(1, shape.terms.count) where starts.count > 0 {
      let (term, isLast) = (shape.terms[element], isOne && element + 1 == shape.terms.count)
      let positions = unsafe views[term].positions(ofRow: indexes[term], field: field)
      try pulse.beat(positions.count)
      starts.keepStarts(followedAt: shape.offsets[element], isOne: isLast) { isRead = positions.forEach($0) && isRead }
    }
    guard isRead else { throw damaged }
    return starts
  }

  /// The same of a phrase whose terms repeat, all of whose tokens are looked at once; false if that does not tell.
  private func findStarts(
    _ matcher: SequenceMatcher, _ indexes: UnsafePointer<Int>, _ field: Int, isOne: Bool
  ) throws -> Bool {
    matcher.removeAll()
    for term in 0..<scans.count {
      let isRead = unsafe views.base[term].positions(ofRow: indexes[term], field: field).forEach { position in
        matcher.add(position, term)
        return true
      }
      guard isRead else { throw damaged }
    }
    try pulse.beat(matcher.count)
    return matcher.findStarts(starts, isAtStart: shape.isAtStart, isOne: isOne)
  }

  private var damaged: FullTextError { scans[0].postings.damagedBlock(scans[0].block.lastRow) }
}
