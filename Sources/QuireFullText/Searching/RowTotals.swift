// How often rows have any of some terms.

internal import QuireDatabase

/// How often each row has any of some terms, in all fields together: a sum for each number of a row between the first
/// and the last one.
@safe final class RowTotals {
  private let trees: FullTextTrees
  private let decoded: DecodedBlock
  // Unchecked: for one thread, and no closure changes what a call around it reads.
  @exclusivity(unchecked) private var sums: UnsafeMutablePointer<UInt32>
  /// So many sums there are, from the row on whose number, as keys order it, is `base`.
  @exclusivity(unchecked) private var capacity = 0
  @exclusivity(unchecked) private var base: UInt64 = 0
  /// What is void in the blocks of the terms that are walked through.
  private var voids = VoidRows()
  /// Rows whose numbers are farther apart have no sums.
  private static let spanLimit: UInt64 = 1 << 21

  init(_ index: TermIndex) {
    trees = index.trees
    decoded = DecodedBlock(index.form)
    unsafe sums = .allocate(capacity: 0)
  }

  deinit { unsafe sums.deallocate() }

  // MARK: Adding

  /// Adds how often rows have a term, or any of those that begin with it.
  ///
  /// - Returns: false if the rows are too far apart: then nothing that is here is of use.
  func add(_ term: SearchTerm) throws -> Bool {
    let range = TermKeys.range(ofTerm: term.bytes)
    let (lower, upper) = term.isPrefix ? TermKeys.range(ofPrefix: term.bytes) : (range.lower, range.upper)
    guard try addRecent(lower, upper) else { return false }
    var (pulse, isNear) = (SearchPulse(), true)
    try trees.blocks.forEach(from: lower, upTo: upper) { key, value in
      isNear = try addBlock(key, value)
      try pulse.beat(decoded.count)
      return isNear
    }
    return isNear
  }

  private func addBlock(_ key: RawSpan, _ value: RawSpan) throws -> Bool {
    guard key.byteCount > 9, unsafe key.unsafeLoad(fromByteOffset: key.byteCount - 9, as: UInt8.self) == 0 else {
      throw trees.damagedBlock(key, "the key is none")
    }
    let number = unsafe UInt64(
      bigEndian: key.unsafeLoadUnaligned(fromByteOffset: key.byteCount - 8, as: UInt64.self))
    // Heads tell nothing that is needed here.
    if number == 0 { return true }
    var isNear = true
    let isRead = try unsafe value.withUnsafeBytes { value in
      guard unsafe decoded.decodeRows(value, lastRow: RowID(ordered: number)) else { return false }
      isNear = reach(decoded.row(0).ordered, number)
      if !isNear { return true }
      guard unsafe decoded.addTotals(value, to: sums, from: base) else { return false }
      guard let removed = voids.rows(ofTerm: key, byteCount: key.byteCount - 9) else { return true }
      guard unsafe decoded.decodeFrequencies(value) else { return false }
      return try subtract(removed, key)
    }
    guard isRead else { throw trees.damagedBlock(key, "a block breaks the format") }
    return isNear
  }

  /// Takes out what is void of the block.
  private func subtract(_ removed: ArraySlice<RowID>, _ key: RawSpan) throws -> Bool {
    let rows = unsafe decoded.rowIDs
    var index = 0
    for row in removed {
      if row < decoded.row(0) { continue }
      if row > decoded.row(decoded.count - 1) { break }
      index = unsafe rows.firstIndex(atOrAbove: row, from: index)
      guard decoded.row(index) == row else { throw trees.damagedBlock(key, "\(row) is void, and is not there") }
      let place = unsafe Int(truncatingIfNeeded: row.ordered &- base)
      unsafe sums[place] &-= UInt32(truncatingIfNeeded: decoded.totalFrequency(index))
    }
    return true
  }

  /// Adds what was added of the terms beside their blocks, and finds out what is void in these.
  private func addRecent(_ lower: [UInt8], _ upper: [UInt8]?) throws -> Bool {
    voids.removeAll()
    let recent = trees.recent
    guard try recent.reading(from: lower, upTo: upper, { try recent.count > 0 }) else { return true }
    var isNear = true
    try recent.forEach(from: lower, upTo: upper) { key, value in
      guard let parsed = TermKeys.parseRecent(key) else { throw damagedChange(key) }
      guard parsed.isAdded else {
        guard value.byteCount == 0 else { throw damagedChange(key) }
        voids.append(parsed.row, ofTerm: key, byteCount: parsed.termByteCount)
        return true
      }
      guard let total = RecentCodec.total(value, trees.layout.form) else { throw damagedChange(key) }
      isNear = reach(parsed.row.ordered, parsed.row.ordered)
      if isNear { unsafe sums[Int(truncatingIfNeeded: parsed.row.ordered &- base)] &+= total }
      return isNear
    }
    return isNear
  }

