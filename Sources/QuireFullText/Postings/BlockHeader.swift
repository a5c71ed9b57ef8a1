// The bytes of a block of postings, and what its first bytes tell.
//
// A block has 1 to 128 postings of one term. Its key ends with its last row. Gaps between rows are stored less 1,
// frequencies less 1. “Packed” means the form of `PackedNumbers`. Rows, masks, frequencies and positions stand one
// behind the other. Masks are not stored if there is one field, frequencies and positions if they are not kept.
//
// Small, up to 7 rows:
//
//     0  u8       bit 7: 0;  bits 4–6: rows less 1;  bit 3: all frequencies are 1;  bit 2: one mask for all;
//                 bit 1: positions stand apart, in "positions";  bit 0: each row has one position,
//                 that is, one field and the frequency 1
//     1  varints  the gaps, from the last one back
//     …  varints  masks: one, or one for each row
//     …  varints  frequencies, unless all are 1: of each row those of its fields, from the lowest one on
//     …  varints  positions, unless apart: of each row, of each of its fields the first one, then the gaps less 1
//
// Large, up to 128 rows:
//
//     0  u8       bit 7: 1;  bit 6: rows are a bit set;  bits 4–5: pairs of limits less 1;
//                 bit 3: all frequencies are 1;  bits 1–2: form of the masks;  bit 0: positions stand apart
//     1  u8       rows less 1
//     2  2 each   pairs of limits: frequency (255: any), code of the length
//     …  varint   last row less first row
//     …  rows: the gaps, packed; or a bit for each row between the first and the last one, zeros to the end of the byte
//     …  masks: 0: one varint; 1: two varints, then a bit for each row; 2: four varints, then two bits for each row;
//        3: masks, packed
//     …  frequencies, packed, unless all are 1
//     …  positions, unless apart: for each field that occurs, from the lowest one on, those of all rows, packed: of
//        each row the first one, then the gaps less 1

internal import QuireDatabase

/// What the first bytes of a block tell, at little cost.
struct BlockHeader {
  static let isLarge: UInt8 = 0x80
  static let isBitSet: UInt8 = 0x40
  static let allOnes: UInt8 = 0x08
  /// Of a small block.
  static let oneMask: UInt8 = 0x04
  static let isSmallApart: UInt8 = 0x02
  static let isSingle: UInt8 = 0x01
  static let isLargeApart: UInt8 = 0x01
  /// A block of fewer rows is small.
  static let largeCount = 8

  /// How many postings the block has.
  let count: Int
  let firstRow: RowID
  let lastRow: RowID
  /// Each posting is within one of these.
  let limits: LimitPairs
  /// The first byte.
  let flags: UInt8
  /// Where the rows begin, and behind a small block's header where they end.
  let rowsOffset: Int

  var isLarge: Bool { flags & Self.isLarge != 0 }
  var hasOnesOnly: Bool { flags & Self.allOnes != 0 }
  /// Whether the positions, if any are kept, stand apart from the block.
  var arePositionsApart: Bool { flags & (isLarge ? Self.isLargeApart : Self.isSmallApart) != 0 }

  /// Reads the header of a block; nil if its bytes break the format.
  ///
  /// - Parameter lastRow: from its key.
  init?(_ block: RawSpan, lastRow: RowID) {
    let header = unsafe block.withUnsafeBytes { unsafe BlockHeader($0, lastRow) }
    guard let header else { return nil }
    self = header
  }

  init?(_ block: UnsafeRawBufferPointer, _ lastRow: RowID) {
    var reader = unsafe ByteReader(block)
    guard let flags = reader.byte() else { return nil }
    (self.flags, self.lastRow) = (flags, lastRow)
    var span: UInt64 = 0
    if flags & Self.isLarge != 0 {
      guard let last = reader.byte(), (Self.largeCount - 1..<PostingForm.blockCount).contains(Int(last)) else {
        return nil
      }
      count = Int(last) + 1
      guard let limits = LimitPairs(&reader, count: Int(flags >> 4 & 3) + 1), let found = reader.varint() else {
        return nil
      }
      self.limits = limits
      span = found
      guard span >= UInt64(count - 1) else { return nil }
      rowsOffset = reader.offset
    } else {
      count = Int(flags >> 4) + 1
      guard count < Self.largeCount else { return nil }
      rowsOffset = reader.offset
      for _ in 1..<count {
        guard let gap = reader.varint() else { return nil }
        let (sum, overflow) = span.addingReportingOverflow(gap)
        guard !overflow, sum < .max else { return nil }
        span = sum + 1
      }
      let frequency = flags & Self.isSingle != 0 ? 1 : LimitPair.anyFrequency
      limits = LimitPairs(LimitPair(frequency: frequency, lengthCode: 0))
    }
    // No row has the number zero of the order, which is that of heads.
    guard span < lastRow.ordered else { return nil }
    firstRow = RowID(ordered: lastRow.ordered - span)
  }

  /// Last row less first row.
  var span: UInt64 { lastRow.ordered - firstRow.ordered }
}
