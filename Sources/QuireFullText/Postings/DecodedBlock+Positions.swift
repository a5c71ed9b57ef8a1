// Reading the positions of a block's postings, of all rows or of one.

internal import QuireDatabase

/// Where the positions of a large block lie.
struct PositionPlaces {
  /// For each frequency of the block, the index of its first position among those of its field.
  fileprivate(set) var starts: [Int] = []
  /// Where the positions of the fields that occur lie, the lowest field first.
  fileprivate(set) var layouts: [PackedLayout] = []
  /// The fields that occur.
  fileprivate(set) var fields: FieldMask = 0
  fileprivate(set) var isKnown = false
  /// What positions are made of, those of all rows, as soon as all were asked for; in a large block field by field.
  fileprivate(set) var gaps: [UInt64] = []
  /// Where the gaps of each field begin, by its number, in a large block.
  fileprivate(set) var bases: [Int] = []
  fileprivate(set) var areAllKnown = false

  mutating func forget() { (isKnown, areAllKnown) = (false, false) }
}

extension DecodedBlock {
  /// Appends the positions of one row, field by field, to `target`; what stands there already stays.
  ///
  /// - Parameters:
  ///   - block: the block, whose frequencies were read.
  ///   - apart: what "positions" has under the block's key; nil if there is nothing.
  mutating func appendPositions(
    ofRow index: Int, _ block: RawSpan, apart: RawSpan?, to target: inout [UInt32]
  ) -> Bool {
    assert(index >= 0 && index < count, "positions are read of a row that the block does not have")
    guard form.hasPositions, hasFrequencies else { return false }
    if arePositionsApart {
      guard let apart else { return false }
      return unsafe apart.withUnsafeBytes { unsafe appendPositions(index, $0, 0, &target) }
    }
    guard positionsOffset <= block.byteCount else { return false }
    return unsafe block.withUnsafeBytes { unsafe appendPositions(index, $0, positionsOffset, &target) }
  }

  /// The same of bytes that have the positions of all rows from `offset` on.
  private mutating func appendPositions(
    _ index: Int, _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ target: inout [UInt32]
  ) -> Bool {
    guard isLarge else { return unsafe appendSmall(index, ByteReader(bytes, at: offset), &target) }
    guard unsafe findPlaces(bytes, offset) else { return false }
    var mask = masks[index]
    for place in frequencyRange(index) {
      let field = mask & ~(mask - 1)
      mask &= mask - 1
      let layout = places.layouts[(places.fields & (field - 1)).nonzeroBitCount]
      let start = places.starts[place]
      guard unsafe Self.append(start..<start + Int(frequencies[place]), layout, bytes, &target) else { return false }
    }
    return true
  }

  /// Appends all postings of the block to a list, whose rows are below those of the block.
  ///
  /// - Parameters:
  ///   - block: the block, whose rows were read.
  ///   - apart: what "positions" has under the block's key; nil if there is nothing.
  /// - Returns: false if the bytes break the format; the list is as it was then.
  mutating func appendAll(_ block: RawSpan, apart: RawSpan?, to list: inout PostingList) -> Bool {
    guard decodeFrequencies(block), let first = rowIDs.first else { return false }
    if let last = list.rowIDs.last, last >= first { return false }
    if form.hasPositions {
      guard decodePositions(block, apart: apart) else { return false }
      let (positionCount, endCount) = (list.positions.count, list.positionEnds.count)
      for index in 0..<count {
        var mask = masks[index]
        while mask != 0 {
          guard appendPositions(ofRow: index, field: mask.trailingZeroBitCount, to: &list.positions) else {
            list.positions.removeSubrange(positionCount...)
            list.positionEnds.removeSubrange(endCount...)
            return false
          }
          mask &= mask - 1
        }
        list.positionEnds.append(list.positions.count)
      }
    }
    let base = list.frequencies.count
    list.rowIDs += rowIDs[..<count]
    list.masks += masks[..<count]
    list.frequencies += frequencies
    for index in 0..<count { list.frequencyEnds.append(base + frequencyEnds[index]) }
    return true
  }

  /// Reads what the positions of all rows are made of, for `appendPositions(ofRow:field:to:)`.
  ///
  /// - Parameters:
  ///   - block: the block, whose frequencies were read.
  ///   - apart: what "positions" has under the block's key; nil if there is nothing.
  mutating func decodePositions(_ block: RawSpan, apart: RawSpan?) -> Bool {
    if places.areAllKnown { return true }
    guard form.hasPositions, hasFrequencies else { return false }
    if arePositionsApart {
      guard let apart else { return false }
      return unsafe apart.withUnsafeBytes { unsafe decodePositions($0, 0) }
    }
    guard positionsOffset <= block.byteCount else { return false }
    return unsafe block.withUnsafeBytes { unsafe decodePositions($0, positionsOffset) }
  }

  private mutating func decodePositions(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    places.gaps.removeAll(keepingCapacity: true)
    places.areAllKnown = isLarge ? unsafe decodeLargeGaps(bytes, offset) : unsafe decodeSmallGaps(bytes, offset)
    return places.areAllKnown
  }