  private func damagedChange(_ key: RawSpan) -> FullTextError {
    trees.damaged(FullTextTrees.recentName, key.bytes(upTo: key.byteCount), "an entry breaks the format")
  }

  /// Makes room for the sums of rows; false if they are too far away from the others.
  @inline(__always) private func reach(_ first: UInt64, _ last: UInt64) -> Bool {
    if unsafe first >= base && last &- base < UInt64(capacity) { return true }
    return grow(first, last)
  }

  @inline(never) private func grow(_ first: UInt64, _ last: UInt64) -> Bool {
    let (oldBase, oldCount) = unsafe (base, UInt64(capacity))
    let isEmpty = oldCount == 0
    let lower = isEmpty ? first : min(first, oldBase)
    let upper = isEmpty ? last : max(last, oldBase + (oldCount - 1))
    guard upper - lower < Self.spanLimit else { return false }
    // Twice as much as before, so that not every row has everything moved.
    let needed = upper - lower + 1
    let count = min(Self.spanLimit, max(needed, 2 * oldCount, 1024), UInt64.max - lower)
    guard count >= needed else { return false }
    let newBase = lower < oldBase && !isEmpty ? lower - min(lower, count - needed) : lower
    let grown = UnsafeMutablePointer<UInt32>.allocate(capacity: Int(count))
    unsafe grown.initialize(repeating: 0, count: Int(count))
    if !isEmpty { unsafe (grown + Int(oldBase - newBase)).update(from: sums, count: Int(oldCount)) }
    unsafe sums.deallocate()
    unsafe (sums, base, capacity) = unsafe (grown, newBase, Int(count))
    return true
  }

  // MARK: What was gathered

  /// How many rows have any of the terms.
  var rowCount: Int {
    var count = 0
    for index in 0..<(unsafe capacity) { count &+= unsafe sums[index] == 0 ? 0 : 1 }
    return count
  }

  /// How often a row has the terms; 0 if it has none.
  func total(of row: RowID) -> UInt32 {
    let place = unsafe row.ordered &- base
    return unsafe place < UInt64(capacity) ? sums[Int(place)] : 0
  }

  /// Calls `body` in order with the rows that have the terms at least as often as it said last, from 1 on.
  @inline(__always)
  func forEach(_ body: (RowID, UInt32) throws -> UInt32) rethrows {
    var least: UInt32 = 1
    let (sums, base) = unsafe (self.sums, self.base)
    for index in 0..<(unsafe capacity) {
      let sum = unsafe sums[index]
      if sum < least { continue }
      least = max(1, try body(RowID(ordered: base &+ UInt64(index)), sum))
    }
  }
}

/// Rows whose postings in blocks are void, of terms in order.
private struct VoidRows {
  private var rows: [RowID] = []
  /// The terms, and where the rows of each end.
  private var terms: [[UInt8]] = []
  private var ends: [Int] = []
  /// The first term that is not in front of the one that was asked for last.
  private var next = 0

  mutating func removeAll() {
    rows.removeAll()
    terms.removeAll()
    ends.removeAll()
    next = 0
  }

  /// Notes a row of a term, the beginning of a key, in the order of keys.
  mutating func append(_ row: RowID, ofTerm key: RawSpan, byteCount: Int) {
    if let last = terms.last, key.begins(with: last, count: byteCount) {
      ends[ends.count - 1] += 1
    } else {
      terms.append(key.bytes(upTo: byteCount))
      ends.append(rows.count + 1)
    }
    rows.append(row)
  }

  /// The rows of a term, the beginning of a key, in order; nil if there are none. Terms are asked for in order.
  @inline(__always)
  mutating func rows(ofTerm key: RawSpan, byteCount: Int) -> ArraySlice<RowID>? {
    next == terms.count ? nil : find(key, byteCount)
  }

  private mutating func find(_ key: RawSpan, _ byteCount: Int) -> ArraySlice<RowID>? {
    unsafe key.withUnsafeBytes { key in
      let term = unsafe key[..<byteCount]
      while next < terms.count, unsafe terms[next].lexicographicallyPrecedes(term) { next += 1 }
      guard next < terms.count, unsafe term.elementsEqual(terms[next]) else { return nil }
      return rows[(next == 0 ? 0 : ends[next - 1])..<ends[next]]
    }
  }
}

extension RecentCodec {
  /// How often a posting that was added has the term, in all fields together; nil if the bytes break the format.
  static func total(_ value: RawSpan, _ form: PostingForm) -> UInt32? {
    unsafe value.withUnsafeBytes { bytes in
      var reader = unsafe ByteReader(bytes)
      var mask: FieldMask = 1
      if form.fieldCount > 1 {
        guard let found = reader.varint(), found != 0, found & ~form.allFields == 0 else { return nil }
        mask = found
      }
      var sum = UInt32(mask.nonzeroBitCount)
      guard form.hasFrequencies else { return sum }
      for _ in 0..<mask.nonzeroBitCount {
        guard let above = reader.varint32() else { return nil }
        sum &+= above
      }
      return sum
    }
  }
}
