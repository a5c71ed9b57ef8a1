// Where what stands: hashes of a few bytes, and the places at which they stood last.

/// The hash of the bytes at a place, with four of them.
struct PlaceHash {
  /// The first four bytes, which a match has in common.
  let word: UInt32
  private let product: UInt64

  /// Reads eight bytes at `place`.
  @inline(__always)
  init(_ place: UnsafeRawPointer) {
    let bytes = UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
    word = UInt32(truncatingIfNeeded: bytes)
    // Five bytes: four alone come again too often at places that match no further. The factor is the golden ratio's.
    product = (bytes &<< 24) &* 0x9e37_79b9_7f4a_7c15
  }

  /// The first four bytes at a place.
  @inline(__always)
  static func word(at place: UnsafeRawPointer) -> UInt32 {
    UInt32(littleEndian: place.loadUnaligned(as: UInt32.self))
  }

  /// A number of so many bits.
  @inline(__always)
  func index(bits: Int) -> Int { Int(truncatingIfNeeded: product &>> UInt64(64 &- bits)) }
}

/// Places by their hashes, in memory that somebody lends.
struct PlaceTable<Place: FixedWidthInteger & UnsignedInteger> {
  /// Each entry is a place. Where none was noted it is 0: the first place, whose bytes are compared in vain.
  private let entries: UnsafeMutablePointer<Place>
  private let bits: Int

  /// Clears the table.
  @inline(__always)
  init(memory: UnsafeMutableRawBufferPointer, bits: Int) {
    let byteCount = MemoryLayout<Place>.stride << bits
    guard let base = memory.baseAddress, memory.count >= byteCount else {
      preconditionFailure("a table of \(memory.count) bytes is too small")
    }
    base.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    entries = base.assumingMemoryBound(to: Place.self)
    self.bits = bits
  }

  /// Whether all places of a value of so many bytes can be entries.
  @inline(__always)
  static func reaches(_ byteCount: Int) -> Bool { byteCount < Place.max }

  /// Whether a distance between two places of a value can be an offset: the first place has none to itself.
  @inline(__always)
  static func isOffset(_ distance: Int) -> Bool {
    distance > 0 && (Place.max <= LZ4Format.mostOffset || distance <= LZ4Format.mostOffset)
  }

  /// How large a table a value of so many bytes gets, as a power of two: clearing it takes time.
  @inline(__always)
  static func bits(for byteCount: Int) -> Int {
    min(13, max(8, Int.bitWidth &- byteCount.leadingZeroBitCount))
  }

  /// Notes a place.
  @inline(__always)
  func note(_ place: Int, hash: PlaceHash) {
    entries[hash.index(bits: bits)] = Place(truncatingIfNeeded: place)
  }

  /// Notes a place, and returns the one that was noted before, or 0.
  @inline(__always)
  func replace(_ place: Int, hash: PlaceHash) -> Int {
    let index = hash.index(bits: bits)
    let before = Int(truncatingIfNeeded: entries[index])
    entries[index] = Place(truncatingIfNeeded: place)
    return before
  }
}

/// What stands in front of a value and can be referred to.
protocol PlacesInFront {
  /// A place in front of the value that has the first four bytes in common with the one at `position`.
  func match(_ hash: PlaceHash, _ position: Int) -> Match?
}

/// Nothing stands in front.
struct NoDictionary: PlacesInFront {
  @inline(__always)
  func match(_ hash: PlaceHash, _ position: Int) -> Match? { nil }
}

/// A dictionary stands in front.
struct DictionaryPlaces: PlacesInFront {
  /// As many entries as `LZ4Encoder.indexByteCount` has room for.
  static let bits = 13
  /// Every so many places are noted: matches that are worth much cover one of them.
  static let step = 2

  private let base: UnsafeRawPointer
  private let byteCount: Int
  private let entries: UnsafePointer<UInt16>

  /// Takes the bytes of a dictionary, at most 65,535, and its index.
  @inline(__always)
  init(base: UnsafeRawPointer, byteCount: Int, index: UnsafeRawBufferPointer) {
    guard let first = index.baseAddress, index.count >= LZ4Encoder.indexByteCount else {
      preconditionFailure("an index of \(index.count) bytes is too small")
    }
    self.base = base
    self.byteCount = byteCount
    entries = first.assumingMemoryBound(to: UInt16.self)
  }

  @inline(__always)
  func match(_ hash: PlaceHash, _ position: Int) -> Match? {
    let place = Int(truncatingIfNeeded: entries[hash.index(bits: Self.bits)])
    // An index that was made of other bytes must not lead outside.
    guard place <= byteCount &- 8, PlaceHash.word(at: base + place) == hash.word else { return nil }
    let offset = position &+ byteCount &- place
    guard offset <= LZ4Format.mostOffset else { return nil }
    return Match(base: base, place: place, end: byteCount, offset: offset)
  }
}

/// An earlier place that has at least four bytes in common with the one that is looked at.
struct Match {
  /// What the place is in: the value or the dictionary.
  let base: UnsafeRawPointer
  /// The place in it.
  private(set) var place: Int
  /// Where the dictionary ends, which the value follows; nil for a place in the value.
  let end: Int?
  /// How far back it is.
  let offset: Int

  @inline(__always)
  init(base: UnsafeRawPointer, place: Int, end: Int?, offset: Int) {
    self.base = base
    self.place = place
    self.end = end
    self.offset = offset
  }

  /// Takes in one more byte in front, if it is the same on both sides, and returns whether it is.
  @inline(__always)
  mutating func extendBack(_ value: UnsafeRawPointer, _ position: Int) -> Bool {
    guard place > 0,
      base.load(fromByteOffset: place &- 1, as: UInt8.self)
        == value.load(fromByteOffset: position &- 1, as: UInt8.self)
    else { return false }
    place &-= 1
    return true
  }

  /// How many bytes are the same from `position` on, which must all lie before `lastEnd`.
  @inline(__always)
  func length(_ value: UnsafeRawPointer, _ position: Int, _ lastEnd: Int) -> Int {
    guard let end else { return Self.common(value + position, base + place, lastEnd &- position) }
    let inside = min(lastEnd &- position, end &- place)
    let length = Self.common(value + position, base + place, inside)
    // Behind the dictionary the value begins.
    guard length == inside, position &+ length < lastEnd else { return length }
    return length &+ Self.common(value + (position &+ length), value, lastEnd &- position &- length)
  }

  /// How many of the first bytes are the same, at most `most`.
  @inline(__always)
  private static func common(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ most: Int) -> Int {
    var count = 0
    while count &+ 8 <= most {
      let difference =
        UInt64(littleEndian: one.loadUnaligned(fromByteOffset: count, as: UInt64.self))
        ^ UInt64(littleEndian: other.loadUnaligned(fromByteOffset: count, as: UInt64.self))
      if difference != 0 { return count &+ difference.trailingZeroBitCount &>> 3 }
      count &+= 8
    }
    if count &+ 4 <= most, PlaceHash.word(at: one + count) == PlaceHash.word(at: other + count) { count &+= 4 }
    while count < most,
      one.load(fromByteOffset: count, as: UInt8.self) == other.load(fromByteOffset: count, as: UInt8.self)
    { count &+= 1 }
    return count
  }
}
