// Some postings of a term that follow each other, as searches read them.

internal import QuireDatabase

/// Some postings of a term that follow each other: those of a stored block, without those that are void, and with some
/// that were added; in memory that serves one block after the other.
///
/// Rows are read when a block is taken; masks, frequencies and positions when the first of them is asked for.
///
/// Invariants:
/// 1. `rows` ascend strictly.
/// 2. Where there are `origins` they have for each row the place of its posting: that in the stored block, or the
///    complement of that among the added ones. Without them all rows are those of the stored block.
@safe final class PostingBlock {
  private let index: TermIndex?
  private let decoded: DecodedBlock
  /// The stored block, copied, and its key behind it.
  private let bytes = RawBuffer<UInt8>()
  // Unchecked, here and below: for one thread, and no closure changes what a call around it reads.
  @exclusivity(unchecked) private var (byteCount, keyCount) = (0, 0)
  /// The positions that stand apart, copied.
  private let apart = RawBuffer<UInt8>()
  @exclusivity(unchecked) private var isApartRead = false
  @exclusivity(unchecked) private var uncheckedRows: UnsafeBufferPointer<RowID>
  @exclusivity(unchecked) private var hasOrigins = false
  private let changedRows = RawBuffer<RowID>()
  private let origins = RawBuffer<Int32>()
  @exclusivity(unchecked) private var added = PostingList()

  /// - Parameter index: what stored blocks are from; nil if there are none.
  init(_ form: PostingForm, _ index: TermIndex?) {
    self.index = index
    decoded = DecodedBlock(form)
    unsafe uncheckedRows = decoded.rowIDs
  }

  /// The rows, good until another block is taken.
  var rows: UnsafeBufferPointer<RowID> { @inline(__always) get { unsafe uncheckedRows } }
  var count: Int { @inline(__always) get { unsafe uncheckedRows.count } }
  /// The last row; nil before the first block.
  var lastRow: RowID? { @inline(__always) get { count == 0 ? nil : row(count - 1) } }

  @inline(__always) func row(_ index: Int) -> RowID {
    assert(index >= 0 && index < count, "a row is read that the block does not have")
    return unsafe uncheckedRows[index]
  }

  /// The index of the first row that is not below `row`, from `start` on.
  @inline(__always) func firstIndex(atOrAbove row: RowID, from start: Int) -> Int {
    unsafe uncheckedRows.firstIndex(atOrAbove: row, from: start)
  }

  // MARK: Taking a block

  /// Takes a stored block.
  func take(_ block: RawSpan, key: RawSpan, lastRow: RowID) throws {
    unsafe (byteCount, keyCount) = (block.byteCount, key.byteCount)
    bytes.reserve(block.byteCount + key.byteCount)
    unsafe block.withUnsafeBytes { source in
      if let start = source.baseAddress {
        unsafe UnsafeMutableRawPointer(bytes.base).copyMemory(from: start, byteCount: source.count)
      }
    }
    unsafe key.withUnsafeBytes { source in
      if let start = source.baseAddress {
        unsafe UnsafeMutableRawPointer(bytes.base + byteCount).copyMemory(from: start, byteCount: source.count)
      }
    }
    unsafe (isApartRead, hasOrigins) = (false, false)
    let isRead = unsafe decoded.decodeRows(stored, lastRow: lastRow)
    unsafe uncheckedRows = decoded.rowIDs
    guard isRead else { throw damaged("a block breaks the format") }
  }

