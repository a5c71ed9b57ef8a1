// The postings of many rows in memory, term by term.

internal import QuireDatabase
internal import QuireText

/// Gathers the tokens of rows, which come in ascending order, as postings of their terms.
///
/// A token costs no allocation: its term is found in a hash table, and it joins the other tokens of the row that have
/// the term. At the end of the row each of its terms gets a posting, appended to a list of bytes; see `PostingStream`
/// for these.
///
/// Invariant: between rows `tokenCount` and `rowTermCount` are 0, and no term has tokens of a row.
@safe final class PostingCollector {
  /// A term, what it has of rows before, and what of the row at hand.
  private struct Term {
    let hash: UInt64
    /// The first eight bytes as a number that has their order.
    let prefix: UInt64
    /// Where the bytes are in the arena.
    let start: UInt32
    let byteCount: UInt32
    var postings = ChunkArena.List()
    /// The number of the last row with a posting; 0 before the first one.
    var lastRow: Int64 = 0
    /// The first and the last token of the row at hand, less 1; 0 if it has none.
    var firstToken: UInt32 = 0
    var lastToken: UInt32 = 0
  }

  /// A token of the row at hand.
  private struct Token {
    let position: UInt32
    /// The next token of the same term, less 1; 0 behind the last one.
    var next: UInt32 = 0
    let field: UInt8
  }

  let form: PostingForm
  private let arena: ChunkArena
  private var terms: UnsafeMutablePointer<Term>
  @exclusivity(unchecked) private var termCapacity = 1 << 10
  @exclusivity(unchecked) private(set) var termCount = 0
  /// For each hash, from its place on, the index of a term and 1, and above it half of the hash; 0 where there is none.
  private var slots: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var slotCount = 1 << 12
  private var tokens: UnsafeMutablePointer<Token>
  @exclusivity(unchecked) private var tokenCapacity = 1 << 10
  @exclusivity(unchecked) private var tokenCount = 0
  /// The terms of the row at hand.
  private var rowTerms: UnsafeMutablePointer<UInt32>
  @exclusivity(unchecked) private var rowTermCount = 0
  /// Room for the bytes of any posting of the row at hand.
  private var posting: UnsafeMutablePointer<UInt8>

  // Where the field that is being read has come to.
  @exclusivity(unchecked) private var field = -1
  @exclusivity(unchecked) private var lastPosition = -1
  @exclusivity(unchecked) private var isFirstOfText = true
  @exclusivity(unchecked) private var hash = TextHash()
  @exclusivity(unchecked) private var length: UInt64 = 0

  /// - Parameter byteLimit: about how much memory it will take.
  init(_ form: PostingForm, byteLimit: Int) {
    self.form = form
    arena = ChunkArena(capacity: byteLimit)
    unsafe terms = .allocate(capacity: termCapacity)
    unsafe slots = .allocate(capacity: slotCount)
    unsafe slots.initialize(repeating: 0, count: slotCount)
    unsafe tokens = .allocate(capacity: tokenCapacity)
    unsafe rowTerms = .allocate(capacity: tokenCapacity)
    unsafe posting = .allocate(capacity: Self.postingCapacity(tokenCapacity))
  }

  /// So many bytes a posting of so many tokens takes at the most: row and mask, the code of a length, and of each token
  /// the frequency and the position.
  private static func postingCapacity(_ tokenCount: Int) -> Int { 32 + 10 * tokenCount }

  deinit {
    unsafe terms.deallocate()
    unsafe slots.deallocate()
    unsafe tokens.deallocate()
    unsafe rowTerms.deallocate()
    unsafe posting.deallocate()
  }

  /// The bytes of memory that terms and postings take.
  var byteCount: Int {
    unsafe arena.byteCount + termCount * MemoryLayout<Term>.stride + slotCount * MemoryLayout<UInt64>.stride
  }

  /// Forgets all postings, and keeps the memory.
  func removeAll() {
    unsafe assert(tokenCount == 0, "a row is left over")
    arena.removeAll()
    unsafe slots.update(repeating: 0, count: slotCount)
    unsafe termCount = 0
  }

  // MARK: Tokens

  /// Takes in the tokens of a text of the row at hand; texts come in the order of their fields. Returns false if there
  /// are more than can be numbered.
  ///
  /// - Throws: what the tokenizer throws.
  func add(_ text: RawSpan, field: Int, _ tokenizer: some Tokenizer) throws -> Bool {
    unsafe assert(field >= self.field && field < form.fieldCount, "texts come out of the order of their fields")
    if unsafe field != self.field {
      unsafe self.field = field
      unsafe lastPosition = -1
    } else if unsafe lastPosition >= 0 {
      // A position stays free, so that no phrase goes from one text into the next.
      unsafe lastPosition += 1
    }
    unsafe isFirstOfText = true
    var isInBounds = true
    try tokenizer.forEachToken(in: text, for: .document) { token, place in
      if isInBounds { isInBounds = add(token, step: place.step) }
    }
    return isInBounds
  }

