// Reading the positions of a block's postings.

internal import QuireDatabase

/// Where the positions of a block lie, and what they are made of.
///
/// Of each field of each row there is the first position, then the gaps to the next ones less 1. Those of a large block
/// are unpacked field by field, each field when it is asked for first; those of a small one all at once.
@safe final class PositionPlaces {
  /// For each frequency of the block, the index of its first number among those of its field, or of a small block;
  /// unless starts are narrow.
  fileprivate let starts: UnsafeMutablePointer<Int>
  /// For each row of a block with narrow starts, the same of its fields, with 16 bits each, the lowest field lowest.
  fileprivate let narrowStarts: UnsafeMutablePointer<UInt64>
  /// For each mask below 16, by what the frequencies of a row are multiplied so that their products are the parts of
  /// one number: four of them, those behind the last frequency zero.
  fileprivate let factors: UnsafeMutablePointer<UInt64>
  /// Where the numbers of each field begin, by its number.
  fileprivate let bases: UnsafeMutablePointer<Int>
  /// The numbers that were unpacked.
  fileprivate let numbers = RawBuffer<UInt64>()
  // Unchecked: for one thread, and no closure changes what a call around it reads.
  /// Where the numbers of the fields that occur lie, the lowest field first.
  @exclusivity(unchecked) fileprivate var layouts: [PackedLayout] = []
  /// The fields that occur.
  @exclusivity(unchecked) fileprivate var fields: FieldMask = 0
  /// Those of them whose numbers were unpacked.
  @exclusivity(unchecked) fileprivate var readFields: FieldMask = 0
  @exclusivity(unchecked) fileprivate var isKnown = false
  @exclusivity(unchecked) fileprivate var isNarrow = false

  init(_ frequencyCount: Int) {
    let bases = UnsafeMutablePointer<Int>.allocate(capacity: FieldMask.bitWidth + frequencyCount)
    unsafe self.bases = bases
    unsafe starts = bases + FieldMask.bitWidth
    let narrowStarts = UnsafeMutablePointer<UInt64>.allocate(capacity: PostingForm.blockCount + 64)
    unsafe self.narrowStarts = narrowStarts
    unsafe factors = narrowStarts + PostingForm.blockCount
    for mask in 0..<16 {
      var rest = mask
      for place in 0..<4 {
        unsafe factors[mask * 4 + place] = rest == 0 ? 0 : 1 << UInt64(rest.trailingZeroBitCount * 16)
        rest &= rest &- 1
      }
    }
  }

  deinit {
    unsafe bases.deallocate()
    unsafe narrowStarts.deallocate()
  }

  func forget() { unsafe isKnown = false }
}

/// What a block has of its rows' masks and positions, as far as it was read: plain addresses, good until it reads
/// another block, or positions of further fields.
@safe struct PositionView {
  private let masks: UnsafePointer<FieldMask>
  private let frequencies: UnsafePointer<UInt32>
  private let frequencyStarts: UnsafePointer<Int32>
  private let starts: UnsafePointer<Int>
  private let narrowStarts: UnsafePointer<UInt64>
  private let bases: UnsafePointer<Int>
  private let numbers: UnsafePointer<UInt64>
  private let isNarrow: Bool

  /// - Parameter block: one whose frequencies were read.
  fileprivate init(_ block: DecodedBlock) {
    unsafe (masks, frequencies) = unsafe (UnsafePointer(block.masks), UnsafePointer(block.frequencies))
    unsafe frequencyStarts = unsafe UnsafePointer(block.frequencyStarts)
    unsafe (starts, bases) = unsafe (UnsafePointer(block.places.starts), UnsafePointer(block.places.bases))
    unsafe narrowStarts = unsafe UnsafePointer(block.places.narrowStarts)
    unsafe numbers = unsafe UnsafePointer(block.places.numbers.base)
    isNarrow = unsafe block.places.isNarrow
  }

