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
  /// The positions of all rows, as soon as all were asked for; and for each frequency of the block, where those of its
  /// field begin.
  fileprivate(set) var all: [UInt32] = []
  fileprivate(set) var allStarts: [Int] = []
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
      let (positionCount, endCount) = (list.positions.count, list.positionEnds.count)
      for index in 0..<count {
        guard appendPositions(ofRow: index, block, apart: apart, to: &list.positions) else {
          list.positions.removeSubrange(positionCount...)
          list.positionEnds.removeSubrange(endCount...)
          return false
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

  /// Reads the positions of all rows, which `places` has then: for who needs those of several rows.
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
    places.all.removeAll(keepingCapacity: true)
    places.allStarts.removeAll(keepingCapacity: true)
    guard isLarge else {
      var reader = unsafe ByteReader(bytes, at: offset)
      for frequency in frequencies {
        places.allStarts.append(places.all.count)
        guard reader.appendPositions(count: Int(frequency), to: &places.all) else { return false }
      }
      places.areAllKnown = true
      return true
    }
    return unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: FieldMask.bitWidth) { ends in
      unsafe ends.initialize(repeating: 0)
      let fields = unsafe countPositions(ends)
      var reader = unsafe ByteReader(bytes, at: offset)
      places.layouts.removeAll(keepingCapacity: true)
      var (rest, total) = (fields, 0)
      while rest != 0 {
        let field = rest.trailingZeroBitCount
        rest &= rest - 1
        guard let layout = unsafe PackedLayout(&reader, count: ends[field]) else { return false }
        places.layouts.append(layout)
        unsafe ends[field] = total
        total += layout.count
      }
      // The layouts have checked that the bytes have so many numbers.
      let isRead = unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: max(1, total)) { gaps in
        guard let base = gaps.baseAddress else { return false }
        var start = 0
        for layout in places.layouts {
          guard unsafe layout.read(0..<layout.count, of: bytes, into: base + start) else { return false }
          start += layout.count
        }
        return unsafe addUp(UnsafeBufferPointer(rebasing: gaps[..<total]), ends)
      }
      places.areAllKnown = isRead
      return isRead
    }
  }

  /// Counts the positions of each field, and returns the fields that occur.
  private func countPositions(_ counts: UnsafeMutableBufferPointer<Int>) -> FieldMask {
    let end = count
    return unsafe masks.withUnsafeBufferPointer { masks in
      unsafe frequencies.withUnsafeBufferPointer { frequencies in
        var (fields, place): (FieldMask, Int) = (0, 0)
        for index in 0..<end {
          var mask = unsafe masks[index]
          fields |= mask
          while mask != 0 {
            unsafe counts[mask.trailingZeroBitCount] &+= Int(frequencies[place])
            mask &= mask &- 1
            place &+= 1
          }
        }
        return fields
      }
    }
  }

  /// Makes positions of gaps. `next` has for each field where its gaps begin.
  private mutating func addUp(
    _ gaps: UnsafeBufferPointer<UInt64>, _ next: UnsafeMutableBufferPointer<Int>
  ) -> Bool {
    let end = count
    places.isKnown = false
    return unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: max(1, gaps.count)) { target in
      unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: max(1, frequencies.count)) { starts in
        var (place, all, greatest): (Int, UInt64, UInt64) = (0, 0, 0)
        for index in 0..<end {
          var mask = masks[index]
          while mask != 0 {
            let field = mask.trailingZeroBitCount
            mask &= mask &- 1
            let start = unsafe next[field]
            var position: UInt64 = 0
            let frequency = Int(frequencies[place])
            for offset in start..<start &+ frequency {
              // Sums of gaps of 32 bits do not overflow; greater ones are found in the end.
              let gap = unsafe gaps[offset]
              position &+= gap
              all |= gap
              greatest = max(greatest, position)
              unsafe target[offset] = UInt32(truncatingIfNeeded: position)
              position &+= 1
            }
            unsafe next[field] = start &+ frequency
            unsafe starts[place] = start
            place &+= 1
          }
        }
        guard all <= UInt64(UInt32.max), greatest < UInt64(UInt32.max) else { return false }
        unsafe places.all.append(contentsOf: target[..<gaps.count])
        unsafe places.allStarts.append(contentsOf: starts[..<place])
        return true
      }
    }
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
    // How many positions each of the fields that occur has so far.
    var sums = [Int](repeating: 0, count: fields.nonzeroBitCount)
    for index in 0..<count {
      var mask = masks[index]
      for place in frequencyRange(index) {
        let rank = (fields & ((mask & ~(mask - 1)) - 1)).nonzeroBitCount
        mask &= mask - 1
        places.starts.append(sums[rank])
        sums[rank] += Int(frequencies[place])
      }
    }
    var reader = unsafe ByteReader(bytes, at: offset)
    for sum in sums {
      guard let layout = PackedLayout(&reader, count: sum) else { return false }
      places.layouts.append(layout)
    }
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