  /// The bytes of the stored block.
  private var stored: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: bytes.base, count: byteCount) }

  /// Takes postings that were added.
  func take(_ list: PostingList, _ range: Range<Int>) {
    unsafe added = list
    beginChange(range.count)
    for index in range { append(list.rowIDs[index], ~index) }
    endChange()
  }

  /// Takes postings out of the block and puts added ones in. What is void and what is added ascend.
  func change(without removed: ArraySlice<RowID>, _ list: PostingList, _ range: Range<Int>) throws {
    unsafe assert(!hasOrigins, "a block is changed twice")
    unsafe added = list
    let stored = unsafe rows
    beginChange(stored.count + range.count)
    var (index, void, next) = (0, removed.startIndex, range.lowerBound)
    while void < removed.endIndex || next < range.upperBound {
      let voidRow = void < removed.endIndex ? removed[void] : nil
      let addedRow = next < range.upperBound ? list.rowIDs[next] : nil
      let row = min(voidRow ?? RowID(.max), addedRow ?? RowID(.max))
      let place = unsafe stored.firstIndex(atOrAbove: row, from: index)
      unsafe append(stored, index..<place)
      index = place
      let isStored = unsafe place < stored.count && stored[place] == row
      if voidRow == row {
        guard isStored else { throw damaged("\(row) is void, and is not there") }
        (index, void) = (index + 1, void + 1)
      }
      if addedRow == row {
        if isStored && voidRow != row { throw damaged("\(row) is there twice") }
        append(row, ~next)
        next += 1
      }
    }
    unsafe append(stored, index..<stored.count)
    endChange()
  }

  private func beginChange(_ count: Int) {
    changedRows.removeAll(reserving: count)
    origins.removeAll(reserving: count)
  }

  @inline(__always) private func append(_ row: RowID, _ origin: Int) {
    changedRows.append(row)
    origins.append(Int32(truncatingIfNeeded: origin))
  }

  /// Appends rows that stay as they are stored.
  private func append(_ stored: UnsafeBufferPointer<RowID>, _ range: Range<Int>) {
    guard let base = stored.baseAddress, !range.isEmpty else { return }
    let start = changedRows.count
    changedRows.reserve(start + range.count)
    origins.reserve(start + range.count)
    unsafe (changedRows.base + start).update(from: base + range.lowerBound, count: range.count)
    let target = unsafe origins.base + start
    for offset in 0..<range.count { unsafe target[offset] = Int32(truncatingIfNeeded: range.lowerBound &+ offset) }
    changedRows.setCount(start + range.count)
    origins.setCount(start + range.count)
  }

  private func endChange() {
    unsafe hasOrigins = true
    unsafe uncheckedRows = UnsafeBufferPointer(start: changedRows.base, count: changedRows.count)
  }

  // MARK: What a posting has

  /// Whether all rows are those of the stored block.
  var isPlain: Bool { unsafe !hasOrigins }

  /// Where the posting of a row is: in the stored block, or the complement of that among the added ones.
  @inline(__always) private func origin(_ index: Int) -> Int {
    unsafe hasOrigins ? Int(origins.base[index]) : index
  }

  /// Reads masks and frequencies of the stored block.
  func readFrequencies() throws {
    if decoded.hasFrequencies { return }
    if unsafe hasOrigins {
      var index = 0
      while index < count, origin(index) < 0 { index += 1 }
      if index == count { return }
    }
    guard unsafe decoded.decodeFrequencies(stored) else { throw damaged("the frequencies break the format") }
  }

  /// The fields of a row, whose frequencies were read.
  @inline(__always) func mask(_ index: Int) -> FieldMask {
    let origin = origin(index)
    return unsafe origin >= 0 ? decoded.mask(origin) : added.masks[~origin]
  }

  /// The sum of the frequencies of a row, which were read, each by the weight of its field. A field above the weights
  /// does not count, and one whose bit is not set does not.
  func frequency(_ index: Int, _ weights: [Double], _ fields: FieldMask) -> Double {
    let origin = origin(index)
    var mask = mask(index)
    let range = unsafe origin >= 0 ? decoded.frequencyRange(origin) : added.frequencyRange(~origin)
    var place = range.lowerBound
    var sum = 0.0
    while mask != 0 {
      let field = mask.trailingZeroBitCount
      if fields & mask & (~mask + 1) != 0 {
        sum += unsafe weights[field] * Double(origin >= 0 ? decoded.frequencies[place] : added.frequencies[place])
      }
      mask &= mask - 1
      place += 1
    }
    return sum
  }

  /// Writes the weighted frequencies of all rows to `target`, which has room for them.
  func writeFrequencies(_ weights: [Double], to target: UnsafeMutablePointer<Double>) throws {
    try readFrequencies()
    guard unsafe hasOrigins else { return unsafe decoded.writeFrequencies(weights, to: target) }
    for index in 0..<count { unsafe target[index] = frequency(index, weights, .max) }
  }

  /// Appends the places of a row in some fields, in order.
  func appendPlaces(_ index: Int, _ fields: FieldMask, to places: inout [FieldPlace]) throws {
    try readFrequencies()
    var mask = mask(index) & fields
    while mask != 0 {
      let field = mask.trailingZeroBitCount
      mask &= mask - 1
      try forEachPosition(index, field) {
        places.append(FieldPlaces.place(field: field, position: $0))
        return true
      }
    }
  }

  /// Calls `body` with the positions of a row in a field, in order, until it returns false. Frequencies were read, and
  /// the row has the term in the field.
  @inline(__always)
  func forEachPosition(_ index: Int, _ field: Int, _ body: (UInt32) -> Bool) throws {
    let origin = origin(index)
    guard origin >= 0 else {
      let range = addedRange(~origin, field)
      for place in range where unsafe !body(added.positions[place]) { return }
      return
    }
    if !decoded.hasPositions(field) { try readPositions(1 << FieldMask(field)) }
    guard decoded.positions(ofRow: origin, field: field).forEach(body) else { throw damaged("a position is too great") }
  }

  /// Addresses of what was read of the stored block.
  var view: PositionView { decoded.view }

  /// Reads the positions of some fields of the stored block, as far as rows of it have them.
  func readPositions(_ fields: FieldMask) throws {
    guard decoded.hasFrequencies else { return }
    let isRead: Bool
    if decoded.arePositionsApart {
      if unsafe !isApartRead { try readApart() }
      isRead = unsafe decoded.decodePositions(fields, UnsafeRawBufferPointer(apart.values), 0)
    } else {
      isRead = unsafe decoded.decodePositions(fields, stored, decoded.positionsOffset)
    }
    guard isRead else { throw damaged("the positions break the format") }
  }

  /// Reads the positions of some rows of a block as it is stored, in a field that each of them has: those of others are
  /// not to be asked for.
  func readPositions(ofRows rows: UnsafeBufferPointer<Int32>, field: Int) throws {
    unsafe assert(!hasOrigins && decoded.hasFrequencies, "frequencies were not read")
    let isRead: Bool
    if decoded.arePositionsApart {
      if unsafe !isApartRead { try readApart() }
      isRead = unsafe decoded.decodePositions(ofRows: rows, field: field, UnsafeRawBufferPointer(apart.values), 0)
    } else {
      isRead = unsafe decoded.decodePositions(ofRows: rows, field: field, stored, decoded.positionsOffset)
    }
    guard isRead else { throw damaged("the positions break the format") }
  }

  private func addedRange(_ index: Int, _ field: Int) -> Range<Int> {
    var (mask, start) = unsafe (added.masks[index], index == 0 ? 0 : added.positionEnds[index - 1])
    for place in unsafe added.frequencyRange(index) {
      let end = unsafe start + Int(added.frequencies[place])
      if mask.trailingZeroBitCount == field { return start..<end }
      (mask, start) = (mask & (mask - 1), end)
    }
    return start..<start
  }

  private func readApart() throws {
    // Without bytes there are no positions, and reading them fails.
    apart.removeAll()
    _ = try index?.trees.positions.withValue(for: key) { bytes in
      unsafe bytes.withUnsafeBytes { unsafe apart.append(contentsOf: $0.assumingMemoryBound(to: UInt8.self)) }
    }
    unsafe isApartRead = true
  }

  /// The key of the stored block.
  private var key: [UInt8] { unsafe [UInt8](UnsafeBufferPointer(start: bytes.base + byteCount, count: keyCount)) }

  private func damaged(_ detail: String) -> any Error {
    guard let index else { return TermPostings.damagedInMemory }
    return index.trees.damaged(FullTextTrees.blocksName, key, detail)
  }
}