  /// The mask of a row.
  @inline(__always) func mask(_ index: Int) -> FieldMask { unsafe masks[index] }

  /// The positions of one row in one field, in which it has the term; those of the field were read.
  @inline(__always)
  func positions(ofRow index: Int, field: Int) -> PositionGaps {
    let (start, count) = range(ofRow: index, field: field)
    return unsafe PositionGaps(numbers + (start &+ bases[field]), count)
  }

  /// The index of the first position of one row among those of a field, in which it has the term.
  @inline(__always)
  func firstPosition(ofRow index: Int, field: Int) -> Int { range(ofRow: index, field: field).start }

  /// Positions of a field from an index on, those of rows that follow each other one behind the other: for a large
  /// block.
  func positions(from start: Int, count: Int, field: Int) -> PositionGaps {
    unsafe PositionGaps(numbers + (start &+ bases[field]), count)
  }

  /// The index of the first position of one row among those of a field, and how many it has.
  @inline(__always)
  fileprivate func range(ofRow index: Int, field: Int) -> (start: Int, count: Int) {
    let below = unsafe masks[index] & (1 << FieldMask(truncatingIfNeeded: field) &- 1)
    let first = unsafe Int(frequencyStarts[index])
    if isNarrow {
      let place = first &+ below.narrowBitCount
      let start = unsafe narrowStarts[index] &>> UInt64(truncatingIfNeeded: field &* 16) & 0xffff
      return unsafe (Int(truncatingIfNeeded: start), Int(frequencies[place]))
    }
    let place = first &+ below.nonzeroBitCount
    return unsafe (starts[place], Int(frequencies[place]))
  }
}

extension DecodedBlock {
  /// Reads what the positions of all rows in some fields are made of, unless that was done.
  ///
  /// - Parameters:
  ///   - fields: those that no row has are passed over.
  ///   - block: the block, whose frequencies were read.
  ///   - apart: what "positions" has under the block's key; nil if there is nothing.
  func decodePositions(_ fields: FieldMask, _ block: RawSpan, apart: RawSpan?) -> Bool {
    guard arePositionsApart else {
      return unsafe block.withUnsafeBytes { unsafe decodePositions(fields, $0, positionsOffset) }
    }
    guard let apart else { return false }
    return unsafe apart.withUnsafeBytes { unsafe decodePositions(fields, $0, 0) }
  }

  /// The same of bytes that have the positions from `offset` on.
  func decodePositions(_ fields: FieldMask, _ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    guard form.hasPositions, hasFrequencies, offset <= bytes.count else { return false }
    if unsafe !places.isKnown {
      guard unsafe isLarge ? findPlaces(bytes, offset) : decodeSmallPositions(bytes, offset) else { return false }
      unsafe places.isKnown = true
    }
    var rest = unsafe fields & places.fields & ~places.readFields
    while rest != 0 {
      let field = rest.trailingZeroBitCount
      rest &= rest - 1
      let layout = unsafe places.layouts[(places.fields & (1 << FieldMask(field) - 1)).nonzeroBitCount]
      let target = unsafe places.numbers.base + places.bases[field]
      guard unsafe layout.read(0..<layout.count, of: bytes, into: target) else { return false }
      unsafe places.readFields |= 1 << FieldMask(field)
    }
    return true
  }

  private func decodeSmallPositions(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    var reader = unsafe ByteReader(bytes, at: offset)
    // A number takes a byte at least.
    places.numbers.reserve(reader.remainingCount)
    var next = 0
    for place in 0..<frequencyRange(count - 1).upperBound {
      unsafe places.starts[place] = next
      for _ in 0..<(unsafe frequencies[place]) {
        guard let gap = reader.varint() else { return false }
        unsafe places.numbers.base[next] = gap
        next += 1
      }
    }
    unsafe places.bases.update(repeating: 0, count: FieldMask.bitWidth)
    unsafe (places.fields, places.readFields, places.isNarrow) = (.max, .max, false)
    return true
  }

