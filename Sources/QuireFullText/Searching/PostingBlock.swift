// Some postings of a term that follow each other, as searches read them.

internal import QuireDatabase

/// Some postings of a term that follow each other: those of a stored block, without those that are void, and with some
/// that were added; in memory that serves one block after the other.
///
/// Rows are read when a block is taken; masks, frequencies and positions when the first of them is asked for.
///
/// Invariants:
/// 1. `rows` ascend strictly.
/// 2. Unless it is empty, `origins` has for each row the place of its posting: that in the stored block, or the
///    complement of that among the added ones. If it is empty all rows are those of the stored block.
struct PostingBlock {
  private(set) var rows: [RowID] = []
  private var origins: [Int32] = []
  private let index: TermIndex?
  private var decoded: DecodedBlock
  /// The stored block, copied, and its key.
  private var bytes: [UInt8] = []
  private var key: [UInt8] = []
  private var (apart, isApartRead): ([UInt8]?, Bool) = (nil, false)
  private var added = PostingList()
  /// The positions of one row in one field.
  private var numbers: [UInt32] = []

  /// - Parameter index: what stored blocks are from; nil if there are none.
  init(_ form: PostingForm, _ index: TermIndex?) {
    self.index = index
    decoded = DecodedBlock(form)
  }

  // MARK: Taking a block

  /// Takes a stored block.
  mutating func take(_ block: RawSpan, key: RawSpan, lastRow: RowID) throws {
    bytes.removeAll(keepingCapacity: true)
    unsafe block.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    self.key.removeAll(keepingCapacity: true)
    unsafe key.withUnsafeBytes { unsafe self.key.append(contentsOf: $0) }
    isApartRead = false
    guard decoded.decodeRows(block, lastRow: lastRow) else { throw damaged("a block breaks the format") }
    rows.removeAll(keepingCapacity: true)
    rows.append(contentsOf: decoded.rowIDs[..<decoded.count])
    origins.removeAll(keepingCapacity: true)
  }

  /// Takes postings that were added.
  mutating func take(_ list: PostingList, _ range: Range<Int>) {
    added = list
    rows.removeAll(keepingCapacity: true)
    rows.append(contentsOf: list.rowIDs[range])
    origins.removeAll(keepingCapacity: true)
    for index in range { origins.append(~Int32(index)) }
  }

  /// Takes postings out of the block and puts added ones in. What is void and what is added ascend.
  mutating func change(without removed: ArraySlice<RowID>, _ list: PostingList, _ range: Range<Int>) throws {
    added = list
    let (stored, storedOrigins) = (rows, origins)
    assert(storedOrigins.isEmpty, "a block is changed twice")
    rows.removeAll(keepingCapacity: true)
    var (void, next) = (removed.startIndex, range.lowerBound)
    for (index, row) in stored.enumerated() {
      while next < range.upperBound, list.rowIDs[next] < row {
        append(list.rowIDs[next], ~next)
        next += 1
      }
      if void < removed.endIndex, removed[void] == row {
        void += 1
        continue
      }
      guard next == range.upperBound || list.rowIDs[next] != row else { throw damaged("\(row) is there twice") }
      append(row, index)
    }
    while next < range.upperBound {
      append(list.rowIDs[next], ~next)
      next += 1
    }
    guard void == removed.endIndex else { throw damaged("\(removed[void]) is void, and is not there") }
  }

  private mutating func append(_ row: RowID, _ origin: Int) {
    rows.append(row)
    origins.append(Int32(truncatingIfNeeded: origin))
  }

  // MARK: What a posting has

  /// Reads masks and frequencies of the stored block.
  mutating func readFrequencies() throws {
    guard !decoded.hasFrequencies, origins.isEmpty || origins.contains(where: { $0 >= 0 }) else { return }
    guard Self.readFrequencies(&decoded, bytes) else { throw damaged("the frequencies break the format") }
  }

  private static func readFrequencies(_ decoded: inout DecodedBlock, _ bytes: [UInt8]) -> Bool {
    unsafe decoded.decodeFrequencies(bytes.span.bytes)
  }

  /// The fields of a row, whose frequencies were read.
  func mask(_ index: Int) -> FieldMask {
    let origin = origins.isEmpty ? Int32(index) : origins[index]
    return origin >= 0 ? decoded.masks[Int(origin)] : added.masks[Int(~origin)]
  }

  /// The sum of the frequencies of a row, which were read, each by the weight of its field. A field above the weights
  /// does not count, and one whose bit is not set does not.
  func frequency(_ index: Int, _ weights: [Double], _ fields: FieldMask) -> Double {
    let origin = Int(origins.isEmpty ? Int32(index) : origins[index])
    var mask = origin >= 0 ? decoded.masks[origin] : added.masks[~origin]
    var place = origin >= 0 ? decoded.frequencyRange(origin).lowerBound : added.frequencyRange(~origin).lowerBound
    var sum = 0.0
    while mask != 0 {
      let field = mask.trailingZeroBitCount
      if fields & mask & (~mask + 1) != 0 {
        sum += weights[field] * Double(origin >= 0 ? decoded.frequencies[place] : added.frequencies[place])
      }
      mask &= mask - 1
      place += 1
    }
    return sum
  }