  private func add(_ token: RawSpan, step: Int) -> Bool {
    // The first token of a text stands where the text begins, whatever its step is.
    let step = unsafe isFirstOfText ? 1 : max(0, step)
    unsafe isFirstOfText = false
    guard step <= DocumentTerms.positionEnd, unsafe lastPosition + step < DocumentTerms.positionEnd,
      unsafe tokenCount < Int(Int32.max)
    else { return false }
    unsafe lastPosition += step
    return unsafe token.withUnsafeBytes { bytes in
      let key = unsafe TermKey(bytes)
      if !key.hasZeros, bytes.count <= TermKeys.maximumByteCount {
        return unsafe bytes.isEmpty ? true : addTerm(bytes, key, isCounted: step > 0)
      }
      return addCutTerm(token, isCounted: step > 0)
    }
  }

  /// Adds the term of a token that is not one as it stands.
  @inline(never) private func addCutTerm(_ token: RawSpan, isCounted: Bool) -> Bool {
    let term = TermKeys.term(of: token)
    if term.isEmpty { return true }
    return unsafe term.withUnsafeBytes { unsafe addTerm($0, TermKey($0), isCounted: isCounted) }
  }

  @inline(__always)
  private func addTerm(_ bytes: UnsafeRawBufferPointer, _ key: TermKey, isCounted: Bool) -> Bool {
    if unsafe isCounted || tokenCount == 0 { unsafe length += 1 }
    unsafe hash.add(key.hash)
    unsafe hash.add(UInt64(lastPosition) | UInt64(field) << 32)
    guard let index = unsafe index(of: bytes, key) else { return false }
    append(Token(position: UInt32(unsafe lastPosition), field: UInt8(unsafe field)), to: index)
    return true
  }

  /// The index of a term, which is new perhaps; nil if there is no room for it.
  private func index(of bytes: UnsafeRawBufferPointer, _ key: TermKey) -> Int? {
    let hash = key.hash
    let mask = unsafe slotCount - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while true {
      let found = unsafe slots[slot]
      if found == 0 { break }
      if found >> 32 == hash >> 32 {
        let index = Int(truncatingIfNeeded: found & 0xffff_ffff) - 1
        let isSame =
          unsafe Int(terms[index].byteCount) == bytes.count
          && ByteOrder.areEqual(arena.bytes(terms[index].start, bytes.count), bytes)
        if isSame { return index }
      }
      slot = (slot + 1) & mask
    }
    guard let start = unsafe arena.put(bytes) else { return nil }
    if unsafe termCount == termCapacity { growTerms() }
    unsafe (terms + termCount).initialize(
      to: Term(hash: hash, prefix: key.prefix, start: start, byteCount: UInt32(bytes.count)))
    unsafe termCount += 1
    unsafe slots[slot] = hash & ~0xffff_ffff | UInt64(termCount)
    if unsafe termCount * 2 > slotCount { growSlots() }
    return unsafe termCount - 1
  }

  @inline(__always) private func append(_ token: Token, to index: Int) {
    let term = unsafe terms + index
    let last = unsafe term.pointee.lastToken
    if last == 0 {
      if unsafe tokenCount == tokenCapacity { growTokens() }
      unsafe rowTerms[rowTermCount] = UInt32(index)
      unsafe rowTermCount += 1
    } else {
      let before = unsafe tokens[Int(last) - 1]
      // Two forms of a word may be the same term.
      if before.position == token.position, before.field == token.field { return }
    }
    if unsafe tokenCount == tokenCapacity { growTokens() }
    unsafe (tokens + tokenCount).initialize(to: token)
    unsafe tokenCount += 1
    if last == 0 {
      unsafe term.pointee.firstToken = UInt32(tokenCount)
    } else {
      unsafe tokens[Int(last) - 1].next = UInt32(tokenCount)
    }
    unsafe term.pointee.lastToken = UInt32(tokenCount)
  }

  private func growTerms() {
    let grown = unsafe UnsafeMutablePointer<Term>.allocate(capacity: termCapacity * 2)
    unsafe grown.moveInitialize(from: terms, count: termCount)
    unsafe terms.deallocate()
    unsafe (terms, termCapacity) = unsafe (grown, termCapacity * 2)
  }