  /// Finds where the positions of each field and row lie in a large block.
  private func findPlaces(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    unsafe places.layouts.removeAll(keepingCapacity: true)
    let (starts, sums) = unsafe (places.starts, places.bases)
    var fields: FieldMask = 0
    for index in 0..<count { fields |= unsafe masks[index] }
    // How many positions each of the fields has so far.
    for field in 0..<FieldMask.bitWidth where fields >> FieldMask(field) & 1 == 1 { unsafe sums[field] = 0 }
    unsafe places.isNarrow = form.fieldCount <= 4 && addNarrow(sums)
    if unsafe !places.isNarrow { unsafe addWide(starts, sums) }
    var reader = unsafe ByteReader(bytes, at: offset)
    var (total, rest) = (0, fields)
    while rest != 0 {
      let field = rest.trailingZeroBitCount
      rest &= rest - 1
      guard let layout = unsafe PackedLayout(&reader, count: sums[field]) else { return false }
      unsafe places.layouts.append(layout)
      unsafe sums[field] = total
      // The layouts have checked that the bytes have so many numbers.
      total += layout.count
    }
    places.numbers.reserve(total)
    unsafe (places.fields, places.readFields) = (fields, 0)
    return true
  }

  /// Finds for each frequency of the block how many positions its field has in front of it, and in `sums` how many each
  /// field has.
  private func addWide(_ starts: UnsafeMutablePointer<Int>, _ sums: UnsafeMutablePointer<Int>) {
    var place = 0
    for index in 0..<count {
      var mask = unsafe masks[index]
      while mask != 0 {
        let field = mask.trailingZeroBitCount
        mask &= mask &- 1
        unsafe starts[place] = sums[field]
        unsafe sums[field] &+= Int(frequencies[place])
        place &+= 1
      }
    }
  }

  /// The same of up to four fields, for each row, as parts of one number; false if they are too great for that.
  private func addNarrow(_ sums: UnsafeMutablePointer<Int>) -> Bool {
    let (end, masks, frequencies, places) = unsafe (count, masks, frequencies, frequencyStarts)
    let (starts, factors) = unsafe (self.places.narrowStarts, self.places.factors)
    var total: UInt64 = 0
    for place in 0..<frequencyRange(end - 1).upperBound { total &+= unsafe UInt64(frequencies[place]) }
    guard total <= UInt64(UInt16.max) else { return false }
    var all: UInt64 = 0
    for index in 0..<end {
      unsafe starts[index] = all
      let own = unsafe frequencies + Int(places[index])
      let factor = unsafe factors + Int(truncatingIfNeeded: masks[index]) &* 4
      all &+= unsafe UInt64(own[0]) &* factor[0] &+ UInt64(own[1]) &* factor[1]
      all &+= unsafe UInt64(own[2]) &* factor[2] &+ UInt64(own[3]) &* factor[3]
    }
    for field in 0..<4 { unsafe sums[field] = Int(truncatingIfNeeded: all &>> UInt64(field * 16) & 0xffff) }
    return true
  }

  /// Reads what the positions of some rows in a field are made of: those of others are not to be asked for.
  ///
  /// - Parameters:
  ///   - rows: where the rows are in the block, ascending; each has the term in the field.
  ///   - bytes: those that have the positions, from `offset` on.
  func decodePositions(
    ofRows rows: UnsafeBufferPointer<Int32>, field: Int, _ bytes: UnsafeRawBufferPointer, _ offset: Int
  ) -> Bool {
    guard unsafe decodePositions(0, bytes, offset) else { return false }
    if unsafe places.readFields >> FieldMask(field) & 1 == 1 { return true }
    let below: FieldMask = 1 << FieldMask(truncatingIfNeeded: field) &- 1
    let layout = unsafe places.layouts[(places.fields & below).nonzeroBitCount]
    guard var cursor = unsafe PackedCursor(layout, bytes) else { return false }
    let (view, base) = unsafe (view, places.numbers.base + places.bases[field])
    for index in 0..<rows.count {
      let (start, count) = unsafe view.range(ofRow: Int(rows[index]), field: field)
      guard unsafe cursor.read(start..<start &+ count, into: base + start) else { return false }
    }
    return true
  }