  /// Appends the weighted frequencies of all rows.
  mutating func appendFrequencies(_ weights: [Double], to frequencies: inout [Double]) throws {
    try readFrequencies()
    guard origins.isEmpty else {
      for index in rows.indices { frequencies.append(frequency(index, weights, .max)) }
      return
    }
    decoded.appendFrequencies(weights, to: &frequencies)
  }

  /// Appends the places of a row in some fields, in order.
  mutating func appendPlaces(_ index: Int, _ fields: FieldMask, to places: inout [FieldPlace]) throws {
    try readFrequencies()
    var mask = mask(index) & fields
    while mask != 0 {
      let field = mask.trailingZeroBitCount
      mask &= mask - 1
      numbers.removeAll(keepingCapacity: true)
      try readPositions(index, field)
      for position in numbers { places.append(FieldPlaces.place(field: field, position: position)) }
    }
  }

  /// Puts the positions of a row in a field, in which it has the term, in the place of those of `target`; frequencies
  /// were read.
  mutating func copyPositions(_ index: Int, _ field: Int, to target: inout [UInt32]) throws {
    numbers.removeAll(keepingCapacity: true)
    try readPositions(index, field)
    swap(&numbers, &target)
  }

  /// Keeps those of some positions, which ascend, that are followed by a position of a row `offset` behind. Frequencies
  /// were read, and the row has the term in the field.
  mutating func keep(_ starts: inout [UInt32], followedAt offset: UInt32, _ index: Int, _ field: Int) throws {
    numbers.removeAll(keepingCapacity: true)
    try readPositions(index, field)
    var (kept, other) = (0, 0)
    for index in starts.indices {
      let (wanted, isTooMuch) = starts[index].addingReportingOverflow(offset)
      while other < numbers.count, numbers[other] < wanted { other += 1 }
      if isTooMuch || other == numbers.count { break }
      if numbers[other] == wanted {
        starts[kept] = starts[index]
        kept += 1
      }
    }
    if kept < starts.count { starts.removeLast(starts.count - kept) }
  }

  /// Appends the positions of a row in a field to `numbers`.
  private mutating func readPositions(_ index: Int, _ field: Int) throws {
    let origin = Int(origins.isEmpty ? Int32(index) : origins[index])
    guard origin >= 0 else {
      numbers += added.positions[addedRange(~origin, field)]
      return
    }
    if !decoded.places.areAllKnown {
      if decoded.arePositionsApart, !isApartRead { try readApart() }
      guard Self.readPositions(&decoded, bytes, apart) else { throw damaged("the positions break the format") }
    }
    guard decoded.appendPositions(ofRow: origin, field: field, to: &numbers) else {
      throw damaged("a position is too great")
    }
  }

  private static func readPositions(_ decoded: inout DecodedBlock, _ bytes: [UInt8], _ apart: [UInt8]?) -> Bool {
    if let apart { return unsafe decoded.decodePositions(bytes.span.bytes, apart: apart.span.bytes) }
    return unsafe decoded.decodePositions(bytes.span.bytes, apart: nil)
  }

  private func addedRange(_ index: Int, _ field: Int) -> Range<Int> {
    var (mask, start) = (added.masks[index], index == 0 ? 0 : added.positionEnds[index - 1])
    for place in added.frequencyRange(index) {
      let end = start + Int(added.frequencies[place])
      if mask.trailingZeroBitCount == field { return start..<end }
      (mask, start) = (mask & (mask - 1), end)
    }
    return start..<start
  }

  private mutating func readApart() throws {
    apart = try index?.trees.positions.withValue(for: key) { bytes in
      unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
    }
    isApartRead = true
  }

  private func damaged(_ detail: String) -> any Error {
    guard let index else { return TermPostings.damagedInMemory }
    return index.trees.damaged(FullTextTrees.blocksName, key, detail)
  }
}

extension DecodedBlock {
  /// Appends the weighted frequencies of all rows, which were read.
  func appendFrequencies(_ weights: [Double], to target: inout [Double]) {
    assert(hasFrequencies && weights.count >= form.fieldCount, "there are no frequencies, or fields without a weight")
    let end = count
    let sums = unsafe [Double](unsafeUninitializedCapacity: end) { sums, written in
      unsafe masks.withUnsafeBufferPointer { masks in
        unsafe frequencies.withUnsafeBufferPointer { frequencies in
          unsafe weights.withUnsafeBufferPointer { weights in
            var place = 0
            for index in 0..<end {
              var (mask, sum) = unsafe (masks[index], 0.0)
              while mask != 0 {
                unsafe sum += weights[mask.trailingZeroBitCount] * Double(frequencies[place])
                mask &= mask &- 1
                place &+= 1
              }
              unsafe sums[index] = sum
            }
          }
        }
      }
      written = end
    }
    if target.isEmpty { target = sums } else { target += sums }
  }
}