  private mutating func decodeSmallGaps(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    var reader = unsafe ByteReader(bytes, at: offset)
    places.starts.removeAll(keepingCapacity: true)
    places.isKnown = false
    for frequency in frequencies {
      places.starts.append(places.gaps.count)
      for _ in 0..<frequency {
        guard let gap = reader.varint() else { return false }
        places.gaps.append(gap)
      }
    }
    return true
  }

  private mutating func decodeLargeGaps(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    guard unsafe findPlaces(bytes, offset) else { return false }
    if places.bases.isEmpty { places.bases = Array(repeating: 0, count: FieldMask.bitWidth) }
    var (total, rest) = (0, places.fields)
    for layout in places.layouts {
      places.bases[rest.trailingZeroBitCount] = total
      rest &= rest - 1
      total += layout.count
    }
    // The layouts have checked that the bytes have so many numbers.
    return unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: max(1, total)) { gaps in
      guard let base = gaps.baseAddress else { return false }
      var start = 0
      for layout in places.layouts {
        guard unsafe layout.read(0..<layout.count, of: bytes, into: base + start) else { return false }
        start += layout.count
      }
      unsafe places.gaps.append(contentsOf: gaps[..<total])
      return true
    }
  }

  /// Appends the positions of one row in one field, in which it has the term, to `target`; those of all rows were read.
  /// False if they break the format.
  @inline(__always)
  func appendPositions(ofRow index: Int, field: Int, to target: inout [UInt32]) -> Bool {
    assert(places.areAllKnown && masks[index] & 1 << FieldMask(field) != 0, "a row has nothing in a field")
    let below = masks[index] & ((1 << FieldMask(field)) - 1)
    let place = frequencyRange(index).lowerBound + (below == 0 ? 0 : below.nonzeroBitCount)
    let start = places.starts[place] + (isLarge ? places.bases[field] : 0)
    var position: UInt64 = 0
    for gap in start..<start + Int(frequencies[place]) {
      let (sum, overflow) = position.addingReportingOverflow(places.gaps[gap])
      guard !overflow, sum < UInt64(UInt32.max) else { return false }
      target.append(UInt32(truncatingIfNeeded: sum))
      position = sum + 1
    }
    return true
  }

  private func appendSmall(_ index: Int, _ reader: ByteReader, _ target: inout [UInt32]) -> Bool {
    var reader = reader
    let range = frequencyRange(index)
    for place in 0..<range.lowerBound {
      for _ in 0..<frequencies[place] {
        guard reader.varint() != nil else { return false }
      }
    }
    for place in range {
      guard reader.appendPositions(count: Int(frequencies[place]), to: &target) else { return false }
    }
    return true
  }

  /// Finds where the positions of each field and row lie.
  private mutating func findPlaces(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    if places.isKnown { return true }
    places.starts.removeAll(keepingCapacity: true)
    places.layouts.removeAll(keepingCapacity: true)
    var fields: FieldMask = 0
    for index in 0..<count { fields |= masks[index] }
    places.fields = fields
    var reader = unsafe ByteReader(bytes, at: offset)
    let isFound = unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: FieldMask.bitWidth) { sums in
      // How many positions each of the fields has so far.
      unsafe sums.initialize(repeating: 0)
      for index in 0..<count {
        var mask = masks[index]
        for place in frequencyRange(index) {
          let field = mask.trailingZeroBitCount
          mask &= mask &- 1
          places.starts.append(unsafe sums[field])
          unsafe sums[field] &+= Int(frequencies[place])
        }
      }
      while fields != 0 {
        guard let layout = unsafe PackedLayout(&reader, count: sums[fields.trailingZeroBitCount]) else { return false }
        places.layouts.append(layout)
        fields &= fields - 1
      }
      return true
    }
    guard isFound else { return false }
    places.isKnown = true
    return true
  }

  private static func append(
    _ range: Range<Int>, _ layout: PackedLayout, _ bytes: UnsafeRawBufferPointer, _ target: inout [UInt32]
  ) -> Bool {
    // The layout has checked that the bytes have so many numbers.
    unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: range.count) { numbers in
      guard let base = numbers.baseAddress, unsafe layout.read(range, of: bytes, into: base) else {
        return false
      }
      var next: UInt64 = 0
      for index in 0..<range.count {
        let (position, overflow) = unsafe next.addingReportingOverflow(base[index])
        guard !overflow, position < UInt64(UInt32.max) else { return false }
        target.append(UInt32(truncatingIfNeeded: position))
        next = position + 1
      }
      return true
    }
  }
}

extension ByteReader {
  /// Appends the positions of one field of one row, which stand here as varints.
  mutating func appendPositions(count: Int, to target: inout [UInt32]) -> Bool {
    guard count <= remainingCount else { return false }
    var next: UInt64 = 0
    for _ in 0..<count {
      guard let gap = varint32() else { return false }
      let position = next + UInt64(gap)
      guard position < UInt64(UInt32.max) else { return false }
      target.append(UInt32(truncatingIfNeeded: position))
      next = position + 1
    }
    return true
  }
}