  /// Whether the positions of a field were read.
  @inline(__always)
  func hasPositions(_ field: Int) -> Bool { unsafe places.isKnown && places.readFields >> FieldMask(field) & 1 == 1 }

  /// Addresses of what was read.
  var view: PositionView { PositionView(self) }

  /// The positions of one row in one field, in which it has the term; those of the field were read.
  @inline(__always)
  func positions(ofRow index: Int, field: Int) -> PositionGaps {
    assert(hasPositions(field) && mask(index) >> FieldMask(field) & 1 == 1, "a row has nothing in a field")
    return view.positions(ofRow: index, field: field)
  }

  // MARK: Appending

  /// Appends the positions of one row, field by field, to `target`; what stands there already stays.
  ///
  /// - Parameters:
  ///   - block: the block, whose frequencies were read.
  ///   - apart: what "positions" has under the block's key; nil if there is nothing.
  func appendPositions(ofRow index: Int, _ block: RawSpan, apart: RawSpan?, to target: inout [UInt32]) -> Bool {
    decodePositions(.max, block, apart: apart) && appendPositions(ofRow: index, to: &target)
  }

  /// The same, once the positions of all fields were read.
  private func appendPositions(ofRow index: Int, to target: inout [UInt32]) -> Bool {
    let view = view
    var mask = view.mask(index)
    while mask != 0 {
      let positions = view.positions(ofRow: index, field: mask.trailingZeroBitCount)
      mask &= mask - 1
      let isRead = positions.forEach {
        target.append($0)
        return true
      }
      guard isRead else { return false }
    }
    return true
  }

  /// Appends all postings of the block to a list, whose rows are below those of the block.
  ///
  /// - Parameters:
  ///   - block: the block, whose rows were read.
  ///   - apart: what "positions" has under the block's key; nil if there is nothing.
  /// - Returns: false if the bytes break the format; the list is as it was then.
  func appendAll(_ block: RawSpan, apart: RawSpan?, to list: inout PostingList) -> Bool {
    guard decodeFrequencies(block) else { return false }
    if let last = list.rowIDs.last, last >= row(0) { return false }
    if form.hasPositions {
      guard decodePositions(.max, block, apart: apart) else { return false }
      let (positionCount, endCount) = (list.positions.count, list.positionEnds.count)
      for index in 0..<count {
        guard appendPositions(ofRow: index, to: &list.positions) else {
          list.positions.removeSubrange(positionCount...)
          list.positionEnds.removeSubrange(endCount...)
          return false
        }
        list.positionEnds.append(list.positions.count)
      }
    }
    let (base, total) = (list.frequencies.count, frequencyRange(count - 1).upperBound)
    unsafe list.rowIDs.append(contentsOf: rowIDs)
    unsafe list.masks.append(contentsOf: UnsafeBufferPointer(start: masks, count: count))
    unsafe list.frequencies.append(contentsOf: UnsafeBufferPointer(start: frequencies, count: total))
    for index in 0..<count { list.frequencyEnds.append(base + frequencyRange(index).upperBound) }
    return true
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

  /// Goes past the same; false if they are none.
  mutating func skipPositions(count: Int) -> Bool {
    guard count <= remainingCount else { return false }
    var next: UInt64 = 0
    for _ in 0..<count {
      guard let gap = varint(), gap <= UInt64(UInt32.max) else { return false }
      next += gap + 1
    }
    return next <= UInt64(UInt32.max)
  }
}
