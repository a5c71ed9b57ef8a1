// The end of a row in a collector: each of its terms gets a posting.

internal import QuireDatabase

extension PostingCollector {
  /// Ends the row at hand, whose terms get their postings.
  ///
  /// - Returns: its record, nil if it has no tokens; and false if there is no room for its postings.
  func endRow(_ row: RowID) -> (record: TextRecord?, isInBounds: Bool) {
    var isInBounds = lookUp()
    defer {
      unsafe (field, lastPosition, length) = (-1, -1, 0)
      unsafe hash = TextHash()
      unsafe (tokenCount, rowTermCount) = (0, 0)
    }
    guard unsafe rowTermCount > 0 else { return (nil, isInBounds) }
    let record = unsafe TextRecord(length: max(1, length), hash: hash.value)
    let code = LengthCode.code(of: Int(clamping: record.length))
    let (terms, tokens) = unsafe (terms, tokens)
    for place in unsafe 0..<rowTermCount {
      let term = unsafe terms + Int(rowTerms[place])
      assert(unsafe term.pointee.lastRow < row.rawValue, "rows come out of order")
      let gap = UInt64(bitPattern: row.rawValue &- (unsafe term.pointee.lastRow))
      let isAppended =
        unsafe appendShort(gap, code, term, tokens) ?? appendLong(gap, code, term, tokens)
      isInBounds = isInBounds && isAppended
      unsafe term.pointee.lastRow = row.rawValue
      unsafe (term.pointee.firstToken, term.pointee.lastToken) = (0, 0)
    }
    return (record, isInBounds)
  }

  /// Appends the posting of a term that the row has once, as most are; nil if it has more, or more than eight bytes.
  @inline(__always) private func appendShort(
    _ gap: UInt64, _ code: UInt8, _ term: UnsafeMutablePointer<Term>, _ tokens: UnsafeMutablePointer<Token>
  ) -> Bool? {
    let first = unsafe term.pointee.firstToken
    guard unsafe first == term.pointee.lastToken, gap < 1 << 21 else { return nil }
    let token = unsafe tokens[Int(first) - 1]
    guard token.field < 7, token.position < 1 << 14 else { return nil }
    var writer = WordWriter()
    writer.putVarint(UInt32(truncatingIfNeeded: gap))
    writer.put(code)
    if form.fieldCount > 1 { writer.put(1 &<< token.field) }
    if form.hasFrequencies { writer.put(0) }
    if form.hasPositions { writer.putVarint(token.position) }
    return unsafe arena.append(writer.word, writer.count, to: &term.pointee.postings)
  }

  private func appendLong(
    _ gap: UInt64, _ code: UInt8, _ term: UnsafeMutablePointer<Term>, _ tokens: UnsafeMutablePointer<Token>
  ) -> Bool {
    var writer = unsafe ByteWriter(posting)
    writer.putVarint(gap)
    writer.put(code)
    unsafe putPlaces(of: term, tokens, &writer)
    return unsafe arena.append(
      UnsafeRawBufferPointer(start: posting, count: writer.count), to: &term.pointee.postings)
  }

  /// Puts mask, frequencies and positions of a term's tokens, in the form of `RecentCodec`.
  @inline(__always) private func putPlaces(
    of term: UnsafeMutablePointer<Term>, _ tokens: UnsafeMutablePointer<Token>, _ writer: inout ByteWriter
  ) {
    let first = unsafe term.pointee.firstToken
    if unsafe first == term.pointee.lastToken {
      // Most terms have one token.
      let token = unsafe tokens[Int(first) - 1]
      if form.fieldCount > 1 { writer.putVarint(1 << FieldMask(token.field)) }
      if form.hasFrequencies { writer.put(0) }
      if form.hasPositions { writer.putVarint(UInt64(token.position)) }
      return
    }
    if form.fieldCount > 1 {
      var (mask, next): (FieldMask, UInt32) = (0, first)
      while next != 0 {
        unsafe mask |= 1 << FieldMask(tokens[Int(next) - 1].field)
        unsafe next = tokens[Int(next) - 1].next
      }
      writer.putVarint(mask)
    }
    if form.hasFrequencies { unsafe putFrequencies(first, tokens, &writer) }
    guard form.hasPositions else { return }
    var (field, expected, next): (UInt8, UInt32, UInt32) = (.max, 0, first)
    while next != 0 {
      let token = unsafe tokens[Int(next) - 1]
      if token.field != field { (field, expected) = (token.field, 0) }
      writer.putVarint(UInt64(token.position &- expected))
      expected = token.position &+ 1
      next = token.next
    }
  }

  private func putFrequencies(_ first: UInt32, _ tokens: UnsafeMutablePointer<Token>, _ writer: inout ByteWriter) {
    var (count, next): (UInt64, UInt32) = (0, first)
    while next != 0 {
      let token = unsafe tokens[Int(next) - 1]
      next = token.next
      if next != 0, unsafe tokens[Int(next) - 1].field == token.field {
        count += 1
      } else {
        writer.putVarint(count)
        count = 0
      }
    }
  }
}

/// Puts bytes together in a word, eight at the most, the first one lowest.
private struct WordWriter {
  private(set) var word: UInt64 = 0
  private(set) var count = 0

  @inline(__always) mutating func put(_ byte: UInt8) {
    word |= UInt64(byte) &<< UInt64(truncatingIfNeeded: 8 &* count)
    count &+= 1
  }

  @inline(__always) mutating func putVarint(_ number: UInt32) {
    var rest = number
    while rest >= 0x80 {
      put(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    put(UInt8(truncatingIfNeeded: rest))
  }
}

/// Writes bytes into memory that is known to have room for them.
@safe private struct ByteWriter {
  private let start: UnsafeMutablePointer<UInt8>
  private(set) var count = 0

  init(_ start: UnsafeMutablePointer<UInt8>) { unsafe self.start = unsafe start }

  @inline(__always) mutating func put(_ byte: UInt8) {
    unsafe start[count] = byte
    count &+= 1
  }

  @inline(__always) mutating func putVarint(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      put(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    put(UInt8(truncatingIfNeeded: rest))
  }
}
