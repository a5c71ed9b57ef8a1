// How the postings of a full text are stored.

/// How much is kept of the places where a term stands.
public enum PostingDetail: UInt8, Hashable, Sendable, CaseIterable {
  /// Rows, fields, and how often; and at which places, as phrases, NEAR and `^` need them.
  case positions = 0
  /// Rows, fields, and how often: enough for ranking.
  case frequencies = 1
  /// Rows and fields. All words of a field count as one in ranking.
  case rows = 2
}

/// How postings are stored: what their bytes mean depends on it.
struct PostingForm: Hashable, Sendable {
  /// A mask has a bit for each field.
  static let maximumFieldCount = 64
  /// So many postings a block has at the most.
  static let blockCount = 128
  /// Positions of more bytes than these stand apart from their block.
  static let inlineByteCount = 64

  /// The number of fields, 1 to 64.
  let fieldCount: Int
  let detail: PostingDetail

  init(fieldCount: Int, detail: PostingDetail) {
    precondition((1...Self.maximumFieldCount).contains(fieldCount), "a full text has no such number of fields")
    (self.fieldCount, self.detail) = (fieldCount, detail)
  }

  /// The bits that masks can have.
  var allFields: FieldMask { fieldCount == 64 ? .max : (1 << FieldMask(fieldCount)) - 1 }
  var hasPositions: Bool { detail == .positions }
  var hasFrequencies: Bool { detail != .rows }
}

extension FieldMask {
  /// How many bits are set, of a mask below 16.
  @inline(__always) var narrowBitCount: Int {
    assert(self < 16, "a mask has further fields")
    // The numbers of bits of all such masks, four bits each.
    return Int(truncatingIfNeeded: 0x4332_3221_3221_2110 as UInt64 &>> (self &* 4) & 0xf)
  }
}
