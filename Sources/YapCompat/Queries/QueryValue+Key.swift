// Values as bytes: those of keys, whose order is that of the values, and those of records, which give the values back.

extension QueryValue {
  /// The first bytes of keys.
  private enum Mark {
    static let null: UInt8 = 0x10
    static let number: UInt8 = 0x20
    static let text: UInt8 = 0x30
    static let blob: UInt8 = 0x40
  }

  /// Bytes in the order of the values; the same for numbers that are equal, and never the beginning of another value's.
  ///
  /// A number is the greatest real that is not above it, and how far it is above that; bytes of text and of blobs end
  /// with 0 and 0, with 0xff behind each 0 among them.
  var keyBytes: [UInt8] {
    switch self {
    case .null: [Mark.null]
    case .integer(let integer): Self.numberKey(integer)
    case .real(let real): Self.numberKey(real, 0)
    case .text(let bytes): Self.beginning(of: bytes, Mark.text) + [0, 0]
    case .blob(let bytes): Self.beginning(of: bytes, Mark.blob) + [0, 0]
    }
  }

  private static func numberKey(_ integer: Int64) -> [UInt8] {
    var floor = Double(integer)
    // `Double` has rounded up beyond the number itself.
    if floor >= 0x1p63 || Int64(floor) > integer { floor = floor.nextDown }
    assert(Int64(floor) <= integer && integer - Int64(floor) <= Int64(UInt16.max), "a number is far from its real")
    return numberKey(floor, UInt16(integer - Int64(floor)))
  }

  private static func numberKey(_ real: Double, _ rest: UInt16) -> [UInt8] {
    let bits = (real == 0 ? 0 : real).bitPattern
    let ordered = bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    var key = [Mark.number]
    key.reserveCapacity(11)
    for shift in stride(from: 56, through: 0, by: -8) {
      key.append(UInt8(truncatingIfNeeded: ordered >> UInt64(shift)))
    }
    key.append(UInt8(truncatingIfNeeded: rest >> 8))
    key.append(UInt8(truncatingIfNeeded: rest))
    assert(key.count == 11, "a number's key begins another one")
    return key
  }

  /// The whole number that a key is of; nil for another one's.
  static func integer(ofKey key: [UInt8]) -> Int64? {
    guard key.count == 11, key[0] == Mark.number else { return nil }
    let ordered = key[1..<9].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let real = Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
    return Int64(exactly: real).map { $0 + Int64(key[9]) << 8 + Int64(key[10]) }
  }

  private static func beginning(of bytes: [UInt8], _ mark: UInt8) -> [UInt8] {
    var key = [mark]
    key.reserveCapacity(bytes.count + 3)
    for byte in bytes {
      key.append(byte)
      if byte == 0 { key.append(0xff) }
    }
    return key
  }

  /// The keys of all texts and blobs that begin with `bytes`.
  static func keyRanges(beginningWith bytes: [UInt8]) -> [KeyRange] {
    [KeyRange(prefix: beginning(of: bytes, Mark.text)), KeyRange(prefix: beginning(of: bytes, Mark.blob))]
  }

  /// The keys of all values but null.
  static let notNullKeys = KeyRange(lower: [Mark.number], upper: nil)

  // MARK: Records

  /// Adds the value to a record: a byte for the kind, then eight bytes of a number, or the length and the bytes.
  func append(to record: inout [UInt8]) {
    switch self {
    case .null: record.append(0)
    case .integer(let integer):
      record.append(1)
      Self.append(UInt64(bitPattern: integer), to: &record)
    case .real(let real):
      record.append(2)
      Self.append(real.bitPattern, to: &record)
    case .text(let bytes), .blob(let bytes):
      if case .text = self { record.append(3) } else { record.append(4) }
      Self.append(UInt64(bytes.count), to: &record)
      record += bytes
    }
  }

  private static func append(_ word: UInt64, to record: inout [UInt8]) {
    for shift in stride(from: 0, to: 64, by: 8) { record.append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
  }

  /// Takes the values of a record apart; nil if the bytes are none of so many values.
  static func values(of record: RawSpan, count: Int) -> [QueryValue]? {
    var values: [QueryValue] = []
    values.reserveCapacity(count)
    var place = 0
    func word() -> UInt64? {
      guard place + 8 <= record.byteCount else { return nil }
      defer { place += 8 }
      return UInt64(littleEndian: unsafe record.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
    func bytes() -> [UInt8]? {
      guard let length = word(), length <= UInt64(record.byteCount - place) else { return nil }
      let part = record.extracting(place..<place + Int(length))
      place += Int(length)
      return unsafe part.withUnsafeBytes { unsafe Array($0) }
    }
    for _ in 0..<count {
      guard place < record.byteCount else { return nil }
      let kind = unsafe record.unsafeLoad(fromByteOffset: place, as: UInt8.self)
      place += 1
      var value: QueryValue?
      switch kind {
      case 0: value = .null
      case 1: value = word().map { .integer(Int64(bitPattern: $0)) }
      case 2: value = word().map { .real(Double(bitPattern: $0)) }
      case 3: value = bytes().map { .text($0) }
      case 4: value = bytes().map { .blob($0) }
      default: break
      }
      guard let value else { return nil }
      values.append(value)
    }
    return place == record.byteCount ? values : nil
  }
}
