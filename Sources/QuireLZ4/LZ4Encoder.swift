// From bytes to a block of LZ4.
//
// Greedy: at each place the latest earlier place with the same hash of five bytes is looked at, in the value and then
// in the dictionary, and the first match that is found is taken. Where nothing is found for long the steps become
// longer, so that what cannot be compressed costs little.

/// Encodes values as blocks of LZ4.
///
/// Stateless; every call may be made from any thread. Nothing outside of the buffers that were lent is read or written,
/// and nothing is allocated: the tables of places are lent, too.
public enum LZ4Encoder {
  /// The most bytes that a value may have: what readers of LZ4 agree on.
  public static let mostByteCount = 0x7e00_0000
  /// The most bytes of a dictionary that can be referred to. Of a longer one the last are taken.
  public static let mostDictionaryByteCount = LZ4Format.mostOffset
  /// How many bytes the index of a dictionary takes.
  public static let indexByteCount = 16 << 10
  /// The most bytes that `tableByteCount(for:)` returns.
  public static let mostTableByteCount = 16 << 10

  /// How many bytes of memory are needed to encode a value of `byteCount` bytes: few for a short one.
  public static func tableByteCount(for byteCount: Int) -> Int {
    if !PlaceTable<UInt16>.reaches(byteCount) { return mostTableByteCount }
    return MemoryLayout<UInt16>.stride << PlaceTable<UInt16>.bits(for: byteCount)
  }

  /// Encodes `value` into the first bytes of `target`. Returns how many these are; 0 if there is not room enough.
  ///
  /// O(`value.count`).
  ///
  /// - Parameters:
  ///   - value: at most `mostByteCount` bytes.
  ///   - target: where the block goes. It must not overlap `value`.
  ///   - table: memory to work in, of `tableByteCount(for: value.count)` bytes or more, aligned to four bytes. What it
  ///     holds does not matter, and says nothing afterwards.
  public static func encode(
    _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, table: UnsafeMutableRawBufferPointer
  ) -> Int {
    encode(value, into: target, NoDictionary(), table)
  }

  /// Looks through `dictionary` and notes in `index` what stands where, for `encode(_:into:dictionary:index:table:)`.
  ///
  /// O(`dictionary.count`).
  ///
  /// - Parameters:
  ///   - dictionary: any bytes. Of more than `mostDictionaryByteCount` the last are taken.
  ///   - index: memory of `indexByteCount` bytes or more, aligned to four bytes.
  public static func makeIndex(of dictionary: UnsafeRawBufferPointer, in index: UnsafeMutableRawBufferPointer) {
    let table = PlaceTable<UInt16>(memory: index, bits: DictionaryPlaces.bits)
    let end = dictionary.suffix(mostDictionaryByteCount)
    guard let base = UnsafeRawBufferPointer(rebasing: end).baseAddress else { return }
    // A hash takes eight bytes. The last place of a hash wins: it is the nearest.
    var place = 0
    while place <= end.count - 8 {
      table.note(place, hash: PlaceHash(base + place))
      place += DictionaryPlaces.step
    }
  }

  /// Encodes `value` into the first bytes of `target` with references to `dictionary`. Returns how many bytes these
  /// are; 0 if there is not room enough.
  ///
  /// O(`value.count`), whatever the length of the dictionary.
  ///
  /// - Parameters:
  ///   - value: at most `mostByteCount` bytes.
  ///   - target: where the block goes. It must not overlap what is read.
  ///   - dictionary: what `index` was made of.
  ///   - index: what `makeIndex(of:in:)` has made. It is read only: many threads may use one.
  ///   - table: memory to work in, of `tableByteCount(for: value.count)` bytes or more, aligned to four bytes.
  public static func encode(
    _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, dictionary: UnsafeRawBufferPointer,
    index: UnsafeRawBufferPointer, table: UnsafeMutableRawBufferPointer
  ) -> Int {
    let end = UnsafeRawBufferPointer(rebasing: dictionary.suffix(mostDictionaryByteCount))
    guard let base = end.baseAddress else { return encode(value, into: target, NoDictionary(), table) }
    return encode(value, into: target, DictionaryPlaces(base: base, byteCount: end.count, index: index), table)
  }

  @inline(__always)
  private static func encode(
    _ value: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, _ dictionary: some PlacesInFront,
    _ table: UnsafeMutableRawBufferPointer
  ) -> Int {
    precondition(value.count <= mostByteCount, "a value is too long for LZ4")
    var writer = SequenceWriter(target)
    guard let base = value.baseAddress, value.count > LZ4Format.lastMatchDistance else {
      return writer.finish(literals: value) ? writer.byteCount : 0
    }
    let isDone =
      if PlaceTable<UInt16>.reaches(value.count) {
        encode(
          base, value.count, &writer, dictionary,
          PlaceTable<UInt16>(memory: table, bits: PlaceTable<UInt16>.bits(for: value.count)))
      } else {
        encode(base, value.count, &writer, dictionary, PlaceTable<UInt32>(memory: table, bits: 12))
      }
    return isDone ? writer.byteCount : 0
  }

  /// Writes all sequences of a value that is long enough for matches. Returns false if there is not room enough.
  @inline(__always)
  private static func encode<Place>(
    _ value: UnsafeRawPointer, _ count: Int, _ writer: inout SequenceWriter, _ dictionary: some PlacesInFront,
    _ table: PlaceTable<Place>
  ) -> Bool {
    let (lastStart, lastEnd) = (count - LZ4Format.lastMatchDistance, count - LZ4Format.lastLiterals)
    var (position, done) = (0, 0)
    while let found = find(value, &position, lastStart, dictionary, table) {
      var match = found
      // The match may have begun before the place that was looked at.
      while position > done, match.extendBack(value, position) { position &-= 1 }
      let length = match.length(value, position, lastEnd)
      let literals = UnsafeRawBufferPointer(start: value + done, count: position &- done)
      let readable = count &- done
      guard writer.append(literals, readable, offset: match.offset, length) else { return false }
      position &+= length
      done = position
      if position <= lastStart { table.note(position &- 2, hash: PlaceHash(value + (position &- 2))) }
    }
    return writer.finish(literals: UnsafeRawBufferPointer(start: value + done, count: count - done))
  }

  /// Goes on from `position` to a place at which a match begins; nil if there is none up to `lastStart`.
  @inline(__always)
  private static func find<Place>(
    _ value: UnsafeRawPointer, _ position: inout Int, _ lastStart: Int, _ dictionary: some PlacesInFront,
    _ table: PlaceTable<Place>
  ) -> Match? {
    var tries = 64
    while position <= lastStart {
      let here = value + position
      let hash = PlaceHash(here)
      let place = table.replace(position, hash: hash)
      if hash.word == PlaceHash.word(at: value + place), PlaceTable<Place>.isOffset(position &- place) {
        return Match(base: value, place: place, end: nil, offset: position &- place)
      }
      if let match = dictionary.match(hash, position) { return match }
      position &+= tries &>> 6
      tries &+= 1
    }
    return nil
  }
}
