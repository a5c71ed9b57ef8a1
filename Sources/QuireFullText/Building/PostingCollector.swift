// The postings of many rows in memory, term by term.

internal import QuireDatabase
internal import QuireText

/// Gathers the tokens of rows, which come in ascending order, as postings of their terms.
///
/// A token costs no allocation: its term is found in a hash table, and it joins the other tokens of the row that have
/// the term. At the end of the row each of its terms gets a posting, appended to a list of bytes; see `PostingStream`
/// for these. Terms are looked up for many tokens at a time, so that memory is waited for once for several of them.
///
/// Invariant: between rows the counts of tokens and of their terms are 0, and no term has tokens of a row.
@safe final class PostingCollector {
  /// A term, what it has of rows before, and what of the row at hand: a line of the processor's cache.
  struct Term {
    let hash: UInt64
    /// The first eight bytes as a number that has their order, and the eight bytes behind them.
    let prefix: UInt64
    let second: UInt64
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

  /// A token whose term has not been looked up yet.
  private struct Coming {
    let hash: UInt64
    let prefix: UInt64
    let second: UInt64
    /// Where the bytes of a term are in `longTerms`, if there are more than in `prefix` and `second`.
    let start: UInt32
    let byteCount: UInt8
    let field: UInt8
    let position: UInt32
  }

  /// A token of the row at hand.
  struct Token {
    let position: UInt32
    /// The next token of the same term, less 1; 0 behind the last one.
    var next: UInt32 = 0
    let field: UInt8
  }

  let form: PostingForm
  let arena: ChunkArena
  var terms: UnsafeMutablePointer<Term>
  @exclusivity(unchecked) private var termCapacity = 1 << 10
  @exclusivity(unchecked) private(set) var termCount = 0
  /// For each hash, from its place on, the index of a term and 1, and above it half of the hash; 0 where there is none.
  private var slots: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var slotCount = 1 << 12
  var tokens: UnsafeMutablePointer<Token>
  @exclusivity(unchecked) private var tokenCapacity = 1 << 10
  @exclusivity(unchecked) var tokenCount = 0
  /// The terms of the row at hand.
  var rowTerms: UnsafeMutablePointer<UInt32>
  @exclusivity(unchecked) var rowTermCount = 0
  /// Tokens whose terms have not been looked up yet, and what stands in the slots of their hashes.
  private let coming: UnsafeMutablePointer<Coming>
  private let candidates: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var comingCount = 0
  private let longTerms = ByteBuilder()
  /// So many tokens are looked up at a time.
  private static let comingCapacity = 128
  /// Terms have so many bytes in a cache line of their own.
  private static let shortCount = 16
  /// What was read only to have its surroundings at hand.
  @exclusivity(unchecked) private var touched: UInt8 = 0
  /// Room for the bytes of any posting of the row at hand.
  var posting: UnsafeMutablePointer<UInt8>

  // Where the field that is being read has come to.
  @exclusivity(unchecked) var field = -1
  @exclusivity(unchecked) var lastPosition = -1
  @exclusivity(unchecked) private var isFirstOfText = true
  @exclusivity(unchecked) var hash = TextHash()
  @exclusivity(unchecked) var length: UInt64 = 0

  /// - Parameter byteLimit: about how much memory it will take.
  init(_ form: PostingForm, byteLimit: Int) {
    self.form = form
    arena = ChunkArena(capacity: byteLimit)
    unsafe terms = Self.makeTerms(termCapacity)
    unsafe coming = .allocate(capacity: Self.comingCapacity)
    unsafe candidates = .allocate(capacity: Self.comingCapacity)
    unsafe slots = .allocate(capacity: slotCount)
    unsafe slots.initialize(repeating: 0, count: slotCount)
    unsafe tokens = .allocate(capacity: tokenCapacity)
    unsafe rowTerms = .allocate(capacity: tokenCapacity)
    unsafe posting = .allocate(capacity: Self.postingCapacity(tokenCapacity))
  }

