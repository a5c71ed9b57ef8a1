// Where a consumer of a feed is.
//
// The bytes of a cursor:
//
//     byte 0          the version: 1, or 2 for one that is longer
//     bytes 1 to 16   the identity of the database, highest byte first
//     bytes 17 to 24  the epoch of the feed
//     bytes 25 to 32  the commit
//     bytes 33 to 36  the entry of the commit
//     bytes 37 to 44  the chain
//     version 2       how many changes of the entry behind are told (4), and the position whose values were told:
//                     commit (8), entry (4) and chain (8), all 0 if none newer were
//     4 bytes         the low half of XXH3-64 of the bytes before, seeded with 0
//
// Its text is these bytes in hexadecimal digits.

public import QuireStorage

/// How far a consumer has come in a feed. It is the consumer's to keep, best in the transaction that stores what it was
/// told; the database keeps none.
///
/// Good for one life of one feed of one database. Whoever presents it to another one, to a restored backup or to a copy
/// of the file that has gone another way is told `cursorForeign`; if what follows it has expired, `cursorExpired`.
public struct FeedCursor: Hashable, Sendable {
  /// The identity of the database.
  public let lineage: DatabaseID
  /// Which life of the feed it is.
  public let epoch: UInt64
  let position: FeedPosition
  /// How many changes are told of the entry behind the position.
  let toldCount: UInt32
  /// The newest entry of the snapshot that values were told from, if it is behind the position.
  let seen: FeedPosition?

  init(
    _ lineage: DatabaseID, _ epoch: UInt64, _ position: FeedPosition, toldCount: UInt32 = 0, seen: FeedPosition? = nil
  ) {
    self.lineage = lineage
    self.epoch = epoch
    self.position = position
    self.toldCount = toldCount
    self.seen = seen
  }

  /// The commit that it has come to; of the next one some changes may be told as well.
  public var csn: CSN { CSN(position.csn) }
  /// Which entry of that commit: a large commit has several.
  public var part: UInt32 { position.part }
  /// What proves that the entries up to it are those that were told.
  public var chain: UInt64 { position.chain }

  /// How many bytes a cursor has that is not `isCatchingUp`.
  public static let byteCount = 49
  /// How many bytes a cursor has that is.
  public static let longestByteCount = 73
  private static let version: UInt8 = 1
  private static let longVersion: UInt8 = 2

  /// Whether a consumer with it shows a mixture of states: it was told values that are newer than the commit.
  public var isCatchingUp: Bool { toldCount > 0 || seen != nil }

  /// How many bytes a cursor takes that begins with these; nil if none does.
  static func byteCount(of bytes: [UInt8]) -> Int? {
    switch bytes.first {
    case version: byteCount
    case longVersion: longestByteCount
    default: nil
    }
  }

  /// The cursor in bytes, for a consumer to keep.
  public var bytes: [UInt8] {
    var bytes = [isCatchingUp ? Self.longVersion : Self.version]
    bytes.reserveCapacity(Self.longestByteCount)
    bytes += lineage.high.bigEndianBytes
    bytes += lineage.low.bigEndianBytes
    bytes += epoch.bigEndianBytes
    func append(_ position: FeedPosition) {
      bytes += position.csn.bigEndianBytes
      bytes += position.part.bigEndianBytes
      bytes += position.chain.bigEndianBytes
    }
    append(position)
    if isCatchingUp {
      bytes += toldCount.bigEndianBytes
      append(seen ?? FeedPosition(csn: 0, part: 0, chain: 0))
    }
    return bytes + Self.sum(bytes).bigEndianBytes
  }

  /// Takes the bytes of a cursor, which may be any; nil if they are none.
  public init?(bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    let end = bytes.count - 4
    guard let byteCount = Self.byteCount(of: bytes), bytes.count == byteCount,
      UInt32(bigEndianBytes: bytes[end...]) == Self.sum(Array(bytes[..<end]))
    else { return nil }
    func word(_ offset: Int) -> UInt64 { UInt64(bigEndianBytes: bytes[offset..<offset + 8]) ?? 0 }
    func half(_ offset: Int) -> UInt32 { UInt32(bigEndianBytes: bytes[offset..<offset + 4]) ?? 0 }
    func position(_ offset: Int) -> FeedPosition {
      FeedPosition(csn: word(offset), part: half(offset + 8), chain: word(offset + 12))
    }
    let isLong = byteCount == Self.longestByteCount
    let seen = isLong ? position(49) : nil
    self.init(
      DatabaseID(high: word(1), low: word(9)), word(17), position(25), toldCount: isLong ? half(45) : 0,
      seen: seen?.csn == 0 ? nil : seen)
    // One cursor has one form.
    guard self.bytes == bytes else { return nil }
  }

  private static func sum(_ bytes: [UInt8]) -> UInt32 { UInt32(truncatingIfNeeded: FeedHash.hash(bytes, seed: 0)) }
}

extension FeedCursor: CustomStringConvertible, LosslessStringConvertible {
  /// The cursor as a text of two hexadecimal digits for each byte.
  public var description: String { HexadecimalText.text(bytes) }

  /// Takes the text of a cursor, which may be any; nil if it is none.
  public init?(_ text: String) {
    guard text.utf8.count <= 2 * Self.longestByteCount, let bytes = HexadecimalText.bytes(text) else { return nil }
    self.init(bytes: bytes)
  }
}

extension FeedCursor: Codable {
  /// Writes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// Reads the text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let cursor = FeedCursor(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is no cursor of a change feed.")
    }
    self = cursor
  }
}

/// Bytes as digits.
enum HexadecimalText {
  /// Two digits for each byte.
  static func text(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The bytes of such a text; nil if it is none.
  static func bytes(_ text: String) -> [UInt8]? {
    let values = text.utf8.compactMap { digit -> UInt8? in
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
      default: nil
      }
    }
    guard values.count == text.utf8.count, values.count % 2 == 0 else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }
}

/// The hash that chains entries, and finds what was mangled on its way.
enum FeedHash {
  static func hash(_ bytes: [UInt8], seed: UInt64) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe hash($0, seed: seed) }
  }

  static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    guard let base = bytes.baseAddress else { return seed }
    return unsafe XXH3.hash(base, count: bytes.count, seed: seed)
  }
}