extension DecodedBlock {
  /// Writes the weighted frequencies of all rows, which were read, to `target`, which has room for them.
  func writeFrequencies(_ weights: [Double], to target: UnsafeMutablePointer<Double>) {
    assert(hasFrequencies && weights.count >= form.fieldCount, "there are no frequencies, or fields without a weight")
    let (end, masks, frequencies) = unsafe (count, masks, frequencies)
    unsafe weights.withUnsafeBufferPointer { weights in
      var place = 0
      for index in 0..<end {
        var (mask, sum) = unsafe (masks[index], 0.0)
        while mask != 0 {
          unsafe sum += weights[mask.trailingZeroBitCount] * Double(frequencies[place])
          mask &= mask &- 1
          place &+= 1
        }
        unsafe target[index] = sum
      }
    }
  }
}

extension UnsafeBufferPointer<RowID> {
  /// The index of the first row at or above `row`, from `start` on: by steps that double, so that a near one is found
  /// soon.
  @inline(__always)
  func firstIndex(atOrAbove row: RowID, from start: Int) -> Int {
    var (low, step) = (start, 1)
    if unsafe low < count && self[low] >= row { return low }
    while unsafe low &+ step < count && self[low &+ step] < row {
      low &+= step
      step &*= 2
    }
    var high = Swift.min(count, low &+ step)
    while low < high {
      let middle = (low &+ high) >> 1
      if unsafe self[middle] < row { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// The index behind the last row at or below `row`, from `start` on.
  func lastIndex(atOrBelow row: RowID, from start: Int) -> Int {
    guard let next = row.next else { return count }
    return unsafe firstIndex(atOrAbove: next, from: start)
  }
}