  private func growTokens() {
    let grownTerms = unsafe UnsafeMutablePointer<UInt32>.allocate(capacity: tokenCapacity * 2)
    unsafe grownTerms.moveInitialize(from: rowTerms, count: rowTermCount)
    unsafe rowTerms.deallocate()
    unsafe rowTerms = grownTerms
    unsafe posting.deallocate()
    unsafe posting = .allocate(capacity: Self.postingCapacity(tokenCapacity * 2))
    let grown = unsafe UnsafeMutablePointer<Token>.allocate(capacity: tokenCapacity * 2)
    unsafe grown.moveInitialize(from: tokens, count: tokenCount)
    unsafe tokens.deallocate()
    unsafe (tokens, tokenCapacity) = unsafe (grown, tokenCapacity * 2)
  }

  private func growSlots() {
    unsafe slots.deallocate()
    unsafe slotCount *= 2
    unsafe slots = .allocate(capacity: slotCount)
    unsafe slots.initialize(repeating: 0, count: slotCount)
    for index in unsafe 0..<termCount {
      let hash = unsafe terms[index].hash
      var slot = unsafe Int(truncatingIfNeeded: hash) & (slotCount - 1)
      while unsafe slots[slot] != 0 { slot = unsafe (slot + 1) & (slotCount - 1) }
      unsafe slots[slot] = hash & ~0xffff_ffff | UInt64(index + 1)
    }
  }

  // MARK: Rows

  /// Ends the row at hand, whose terms get their postings.
  ///
  /// - Returns: its record, nil if it has no tokens; and false if there is no room for its postings.
  func endRow(_ row: RowID) -> (record: TextRecord?, isInBounds: Bool) {
    defer {
      unsafe (field, lastPosition, length) = (-1, -1, 0)
      unsafe hash = TextHash()
      unsafe (tokenCount, rowTermCount) = (0, 0)
    }
    guard unsafe rowTermCount > 0 else { return (nil, true) }
    let record = unsafe TextRecord(length: max(1, length), hash: hash.value)
    let code = LengthCode.code(of: Int(clamping: record.length))
    var isInBounds = true
    let (terms, tokens, posting) = unsafe (terms, tokens, posting)
    for place in unsafe 0..<rowTermCount {
      let term = unsafe terms + Int(rowTerms[place])
      assert(unsafe term.pointee.lastRow < row.rawValue, "rows come out of order")
      var writer = unsafe ByteWriter(posting)
      writer.putVarint(UInt64(bitPattern: row.rawValue &- (unsafe term.pointee.lastRow)))
      writer.put(code)
      unsafe putPlaces(of: term, tokens, &writer)
      unsafe term.pointee.lastRow = row.rawValue
      unsafe (term.pointee.firstToken, term.pointee.lastToken) = (0, 0)
      let bytes = unsafe UnsafeRawBufferPointer(start: posting, count: writer.count)
      let isAppended = unsafe arena.append(bytes, to: &term.pointee.postings)
      isInBounds = isInBounds && isAppended
    }
    return (record, isInBounds)
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

  // MARK: Terms in order

  /// Calls `body` with each term and its postings, in the order of the bytes of terms.
  func forEachTerm(_ body: (UnsafeRawBufferPointer, PostingParts) throws -> Void) rethrows {
    var order = unsafe (0..<termCount).map { (prefix: unsafe terms[$0].prefix, index: UInt32($0)) }
    order.sort { left, right in
      if left.prefix != right.prefix { return left.prefix < right.prefix }
      return unsafe ByteOrder.precedes(bytes(ofTerm: left.index), bytes(ofTerm: right.index))
    }
    for (_, index) in order {
      let parts = unsafe PostingParts(arena, terms[Int(index)].postings)
      try unsafe body(bytes(ofTerm: index), parts)
    }
  }

  private func bytes(ofTerm index: UInt32) -> UnsafeRawBufferPointer {
    let term = unsafe terms + Int(index)
    return unsafe arena.bytes(term.pointee.start, Int(term.pointee.byteCount))
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

/// The bytes of a term's postings in a collector, part by part.
struct PostingParts {
  private let arena: ChunkArena
  private var walk: ChunkArena.Walk

  init(_ arena: ChunkArena, _ list: ChunkArena.List) { (self.arena, walk) = (arena, arena.walk(list)) }

  /// The next part, good until something is collected; nil behind the last one.
  mutating func next() -> UnsafeRawBufferPointer? { unsafe arena.next(&walk) }
}