  private static func makeTerms(_ count: Int) -> UnsafeMutablePointer<Term> {
    let stride = MemoryLayout<Term>.stride
    assert(stride == 64, "a term is no cache line")
    return unsafe UnsafeMutableRawPointer.allocate(byteCount: count * stride, alignment: stride)
      .bindMemory(to: Term.self, capacity: count)
  }

  /// So many bytes a posting of so many tokens takes at the most: row and mask, the code of a length, and of each token
  /// the frequency and the position.
  private static func postingCapacity(_ tokenCount: Int) -> Int { 32 + 10 * tokenCount }

  deinit {
    unsafe terms.deallocate()
    unsafe slots.deallocate()
    unsafe tokens.deallocate()
    unsafe rowTerms.deallocate()
    unsafe coming.deallocate()
    unsafe candidates.deallocate()
    unsafe posting.deallocate()
  }

  /// The bytes of memory that terms and postings take.
  var byteCount: Int {
    unsafe arena.byteCount + termCount * MemoryLayout<Term>.stride + slotCount * MemoryLayout<UInt64>.stride
  }

  /// Forgets all postings, and keeps the memory.
  func removeAll() {
    unsafe assert(tokenCount + comingCount == 0, "a row is left over")
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
      unsafe tokenCount < Int(Int32.max) - Self.comingCapacity
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
    if unsafe isCounted || tokenCount + comingCount == 0 { unsafe length += 1 }
    var start = 0
    if bytes.count > Self.shortCount {
      start = longTerms.count
      unsafe longTerms.append(bytes)
    }
    unsafe (coming + comingCount).initialize(
      to: Coming(
        hash: key.hash, prefix: key.prefix, second: key.second, start: UInt32(truncatingIfNeeded: start),
        byteCount: UInt8(truncatingIfNeeded: bytes.count), field: UInt8(truncatingIfNeeded: field),
        position: UInt32(truncatingIfNeeded: lastPosition)))
    unsafe comingCount += 1
    return unsafe comingCount < Self.comingCapacity || lookUp()
  }

  // MARK: Terms

  /// Has the tokens that came join those of their terms; false if there is no room for a term.
  func lookUp() -> Bool {
    let (count, coming, candidates) = unsafe (comingCount, coming, candidates)
    let (terms, slots, mask) = unsafe (terms, slots, slotCount - 1)
    // Loads that do not wait for each other.
    for index in 0..<count {
      unsafe candidates[index] = slots[Int(truncatingIfNeeded: coming[index].hash) & mask]
    }
    for index in 0..<count {
      let found = unsafe Int(truncatingIfNeeded: candidates[index] & 0xffff_ffff)
      unsafe candidates[index] = found > 0 && terms[found - 1].hash == coming[index].hash ? UInt64(found) : 0
    }
    var (rowHash, isInBounds) = unsafe (hash, true)
    for index in 0..<count {
      let token = unsafe coming + index
      unsafe rowHash.add(token.pointee.hash)
      unsafe rowHash.add(UInt64(token.pointee.position) | UInt64(token.pointee.field) << 32)
      let known = unsafe Int(candidates[index]) - 1
      let isKnown = unsafe known >= 0 && isTerm(known, token)
      guard let term = isKnown ? known : unsafe self.index(of: token) else {
        isInBounds = false
        break
      }
      unsafe append(Token(position: token.pointee.position, field: token.pointee.field), to: term)
    }
    unsafe hash = rowHash
    unsafe comingCount = 0
    longTerms.removeAll()
    return isInBounds
  }

