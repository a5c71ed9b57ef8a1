// The bytes of single postings that were added, and of the heads of terms.

internal import QuireDatabase

/// The value of an added posting in "recent": the mask, unless there is one field; the frequencies of its fields, less
/// 1, if they are kept; the positions, if they are kept: of each field the first one, then the gaps less 1. All are
/// varints.
enum RecentCodec {
  /// The value of the posting at `index` of a list.
  static func encode(_ list: PostingList, _ index: Int, _ form: PostingForm) -> [UInt8] {
    var bytes: [UInt8] = []
    append(list, index, form, to: &bytes)
    return bytes
  }

  /// Appends the value of the posting at `index` of a list.
  static func append(_ list: PostingList, _ index: Int, _ form: PostingForm, to bytes: inout [UInt8]) {
    if form.fieldCount > 1 { bytes.appendVarint(list.masks[index]) }
    if form.hasFrequencies {
      for place in list.frequencyRange(index) { bytes.appendVarint(UInt64(list.frequencies[place] - 1)) }
    }
    if form.hasPositions { bytes.appendPositions(list, index) }
  }

  /// Appends the posting of such a value to a list, whose rows are below `row`; false if the bytes break the format:
  /// the list is as it was then.
  static func decode(_ value: RawSpan, row: RowID, _ form: PostingForm, to list: inout PostingList) -> Bool {
    if let last = list.rowIDs.last, last >= row { return false }
    let (frequencyCount, positionCount) = (list.frequencies.count, list.positions.count)
    let mask = unsafe value.withUnsafeBytes { bytes in
      var reader = unsafe ByteReader(bytes)
      let mask = decode(&reader, form, to: &list)
      return reader.isAtEnd ? mask : nil
    }
    guard let mask else {
      list.frequencies.removeSubrange(frequencyCount...)
      list.positions.removeSubrange(positionCount...)
      return false
    }
    list.rowIDs.append(row)
    list.masks.append(mask)
    list.frequencyEnds.append(list.frequencies.count)
    if form.hasPositions { list.positionEnds.append(list.positions.count) }
    return true
  }

  /// Whether `decode` takes a value.
  static func isWell(_ value: RawSpan, _ form: PostingForm) -> Bool {
    unsafe value.withUnsafeBytes { bytes in
      var reader = unsafe ByteReader(bytes)
      var mask: FieldMask = 1
      if form.fieldCount > 1 {
        guard let found = reader.varint(), found != 0, found & ~form.allFields == 0 else { return false }
        mask = found
      }
      guard form.hasFrequencies else { return reader.isAtEnd }
      var frequencies = reader
      for _ in 0..<mask.nonzeroBitCount {
        guard let above = reader.varint32(), above < .max else { return false }
      }
      guard form.hasPositions else { return reader.isAtEnd }
      for _ in 0..<mask.nonzeroBitCount {
        guard let above = frequencies.varint(), reader.skipPositions(count: Int(above) + 1) else { return false }
      }
      return reader.isAtEnd
    }
  }

  /// Reads one posting, whose frequencies and positions it appends; returns its mask.
  static func decode(_ reader: inout ByteReader, _ form: PostingForm, to list: inout PostingList) -> FieldMask? {
    var mask: FieldMask = 1
    if form.fieldCount > 1 {
      guard let found = reader.varint(), found != 0, found & ~form.allFields == 0 else { return nil }
      mask = found
    }
    let start = list.frequencies.count
    for _ in 0..<mask.nonzeroBitCount {
      guard form.hasFrequencies else {
        list.frequencies.append(1)
        continue
      }
      guard let above = reader.varint32(), above < .max else { return nil }
      list.frequencies.append(above + 1)
    }
    guard form.hasPositions else { return mask }
    for place in start..<list.frequencies.count {
      guard reader.appendPositions(count: Int(list.frequencies[place]), to: &list.positions) else { return nil }
    }
    return mask
  }
}

/// The head of a term: how many rows its blocks have together, as a varint; then one to four pairs of limits.
struct HeadCodec: Hashable {
  /// How many rows the blocks of the term have.
  let count: Int
  /// Each posting in the blocks is within one of these.
  let limits: LimitPairs

  init(count: Int, limits: LimitPairs) { (self.count, self.limits) = (count, limits) }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendVarint(UInt64(count))
    limits.append(to: &bytes)
    return bytes
  }

  /// Reads a head; nil if its bytes break the format.
  init?(_ value: RawSpan) {
    let parsed: (Int, LimitPairs)? = unsafe value.withUnsafeBytes { bytes in
      var reader = unsafe ByteReader(bytes)
      guard let found = reader.varint(), let count = Int(exactly: found), reader.remainingCount % 2 == 0,
        let limits = LimitPairs(&reader, count: reader.remainingCount / 2)
      else { return nil }
      return (count, limits)
    }
    guard let parsed else { return nil }
    (count, limits) = parsed
  }
}