  /// Whether a term is that of a token.
  @inline(__always) private func isTerm(_ index: Int, _ token: UnsafePointer<Coming>) -> Bool {
    let term = unsafe terms + index
    let isSame =
      unsafe term.pointee.hash == token.pointee.hash && term.pointee.prefix == token.pointee.prefix
      && term.pointee.second == token.pointee.second
      && term.pointee.byteCount == UInt32(token.pointee.byteCount)
    guard isSame, unsafe Int(token.pointee.byteCount) > Self.shortCount else { return isSame }
    return unsafe ByteOrder.areEqual(
      arena.bytes(term.pointee.start, Int(token.pointee.byteCount)), longBytes(token))
  }

  private func longBytes(_ token: UnsafePointer<Coming>) -> UnsafeRawBufferPointer {
    let (start, count) = unsafe (Int(token.pointee.start), Int(token.pointee.byteCount))
    return unsafe UnsafeRawBufferPointer(rebasing: longTerms.bytes[start..<start + count])
  }

  /// The index of the term of a token, which is new perhaps; nil if there is no room for it.
  @inline(never) private func index(of token: UnsafePointer<Coming>) -> Int? {
    let hash = unsafe token.pointee.hash
    let mask = unsafe slotCount - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while true {
      let found = unsafe slots[slot]
      if found == 0 { break }
      if found >> 32 == hash >> 32 {
        let index = Int(truncatingIfNeeded: found & 0xffff_ffff) - 1
        if unsafe isTerm(index, token) { return index }
      }
      slot = (slot + 1) & mask
    }
    guard let start = unsafe put(token) else { return nil }
    if unsafe termCount == termCapacity { growTerms() }
    unsafe (terms + termCount).initialize(
      to: Term(
        hash: hash, prefix: token.pointee.prefix, second: token.pointee.second, start: start,
        byteCount: UInt32(token.pointee.byteCount)))
    unsafe termCount += 1
    unsafe slots[slot] = hash & ~0xffff_ffff | UInt64(termCount)
    if unsafe termCount * 2 > slotCount { growSlots() }
    return unsafe termCount - 1
  }

  /// Puts the bytes of a token's term into the arena; nil if there is no room.
  private func put(_ token: UnsafePointer<Coming>) -> UInt32? {
    let count = unsafe Int(token.pointee.byteCount)
    if count > Self.shortCount { return unsafe arena.put(longBytes(token)) }
    return unsafe withUnsafeBytes(of: (token.pointee.prefix.bigEndian, token.pointee.second.littleEndian)) {
      unsafe arena.put(UnsafeRawBufferPointer(rebasing: $0[..<count]))
    }
  }

  @inline(__always) func append(_ token: Token, to index: Int) {
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
    let grown = unsafe Self.makeTerms(termCapacity * 2)
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

  // MARK: Terms in order

  /// Of so many terms memory is waited for at once.
  private static var touchedCount: Int { 32 }

  /// Calls `body` with each term and its postings, in the order of the bytes of terms.
  func forEachTerm(_ body: (UnsafeRawBufferPointer, PostingParts) throws -> Void) rethrows {
    var order = unsafe (0..<termCount).map { (prefix: unsafe terms[$0].prefix, index: UInt32($0)) }
    order.sort { left, right in
      if left.prefix != right.prefix { return left.prefix < right.prefix }
      return unsafe ByteOrder.precedes(bytes(ofTerm: left.index), bytes(ofTerm: right.index))
    }
    for start in stride(from: 0, to: order.count, by: Self.touchedCount) {
      let some = order[start..<min(order.count, start + Self.touchedCount)]
      // Loads that do not wait for each other.
      for (_, index) in some {
        let term = unsafe terms + Int(index)
        unsafe touched ^= arena.byte(term.pointee.start) ^ arena.byte(term.pointee.postings.first)
      }
      for (_, index) in some {
        let parts = unsafe PostingParts(arena, terms[Int(index)].postings)
        try unsafe body(bytes(ofTerm: index), parts)
      }
    }
  }

  func bytes(ofTerm index: UInt32) -> UnsafeRawBufferPointer {
    let term = unsafe terms + Int(index)
    return unsafe arena.bytes(term.pointee.start, Int(term.pointee.byteCount))
  }
}
